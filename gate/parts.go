package gate

import (
	"context"
	"time"
)

// Lane runs prepared actions: one queue, one goroutine, one action at a time.
type Lane interface {
	// Epoch returns the bridge's stop epoch.
	Epoch() uint64
	// Do queues fn and waits until it has run or been dropped. It is not run, and
	// Do returns an *Error with STOPPED, when the epoch has been raised beyond
	// epoch before fn's turn; nor when ctx ends first (CANCELLED). The context
	// that fn gets ends when ctx does and when a stop comes, with the cause.
	Do(ctx context.Context, epoch uint64, fn func(context.Context)) error
	// Stop raises the epoch, drops everything that is queued and ends the running
	// action's context. It never blocks and returns the new epoch.
	Stop() uint64
}

// StopKind names a stop after IEC 60204-1.
type StopKind string

// The stop kinds.
const (
	StopControlled StopKind = "stop"
	StopEmergency  StopKind = "estop"
)

// StopVerdict says what is known of a stop: each of the three is "yes", "no" or "unknown".
type StopVerdict struct {
	Backend      string  `json:"backend"`
	Commanded    string  `json:"commanded"`
	Acknowledged string  `json:"acknowledged"`
	Stationary   string  `json:"stationary"`
	Text         string  `json:"text,omitempty"`
	DurationS    float64 `json:"duration_s"`
}

// Stopper is one backend's stop. Stop must be safe at any time and never queue.
type Stopper interface {
	Name() string
	Stop(ctx context.Context, kind StopKind) StopVerdict
}

// Sessions looks sessions up from live state. Session returns an *Error with
// NOT_OPTED_IN or OPT_IN_EXPIRED where a real session's opt-in doesn't hold now.
type Sessions interface {
	Session(name string) (Session, error)
}

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
	Decider  string
	Decision Decision
	Claims   int
	Answer   []byte // JSON, once done
}

// Requests keeps open and ended tier-2 requests. All of it is conditional: a
// method that finds the request in another state returns an *Error and changes
// nothing (REQUEST_EXPIRED, IN_PROGRESS, STOPPED, …).
type Requests interface {
	// Open stores a new request as pending; the same id with another digest is INVALID_ARGUMENT.
	Open(ctx context.Context, req Request, snapshot []byte) error
	// Claim takes a pending, unexpired request for a worker, once.
	Claim(ctx context.Context, id, worker, decider string, now time.Time) (claims int, err error)
	// Start records that physics is about to begin; an error means don't move (G44).
	Start(ctx context.Context, id, worker string, claims int, now time.Time) error
	// Finish ends a request in any of the end states.
	Finish(ctx context.Context, id string, state RequestState, answer []byte) error
	// Get returns a copy.
	Get(ctx context.Context, id string) (Record, error)
	// Pending lists open requests, oldest first.
	Pending(ctx context.Context, now time.Time) ([]Record, error)
}
