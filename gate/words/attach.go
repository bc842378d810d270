package words

// What is said about the operator's key, and at a terminal that is attached to a
// running bridge.

// KeyTrusted says which operator's key a bridge trusts.
func (l Lang) KeyTrusted(id, name, since string) string {
	return l.pick("the operator's key is %s (%s), trusted since %s; answers: tau robot approvals attach",
		"operatör anahtarı %s (%s), %s tarihinden beri güvenilir; yanıtlamak için: tau robot approvals attach", id, name, since)
}

// KeyNotAsPinned says that the trusted key isn't as it was, so that nobody can answer
// from outside.
func (l Lang) KeyNotAsPinned(id, why string) string {
	return l.pick("⚠️  answers from outside don't count: the operator's key %s, which this bridge trusts, isn't there as it was (%s). If you have changed it yourself, start the bridge with --operator-key and the new one",
		"⚠️  dışarıdan gelen yanıtlar sayılmaz: bu köprünün güvendiği operatör anahtarı %s olduğu gibi yerinde değil (%s). Siz değiştirdiyseniz köprüyü --operator-key ile yeni anahtarla başlatın", id, why)
}

// KeyNotTrusted says that a key is there which nobody has told the bridge to trust.
func (l Lang) KeyNotTrusted(id, name string) string {
	return l.pick("answers from outside don't count yet: there is an operator's key %s (%s); if you have made it, start the bridge once with --operator-key %s",
		"dışarıdan gelen yanıtlar henüz sayılmaz: bir operatör anahtarı var: %s (%s); siz oluşturduysanız köprüyü bir kez --operator-key %s ile başlatın", id, name, id)
}

// KeyNone says how a bridge gets an operator's key.
func (l Lang) KeyNone() string {
	return l.pick("to answer from another terminal, make an operator's key: tau robot approvals init",
		"başka bir uçbirimden yanıtlamak için bir operatör anahtarı oluşturun: tau robot approvals init")
}

// StdioNobody is what a person reads of a bridge on an MCP client's streams that nobody
// can answer for.
func (l Lang) StdioNobody() string {
	return l.pick("MCP on standard input and output; nobody can approve in this run, and no approver reads the terminal that an MCP client runs in",
		"MCP standart giriş ve çıkışta; bu çalıştırmada kimse onaylayamaz ve bir MCP istemcisinin çalıştığı uçbirimi hiçbir onaylayıcı okumaz")
}

// StdioAttach is the same of one that can be answered for.
func (l Lang) StdioAttach() string {
	return l.pick("MCP on standard input and output; questions wait for an answer from outside, and no approver reads the terminal that an MCP client runs in",
		"MCP standart giriş ve çıkışta; sorular dışarıdan bir yanıt bekler ve bir MCP istemcisinin çalıştığı uçbirimi hiçbir onaylayıcı okumaz")
}

// AttachGreeting stands over the prompt of an attached terminal.
func (l Lang) AttachGreeting() string {
	return l.pick("attached: each question appears here; y approves, anything else rejects, ctrl-C leaves it open; stop and estop act at once, list and quit as well",
		"bağlandı: her soru burada görünür; e onaylar, başka her şey reddeder, ctrl-C açık bırakır; stop ve estop hemen etkili olur, list ve quit de vardır")
}

// AttachHelp says what can be typed there.
func (l Lang) AttachHelp() string {
	return l.pick("stop, estop: act at once; list: what waits; quit or ctrl-C: leave, and nothing is answered",
		"stop, estop: hemen etkili; list: bekleyenler; quit ya da ctrl-C: çıkış, hiçbir şey yanıtlanmaz")
}

// AttachEnded says how a question ended that was shown.
func (l Lang) AttachEnded(how, by string) string {
	return l.pick("this question is closed: %s, by %s", "bu soru kapandı: %s, %s tarafından", how, by)
}

// AttachClosed is AttachEnded where nobody has ended it.
func (l Lang) AttachClosed(how string) string {
	return l.pick("this question is closed: %s", "bu soru kapandı: %s", how)
}

// AttachGone says that a question can't be answered here any more.
func (l Lang) AttachGone() string {
	return l.pick("nothing was answered here", "burada hiçbir şey yanıtlanmadı")
}

// AttachAgain says why an answer didn't count, and that the card comes again.
func (l Lang) AttachAgain(why string) string {
	return l.pick("(not counted: %s; the question is asked again)", "(sayılmadı: %s; soru yeniden sorulur)", why)
}

// AttachNotTaken says that the bridge didn't take an answer.
func (l Lang) AttachNotTaken(why string) string {
	return l.pick("✗ the answer wasn't taken: %s", "✗ yanıt alınmadı: %s", why)
}

// AttachApproved says that the bridge has taken a yes.
func (l Lang) AttachApproved(tool string) string {
	return l.pick("✓ %s: approved", "✓ %s: onaylandı", tool)
}

// AttachNotStopped says that a stop may not have reached the bridge.
func (l Lang) AttachNotStopped(why string) string {
	return l.pick("⚠️  the stop may not have reached the bridge: %s", "⚠️  durdurma köprüye ulaşmamış olabilir: %s", why)
}

// OutcomeApproved and the others are how a question has ended.
func (l Lang) OutcomeApproved() string { return l.pick("approved", "onaylandı") }

// OutcomeRejected is one.
func (l Lang) OutcomeRejected() string { return l.pick("rejected", "reddedildi") }

// OutcomeTimeout is one.
func (l Lang) OutcomeTimeout() string {
	return l.pick("nobody answered in time", "kimse zamanında yanıtlamadı")
}

// OutcomeWithdrawn is one.
func (l Lang) OutcomeWithdrawn() string { return l.pick("withdrawn", "geri çekildi") }

// OutcomeStopped is one.
func (l Lang) OutcomeStopped() string { return l.pick("ended by a stop", "bir durdurmayla bitti") }

// OutcomeUnknown is where it isn't known.
func (l Lang) OutcomeUnknown() string { return l.pick("no longer asked", "artık sorulmuyor") }
