package words

// What the card at a terminal says beside the card itself.

// TerminalQuestion is the last line of the card, where the answer is typed.
func (l Lang) TerminalQuestion() string {
	return l.pick("  Approve? [y/N] ", "  Onaylıyor musunuz? [e/H] ")
}

// TerminalClosed follows a card that was taken away; why is escaped.
func (l Lang) TerminalClosed(why string) string {
	return l.pick("  (this question is closed, nothing was approved: %s)",
		"  (bu soru kapandı, hiçbir şey onaylanmadı: %s)", why)
}

// TerminalTakenAway is why.
func (l Lang) TerminalTakenAway() string { return l.pick("taken away", "kaldırıldı") }
