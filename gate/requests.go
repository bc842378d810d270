package gate

import (
	"context"
	"time"
)

// RequestState is where a request stands (G41).
type RequestState string

// The states.
const (
	RequestPending   RequestState = "pending"
	RequestClaimed   RequestState = "claimed"
	RequestStarted   RequestState = "started"
	RequestDone      RequestState = "done"
	RequestRejected  RequestState = "rejected"
	RequestWithdrawn RequestState = "withdrawn"
	RequestExpired   RequestState = "expired"
	RequestStopped   RequestState = "stopped"
	RequestUnknown   RequestState = "unknown"
)

// Record is a stored request.
type Record struct {
	Request  Request
	Snapshot []byte
	State    RequestState
	Decider  string // who decided: of a claim, and of what came of it
	Decision Decision
	Claims   int    // how often it has been claimed
	Answer   []byte // JSON, once ended
	// GoneOn: since it was asked, a later call of its session has begun to move (G47).
	GoneOn bool
	// Owner names the other bridge that asks it, in a store that several share; "": it
	// is this one's. A gate takes up its own only.
	Owner string
	// Gone: whoever asked isn't there any more (G49). The gate knows, no store does.
	Gone bool
}

// Secret is what whoever has read a request as it stands now holds in hand. The
// store keeps a hash of it only. The zero value opens nothing.
type Secret [16]byte

// Claim is a decision to run exactly what was read (G42).
type Claim struct {
	ID      string
	Digest  [32]byte // of what was shown
	Secret  Secret   // of the latest Read, or of Open
	Claims  int      // as it was read
	Worker  string   // the process that is going to run it
	Decider string
	Now     time.Time
}

// Lease is a claim that holds until Until at the latest.
type Lease struct {
	ID     string
	Worker string
	Claims int
	Until  time.Time
}

// Ending is how a request ends.
type Ending struct {
	State   RequestState
	Answer  []byte // JSON, the call's
	Decider string // who refused; "" leaves who decided as it is
}

// Recovered is what an earlier process left behind in mid-way.
type Recovered struct {
	Unknown  []Record // were started, and are unknown now; without snapshots
	Reopened []Record // were claimed, and are pending again; as they were, without snapshots
}

// Requests keeps open and ended tier-2 requests. All of it is conditional: a
// method that finds the request in another state returns an *Error and changes
// nothing (REQUEST_EXPIRED, IN_PROGRESS, STOPPED, …). What a method that changes
// something has reported survives the end of this process. The methods block for
// the disk only; an error other than the named ones (a disk that is full) is
// INTERNAL, and nothing may be taken to have been stored. Any goroutine may call
// them; the slices that come out are the caller's, those that go in stay his.
//
// The gate alone calls Read, once each time that it asks: every channel shows that one
// question, so none makes another's yes worthless by looking. Get and Pending change
// no secret.
type Requests interface {
	// Open stores a new request as pending and returns its first secret; the same
	// id with another digest is INVALID_ARGUMENT.
	Open(ctx context.Context, req Request, snapshot []byte) (Secret, error)
	// Read returns a request that is to be shown. Where it can be claimed the secret
	// is a fresh one, and those before it open nothing any more (G41).
	Read(ctx context.Context, id string, now time.Time) (Record, Secret, error)
	// Claim takes a request that is pending, or whose lease has run out, for a
	// worker: of any number of claims one wins, the others are IN_PROGRESS (G42).
	Claim(ctx context.Context, c Claim) (Lease, error)
	// Renew prolongs a lease from now on, to no more than a fixed time after the
	// claim (G43).
	Renew(ctx context.Context, l Lease, now time.Time) (Lease, error)
	// Start records that physics is about to begin; an error means don't move (G44).
	// What is open of the same session and was opened before has GoneOn from then on.
	Start(ctx context.Context, l Lease, now time.Time) error
	// Moved does the same for what is open of a session when a call of it that has no
	// request, because it is exempt, is about to begin (G47).
	Moved(ctx context.Context, session string) error
	// Replace puts another request in the place of a claimed one that hasn't been
	// started: that one is withdrawn and the new one is pending, both or neither (G46).
	Replace(ctx context.Context, l Lease, req Request, snapshot []byte, now time.Time) (Secret, error)
	// Finish ends a request in any of the end states.
	Finish(ctx context.Context, id string, e Ending) error
	// Get returns a request, ended or not.
	Get(ctx context.Context, id string) (Record, error)
	// Pending lists open requests, oldest first, to be looked through: without
	// snapshots and without Card.Data, which Get and Read return.
	Pending(ctx context.Context, now time.Time) ([]Record, error)
	// Recover settles what other workers were at when they ended: claimed becomes
	// pending, started becomes unknown and is never run again (G44). To be called
	// before anything is asked, by a worker that knows the others to have ended.
	Recover(ctx context.Context, worker string, now time.Time) (Recovered, error)
}
