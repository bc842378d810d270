package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

// failing is a store that fails where a test says.
type failing struct {
	gate.Requests
	open, claim, start, finish error
	opened                     func()
}

func (f *failing) Open(ctx context.Context, r gate.Request, snap []byte) (gate.Secret, error) {
	if f.opened != nil {
		f.opened()
	}
	if f.open != nil {
		return gate.Secret{}, f.open
	}
	return f.Requests.Open(ctx, r, snap)
}

func (f *failing) Claim(ctx context.Context, c gate.Claim) (gate.Lease, error) {
	if f.claim != nil {
		return gate.Lease{}, f.claim
	}
	return f.Requests.Claim(ctx, c)
}

func (f *failing) Start(ctx context.Context, l gate.Lease, now time.Time) error {
	if f.start != nil {
		return f.start
	}
	return f.Requests.Start(ctx, l, now)
}

func (f *failing) Finish(ctx context.Context, id string, e gate.Ending) error {
	if f.finish != nil {
		return f.finish
	}
	return f.Requests.Finish(ctx, id, e)
}

// withStore wraps the rig's store.
func withStore(f *failing) func(*gate.Config) {
	return func(c *gate.Config) { f.Requests, c.Requests = c.Requests, f }
}

func TestG40_NoCardWithoutSnapshotAndRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		order := []string{}
		f := &failing{opened: func() { order = append(order, "row") }}
		s := gatetest.Script(t, gatetest.Step{Decision: gate.Rejected, Do: func(context.Context, gate.Request) { order = append(order, "card") }})
		r := newRig(t, s, withStore(f))
		defer r.close()
		for what, snap := range map[string]func() ([]byte, error){
			"error": func() ([]byte, error) { return nil, errTest }, "nil": func() ([]byte, error) { return nil, nil },
			"panic": func() ([]byte, error) { panic("x") },
		} {
			r.arm.change(func(a *arm) { a.snapshot = snap })
			a := r.call("move", `{"to":1}`)
			require.Equal(t, gate.StatusRefused, a.Status, what)
			require.Equal(t, gate.CodeInternal, a.Code, what)
		}
		r.arm.change(func(a *arm) {
			a.snapshot = func() ([]byte, error) { order = append(order, "snapshot"); return []byte("s"), nil }
		})
		f.open = gate.Errf(gate.CodeInternal, "store", "the disk is full")
		require.Contains(t, r.call("move", `{"to":1}`).Text, "the disk is full")
		f.open = nil
		require.Empty(t, s.Requests())
		order = nil
		r.call("move", `{"to":1}`)
		require.Equal(t, []string{"snapshot", "row", "card"}, order)
	})
}

func TestG44_ZeroRowsChangedMeansDoNotMove(t *testing.T) {
	for name, f := range map[string]*failing{
		"claim": {claim: gate.Errf(gate.CodeInProgress, "", "resume in progress")},
		"start": {start: gate.Errf(gate.CodeRequestExpired, "", "the lease has run out")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, gatetest.Script(t, gatetest.Approve()), withStore(f))
				defer r.close()
				a := r.call("move", `{"to":1}`)
				require.Equal(t, gate.StatusRefused, a.Status)
				require.Equal(t, gate.CodeOf(errors.Join(f.claim, f.start)), a.Code)
				require.Zero(t, r.arm.ran.Load())
			})
		})
	}
}

func TestG44_AnApprovalThatDoesNotStartLapses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, gatetest.Script(t, gatetest.Approve()))
		defer r.close()
		release := make(chan struct{})
		go func() { // another robot's motion holds the lane
			_ = r.lane.Do(context.Background(), 0, func(context.Context) { <-release })
		}()
		synctest.Wait()
		start := time.Now()
		a := r.call("move", `{"to":1}`)
		require.Equal(t, 10*time.Second, time.Since(start))
		require.Equal(t, gate.CodeRequestExpired, a.Code, a.Text)
		require.Equal(t, gate.RequestExpired, r.state(a.CallID))
		close(release)
		synctest.Wait()
		require.Zero(t, r.arm.ran.Load())
	})
}

// The machine slept between question and answer: the boot clock has seen it, and
// so has the wall clock, though no timer fired.
func TestG44_Case65_NothingRunsAfterExpiry(t *testing.T) {
	for name, slept := range map[string]func(boot *time.Duration, wall *time.Duration){
		"boot clock": func(b, _ *time.Duration) { *b += 11 * time.Minute },
		"wall clock": func(_, w *time.Duration) { *w += 11 * time.Minute },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var boot, wall time.Duration
				r := newRig(t, gatetest.Script(t, gatetest.Step{Decision: gate.Approved,
					Do: func(context.Context, gate.Request) { slept(&boot, &wall) }}), func(c *gate.Config) {
					c.Boot = func() time.Duration { return boot }
					c.Now = func() time.Time { return time.Now().Add(wall) }
				})
				defer r.close()
				a := r.call("move", `{"to":1}`)
				require.Equal(t, gate.CodeRequestExpired, a.Code, a.Text)
				require.Equal(t, gate.ApprovalTimeout, a.Approval)
				require.Zero(t, r.arm.ran.Load())
			})
		})
	}
}

// The same while the approved action waits for the lane.
func TestG44_Case65_TheRequestExpiresInTheLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var boot atomic.Int64
		r := newRig(t, gatetest.Script(t, gatetest.Approve()), func(c *gate.Config) {
			c.Boot = func() time.Duration { return time.Duration(boot.Load()) }
		})
		defer r.close()
		release := make(chan struct{})
		go func() { _ = r.lane.Do(context.Background(), 0, func(context.Context) { <-release }) }()
		synctest.Wait()
		tk := r.Submit(in("s", `{"to":1}`))
		synctest.Wait()
		boot.Store(int64(10 * time.Minute))
		close(release)
		<-tk.Done()
		require.Equal(t, gate.CodeRequestExpired, tk.Answer().Code, tk.Answer().Text)
		require.Zero(t, r.arm.ran.Load())
	})
}

// The machine slept for 11 s while an approved action waited: no timer has fired,
// and the approval has lapsed all the same.
func TestG44_AnApprovalLapsesInItsSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wall atomic.Int64
		r := newRig(t, gatetest.Script(t, gatetest.Approve()), func(c *gate.Config) {
			c.Now = func() time.Time { return time.Now().Add(time.Duration(wall.Load())) }
		})
		defer r.close()
		release := make(chan struct{})
		go func() { _ = r.lane.Do(context.Background(), 0, func(context.Context) { <-release }) }()
		synctest.Wait()
		tk := r.Submit(in("s", `{"to":1}`))
		synctest.Wait()
		wall.Store(int64(11 * time.Second))
		close(release)
		<-tk.Done()
		require.Equal(t, gate.CodeRequestExpired, tk.Answer().Code, tk.Answer().Text)
		require.Contains(t, tk.Answer().Text, "lapsed")
		require.Zero(t, r.arm.ran.Load())
	})
}

func TestG45_Case62_TheSameIDAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, gatetest.Script(t, gatetest.Step{Decision: gate.Approved, Do: func(context.Context, gate.Request) { time.Sleep(time.Second) }}))
		defer r.close()
		i := in("s", `{"to":1}`)
		i.CallID = strings.Repeat("0af1", 8)
		first := r.Submit(i)
		synctest.Wait()
		i.Args = []byte(`{ "to" : 1.0 }`)
		twin := r.Call(t.Context(), i) // while it is open: waits for the same end
		require.Equal(t, gate.StatusOK, twin.Status)
		again := r.Call(t.Context(), i) // afterwards: the stored answer
		require.Equal(t, first.Answer(), twin)
		require.Equal(t, twin, again)
		require.EqualValues(t, 1, r.arm.ran.Load())
		require.Len(t, r.sink.of("tool_call"), 1)

		i.Args = []byte(`{"to":2}`)
		require.Equal(t, gate.CodeInvalidArgument, r.Call(t.Context(), i).Code)
		i.Args, i.Principal = []byte(`{"to":1}`), "somebody else"
		a := r.Call(t.Context(), i)
		require.Equal(t, gate.CodeInvalidArgument, a.Code)
		require.Empty(t, a.Result)
		require.EqualValues(t, 1, r.arm.ran.Load())
	})
}

func TestG49_TheCallerGoneAndTheCallerWhoCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := gatetest.Nobody(t)
		r := newRig(t, u)
		defer r.close()
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan gate.Answer, 1)
		go func() { got <- r.Call(ctx, in("s", `{"to":1}`)) }()
		<-u.Asked
		cancel()
		a := <-got
		require.Equal(t, gate.StatusCancelled, a.Status)
		require.Equal(t, gate.CodeCancelled, a.Code)
		require.Equal(t, gate.RequestWithdrawn, r.state(a.CallID))

		tk := r.Submit(in("s", `{"to":2}`))
		<-u.Asked
		require.Equal(t, gate.StatusPending, tk.Answer().Status)
		out := r.call("cancel_call", `{"call_id":"`+tk.ID()+`","reason":"changed my mind"}`)
		require.Equal(t, gate.StatusOK, out.Status, out.Text)
		<-tk.Done()
		require.Equal(t, gate.CodeCancelled, tk.Answer().Code)
		require.Contains(t, tk.Answer().Text, "changed my mind")
		var sub struct{ Status, Code string }
		require.NoError(t, json.Unmarshal(out.Result, &sub))
		require.Equal(t, "cancelled", sub.Status)
		require.Equal(t, "withdrawn", r.sink.of("approval")[1].Decision)
	})
}

func TestCase40_ACancelledMotionSaysWhereItStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, gatetest.Script(t, gatetest.Approve()))
		defer r.close()
		moving := make(chan struct{})
		r.arm.run = func(ctx context.Context) (gate.Result, error) {
			close(moving)
			<-ctx.Done()
			time.Sleep(200 * time.Millisecond) // the controlled stop
			return gate.Result{Data: json.RawMessage(`{"positions":{"a":0.3}}`)}, gate.Errf(gate.CodeCancelled, "", "stopped on the way")
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-moving; cancel() }()
		a := r.Call(ctx, in("s", `{"to":1}`))
		require.Equal(t, gate.StatusCancelled, a.Status)
		require.JSONEq(t, `{"positions":{"a":0.3}}`, string(a.Result))
		require.Equal(t, gate.ApprovalApproved, a.Approval)
		require.Equal(t, gate.RequestDone, r.state(a.CallID))
	})
}

// Case 49: what can't be known is said, with the call id, and nothing invites a retry.
func TestCase49_AnUnknownOutcome(t *testing.T) {
	for name, run := range map[string]func(context.Context) (gate.Result, error){
		"said so": func(context.Context) (gate.Result, error) {
			return gate.Result{}, gate.Errf(gate.CodeUnknownOutcome, "link", "the link was lost")
		},
		"by status":     func(context.Context) (gate.Result, error) { return gate.Result{Status: gate.StatusUnknown}, nil },
		"untyped error": func(context.Context) (gate.Result, error) { return gate.Result{}, errTest },
		"panic":         func(context.Context) (gate.Result, error) { panic("x") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, gatetest.Script(t, gatetest.Approve()))
				defer r.close()
				r.arm.run = run
				a := r.call("move", `{"to":1}`)
				require.Equal(t, gate.StatusUnknown, a.Status)
				require.Equal(t, gate.CodeUnknownOutcome, a.Code)
				require.Contains(t, a.Text, "call_id "+a.CallID)
				require.Contains(t, a.Text, "do not send it again")
				require.NotRegexp(t, `(?i)retry|try again|timed? ?out`, a.Text)
				require.Equal(t, gate.RequestUnknown, r.state(a.CallID))
				again := r.call("call_status", `{"call_id":"`+a.CallID+`"}`)
				var sub struct{ Status, CallID string }
				require.NoError(t, json.Unmarshal(again.Result, &sub))
				require.Equal(t, "unknown", sub.Status)
				require.EqualValues(t, 1, r.arm.ran.Load())
			})
		})
	}
}

func TestCallStatusAndItsBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		yes := make(chan struct{})
		r := newRig(t, gatetest.Script(t, gatetest.Step{Decision: gate.Approved, Do: func(context.Context, gate.Request) { <-yes }}, gatetest.Reject()))
		defer r.close()
		var told []string
		i := in("s", `{"to":1}`)
		i.Progress = func(text string) { told = append(told, text); panic("a front end's fault is its own") }
		tk := r.Submit(i)
		synctest.Wait()
		start := time.Now()
		a := r.call("call_status", fmt.Sprintf(`{"call_id":%q,"wait_s":45}`, tk.ID()))
		require.Equal(t, 45*time.Second, time.Since(start))
		require.Contains(t, string(a.Result), `"status":"pending"`)
		require.Contains(t, string(a.Result), `"expires_at"`)
		require.Contains(t, a.Text, "waiting for approval")
		time.AfterFunc(3*time.Second, func() { close(yes) })
		start = time.Now()
		a = r.call("call_status", fmt.Sprintf(`{"call_id":%q,"wait_s":30}`, tk.ID()))
		require.Equal(t, 3*time.Second, time.Since(start))
		require.Contains(t, string(a.Result), `"status":"ok"`)
		require.Contains(t, string(a.Result), `"positions"`)
		require.Equal(t, []string{"waiting for its turn", "planning and rehearsing", "waiting for approval", "waiting for the lane", "running"}, told)

		// Nobody else's business.
		for _, other := range []gate.Invocation{{Session: "t", Principal: "p"}, {Session: "s", Principal: "q"}} {
			for _, name := range []string{"call_status", "cancel_call"} {
				other.Tool, other.Args = name, []byte(fmt.Sprintf(`{"call_id":%q}`, tk.ID()))
				got := r.Call(t.Context(), other)
				require.Equal(t, gate.CodeInvalidArgument, got.Code)
				require.Empty(t, got.Result)
			}
		}
		require.Equal(t, gate.CodeInvalidArgument, r.call("call_status", fmt.Sprintf(`{"call_id":%q,"wait_s":46}`, tk.ID())).Code)
		time.Sleep(time.Hour)
		kept := r.call("call_status", fmt.Sprintf(`{"call_id":%q}`, tk.ID()))
		require.JSONEq(t, string(a.Result), string(kept.Result), "the store tells as long as it keeps it")
		require.Equal(t, gate.CodeNotApproved, r.call("move", `{"to":2}`).Code)
		gone := r.call("call_status", fmt.Sprintf(`{"call_id":%q}`, tk.ID()))
		require.Equal(t, gate.CodeInvalidArgument, gone.Code)
		require.Contains(t, gone.Text, "was dropped")
	})
}

func TestCloseEndsWhatIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := gatetest.Nobody(t)
		r := newRig(t, u)
		tk := r.Submit(in("s", `{"to":1}`))
		<-u.Asked
		got := make(chan gate.Answer, 1)
		go func() { got <- r.Call(context.Background(), in("t", `{"to":1}`)) }()
		synctest.Wait()
		r.close()
		<-tk.Done()
		require.Equal(t, gate.CodeCancelled, tk.Answer().Code)
		require.Equal(t, gate.CodeCancelled, (<-got).Code)
		late := r.Submit(in("s", `{"to":1}`))
		<-late.Done()
		require.Equal(t, gate.CodeCancelled, late.Answer().Code)
	})
}

func TestG5_TheDemoAndTheClockShip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gatetest.Script(t, gatetest.Approve())
		r := newRig(t, s, withStoppers(&stopper{name: "sim"}))
		defer r.close()
		a := r.call("demo_physical_action", `{"note":"hello"}`)
		require.Equal(t, gate.StatusOK, a.Status, a.Text)
		require.JSONEq(t, `{"moved":false}`, string(a.Result))
		first := a
		require.Equal(t, "Nothing moves; this only shows how an approval works.", s.Requests()[0].Effect)
		a = r.call("current_time", ``)
		require.JSONEq(t, `{"time":"2000-01-01T00:00:00Z","unix_s":946684800}`, string(a.Result))
		r.sessions.set(gate.Session{Name: "s", Mode: gate.ModeReal, Backend: "arm"}, gate.Errf(gate.CodeOptInExpired, "s", "has expired"))
		a = r.call("session_status", `{}`)
		require.Equal(t, gate.StatusOK, a.Status, "reading needs no opt-in")
		require.JSONEq(t, `{"session":"s","mode":"real","backend":"arm","principal":"p","may_move":false,"code":"OPT_IN_EXPIRED","text":"s: has expired","open_questions":0,"calls_in_flight":0,"stop_epoch":0}`, string(a.Result))
		require.Equal(t, gate.CodeOptInExpired, r.call("demo_physical_action", ``).Code)
		// The gate's own tools answer in the shape that they declare.
		args := map[string]string{"call_status": `{"call_id":"` + first.CallID + `"}`, "cancel_call": `{"call_id":"` + first.CallID + `"}`}
		for _, spec := range r.Specs() {
			if spec.Output == nil || spec.Tier == gate.TierPhysical {
				continue
			}
			got := r.call(spec.Name, args[spec.Name])
			require.NotEmpty(t, got.Result, spec.Name)
			_, err := gate.DecodeStrict(spec.Output, got.Result)
			require.NoError(t, err, "%s: %s", spec.Name, got.Result)
		}
		tiers := map[string]int{}
		for _, spec := range r.Specs() {
			tiers[spec.Name] = spec.Tier.Number()
		}
		require.Equal(t, map[string]int{"move": 2, "echo": 0, "stop": 1, "estop": 1, "cancel_call": 1, "call_status": 0,
			"session_status": 0, "current_time": 0, "demo_physical_action": 2}, tiers)
	})
}
