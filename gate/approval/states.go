package approval

import (
	"encoding/json"
	"time"

	"github.com/tau-robot/tau/gate"
)

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

// noClaim says why a claim of a request in this condition fails; nil: it doesn't.
// of is the hash of the secret that opens the request.
func noClaim(r gate.Record, of [32]byte, leaseOver bool, maxClaims int, c gate.Claim) error {
	switch {
	case r.State == gate.RequestClaimed && leaseOver, r.State == gate.RequestPending:
	default:
		return stateError(r.State)
	}
	switch {
	case r.Request.Digest != c.Digest:
		return gate.Errf(gate.CodeNotApproved, "digest", "what was decided isn't what the request is")
	case r.Claims != c.Claims:
		return gate.Errf(gate.CodeInProgress, "claims", "the request has been claimed since it was read; read it again")
	case !sameHash(of, hashOf(c.Secret)):
		return gate.Errf(gate.CodeNotApproved, "secret", "the request has been read since; read it again")
	case r.Claims >= maxClaims:
		return stateError(gate.RequestExpired)
	}
	return nil
}

// noLease says why a lease isn't in force on a request in this condition; nil: it is.
func noLease(r gate.Record, worker string, leaseOver bool, l gate.Lease) error {
	switch {
	case r.State == gate.RequestPending:
		return gate.Errf(gate.CodeNotApproved, "call_id", "nobody has claimed the request")
	case r.State != gate.RequestClaimed:
		return stateError(r.State)
	case worker != l.Worker || r.Claims != l.Claims:
		return stateError(gate.RequestClaimed)
	case leaseOver:
		return gate.Errf(gate.CodeRequestExpired, "lease", "the claim has run out")
	}
	return nil
}

func notFound(id string) error {
	return gate.Errf(gate.CodeInvalidArgument, "call_id", "there is no request %q", id)
}

func errTaken(id string) error {
	return gate.Errf(gate.CodeInvalidArgument, "call_id", "%s is taken by a call with other arguments", id)
}

func errHardStop() error {
	return gate.Errf(gate.CodeRequestExpired, "lease", "the claim has been renewed for as long as it may be")
}

func cantFinish(from, to gate.RequestState) error {
	if !isEnd(to) {
		return gate.Errf(gate.CodeInvalidArgument, "state", "%q ends nothing", to)
	}
	if from == gate.RequestPending || from == gate.RequestClaimed {
		return gate.Errf(gate.CodeInvalidArgument, "state", "a request that is %s can't become %q", from, to)
	}
	return stateError(from)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// replacedBy is the answer of a request in whose place another one stands.
func replacedBy(id string) []byte {
	b, err := json.Marshal(struct {
		Status gate.Status `json:"status"`
		Code   gate.Code   `json:"code"`
		Text   string      `json:"text"`
		By     string      `json:"replaced_by"`
	}{gate.StatusCancelled, gate.CodeCancelled, "replaced by the request " + id, id})
	if err != nil { // strings only
		return nil
	}
	return b
}
