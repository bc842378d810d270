package gate

import "context"

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
	// Beside: no robot but something that stands beside it and measures no rest. An
	// acknowledged stop is all that there is to know of it.
	Beside bool `json:"-"`
}

// AtRest reports whether a backend has said that it is at rest; what stands beside a
// robot, that it has acknowledged the stop.
func (v StopVerdict) AtRest() bool {
	return v.Stationary == "yes" || v.Beside && v.Acknowledged == "yes"
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
