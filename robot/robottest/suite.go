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
	freeze := can("freeze measurements", func(f *Fixture) bool { return f.Freeze != nil })
	unplug := can("unplug the robot", func(f *Fixture) bool { return f.Unplug != nil })
	torque := can("switch torque off", func(f *Fixture) bool { return f.TorqueOff })
	lamps := can("set anything beside its joints", func(f *Fixture) bool { return len(beside(f.Backend.Info())) > 0 })
	base := can("drive and measure where it gets", func(f *Fixture) bool { return f.Model.Base != nil && !open(f.Backend.Info()) })
	measured := can("block a joint of a robot that measures it", func(f *Fixture) bool { return f.Block != nil && !open(f.Backend.Info()) })
	disabled := can("start without torque", func(f *Fixture) bool { return f.Disabled })
	openLoop := can("have a joint that nothing measures", func(f *Fixture) bool { return open(f.Backend.Info()) })
	replug := can("unplug the robot and plug it in again", func(f *Fixture) bool { return f.Unplug != nil && f.Replug != nil })
	reboot := can("reset the robot's board", func(f *Fixture) bool { return f.Reboot != nil })
	quiet := can("silence the host and look at the robot", func(f *Fixture) bool { return f.Silence != nil && f.Observe != nil })
	intrude := can("speak as a second master", func(f *Fixture) bool { return f.Intrude != nil })
	rival := can("open the robot a second time", func(f *Fixture) bool { return f.Rival != nil && f.Unplug != nil && f.Replug != nil })
	trip := can("make the robot stop by itself", func(f *Fixture) bool { return f.Trip != nil && f.Untrip != nil })
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
		{name: "Case48_AStuckJointsResultIsNotTheCommand", needs: measured, run: stuck},
		{name: "Case44_AfterAFaultTheMeasuredPositionIsHeld", needs: measured, run: holdsAfterFault},
		{name: "AFaultLatchesItsFirstReason", needs: measured, run: latches},
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
		{name: "StartsDisabled", needs: disabled, run: startsDisabled, asItStarts: true},
		{name: "EnablingMovesNothingThatIsPowered", run: enablesAgain},
		{name: "WhatNobodyKnowsIsNotPowered", needs: openLoop, run: knowsNothing, from: fromUnknown, asItStarts: true},
		{name: "Case48_NothingMeasuredIsNothingClaimed", needs: openLoop, run: claimsNothing},
		{name: "Case49_ALostLinkIsUnknownAndNeverComesBackMoving", needs: replug, run: lostLink},
		{name: "RebootInMidMotion", needs: reboot, run: reboots},
		{name: "Case42_TheRobotStopsWhenItsHostIsGone", needs: quiet, run: hostGone},
		{name: "Case43_ASecondMasterOnTheWire", needs: intrude, run: secondMaster},
		{name: "Case50_CloseGivesTheRobotBack", needs: rival, run: rivals},
		{name: "Case44_WhatStopsTheRobotItselfEndsTheMotion", needs: trip, run: trips},
		{name: "Case51_EveryAnswerNamesItsBackend", run: namesItself},
		{name: "MovesOnlyToItsSwitchUntilItIsFound", needs: switches, run: references, from: fromUnreferenced},
		{name: "ASearchIsBounded", needs: switches, run: boundedSearch, from: fromUnreferenced},
	}
}
