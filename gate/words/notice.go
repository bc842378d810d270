package words

// What a person is told about a question beside its card.

// NoticeCallerGone says that nobody waits for the answer any more (G49); why may be
// empty.
func (l Lang) NoticeCallerGone(why string) string {
	if why == "" {
		return l.pick("Whoever asked this has gone; the question stays open until it expires",
			"Bunu soran artık yok; soru süresi dolana kadar açık kalır")
	}
	return l.pick("Whoever asked this has gone (%s); the question stays open until it expires",
		"Bunu soran artık yok (%s); soru süresi dolana kadar açık kalır", why)
}

// NoticeCallerBack says that somebody waits for it again.
func (l Lang) NoticeCallerBack() string {
	return l.pick("Whoever asked this is there again", "Bunu soran yeniden burada")
}

// NoticeCantEdit says why what was asked for instead can't be done (G46).
func (l Lang) NoticeCantEdit(why string) string {
	return l.pick("It can't be changed like that (%s); it is asked again as it was",
		"Bu şekilde değiştirilemiyor (%s); olduğu gibi yeniden soruluyor", why)
}

// EditHint says what can be typed instead of yes and no.
func (l Lang) EditHint() string {
	return l.pick("s: half speed, s 0.2: a fifth, l: half the way",
		"s: yarı hız, s 0.2: beşte bir, l: yolun yarısı")
}
