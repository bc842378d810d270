package words

import "strings"

// The labels of a card, for every channel. The English ones are GATE.md's (G30).

// CardNeeded is a card's first line.
func (l Lang) CardNeeded(tier int) string {
	return l.pick("Approval needed (tier %d)", "Onay gerekiyor (seviye %d)", tier)
}

// CardTool labels the tool.
func (l Lang) CardTool() string { return l.pick("Tool", "Araç") }

// CardArguments labels the arguments.
func (l Lang) CardArguments() string { return l.pick("Arguments", "Argümanlar") }

// CardEffect labels what the tool does.
func (l Lang) CardEffect() string { return l.pick("Effect", "Etkisi") }

// CardSession labels the session.
func (l Lang) CardSession() string { return l.pick("Session", "Oturum") }

// CardSessionText names a session, its mode and its backend.
func (l Lang) CardSessionText(name, mode, backend string) string {
	return l.pick("%s (mode %s, backend %s)", "%s (kip %s, arka uç %s)", name, mode, backend)
}

// CardAskedBy labels who asks.
func (l Lang) CardAskedBy() string { return l.pick("Asked by", "İsteyen") }

// CardAskedByText names who asks, and from where.
func (l Lang) CardAskedByText(principal, origin string) string {
	return l.pick("%s, from %s", "%s, kaynak: %s", principal, origin)
}

// CardUnknown stands where a name isn't known.
func (l Lang) CardUnknown() string { return l.pick("unknown", "bilinmiyor") }

// CardAssumed labels what was assumed rather than known.
func (l Lang) CardAssumed() string { return l.pick("Assumed, not known", "Varsayılan, bilinmeyen") }

// CardMixedScripts labels words of more than one script.
func (l Lang) CardMixedScripts() string {
	return l.pick("Mixed scripts (letters that may not be what they look like)",
		"Karışık yazı sistemleri (harfler göründükleri gibi olmayabilir)")
}

// CardRightToLeft labels the warning of CardRightToLeftText.
func (l Lang) CardRightToLeft() string {
	return l.pick("Right-to-left letters", "Sağdan sola yazılan harfler")
}

// CardRightToLeftText warns of letters that a terminal may put in another order.
func (l Lang) CardRightToLeftText() string {
	return l.pick("this terminal may show them and what is beside them in another order",
		"bu uçbirim bunları ve yanlarındakileri başka bir sırada gösterebilir")
}

// CardExpires labels when the request expires.
func (l Lang) CardExpires() string { return l.pick("Expires", "Geçerlilik sonu") }

// CardExpiresAfter says how long after it was asked a request expires; after is a
// duration such as 10m0s.
func (l Lang) CardExpiresAfter(after string) string {
	return l.pick("(%s after it was asked)", "(istendikten %s sonra)", after)
}

// CardCall labels the call's id.
func (l Lang) CardCall() string { return l.pick("Call", "Çağrı") }

// CardDigest labels the digest.
func (l Lang) CardDigest() string { return l.pick("Digest", "Özet") }

// CardQuestion is where the answer is typed.
func (l Lang) CardQuestion() string { return l.pick("Approve? [y/N]", "Onaylıyor musunuz? [e/H]") }

// NotApproved is what the person's side shows of a refused call (G8).
func (l Lang) NotApproved(tool string) string {
	return l.pick("✗ %s: not approved", "✗ %s: onaylanmadı", tool)
}

// The labels of what a planned motion says of itself on its card.

// FactMoves labels the joints that move.
func (l Lang) FactMoves() string { return l.pick("Moves", "Hareket") }

// FactRehearsed labels what the rehearsal took.
func (l Lang) FactRehearsed() string { return l.pick("Rehearsed", "Prova") }

// FactTopSpeed labels the top speeds.
func (l Lang) FactTopSpeed() string { return l.pick("Top speed", "En yüksek hız") }

// FactTopEffort labels the top effort.
func (l Lang) FactTopEffort() string { return l.pick("Top effort", "En yüksek kuvvet") }

// FactClearance labels the smallest clearance.
func (l Lang) FactClearance() string { return l.pick("Clearance", "Açıklık") }

// FactEndsAt labels where the motion ends.
func (l Lang) FactEndsAt() string { return l.pick("Ends at", "Bittiği yer") }

// FactGrip labels what the gripper does.
func (l Lang) FactGrip() string { return l.pick("Grip", "Kavrama") }

// Fact returns the label of a fact in the language, which label is in English; one
// that isn't known stays as it is. That of a routine's step may have its number in
// front, as in "2. Moves".
func Fact(l Lang, label string) string {
	if n, rest, ok := strings.Cut(label, ". "); ok && isNumber(n) {
		return n + ". " + Fact(l, rest)
	}
	if n, ok := strings.CutPrefix(label, "Step "); ok && isNumber(n) {
		return l.FactStep(n)
	}
	for _, f := range [...]func(Lang) string{
		Lang.FactMoves, Lang.FactRehearsed, Lang.FactTopSpeed, Lang.FactTopEffort,
		Lang.FactClearance, Lang.FactEndsAt, Lang.FactGrip,
		Lang.FactPermits, Lang.FactGrantedBefore, Lang.FactReasonGiven, Lang.FactHolds, Lang.FactRoutine, Lang.FactFired,
	} {
		if f(English) == label {
			return f(l)
		}
	}
	return label
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
