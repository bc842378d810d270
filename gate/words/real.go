package words

// ReadyReal is the first line of a bridge with a real robot.
func (l Lang) ReadyReal(robot, driver, port, session, dir string) string {
	return l.pick("REAL robot %s on %s %s; session %s; data in %s", "GERÇEK robot %s, %s %s; oturum %s; veriler: %s", robot, driver, port, session, dir)
}

// OptedIn is the title over what an opt-in is to.
func (l Lang) OptedIn(session, until string) string {
	return l.pick("⚠️  Session %s may move a REAL robot until %s; each motion is still asked by itself",
		"⚠️  %s oturumu %s saatine kadar GERÇEK bir robotu hareket ettirebilir; her hareket yine ayrıca sorulur", session, until)
}

// OptInHint says how an opt-in ends.
func (l Lang) OptInHint(session string) string {
	return l.pick("'tau robot session revoke %s' ends that at once; stop and estop act at any time",
		"'tau robot session revoke %s' bunu hemen bitirir; stop ve estop her zaman etki eder", session)
}

// OptInRobot labels the robot's name.
func (l Lang) OptInRobot() string { return l.pick("Robot", "Robotun adı") }

// OptInDriver labels the driver.
func (l Lang) OptInDriver() string { return l.pick("Driver", "Sürücü") }

// OptInPort labels the device.
func (l Lang) OptInPort() string { return l.pick("Port", "Bağlantı noktası") }

// OptInCalibrated labels the calibration: day, file and hash.
func (l Lang) OptInCalibrated() string { return l.pick("Calibrated", "Kalibrasyon") }

// OptInStale says that the file wants a newer one.
func (l Lang) OptInStale() string {
	return l.pick("older than its file allows: calibrate again", "dosyasının izin verdiğinden eski: yeniden kalibre edin")
}

// OptInLimits labels the limits of a joint.
func (l Lang) OptInLimits() string { return l.pick("Limits", "Sınırlar") }

// OptInOutput labels an output beside the joints.
func (l Lang) OptInOutput() string { return l.pick("Output", "Çıkış") }

// OptInChannel stands before a channel's number.
func (l Lang) OptInChannel() string { return l.pick("channel", "kanal") }

// OptInBusID stands before the number of a servo on a bus.
func (l Lang) OptInBusID() string { return l.pick("bus ID", "veri yolu kimliği") }

// OptInPin stands before the number of a board's pin.
func (l Lang) OptInPin() string { return l.pick("pin", "bacak") }

// OptInOnChip names the chip that a channel is of.
func (l Lang) OptInOnChip(name string) string { return l.pick("of chip %s", "%s yongasında", name) }

// OptInTorque says how much of a servo's torque it may give.
func (l Lang) OptInTorque(percent string) string {
	return l.pick("torque up to %s %%", "tork en çok %% %s", percent)
}

// OptInEnds says at which temperature or current a servo's motion ends.
func (l Lang) OptInEnds(at string) string { return l.pick("ends at %s", "%s değerinde durur", at) }

// OptInChip labels a PWM chip.
func (l Lang) OptInChip() string { return l.pick("Chip", "Yonga") }

// OptInAdaptor labels what a board's or a computer's pins are reached by.
func (l Lang) OptInAdaptor() string { return l.pick("Adaptor", "Bağdaştırıcı") }

// OptInSupply labels the voltage within which the servos may move.
func (l Lang) OptInSupply() string { return l.pick("Supply", "Besleme") }

// OptInAbsent labels what the description has and this robot has not.
func (l Lang) OptInAbsent() string { return l.pick("Not on this robot", "Bu robotta yok") }

// OptInIfItDies labels what happens to hardware without a brake of its own when the
// program that moves it is gone.
func (l Lang) OptInIfItDies() string { return l.pick("If this program dies", "Bu program ölürse") }

// OptInGoesOn says that.
func (l Lang) OptInGoesOn() string {
	return l.pick("each servo goes to the last place it was sent to, and stays there with power",
		"her servo en son gönderildiği yere gider ve orada güçle kalır")
}

// OptInStopsItself says the same of servos with a watchdog of their own, which wait that
// many seconds.
func (l Lang) OptInStopsItself(seconds string) string {
	return l.pick("each servo goes to the last place it was sent to; after %s s without a word it stops by itself where it is, and stays there with power",
		"her servo en son gönderildiği yere gider; %s s haber almazsa olduğu yerde kendiliğinden durur ve orada güçle kalır", seconds)
}

// OptInAssumed says which limits nothing gave.
func (l Lang) OptInAssumed(which string) string {
	return l.pick("%s assumed", "%s varsayıldı", which)
}

// OptInOpenLoop says of a joint that nothing measures it.
func (l Lang) OptInOpenLoop() string {
	return l.pick("not measured (open loop)", "ölçülmüyor (açık çevrim)")
}

// OptInEStop labels what an e-stop does to the power.
func (l Lang) OptInEStop() string { return l.pick("An e-stop", "Acil durdurma") }

// OptInLost labels what a lost link does to the power.
func (l Lang) OptInLost() string { return l.pick("A lost link", "Bağlantı kopması") }

// OptInPowerGoes says that the joints lose power once at rest.
func (l Lang) OptInPowerGoes() string {
	return l.pick("stops, then takes the power off", "durdurur, sonra gücü keser")
}

// OptInPowerStays says that the joints keep it.
func (l Lang) OptInPowerStays() string {
	return l.pick("stops; the power stays on", "durdurur; güç açık kalır")
}

// OptInConfiguration labels the hash over all that says how the robot is moved.
func (l Lang) OptInConfiguration() string { return l.pick("Configuration", "Yapılandırma") }

// CardOptIn labels who opted the session in, and to what.
func (l Lang) CardOptIn() string { return l.pick("Opted in by", "İzni veren") }
