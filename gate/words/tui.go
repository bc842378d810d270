package words

// What the screen of an approver says (--approve-from tui).

// TUINothing stands where no card is open.
func (l Lang) TUINothing() string {
	return l.pick("Nothing waits for an answer.", "Yanıt bekleyen bir istek yok.")
}

// TUIWaits counts the requests behind the open one.
func (l Lang) TUIWaits(n int) string {
	return l.pick("%d more wait for their turn", "%d istek daha sırasını bekliyor", n)
}

// TUIOpen marks the request that is being asked.
func (l Lang) TUIOpen() string { return l.pick("asked now", "şimdi soruluyor") }

// TUIWaiting marks one that waits for its turn.
func (l Lang) TUIWaiting() string { return l.pick("waits", "bekliyor") }

// TUIExpiresIn says when the request expires; in is a time such as 9:58.
func (l Lang) TUIExpiresIn(in string) string {
	return l.pick("expires in %s", "kalan süre %s", in)
}

// TUIExpired says that it has.
func (l Lang) TUIExpired() string { return l.pick("expired", "süresi doldu") }

// TUIRows says which rows of a card are shown.
func (l Lang) TUIRows(from, to, of int) string {
	return l.pick("rows %d-%d of %d", "satır %d-%d / %d", from, to, of)
}

// TUIMore says that there is more of the card below.
func (l Lang) TUIMore() string {
	return l.pick("more below: PgDn", "aşağıda devamı var: PgDn")
}

// TUIEnd marks the end of a card.
func (l Lang) TUIEnd() string { return l.pick("end of the card", "kartın sonu") }

// TUIArming is shown until a yes counts.
func (l Lang) TUIArming() string { return l.pick("(arming…)", "(hazırlanıyor…)") }

// TUIScroll is shown instead while the card's end hasn't been shown.
func (l Lang) TUIScroll() string {
	return l.pick("(read to the end to approve: PgDn)", "(onaylamak için sonuna kadar okuyun: PgDn)")
}

// TUIReady is shown once a yes counts.
func (l Lang) TUIReady() string { return l.pick("(y or e approves)", "(e veya y onaylar)") }

// TUIReadyEdit is shown instead where less can be asked for.
func (l Lang) TUIReadyEdit() string {
	return l.pick("(y/e approve, - half speed, < half way)", "(e/y onay, - yarı hız, < yarı yol)")
}

// TUIReject is the button that rejects.
func (l Lang) TUIReject() string { return l.pick("Reject", "Reddet") }

// TUIApprove is the button that approves.
func (l Lang) TUIApprove() string { return l.pick("Approve", "Onayla") }

// TUINotCounted says why a yes wasn't one.
func (l Lang) TUINotCounted(why string) string {
	return l.pick("not counted: %s", "sayılmadı: %s", why)
}

// TUITooEarly is such a reason.
func (l Lang) TUITooEarly() string {
	return l.pick("too soon after the card's end was shown", "kartın sonu gösterildikten hemen sonra")
}

// TUINotEnd is such a reason.
func (l Lang) TUINotEnd() string {
	return l.pick("the card's end hasn't been shown", "kartın sonu gösterilmedi")
}

// TUITogether is such a reason.
func (l Lang) TUITogether() string {
	return l.pick("it came together with other keys", "başka tuşlarla birlikte geldi")
}

// TUIAgain is such a reason; seconds is how long it must not have come before.
func (l Lang) TUIAgain(seconds float64) string {
	return l.pick("a yes less than %.0f s before: let go, wait", "önceki onay tuşundan %.0f sn geçmedi: bırakın, bekleyin", seconds)
}

// TUIPasted is such a reason.
func (l Lang) TUIPasted() string { return l.pick("pasted", "yapıştırıldı") }

// TUIEnterNever says that Enter doesn't approve.
func (l Lang) TUIEnterNever() string {
	return l.pick("Enter never approves: y, e, or space on Approve", "Enter onaylamaz: e, y veya Onayla üzerinde boşluk")
}

// TUIResized is such a reason.
func (l Lang) TUIResized() string {
	return l.pick("the screen has another size now", "ekranın boyutu değişti")
}

// TUIClosed says that a question was taken away, and why.
func (l Lang) TUIClosed(tool, why string) string {
	return l.pick("%s: the question is closed, nothing was approved: %s", "%s: soru kapandı, hiçbir şey onaylanmadı: %s", tool, why)
}

// TUIWithdrawn is why.
func (l Lang) TUIWithdrawn() string { return l.pick("withdrawn", "geri çekildi") }

// TUINobody is why.
func (l Lang) TUINobody() string {
	return l.pick("nobody answered in time", "zamanında yanıt verilmedi")
}

// TUIEvents heads the events.
func (l Lang) TUIEvents() string { return l.pick("Events (UTC)", "Olaylar (UTC)") }

// TUINoEvents stands where there are none.
func (l Lang) TUINoEvents() string { return l.pick("none yet", "henüz yok") }

// TUIKeys lists the keys, the stops first.
func (l Lang) TUIKeys() string {
	return l.pick("! E-STOP  s stop  y/e approve  n/h/Esc reject  Tab  PgUp/PgDn  v events  q leave",
		"! ACİL DURDURMA  s durdur  e/y onayla  h/n/Esc ret  Tab  PgDn  v olaylar  q çık")
}

// TUIKeysEvents lists the keys while the events fill the screen.
func (l Lang) TUIKeysEvents() string {
	return l.pick("! E-STOP  s stop  PgUp/PgDn  v back  q leave", "! ACİL DURDURMA  s durdur  PgUp/PgDn  v geri  q çık")
}

// TUIStops lists the keys that stop.
func (l Lang) TUIStops() string { return l.pick("! E-STOP  s stop", "! ACİL DURDURMA  s durdur") }

// TUISmall says that the screen is too small for a card.
func (l Lang) TUISmall(w, h int) string {
	return l.pick("too small: a card needs %d × %d; nothing can be approved", "çok küçük: bir kart %d × %d ister; hiçbir şey onaylanamaz", w, h)
}

// TUILeave asks for a second q.
func (l Lang) TUILeave() string {
	return l.pick("q again leaves: the robot stops, nothing is approved",
		"yeniden q: çıkış, robot durur, hiçbir şey onaylanmaz")
}

// TUIStopSent says that a stop was sent.
func (l Lang) TUIStopSent() string { return l.pick("■ stop sent", "■ durdurma gönderildi") }

// TUIEStopSent says that an e-stop was sent.
func (l Lang) TUIEStopSent() string {
	return l.pick("■ E-STOP sent", "■ ACİL DURDURMA gönderildi")
}

// TUIStopFull says that a stop wasn't sent because n others are waited for.
func (l Lang) TUIStopFull(n int) string {
	return l.pick("■ stop not sent again: %d are under way", "■ durdurma yeniden gönderilmedi: %d tanesi sürüyor", n)
}

// TUIEStopFull says that an e-stop wasn't sent because n others are waited for.
func (l Lang) TUIEStopFull(n int) string {
	return l.pick("■ E-STOP not sent again: %d are under way", "■ ACİL DURDURMA yeniden gönderilmedi: %d tanesi sürüyor", n)
}

// TUIStopped says what is known of a stop.
func (l Lang) TUIStopped(backend, commanded, acknowledged, stationary string) string {
	return l.pick("■ %s: commanded %s, acknowledged %s, stationary %s", "■ %s: komut verildi %s, onaylandı %s, hareketsiz %s",
		backend, commanded, acknowledged, stationary)
}

// TUIContinued says that the process goes on.
func (l Lang) TUIContinued() string { return l.pick("running again", "yeniden çalışıyor") }

// TUISimulated says that nothing real moves.
func (l Lang) TUISimulated() string { return l.pick("simulated", "benzetim") }

// TUIReal says that something does.
func (l Lang) TUIReal() string { return l.pick("REAL", "GERÇEK") }

// TUIMoving says that the robot moves.
func (l Lang) TUIMoving() string { return l.pick("MOVING", "HAREKETLİ") }

// TUIAtRest says that it doesn't.
func (l Lang) TUIAtRest() string { return l.pick("at rest", "duruyor") }

// TUIStateUnknown says that it can't be known.
func (l Lang) TUIStateUnknown() string { return l.pick("state unknown", "durumu bilinmiyor") }

// TUIEStopped says that an e-stop is latched.
func (l Lang) TUIEStopped() string { return l.pick("E-STOP LATCHED", "ACİL DURDURMA ETKİN") }

// TUIMotion says where a motion is, in s.
func (l Lang) TUIMotion(tool string, t, of float64) string {
	return l.pick("%s %.1f of %.1f s", "%s %.1f / %.1f sn", tool, t, of)
}

// TUIDecided says how a question ended.
func (l Lang) TUIDecided(tool, decision, by string) string {
	return l.pick("%s: %s by %s", "%s: %s, karar veren %s", tool, decision, by)
}

// The decisions of TUIDecided.

// TUIApproved is one.
func (l Lang) TUIApproved() string { return l.pick("approved", "onaylandı") }

// TUIRejected is one.
func (l Lang) TUIRejected() string { return l.pick("rejected", "reddedildi") }

// TUITimedOut is one.
func (l Lang) TUITimedOut() string {
	return l.pick("not answered in time", "zamanında yanıtlanmadı")
}

// TUIEnded is one.
func (l Lang) TUIEnded() string { return l.pick("closed", "kapandı") }

// TUITimes counts equal calls.
func (l Lang) TUITimes(what string, n int) string {
	return l.pick("%s, %d times", "%s, %d kez", what, n)
}

// TUIBefore counts the events before those that are shown.
func (l Lang) TUIBefore(n int) string {
	return l.pick("%d before these", "bunlardan önce %d", n)
}

// TUIJoints heads the drawing of the joints.
func (l Lang) TUIJoints(seconds float64) string {
	return l.pick("Rehearsed joints over %.2f s:", "Provadaki eklemler, %.2f sn:", seconds)
}

// TUIJoint says what a joint does; peak is a part of its limit, "" where there is none.
func (l Lang) TUIJoint(name string, from, to float64, peak string) string {
	return l.pick("%s %.3f to %.3f%s", "%s %.3f - %.3f%s", name, from, to, peak)
}

// TUIPeak is a joint's top speed as a part of its limit.
func (l Lang) TUIPeak(percent float64) string {
	return l.pick(", speed %.0f %% of limit", ", hız sınırın %% %.0f'i", percent)
}

// TUIPath says what the drawing of the tool's path shows, in m along two axes, and
// whether it is seen from above.
func (l Lang) TUIPath(above bool, across string, left, right float64, up string, low, high float64) string {
	if above {
		return l.pick("Tool from above, S to E: %s %.2f to %.2f m, %s %.2f to %.2f m",
			"Üstten uç, S'den E'ye: %s %.2f - %.2f m, %s %.2f - %.2f m", across, left, right, up, low, high)
	}
	return l.pick("Tool from the side, S to E: %s %.2f to %.2f m, %s %.2f to %.2f m",
		"Yandan uç, S'den E'ye: %s %.2f - %.2f m, %s %.2f - %.2f m", across, left, right, up, low, high)
}
