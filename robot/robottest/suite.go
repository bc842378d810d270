package robottest

func can(what string, have func(*Fixture) bool) func(*Fixture) string {
	return func(f *Fixture) string {
		if have(f) {
			return ""
		}
		return what
	}
}

// checks is the suite. A name with a number proves that case of the public bug
// reports that the project is held to.
func checks() []namedCheck {
	block := can("block a joint", func(f *Fixture) bool { return f.Block != nil })
	freeze := can("freeze measurements", func(f *Fixture) bool { return f.Freeze != nil })
	unplug := can("unplug the robot", func(f *Fixture) bool { return f.Unplug != nil })
	torque := can("switch torque off", func(f *Fixture) bool { return f.TorqueOff })
	return []namedCheck{
		{"Info", nil, info},
		{"StateIsAFreshMeasurementOfTheCallers", nil, freshState},
		{"MovesWhereItIsToldAndSaysWhatItMeasured", nil, moves},
		{"Case47_RadiansAndRadiansASecond", nil, radians},
		{"Case45_RefusesNonsenseAndNothingMoves", nil, refusesNonsense},
		{"RefusesAnotherStart", nil, refusesStart},
		{"RefusesAnOldEpoch", nil, refusesEpoch},
		{"RefusesUnknownCommands", nil, refusesCommands},
		{"Case43_OneMotionAtATime", nil, busy},
		{"StopInMidMove", nil, stopMidMove},
		{"StopTwice", nil, stopTwice},
		{"StopWithoutWaiting", nil, stopWithoutWaiting},
		{"Case40_CancelIsAControlledStop", nil, cancelStops},
		{"CancelledBeforeItBegan", nil, cancelledBefore},
		{"Case38_StopDuringStartUpWins", nil, stopDuringStart},
		{"Case38_StopAgainstStart", nil, stopRace},
		{"Case41_EStopLatchesAndResetStartsNothing", nil, estop},
		{"Case37_StopOfAClosedBackendIsNotCommanded", nil, closedStop},
		{"CloseUnblocks", nil, closeUnblocks},
		{"Case48_AStuckJointsResultIsNotTheCommand", block, stuck},
		{"Case44_AfterAFaultTheMeasuredPositionIsHeld", block, holdsAfterFault},
		{"AFaultLatchesItsFirstReason", block, latches},
		{"StaleStateIsAnError", freeze, stale},
		{"StaleStateEndsAMotion", freeze, staleMidMove},
		{"UnpluggedIsDisconnected", unplug, unplugged},
		{"TorqueOffMustBeSwitchedOnAgain", torque, torqueOff},
	}
}
