package approval

import "github.com/tau-robot/tau/gate"

// ends lists the states in which Finish may end a request that is in from.
func ends(from gate.RequestState) []gate.RequestState {
	switch from {
	case gate.RequestPending:
		return []gate.RequestState{gate.RequestRejected, gate.RequestWithdrawn, gate.RequestExpired, gate.RequestStopped}
	case gate.RequestClaimed:
		return []gate.RequestState{gate.RequestWithdrawn, gate.RequestExpired, gate.RequestStopped}
	case gate.RequestStarted:
		return []gate.RequestState{gate.RequestDone, gate.RequestUnknown}
	}
	return nil
}

func isEnd(s gate.RequestState) bool {
	switch s {
	case gate.RequestDone, gate.RequestRejected, gate.RequestWithdrawn,
		gate.RequestExpired, gate.RequestStopped, gate.RequestUnknown:
		return true
	}
	return false
}

// stateError says what a state means for whoever wanted another one.
func stateError(s gate.RequestState) error {
	switch s {
	case gate.RequestPending:
		return gate.Errf(gate.CodeInProgress, "call_id", "the request is open")
	case gate.RequestClaimed:
		return gate.Errf(gate.CodeInProgress, "call_id", "resume in progress")
	case gate.RequestStarted:
		return gate.Errf(gate.CodeInProgress, "call_id", "the action has been started and is never started again")
	case gate.RequestDone:
		return gate.Errf(gate.CodePlanUsed, "call_id", "the request is done and its answer is stored")
	case gate.RequestRejected:
		return gate.Errf(gate.CodeNotApproved, "call_id", "the request was rejected")
	case gate.RequestWithdrawn:
		return gate.Errf(gate.CodeCancelled, "call_id", "the request was withdrawn")
	case gate.RequestExpired:
		return gate.Errf(gate.CodeRequestExpired, "call_id", "the request has expired")
	case gate.RequestStopped:
		return gate.Errf(gate.CodeStopped, "call_id", "a stop ended the request")
	case gate.RequestUnknown:
		return gate.Errf(gate.CodeUnknownOutcome, "call_id", "the action was started and its outcome is unknown")
	}
	return gate.Errf(gate.CodeInvalidArgument, "state", "%q is not a state", s)
}

func notFound(id string) error {
	return gate.Errf(gate.CodeInvalidArgument, "call_id", "there is no request %q", id)
}
