package words

// The labels of a card, for every channel. The English ones are GATE.md's (G30).

// CardNeeded is a card's first line.
func (l Lang) CardNeeded(tier int) string {
	return l.pick("Approval needed (tier %d)", "Onay gerekiyor (seviye %d)", tier)
}

// CardTool labels the tool.
func (l Lang) CardTool() string { return l.pick("Tool", "Araç") }

// CardQuestion is where the answer is typed.
func (l Lang) CardQuestion() string { return l.pick("Approve? [y/N]", "Onaylıyor musunuz? [e/H]") }

// NotApproved is what the person's side shows of a refused call (G8).
func (l Lang) NotApproved(tool string) string {
	return l.pick("✗ %s: not approved", "✗ %s: onaylanmadı", tool)
}
