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
	lamps := can("set anything beside its joints", func(f *Fixture) bool { return len(beside(f.Backend.Info())) > 0 })
	base := can("drive", func(f *Fixture) bool { return f.Model.Base != nil })
	switches := can("find a switch", func(f *Fixture) bool { return len(f.Model.References) > 0 })
	return []namedCheck{
		{name: "Info", run: info},
		{name: "StateIsAFreshMeasurementOfTheCallers", run: freshState},
		{name: "MovesWhereItIsToldAndSaysWhatItMeasured", run: moves},
		{name: "Case47_RadiansAndMetresAndTheirSpeeds", run: radians},
		{name: "Case45_RefusesNonsenseAndNothingMoves", run: refusesNonsense},
		{name: "RefusesAnotherStart", run: refusesStart},
		{name: "RefusesAnOldEpoch", run: refusesEpoch},
		{name: "RefusesUnknownCommands", run: refusesCommands},
		{name: "Case43_OneMotionAtATime", run: busy},
		{name: "StopInMidMove", run: stopMidMove},
		{name: "StopTwice", run: stopTwice},
		{name: "StopWithoutWaiting", run: stopWithoutWaiting},
		{name: "Case40_CancelIsAControlledStop", run: cancelStops},
		{name: "CancelledBeforeItBegan", run: cancelledBefore},
		{name: "Case38_StopDuringStartUpWins", run: stopDuringStart},
		{name: "Case38_StopAgainstStart", run: stopRace},
		{name: "Case41_EStopLatchesAndResetStartsNothing", run: estop},
		{name: "Case37_StopOfAClosedBackendIsNotCommanded", run: closedStop},
		{name: "CloseUnblocks", run: closeUnblocks},
		{name: "Case48_AStuckJointsResultIsNotTheCommand", needs: block, run: stuck},
		{name: "Case44_AfterAFaultTheMeasuredPositionIsHeld", needs: block, run: holdsAfterFault},
		{name: "AFaultLatchesItsFirstReason", needs: block, run: latches},
		{name: "StaleStateIsAnError", needs: freeze, run: stale},
		{name: "StaleStateEndsAMotion", needs: freeze, run: staleMidMove},
		{name: "UnpluggedIsDisconnected", needs: unplug, run: unplugged},
		{name: "TorqueOffMustBeSwitchedOnAgain", needs: torque, run: torqueOff},
		{name: "WhatItDoesNotHaveIsNotSupported", run: cannot},
		{name: "SetsActuators", needs: lamps, run: setsActuators},
		{name: "StopsSwitchActuatorsOff", needs: lamps, run: stopsSwitchOff},
		{name: "DrivesArcs", needs: base, run: drivesArcs},
		{name: "StopsOnItsArc", needs: base, run: stopsOnArc},
		{name: "RefusesWhatItsWheelsDoNotMake", needs: base, run: refusesSlip},
		{name: "MovesOnlyToItsSwitchUntilItIsFound", needs: switches, run: references, unreferenced: true},
		{name: "ASearchIsBounded", needs: switches, run: boundedSearch, unreferenced: true},
	}
}
