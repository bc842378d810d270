package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/gatetest"
)

// disk is where a rig keeps its requests.
type disk struct {
	t   *testing.T
	dir string
}

func newDisk(t *testing.T) *disk { return &disk{t, t.TempDir()} }

// life begins a bridge on the disk: a rig with its requests in SQLite.
func (d *disk) life(approver gate.Approver, change ...func(*gate.Config)) *rig {
	d.t.Helper()
	s, err := approval.OpenSQLite(d.t.Context(), filepath.Join(d.dir, "bridge.db"), approval.Options{})
	require.NoError(d.t, err)
	r := newRig(d.t, approver, append([]func(*gate.Config){func(c *gate.Config) { c.Requests = s }}, change...)...)
	r.disk = s
	return r
}

// end closes a bridge's rig and its store.
func (r *rig) end() {
	r.t.Helper()
	r.close()
	require.NoError(r.t, r.disk.Close())
}

// killed ends a bridge, and returns the disk as it is at this moment: whatever the
// bridge still writes on its way down happened after kill -9.
func (d *disk) killed(r *rig) *disk {
	d.t.Helper()
	after := newDisk(d.t)
	for _, f := range []string{"bridge.db", "bridge.db-wal", "bridge.db-tally"} {
		b, err := os.ReadFile(filepath.Join(d.dir, f))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		require.NoError(d.t, err)
		require.NoError(d.t, os.WriteFile(filepath.Join(after.dir, f), b, 0o600))
	}
	r.end()
	return after
}

// pending is a disk on which a call of a session waits for its answer, with the
// request that was shown.
func pending(t *testing.T, session, args string) (*disk, gate.Request) {
	t.Helper()
	d, u := newDisk(t), gatetest.Nobody(t)
	r := d.life(u)
	_, err := r.Recover(t.Context())
	require.NoError(t, err)
	r.Submit(in(session, args))
	shown := <-u.Asked
	return d.killed(r), shown
}

// status asks for a call and returns its answer.
func (r *rig) status(id string, wait float64) (a struct {
	Status, Code, Text, Approval, Digest string
	Result                               json.RawMessage
}) {
	r.t.Helper()
	got := r.call("call_status", fmt.Sprintf(`{"call_id":%q,"wait_s":%g}`, id, wait))
	require.Equal(r.t, gate.StatusOK, got.Status, got.Text)
	require.NoError(r.t, json.Unmarshal(got.Result, &a))
	return a
}

func (r *rig) stored(id string) gate.Record {
	r.t.Helper()
	rec, err := r.disk.Get(r.t.Context(), id)
	require.NoError(r.t, err)
	return rec
}

func TestG47_APendingRequestIsAskedAgainAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, shown := pending(t, "s", `{"to":1,"note":"é\u0007"}`)
		time.Sleep(time.Minute)
		s := gatetest.Script(t, gatetest.Approve(), gatetest.Reject())
		r := d.life(s)
		defer r.end()
		got, err := r.Recover(t.Context())
		require.NoError(t, err)
		require.Len(t, got.Open, 1)
		require.Empty(t, got.Unknown)
		a := r.status(shown.CallID, 30)
		require.Equal(t, "ok", a.Status, a.Text)
		require.Equal(t, "approved", a.Approval)
		require.JSONEq(t, `{"positions":{"a":1}}`, string(a.Result))
		require.EqualValues(t, 1, r.arm.ran.Load())
		require.Zero(t, r.arm.prepared.Load(), "what was shown is what ran, nothing was planned anew")

		again := s.Requests()[0]
		require.True(t, shown.Expiry.Equal(again.Expiry) && shown.Asked.Equal(again.Asked))
		again.Expiry, again.Asked = shown.Expiry, shown.Asked
		require.Equal(t, shown, again, "the same card, digest and expiry")
		require.Equal(t, gate.RequestDone, r.stored(shown.CallID).State)

		// The log has it to the end, as of any call.
		require.Len(t, r.sink.of("approval"), 1)
		e := r.sink.of("tool_call")[0]
		require.Equal(t, shown.CallID, e.CallID)
		require.Equal(t, gate.ApprovalApproved, e.Approval)
		require.Equal(t, "p", e.Principal)
		require.Equal(t, "s", e.SessionID)
		require.True(t, e.Restored, "an earlier process asked it")
		require.True(t, r.sink.of("approval")[0].Restored)

		// The same call id gives its answer and runs nothing (G45).
		i := in("s", `{"note":"é\u0007","to":1}`)
		i.CallID = shown.CallID
		b := r.Call(t.Context(), i)
		require.Equal(t, gate.StatusOK, b.Status, b.Text)
		require.EqualValues(t, 1, r.arm.ran.Load())
		require.Equal(t, gate.CodeNotApproved, r.call("move", `{"to":2}`).Code)
		require.False(t, r.sink.of("tool_call")[1].Restored, "one of this process isn't")
		_, err = r.Recover(t.Context())
		require.Equal(t, gate.CodeInvalidArgument, gate.CodeOf(err), "once")
	})
}

func TestG47_ANoAfterARestartIsANo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, shown := pending(t, "s", `{"to":1}`)
		r := d.life(gatetest.Script(t, gatetest.Reject()))
		defer r.end()
		_, err := r.Recover(t.Context())
		require.NoError(t, err)
		a := r.status(shown.CallID, 30)
		require.Equal(t, "refused", a.Status)
		require.Equal(t, refusedText, a.Text)
		require.Zero(t, r.arm.ran.Load())
		require.Equal(t, gate.RequestRejected, r.stored(shown.CallID).State)
	})
}

// Whatever isn't any more what the card said expires the request, with the reason,
// and nobody is asked for it.
func TestG47_AChangedWorldExpiresWhatWaited(t *testing.T) {
	policy := func(c *gate.Config) { c.Policy = func() [32]byte { return [32]byte{1} } }
	for name, c := range map[string]struct {
		change func(*rig)
		config func(*gate.Config)
		says   string
	}{
		"the robot has moved": {change: func(r *rig) {
			r.arm.change(func(a *arm) { a.check = func() error { return gate.Errf(gate.CodeStartMoved, "a", "has moved") } })
		}, says: "START_MOVED: a: has moved"},
		"driver, scene or limits": {change: func(r *rig) { r.arm.change(func(a *arm) { a.version++ }) }, says: "isn't what the card showed"},
		"another robot":           {change: func(r *rig) { r.arm.change(func(a *arm) { a.resource = "another" }) }, says: "isn't what the card showed"},
		"the policy":              {config: policy, says: "isn't what the card showed"},
		"the snapshot": {change: func(r *rig) {
			r.arm.change(func(a *arm) {
				a.wrap = func(x *armAction) gate.Action { x.call.Args = []byte(`{"to":2}`); return x }
			})
		}, says: "isn't what the card showed"},
		"the card": {change: func(r *rig) {
			r.arm.change(func(a *arm) { a.wrap = func(x *armAction) gate.Action { return &otherCard{x} } })
		}, says: "card: it would be another one"},
		"no action": {change: func(r *rig) {
			r.arm.change(func(a *arm) { a.wrap = func(*armAction) gate.Action { return nil } })
		}, says: "prepared nothing"},
		"a panic": {change: func(r *rig) {
			r.arm.change(func(a *arm) { a.wrap = func(*armAction) gate.Action { panic("x") } })
		}, says: "failed inside"},
		"the schema": {change: func(r *rig) {
			r.arm.change(func(a *arm) { a.spec.Input = gate.Obj(gate.Opt("to", gate.Num())) })
		}, says: "NOT_APPROVED"},
		"the session is on another robot": {change: func(r *rig) {
			r.sessions.set(gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim2"}, nil)
		}, says: "isn't what the card said"},
		"the session is real now": {change: func(r *rig) {
			r.sessions.set(gate.Session{Name: "s", Mode: gate.ModeReal, Backend: "sim"}, nil)
		}, says: "isn't what the card said"},
		"the tool is gone": {config: func(c *gate.Config) { c.Catalog = gate.NewCatalog() }, says: "Tool 'move' is not registered"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, shown := pending(t, "s", `{"to":1}`)
				if c.config == nil {
					c.config = func(*gate.Config) {}
				}
				r := d.life(gatetest.Script(t), c.config)
				defer r.end()
				if c.change != nil {
					c.change(r)
				}
				_, err := r.Recover(t.Context())
				require.NoError(t, err)
				synctest.Wait()
				rec := r.stored(shown.CallID)
				require.Equal(t, gate.RequestExpired, rec.State)
				require.Contains(t, string(rec.Answer), `"REQUEST_EXPIRED"`)
				var a struct{ Text string }
				require.NoError(t, json.Unmarshal(rec.Answer, &a))
				require.Contains(t, a.Text, c.says)
				require.Contains(t, a.Text, "it was not run")
				require.Zero(t, r.arm.ran.Load())
				events := r.sink.of("approval")
				require.Len(t, events, 1)
				require.Equal(t, "expired", events[0].Decision)
				require.Contains(t, events[0].Reason, c.says)
				require.Len(t, r.sink.of("tool_call"), 1)
			})
		})
	}
}

// otherCard is an action whose card isn't the one that was shown.
type otherCard struct{ *armAction }

func (x *otherCard) Card() gate.Card { return gate.Card{Assumed: []string{"something else"}} }

func TestG44_WhatWasStartedIsUnknownAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t)
		r := d.life(gatetest.Script(t, gatetest.Approve()))
		moving := make(chan struct{})
		r.arm.change(func(a *arm) {
			a.run = func(ctx context.Context) (gate.Result, error) {
				close(moving)
				<-ctx.Done()
				return gate.Result{}, gate.Errf(gate.CodeStopped, "", "stopped")
			}
		})
		id := r.Submit(in("s", `{"to":1}`)).ID()
		<-moving
		d = d.killed(r)

		for range 2 { // told once, and the same for ever
			r = d.life(gatetest.Script(t))
			got, err := r.Recover(t.Context())
			require.NoError(t, err)
			if len(got.Unknown) > 0 {
				require.Equal(t, id, got.Unknown[0].Request.CallID)
				require.Contains(t, r.log.levels(), "ERROR the bridge ended while this ran; what it did can't be known, and it is not run again")
				e := r.sink.of("tool_call")
				require.Len(t, e, 1)
				require.Equal(t, gate.StatusUnknown, e[0].Status)
				require.Equal(t, "recovery", r.sink.of("error")[0].Where)
			}
			synctest.Wait()
			a := r.status(id, 30)
			require.Equal(t, "unknown", a.Status)
			require.Equal(t, "UNKNOWN_OUTCOME", a.Code)
			require.Contains(t, a.Text, "do not send it again")
			require.Contains(t, a.Text, "the bridge ended while it ran")
			require.Equal(t, "approved", a.Approval)
			i := in("s", `{"to":1}`)
			i.CallID = id
			b := r.Call(t.Context(), i)
			require.Equal(t, gate.StatusUnknown, b.Status, b.Text)
			require.Zero(t, r.arm.ran.Load())
			require.Zero(t, r.arm.prepared.Load()+r.arm.restored.Load())
			require.Equal(t, gate.RequestUnknown, r.stored(id).State)
			d = d.killed(r)
		}
	})
}

// An approval that was given and not begun is asked again: nothing moves at
// start-up on the word of before.
func TestG44_WhatWasApprovedAndNotBegunIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t)
		r := d.life(gatetest.Script(t, gatetest.Approve()))
		checked := make(chan struct{})
		hang := make(chan struct{})
		r.arm.change(func(a *arm) {
			a.check = func() error { close(checked); <-hang; return nil }
		})
		id := r.Submit(in("s", `{"to":1}`)).ID()
		<-checked
		require.Equal(t, gate.RequestClaimed, r.stored(id).State)
		time.AfterFunc(time.Second, func() { close(hang) }) // after the kill
		d = d.killed(r)
		u := gatetest.Nobody(t)
		r = d.life(u)
		defer r.end()
		_, err := r.Recover(t.Context())
		require.NoError(t, err)
		require.Equal(t, id, (<-u.Asked).CallID)
		synctest.Wait()
		require.Zero(t, r.arm.ran.Load())
		require.Equal(t, gate.RequestPending, r.stored(id).State)
		require.Contains(t, strings.Join(r.log.levels(), "\n"), "WARN an approval was given and not begun")
	})
}

// What the store tells of a call, long after or in another process, is what the
// call answered, to the last field.
func TestG45_TheStoredAnswerIsTheAnswer(t *testing.T) {
	for name, bent := range map[string]func(*arm){
		"done": func(*arm) {},
		"refused by its check": func(a *arm) {
			a.check = func() error {
				return &gate.Error{
					Code: gate.CodeStartMoved, Where: "a", Text: "has moved", Value: &gate.Quantity{Value: 0.3, Unit: "rad"},
					Limit: &gate.Quantity{Value: 0.02, Unit: "rad"}, Nearest: []gate.Quantity{{Name: "a", Value: 0.1, Unit: "rad"}},
				}
			}
		},
		"failed": func(a *arm) {
			a.run = func(context.Context) (gate.Result, error) {
				return gate.Result{Data: json.RawMessage(`{"a":[1,2]}`)}, gate.Errf(gate.CodeDeviation, "a", "left its path")
			}
		},
		"unknown": func(a *arm) {
			a.run = func(context.Context) (gate.Result, error) { panic("x") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDisk(t)
				r := d.life(gatetest.Script(t, gatetest.Approve()))
				r.arm.change(bent)
				a := r.call("move", `{"to":1}`)
				status := fmt.Sprintf(`{"call_id":%q}`, a.CallID)
				first := r.call("call_status", status)
				d = d.killed(r)
				r = d.life(nil)
				defer r.end()
				again := r.call("call_status", status)
				require.JSONEq(t, string(first.Result), string(again.Result))
				require.Equal(t, first.Text, again.Text)
			})
			for what, c := range map[string]struct {
				session, principal, args string
				same                     bool
			}{
				"the call":            {"s", "p", `{"to":1}`, true},
				"another call":        {"s", "p", `{"to":2}`, false},
				"another session's":   {"t", "p", `{"to":1}`, false},
				"another principal's": {"s", "q", `{"to":1}`, false},
			} {
				synctest.Test(t, func(t *testing.T) {
					d := newDisk(t)
					r := d.life(gatetest.Script(t, gatetest.Approve()))
					r.arm.change(bent)
					a := r.call("move", `{"to":1}`)
					d = d.killed(r)
					r = d.life(nil)
					defer r.end()
					i := in(c.session, c.args)
					i.CallID, i.Principal = a.CallID, c.principal
					b := r.Call(t.Context(), i)
					if c.same {
						require.JSONEq(t, string(a.JSON()), string(b.JSON()), what)
					} else {
						require.Equal(t, gate.CodeInvalidArgument, b.Code, what)
						require.Contains(t, b.Text, "is taken by another call")
					}
					require.Zero(t, r.arm.ran.Load())
				})
			}
		})
	}
}
