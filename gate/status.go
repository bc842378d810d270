package gate

// statusOf says how a call ended from its error's code. ran is true once the
// action's Run was called (tier 2) or the tool's function (tiers 0 and 1).
//
//	code                                                    not run    ran
//	""                                                      -          ok
//	STOPPED, CANCELLED                                      cancelled  cancelled
//	UNKNOWN_OUTCOME                                         unknown    unknown
//	DEVIATION, CONTACT, OVERLOAD, LINK_TIMEOUT,
//	DISCONNECTED, TOOL_FAILED, INTERNAL                     refused    error
//	every other code                                        refused    refused
//
// The other codes are reasons for which nothing is done: a backend that returns
// one of them says that it moved nothing. A tool that knows better sets
// Result.Status.
func statusOf(code Code, ran bool) Status {
	switch code {
	case "":
		return StatusOK
	case CodeStopped, CodeCancelled:
		return StatusCancelled
	case CodeUnknownOutcome:
		return StatusUnknown
	case CodeDeviation, CodeContact, CodeOverload, CodeLinkTimeout, CodeDisconnected, CodeToolFailed, CodeInternal:
		if ran {
			return StatusError
		}
	}
	return StatusRefused
}

func validStatus(s Status) bool {
	switch s {
	case StatusOK, StatusRefused, StatusError, StatusCancelled, StatusUnknown:
		return true
	}
	return false
}

// The texts that the model reads (G8, G25), exact.

func unknownToolText(name string) string {
	return "Tool '" + name + "' is not registered; it was not run."
}

// NotApprovedText is what the model is told of a call that wasn't approved (G8). More
// may follow it in an answer.
func NotApprovedText(tool string) string { return notApprovedText(tool) }

func notApprovedText(tool string) string {
	return "The user did not approve this action: " + tool + ". Do not perform it; tell the user briefly."
}

func unattendedText(tool, blocked string) string {
	return notApprovedText(tool) + " Nobody can answer in this run. Blocked: " + blocked + ". Continue without it and say so."
}

// blockedText names a call and what it would have moved. It depends on the call
// alone, so that G25's text is the same every time.
func blockedText(tool string, args []byte, s Session) string {
	text := tool
	if len(args) > 2 {
		text += " " + clip(string(args), 512)
	}
	return text + " on " + s.Backend + " (" + string(s.Mode) + ")"
}

// unknownOutcomeText says where to ask, and that the call isn't to be repeated:
// what it did may have happened.
func unknownOutcomeText(id, why string) string {
	return "What this call did can't be known: " + why + ". It may have happened: do not send it again. " +
		"Read robot_state, and ask call_status with call_id " + id + "."
}
