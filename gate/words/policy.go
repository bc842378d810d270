package words

// TurnUsedUp says that a caller's turn has used up its budget of calls (G24). who is
// escaped.
func (l Lang) TurnUsedUp(who string) string {
	return l.pick("■ %s: this turn's budget of calls is used up; further ones are refused until the next turn",
		"■ %s: bu turun çağrı bütçesi bitti; sonraki tura kadar yeni çağrılar reddedilir", who)
}

// SessionUsedUp says that a session has used up its budget of calls (G24). who is
// escaped.
func (l Lang) SessionUsedUp(who string) string {
	return l.pick("■ %s: this session's budget of calls is used up; further ones are refused",
		"■ %s: bu oturumun çağrı bütçesi bitti; yeni çağrılar reddedilir", who)
}
