package words

// What the bridge tells the person at its prompt, and what the prompt itself says.

// YesNo is yes or no.
func (l Lang) YesNo(yes bool) string {
	if yes {
		return l.pick("yes", "evet")
	}
	return l.pick("no", "hayır")
}

// Verdict is what is known of a stop: each of the three is yes, no or unknown.
func (l Lang) Verdict(commanded, acknowledged, stationary string) string {
	return l.pick("commanded %s, acknowledged %s, stationary %s", "komut %s, alındı %s, durdu %s",
		l.answer(commanded), l.answer(acknowledged), l.answer(stationary))
}

// answer writes a verdict's word.
func (l Lang) answer(s string) string {
	switch s {
	case "yes", "no":
		return l.YesNo(s == "yes")
	case "unknown":
		return l.pick("unknown", "bilinmiyor")
	}
	return s
}

// After is how long something took, s.
func (l Lang) After(seconds float64) string { return l.pick("after %.3f s", "%.3f s sonra", seconds) }

// UnknownOutcome stands before what is known of a call whose outcome isn't.
func (l Lang) UnknownOutcome() string { return l.pick("outcome unknown", "sonuç bilinmiyor") }

// MoreBytes says how much of a text is left out.
func (l Lang) MoreBytes(n int) string { return l.pick("(%d bytes more)", "(%d bayt daha)", n) }

// MoreLines says how many lines are left out.
func (l Lang) MoreLines(n int) string { return l.pick("(%d more lines)", "(%d satır daha)", n) }

// State is the first line of what is measured; robot and mode come before it.
func (l Lang) State(moving, torque, estopped bool) string {
	return l.pick("moving %s, torque %s, e-stop latched %s", "hareketli %s, tork %s, acil durdurma kilitli %s",
		l.YesNo(moving), l.YesNo(torque), l.YesNo(estopped))
}

// Running tells of a motion that begins, and how long it is planned to be, s.
func (l Lang) Running(seconds float64) string {
	return l.pick("running, %.1f s", "çalışıyor, %.1f s", seconds)
}

// Progress tells where a motion is, s of s.
func (l Lang) Progress(at, of float64) string {
	return l.pick("%.1f of %.1f s", "%.1f / %.1f s", at, of)
}

// Reason labels the reason of a stop.
func (l Lang) Reason(text string) string { return l.pick("Reason: %s", "Neden: %s", text) }

// NotAYes is why an answer refused: it wasn't one of the words that approve.
func (l Lang) NotAYes() string {
	return l.pick("the answer wasn't y, yes, e or evet", "yanıt y, yes, e ya da evet değildi")
}

// NotAskedAgain follows why a person's no was one.
func (l Lang) NotAskedAgain(why string) string {
	return l.pick("%s; the same call isn't asked again for a minute", "%s; aynı çağrı bir dakika boyunca yeniden sorulmaz", why)
}

// Ready is the first line of a bridge that is ready.
func (l Lang) Ready(robot, session, dir string) string {
	return l.pick("robot %s, simulated; session %s; data in %s", "robot %s, simülasyon; oturum %s; veriler: %s", robot, session, dir)
}

// MCPAt says where agents connect.
func (l Lang) MCPAt(url, tokenFile string) string {
	return l.pick("MCP at %s, bearer token in %s", "MCP adresi %s, erişim anahtarı %s dosyasında", url, tokenFile)
}

// HelpHint says how to go on at a prompt.
func (l Lang) HelpHint() string {
	return l.pick("help lists what can be typed; stop and estop act at once", "help yazılabilecekleri listeler; stop ve estop hemen etki eder")
}

// NoTerminal is said where standard input isn't a terminal.
func (l Lang) NoTerminal() string {
	return l.pick("standard input is no terminal: lines are read from it, and nobody can approve here",
		"standart girdi bir terminal değil: satırlar oradan okunur ve burada kimse onay veremez")
}

// LeftUnknown tells of a call that ran when the bridge ended.
func (l Lang) LeftUnknown(tool, call string) string {
	return l.pick("%s (call %s) ran when the bridge ended: what it did can't be known, and it is not run again. Look at the robot before you go on.",
		"%s (çağrı %s) köprü kapandığında çalışıyordu: ne yaptığı bilinemez ve yeniden çalıştırılmaz. Devam etmeden önce robota bakın.", tool, call)
}

// LeftOpen tells how many requests wait from before.
func (l Lang) LeftOpen(n int) string {
	if n == 1 && l == English {
		return "1 request waits for an answer from before"
	}
	return l.pick("%d requests wait for an answer from before", "önceden kalan %d istek yanıt bekliyor", n)
}

// LeftAtOthers tells how many requests wait at other bridges.
func (l Lang) LeftAtOthers(n int) string {
	return l.pick("%d requests wait at other bridges of the database; 'tau robot approvals list' lists them",
		"%d istek veritabanının başka köprülerinde bekliyor; 'tau robot approvals list' listeler", n)
}

// LeftElsewhere tells of a request of a session that isn't open here.
func (l Lang) LeftElsewhere(tool, call, session string) string {
	return l.pick("%s (call %s) is one of session %s, which isn't open here: it is left to wait there",
		"%s (çağrı %s) burada açık olmayan %s oturumunun: orada beklemeye bırakıldı", tool, call, session)
}

// NotAtRest stands before the verdict of a robot that isn't known to stand.
func (l Lang) NotAtRest(verdict string) string {
	return l.pick("not known to be at rest: %s", "durduğu bilinmiyor: %s", verdict)
}

// DidYouMean offers a word for one that isn't known.
func (l Lang) DidYouMean(word string) string {
	return l.pick("(did you mean %s?)", "(%s mi demek istediniz?)", word)
}

// SeeHelp says where to find what can be typed.
func (l Lang) SeeHelp() string {
	return l.pick("help lists what can be typed", "help yazılabilecekleri listeler")
}

// NoSuchTool says that there is no tool of a name.
func (l Lang) NoSuchTool(name string) string {
	return l.pick("there is no tool %s", "%s adında bir araç yok", name)
}

// Required marks an argument that has to be given.
func (l Lang) Required() string { return l.pick("(required)", "(zorunlu)") }

// TierOf labels a tool's tier.
func (l Lang) TierOf(tier string) string { return l.pick("tier %s", "seviye %s", tier) }

// ShellHelp is what help says at the prompt.
func (l Lang) ShellHelp() string {
	return l.pick(`TOOL                      call a tool without arguments: home
TOOL key=value …          move_joints shoulder_pan=0.5 speed_scale=0.3
TOOL value …              jog shoulder_pan 0.1; move_pose 0.2 0 0.15
TOOL {json}               move_pose {"position":[0.2,0,0.15]}
stop, estop               stop at once, whatever runs; estop stays latched
state                     what is measured now
tools                     the catalog: tier, name, effect
help TOOL                 a tool's arguments
quit                      end; a motion under way is brought to a controlled stop
Angles are in radians, lengths in metres, times in seconds. Tab completes names.
Ctrl-C stops what moves or waits; at rest, it ends. What only reads is answered
at once, also while a motion runs; what moves waits for it.`,
		`TOOL                      bir aracı argümansız çağırır: home
TOOL key=value …          move_joints shoulder_pan=0.5 speed_scale=0.3
TOOL value …              jog shoulder_pan 0.1; move_pose 0.2 0 0.15
TOOL {json}               move_pose {"position":[0.2,0,0.15]}
stop, estop               ne çalışırsa çalışsın hemen durdurur; estop kilitli kalır
state                     şu anda ölçülenler
tools                     katalog: seviye, ad, etki
help TOOL                 bir aracın argümanları
quit                      bitirir; süren bir hareket kontrollü olarak durdurulur
Açılar radyan, uzunluklar metre, süreler saniyedir. Sekme tuşu adları tamamlar.
Ctrl-C hareket edeni ya da bekleyeni durdurur; dururken bitirir. Yalnızca okuyanlar
hareket sırasında da hemen yanıtlanır; hareket ettirenler onu bekler.`)
}
