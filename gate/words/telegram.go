package words

import "time"

// What is said over Telegram. Arguments that come from elsewhere are escaped already.

// TelegramApprove is on the button that approves.
func (l Lang) TelegramApprove() string { return l.pick("✅ Approve", "✅ Onayla") }

// TelegramReject is on the button that refuses.
func (l Lang) TelegramReject() string { return l.pick("❌ Reject", "❌ Reddet") }

// TelegramTooLong is sent in the place of a card that doesn't fit one message.
func (l Lang) TelegramTooLong(tool, call string, units, limit int) string {
	return l.pick(
		"⚠️ A request can't be answered here: its card has %[3]d characters and one message holds %[4]d. Tool: %[1]s. Call: %[2]s. Nothing was cut, and nothing was approved.",
		"⚠️ Bir istek burada yanıtlanamaz: kartı %[3]d karakter, bir ileti ise %[4]d karakter alır. Araç: %[1]s. Çağrı: %[2]s. Hiçbir şey kısaltılmadı ve hiçbir şey onaylanmadı.",
		tool, call, units, limit)
}

// TelegramClosedApproved stands under a card on which somebody pressed Approve.
func (l Lang) TelegramClosedApproved(who, at string) string {
	return l.pick("✅ %s pressed Approve at %s.", "✅ %s, %s saatinde Onayla'ya bastı.", who, at)
}

// TelegramClosedRejected stands under a card on which somebody pressed Reject.
func (l Lang) TelegramClosedRejected(who, at string) string {
	return l.pick("❌ %s pressed Reject at %s.", "❌ %s, %s saatinde Reddet'e bastı.", who, at)
}

// TelegramClosedTimeout stands under a card that nobody answered in time.
func (l Lang) TelegramClosedTimeout() string {
	return l.pick("⌛ Closed: nobody answered here in time. Nothing was approved here.", "⌛ Kapandı: burada kimse zamanında yanıt vermedi. Burada hiçbir şey onaylanmadı.")
}

// TelegramClosedElsewhere stands under a card that was answered on another channel.
func (l Lang) TelegramClosedElsewhere() string {
	return l.pick("Closed: it was answered elsewhere.", "Kapandı: başka bir yerde yanıtlandı.")
}

// TelegramClosedWithdrawn stands under a card whose request was taken back.
func (l Lang) TelegramClosedWithdrawn() string {
	return l.pick("Closed: the request was withdrawn. Nothing was approved.", "Kapandı: istek geri çekildi. Hiçbir şey onaylanmadı.")
}

// TelegramClosedStop stands under a card that a stop has ended.
func (l Lang) TelegramClosedStop() string {
	return l.pick("🛑 Closed by a stop. Nothing was approved.", "🛑 Durdurma ile kapandı. Hiçbir şey onaylanmadı.")
}

// TelegramClosedEnd stands under a card whose bridge has ended.
func (l Lang) TelegramClosedEnd() string {
	return l.pick("Closed: the bridge no longer asks here. Nothing was approved.", "Kapandı: köprü artık burada sormuyor. Hiçbir şey onaylanmadı.")
}

// TelegramClosedFailed stands under a card whose question ended in a fault.
func (l Lang) TelegramClosedFailed() string {
	return l.pick("Closed: the bridge failed. Nothing was approved.", "Kapandı: köprüde hata oldu. Hiçbir şey onaylanmadı.")
}

// TelegramPressTaken answers the press that counted.
func (l Lang) TelegramPressTaken() string {
	return l.pick("Your answer was taken.", "Yanıtınız alındı.")
}

// TelegramPressEarly answers an Approve that came before the card could be read.
func (l Lang) TelegramPressEarly() string {
	return l.pick("Too early, nothing was approved. Read the card, then press again.", "Çok erken, hiçbir şey onaylanmadı. Kartı okuyun, sonra yeniden basın.")
}

// TelegramPressOld answers a press on a card that isn't asked any more.
func (l Lang) TelegramPressOld() string {
	return l.pick("This question is closed; your press changes nothing.", "Bu soru kapandı; basmanız bir şeyi değiştirmez.")
}

// TelegramPressForeign answers a press by somebody who isn't allowed to.
func (l Lang) TelegramPressForeign() string {
	return l.pick("You may not answer this.", "Bunu yanıtlama yetkiniz yok.")
}

// TelegramPressWrong answers a press that isn't on the message that was sent.
func (l Lang) TelegramPressWrong() string {
	return l.pick("This is not the card that was sent; nothing was approved.", "Bu, gönderilen kart değil; hiçbir şey onaylanmadı.")
}

// TelegramPressStopped answers a press on a card that a stop from here has ended.
func (l Lang) TelegramPressStopped() string {
	return l.pick("Everything was stopped; your press changes nothing.", "Her şey durduruldu; basmanız bir şeyi değiştirmez.")
}

// TelegramStopping says that a stop was commanded.
func (l Lang) TelegramStopping(kind string) string {
	return l.pick("🛑 %s: commanded.", "🛑 %s: komut verildi.", kind)
}

// TelegramStopped says what is known of a backend's stop.
func (l Lang) TelegramStopped(backend, commanded, acknowledged, stationary string) string {
	return l.pick("%s: commanded %s, acknowledged %s, stationary %s", "%s: komut %s, onay %s, duruyor %s", backend, commanded, acknowledged, stationary)
}

// TelegramStopTook is how long it took until the verdicts were in.
func (l Lang) TelegramStopTook(d time.Duration) string {
	return l.pick("Verdicts after %s.", "Sonuçlar %s sonra geldi.", d.Round(time.Millisecond))
}

// TelegramCommands lists what can be sent.
func (l Lang) TelegramCommands() string {
	return l.pick("/stop stops everything, controlled; /estop stops and latches; /status says how things stand. Approvals are the buttons under a card.",
		"/stop her şeyi denetimli durdurur; /estop durdurur ve kilitler; /status durumu söyler. Onaylar kartın altındaki düğmelerdedir.")
}

// TelegramStatus says how things stand.
func (l Lang) TelegramStatus(robot, session string, moving bool, open int) string {
	return l.pick("Robot %[1]s, session %[2]s. Moving: %[3]s. Open requests: %[4]d.", "Robot %[1]s, oturum %[2]s. Hareket: %[3]s. Açık istek: %[4]d.",
		robot, session, l.telegramYesNo(moving), open)
}

// TelegramAsking says that questions are asked over Telegram.
func (l Lang) TelegramAsking(chats int) string {
	return l.pick("approvals are asked over Telegram, in %d chat(s)", "onaylar Telegram üzerinden, %d sohbette soruluyor", chats)
}

func (l Lang) telegramYesNo(yes bool) string {
	if yes {
		return l.pick("yes", "evet")
	}
	return l.pick("no", "hayır")
}
