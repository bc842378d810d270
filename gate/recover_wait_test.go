package gate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/gatetest"
)

// realSession is the opt-in under which the tests of real sessions ask.
var realSession = gate.Session{Name: "r", Mode: gate.ModeReal, Backend: "arm", OptIn: "ann to so101 at /dev/ttyUSB0"}

// pendingReal is a disk on which a real session's call waits.
func pendingReal(t *testing.T) (*disk, gate.Request) {
	t.Helper()
	d, u := newDisk(t), gatetest.Nobody(t)
	r := d.life(u)
	r.sessions.set(realSession, nil)
	r.Submit(in("r", `{"to":1}`))
	shown := <-u.Asked
	return d.killed(r), shown
}

// A real session's request waits for a new opt-in: of the same name, by the same
// person, to the same thing.
func TestG47_ARealSessionsRequestWaitsForANewOptIn(t *testing.T) {
	notYet := gate.Errf(gate.CodeNotOptedIn, "r", "is not opted in")
	for name, c := range map[string]struct {
		then  gate.Session
		says  string
		moved bool // another of its calls ran first
	}{
		"the same":           {then: realSession},
		"another person":     {then: gate.Session{Name: "r", Mode: gate.ModeReal, Backend: "arm", OptIn: "bob to so101 at /dev/ttyUSB0"}, says: "its opt-in isn't what the card said"},
		"another robot":      {then: gate.Session{Name: "r", Mode: gate.ModeReal, Backend: "arm2", OptIn: realSession.OptIn}, says: "isn't what the card said"},
		"it has gone on":     {then: realSession, moved: true, says: "another of its calls has run since"},
		"simulated, then it": {then: realSession},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, shown := pendingReal(t)
				var steps []gatetest.Step
				if c.moved {
					steps = append(steps, gatetest.Approve())
				}
				if c.says == "" {
					steps = append(steps, gatetest.Approve())
				}
				s := gatetest.Script(t, steps...)
				r := d.life(s)
				defer r.end()
				r.sessions.set(gate.Session{Name: "r"}, notYet)
				if name == "simulated, then it" { // as a session is that has no opt-in
					r.sessions.set(gate.Session{Name: "r", Mode: gate.ModeSim, Backend: "sim"}, nil)
				}
				_, err := r.Recover(t.Context())
				require.NoError(t, err)
				time.Sleep(time.Minute)
				r.SessionsChanged() // some other one's
				synctest.Wait()
				require.Empty(t, s.Requests(), "nobody is asked yet")
				require.Equal(t, gate.RequestPending, r.stored(shown.CallID).State)
				i := in("r", fmt.Sprintf(`{"call_id":%q}`, shown.CallID))
				i.Tool = "call_status"
				require.Contains(t, r.Call(t.Context(), i).Text, "waiting for a new opt-in of session r")
				// It holds nobody up.
				require.Equal(t, gate.StatusOK, r.call("echo", `{}`).Status)

				r.sessions.set(c.then, nil)
				if c.moved {
					require.Equal(t, gate.StatusOK, r.Call(t.Context(), in("r", `{"to":2}`)).Status)
				}
				r.SessionsChanged()
				synctest.Wait()
				rec := r.stored(shown.CallID)
				if c.says == "" {
					require.Equal(t, gate.RequestDone, rec.State)
					require.Equal(t, realSession, s.Requests()[0].Session)
					return
				}
				require.Equal(t, gate.RequestExpired, rec.State)
				require.Contains(t, string(rec.Answer), c.says)
			})
		})
	}
}

// Whatever ends a call ends one that was taken up, too, in each place where it waits.
func TestG47_WhatWasTakenUpEndsLikeAnyOther(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(*rig, string)
		state gate.RequestState
		code  gate.Code
	}{
		"stop":    {func(r *rig, _ string) { r.call("stop", `{}`) }, gate.RequestStopped, gate.CodeStopped},
		"estop":   {func(r *rig, _ string) { r.call("estop", `{}`) }, gate.RequestStopped, gate.CodeStopped},
		"expiry":  {func(*rig, string) { time.Sleep(10 * time.Minute) }, gate.RequestExpired, gate.CodeRequestExpired},
		"closing": {func(r *rig, _ string) { r.close() }, gate.RequestWithdrawn, gate.CodeCancelled},
		"cancel": {func(r *rig, id string) {
			for _, s := range []string{"s", "r"} {
				i := in(s, fmt.Sprintf(`{"call_id":%q}`, id))
				i.Tool = "cancel_call"
				r.Call(context.Background(), i)
			}
		}, gate.RequestWithdrawn, gate.CodeCancelled},
	} {
		for _, where := range []string{"asked", "opt-in", "another question", "the robot's turn"} {
			t.Run(name+" at "+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var d *disk
					var shown gate.Request
					if where == "opt-in" {
						d, shown = pendingReal(t)
					} else {
						d, shown = pending(t, "s", `{"to":1}`)
					}
					u := gatetest.Nobody(t)
					r := d.life(u)
					ended := false
					defer func() {
						if !ended {
							r.end()
						}
					}()
					r.sessions.set(gate.Session{Name: "r"}, gate.Errf(gate.CodeNotOptedIn, "r", "is not opted in"))
					switch where {
					case "another question":
						r.Submit(in("t", `{"to":1}`))
					case "the robot's turn":
						r.Submit(in("s", `{"to":3}`))
					}
					synctest.Wait()
					_, err := r.Recover(t.Context())
					require.NoError(t, err)
					synctest.Wait()
					c.end(r, shown.CallID)
					synctest.Wait()
					rec := r.stored(shown.CallID)
					require.Equal(t, c.state, rec.State)
					require.Contains(t, string(rec.Answer), `"code":"`+string(c.code)+`"`)
					require.Zero(t, r.arm.ran.Load())
					if name == "closing" {
						ended = true
						require.NoError(t, r.disk.Close())
					}
				})
			})
		}
	}
}

// Its turn comes after its expiry, by a clock that has been set on, before any timer has
// said so: it ends with an answer and a record, as it does by the timer.
func TestG47_ATurnThatComesAfterTheExpiryEndsWithAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, shown := pending(t, "s", `{"to":1}`)
		var on atomic.Int64
		turn := make(chan struct{})
		s := gatetest.Script(t, gatetest.Step{Decision: gate.Rejected, Do: func(context.Context, gate.Request) { <-turn }})
		r := d.life(s, func(c *gate.Config) {
			c.Now = func() time.Time { return time.Now().Add(time.Duration(on.Load())) }
		})
		defer r.end()
		r.Submit(in("t", `{"to":1}`))
		synctest.Wait()
		_, err := r.Recover(t.Context())
		require.NoError(t, err)
		synctest.Wait()
		on.Store(int64(time.Until(shown.Expiry)))
		close(turn)
		synctest.Wait()
		rec := r.stored(shown.CallID)
		require.Equal(t, gate.RequestExpired, rec.State)
		require.Contains(t, string(rec.Answer), `"code":"REQUEST_EXPIRED"`)
		require.Contains(t, string(rec.Answer), "the request expired at")
		i := slices.IndexFunc(r.sink.of("approval"), func(e gate.Event) bool { return e.CallID == shown.CallID })
		require.GreaterOrEqual(t, i, 0)
		require.Equal(t, "expired", r.sink.of("approval")[i].Decision)
		require.Zero(t, r.arm.ran.Load())
	})
}

// New calls of the robot come after what was asked before them.
func TestG47_NewCallsQueueBehindWhatWasTakenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, shown := pending(t, "s", `{"to":1}`)
		s := gatetest.Script(t, gatetest.Approve(), gatetest.Reject())
		r := d.life(s)
		defer r.end()
		_, err := r.Recover(t.Context())
		require.NoError(t, err)
		require.Equal(t, gate.CodeNotApproved, r.call("move", `{"to":2}`).Code)
		require.Equal(t, shown.CallID, s.Requests()[0].CallID)
		require.EqualValues(t, 1, r.arm.ran.Load())
	})
}

// A run in which nobody can answer leaves what waits to one in which somebody can;
// its caller may withdraw it.
func TestG25_ARunWithoutAnApproverLeavesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, shown := pending(t, "s", `{"to":1}`)
		r := d.life(nil)
		got, err := r.Recover(t.Context())
		require.NoError(t, err)
		require.Len(t, got.Open, 1)
		synctest.Wait()
		a := r.status(shown.CallID, 0)
		require.Equal(t, "pending", a.Status)
		require.Equal(t, gate.RequestPending, r.stored(shown.CallID).State)
		require.Equal(t, gate.CodeNotApproved, r.call("move", `{"to":2}`).Code, "it doesn't hold up the robot")
		d = d.killed(r)

		r = d.life(nil)
		defer r.end()
		i := in("t", fmt.Sprintf(`{"call_id":%q}`, shown.CallID))
		i.Tool = "cancel_call"
		require.Equal(t, gate.CodeInvalidArgument, r.Call(t.Context(), i).Code, "another's")
		require.Equal(t, gate.RequestPending, r.stored(shown.CallID).State)
		require.Equal(t, gate.StatusOK, r.call("cancel_call", fmt.Sprintf(`{"call_id":%q}`, shown.CallID)).Status)
		require.Equal(t, gate.RequestWithdrawn, r.stored(shown.CallID).State)
		require.Equal(t, "cancelled", r.status(shown.CallID, 0).Status)
	})
}

// broken is a store that fails when it is to be taken up.
type broken struct {
	gate.Requests
	recover, pending error
}

func (b *broken) Recover(ctx context.Context, w string, now time.Time) (gate.Recovered, error) {
	if b.recover != nil {
		return gate.Recovered{}, b.recover
	}
	return b.Requests.Recover(ctx, w, now)
}

func (b *broken) Pending(ctx context.Context, now time.Time) ([]gate.Record, error) {
	if b.pending != nil {
		return nil, b.pending
	}
	return b.Requests.Pending(ctx, now)
}

func TestAStoreThatCantBeTakenUpIsAnError(t *testing.T) {
	for _, b := range []*broken{{recover: errTest}, {pending: errTest}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, gatetest.Script(t), func(c *gate.Config) { b.Requests, c.Requests = c.Requests, b })
			defer r.close()
			_, err := r.Recover(t.Context())
			require.True(t, errors.Is(err, errTest), "%v", err)
		})
	}
}

// A claim is kept alive while its action waits for the lane, and not for ever (G43).
func TestG43_AClaimIsRenewedWhileItWaitsForTheLane(t *testing.T) {
	for _, c := range []struct {
		busy time.Duration
		runs bool
	}{{5 * time.Second, true}, {40 * time.Second, true}, {70 * time.Second, false}} {
		t.Run(c.busy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, gatetest.Script(t, gatetest.Approve(), gatetest.Approve()), func(cfg *gate.Config) {
					cfg.StartWithin = 5 * time.Minute
					cfg.Requests = approval.NewMemoryWith(approval.Options{Lease: 15 * time.Second, HardStop: time.Minute})
				})
				defer r.close()
				r.arm.change(func(a *arm) {
					a.run = func(context.Context) (gate.Result, error) {
						time.Sleep(c.busy)
						return gate.Result{}, nil
					}
				})
				first := r.Submit(in("s", `{"to":1}`))
				synctest.Wait()
				a := r.Call(t.Context(), in("t", `{"to":1}`))
				<-first.Done()
				if c.runs {
					require.Equal(t, gate.StatusOK, a.Status, a.Text)
					return
				}
				require.Equal(t, gate.CodeRequestExpired, a.Code, a.Text)
				require.EqualValues(t, 1, r.arm.ran.Load())
			})
		})
	}
}
