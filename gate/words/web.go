package words

// What a person reads of the approval service's refusals. The reasons behind them,
// which programs read, are fixed English.

// WebKeyUnknown refuses a device that isn't enrolled.
func (l Lang) WebKeyUnknown() string {
	return l.pick("This device isn't enrolled. Run 'tau robot approvals enrol' at the bridge's machine.", "Bu aygıt kayıtlı değil. Köprünün makinesinde 'tau robot approvals enrol' çalıştırın.")
}

// WebKeyRevoked refuses a device whose key was revoked.
func (l Lang) WebKeyRevoked() string {
	return l.pick("This device's key was revoked; it has to be enrolled anew, with a new key.", "Bu aygıtın anahtarı iptal edildi; yeni bir anahtarla yeniden kaydedilmeli.")
}

// WebReplayed refuses what has been used already.
func (l Lang) WebReplayed() string {
	return l.pick("This has been used already; it counts once.", "Bu zaten kullanıldı; bir kez geçerlidir.")
}

// WebOtherCard refuses a decision that was made on another card.
func (l Lang) WebOtherCard() string {
	return l.pick("This decision was made on another card than the one that is asked now. Look at it again.", "Bu karar, şimdi sorulandan başka bir kart için verildi. Yeniden bakın.")
}

// WebLate refuses what has expired.
func (l Lang) WebLate() string {
	return l.pick("It came too late. Look at the request again.", "Çok geç geldi. İsteğe yeniden bakın.")
}

// WebClosed says that a request isn't asked any more.
func (l Lang) WebClosed() string {
	return l.pick("This request isn't open: it was answered, withdrawn or stopped, or waits for its turn.", "Bu istek açık değil: yanıtlandı, geri çekildi, durduruldu ya da sırasını bekliyor.")
}

// WebNoPairing refuses an enrolment for which no code is good.
func (l Lang) WebNoPairing() string {
	return l.pick("No pairing code is good now. Run 'tau robot approvals enrol' at the bridge's machine for a new one.", "Şu anda geçerli bir eşleştirme kodu yok. Yenisi için köprünün makinesinde 'tau robot approvals enrol' çalıştırın.")
}

// WebWrongCode refuses a code that isn't the one.
func (l Lang) WebWrongCode() string {
	return l.pick("The pairing code is wrong.", "Eşleştirme kodu yanlış.")
}

// WebNotEnrolled says that the operator didn't confirm a device.
func (l Lang) WebNotEnrolled() string {
	return l.pick("The device was not confirmed at the bridge's machine.", "Aygıt, köprünün makinesinde onaylanmadı.")
}

// WebUnsigned refuses a request without a signature that counts.
func (l Lang) WebUnsigned() string {
	return l.pick("The request isn't signed by an enrolled device.", "İstek, kayıtlı bir aygıtça imzalanmamış.")
}

// WebClock refuses a request of a device whose clock is off.
func (l Lang) WebClock() string {
	return l.pick("The device's clock is more than a minute off.", "Aygıtın saati bir dakikadan fazla sapıyor.")
}

// WebForeign refuses a request that isn't meant for this service.
func (l Lang) WebForeign() string {
	return l.pick("The request comes from another origin, or is for another host.", "İstek başka bir kaynaktan geliyor ya da başka bir sunucu için.")
}

// WebTooMany refuses what comes too often.
func (l Lang) WebTooMany() string {
	return l.pick("Too many attempts. Wait a moment.", "Çok fazla deneme. Biraz bekleyin.")
}

// WebBusy refuses a request while too many others are answered.
func (l Lang) WebBusy() string {
	return l.pick("Too many requests at once.", "Aynı anda çok fazla istek var.")
}

// WebOwnKeyOnly refuses to revoke another device's key.
func (l Lang) WebOwnKeyOnly() string {
	return l.pick("A device can revoke its own key only; others are revoked at the bridge's machine.", "Bir aygıt yalnızca kendi anahtarını iptal edebilir; ötekiler köprünün makinesinde iptal edilir.")
}

// WebFailed says that the bridge failed.
func (l Lang) WebFailed() string {
	return l.pick("The bridge failed inside; nothing was decided.", "Köprüde iç hata oldu; hiçbir şeye karar verilmedi.")
}

// WebServed says where the approval service is.
func (l Lang) WebServed(url string) string {
	return l.pick("the approval service is at %s", "onay hizmeti şu adreste: %s", url)
}

// WebNobodyEnrolled says that nobody could answer at the approval service yet.
func (l Lang) WebNobodyEnrolled() string {
	return l.pick("no device is enrolled there yet, so nothing can be approved there: 'tau robot approvals enrol'", "orada henüz kayıtlı aygıt yok, bu yüzden orada hiçbir şey onaylanamaz: 'tau robot approvals enrol'")
}
