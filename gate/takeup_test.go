package gate_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

// shared is a store on which what waits is another bridge's until it is adopted.
type shared struct {
	gate.Requests
	mine atomic.Bool
	read atomic.Int32
}

func (e *shared) own(r gate.Record) gate.Record {
	if !e.mine.Load() {
		r.Owner = "the other one"
	}
	return r
}

func (e *shared) Get(ctx context.Context, id string) (gate.Record, error) {
	r, err := e.Requests.Get(ctx, id)
	return e.own(r), err
}

func (e *shared) Pending(ctx context.Context, now time.Time) ([]gate.Record, error) {
	list, err := e.Requests.Pending(ctx, now)
	for i := range list {
		list[i] = e.own(list[i])
	}
	return list, err
}

func (e *shared) Read(ctx context.Context, id string, now time.Time) (gate.Record, gate.Secret, error) {
	e.read.Add(1)
	return e.Requests.Read(ctx, id, now)
}

func (e *shared) adopt(context.Context) error {
	e.mine.Store(true)
	return nil
}

// What another bridge asks isn't asked here, until it is taken up: then with the same
// card, and it runs once.
func TestG47_AnotherBridgesRequestIsTakenUpOnlyWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, shown := pending(t, "s", `{"to":1}`)
		s := gatetest.Script(t, gatetest.Approve())
		e := &shared{}
		r := d.life(s, func(c *gate.Config) { e.Requests, c.Requests = c.Requests, e })
		defer r.end()
		got, err := r.Recover(t.Context())
		require.NoError(t, err)
		require.Len(t, got.Open, 1)
		time.Sleep(time.Minute)
		require.Empty(t, s.Requests())
		require.Zero(t, e.read.Load(), "its secret is the other bridge's")

		require.NoError(t, r.TakeUp(t.Context(), shown.CallID, r.Stamp(), e.adopt))
		a := r.status(shown.CallID, 30)
		require.Equal(t, "ok", a.Status, a.Text)
		require.EqualValues(t, 1, r.arm.ran.Load())
		require.Equal(t, shown.Digest, s.Requests()[0].Digest)
		err = r.TakeUp(t.Context(), shown.CallID, r.Stamp(), e.adopt)
		require.Equal(t, gate.CodeInProgress, gate.CodeOf(err), "%v", err)
		require.EqualValues(t, 1, r.arm.ran.Load())
	})
}

// What can't be asked here stays the other bridge's, as it was.
func TestG47_WhatCantBeTakenUpStaysTheOtherBridges(t *testing.T) {
	why := errors.New("somebody else was quicker")
	for name, c := range map[string]struct {
		change func(*rig)
		adopt  error
		id     string
		code   gate.Code
	}{
		"the robot has moved": {change: func(r *rig) {
			r.arm.change(func(a *arm) { a.check = func() error { return gate.Errf(gate.CodeStartMoved, "a", "has moved") } })
		}, code: gate.CodeNotApproved},
		"another robot":   {change: func(r *rig) { r.arm.change(func(a *arm) { a.version++ }) }, code: gate.CodeNotApproved},
		"another session": {change: func(r *rig) { delete(r.sessions.list, "s") }, code: gate.CodeNotApproved},
		"somebody else":   {change: func(*rig) {}, adopt: gate.Errf(gate.CodeInProgress, "call_id", "%w", why), code: gate.CodeInProgress},
		"no such request": {change: func(*rig) {}, id: "00000000000000000000000000000000", code: gate.CodeInvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, shown := pending(t, "s", `{"to":1}`)
				s := gatetest.Script(t)
				e := &shared{}
				r := d.life(s, func(x *gate.Config) { e.Requests, x.Requests = x.Requests, e })
				defer r.end()
				_, err := r.Recover(t.Context())
				require.NoError(t, err)
				c.change(r)
				id := c.id
				if id == "" {
					id = shown.CallID
				}
				adopted := 0
				err = r.TakeUp(t.Context(), id, r.Stamp(), func(context.Context) error { adopted++; return c.adopt })
				require.Equal(t, c.code, gate.CodeOf(err), "%v", err)
				if c.adopt == nil {
					require.Zero(t, adopted)
				}
				time.Sleep(time.Minute)
				require.Empty(t, s.Requests())
				require.Zero(t, r.arm.ran.Load())
				require.Equal(t, gate.RequestPending, r.stored(shown.CallID).State)
			})
		})
	}
}

// Where nobody can answer nothing is taken up; what is this bridge's own isn't either.
func TestG25_NothingIsTakenUpThatNobodyCanAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, shown := pending(t, "s", `{"to":1}`)
		r := d.life(gate.AutoReject{})
		never := func(context.Context) error { t.Error("adopted"); return nil }
		err := r.TakeUp(t.Context(), shown.CallID, r.Stamp(), never)
		require.Equal(t, gate.CodeNotSupported, gate.CodeOf(err), "%v", err)
		r.end()
		u := gatetest.Nobody(t)
		r = d.life(u)
		defer r.end()
		err = r.TakeUp(t.Context(), shown.CallID, r.Stamp(), never)
		require.Equal(t, gate.CodeInvalidArgument, gate.CodeOf(err), "%v", err)
	})
}

// A stop since the moment at which somebody was asked ends it: before it is adopted, and
// after.
func TestG6_AStopSinceTheYesEndsWhatIsTakenUp(t *testing.T) {
	for name, c := range map[string]struct {
		before, adopting bool
		zero             bool
		state            gate.RequestState
	}{
		"a stop before":      {before: true, state: gate.RequestPending},
		"no stamp":           {zero: true, state: gate.RequestPending},
		"a stop in adopting": {adopting: true, state: gate.RequestStopped},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, shown := pending(t, "s", `{"to":1}`)
				s := gatetest.Script(t)
				e := &shared{}
				r := d.life(s, func(x *gate.Config) { e.Requests, x.Requests = x.Requests, e })
				defer r.end()
				_, err := r.Recover(t.Context())
				require.NoError(t, err)
				asked := r.Stamp()
				if c.zero {
					asked = 0
				}
				if c.before {
					r.call("stop", `{}`)
				}
				err = r.TakeUp(t.Context(), shown.CallID, asked, func(ctx context.Context) error {
					require.True(t, c.adopting, "adopted")
					r.call("stop", `{}`)
					return e.adopt(ctx)
				})
				if !c.adopting {
					require.Equal(t, gate.CodeNotApproved, gate.CodeOf(err), "%v", err)
					require.ErrorIs(t, errors.Unwrap(err), gate.ErrCode(gate.CodeStopped))
				} else {
					require.NoError(t, err)
				}
				synctest.Wait()
				require.Empty(t, s.Requests())
				require.Zero(t, r.arm.ran.Load())
				require.Equal(t, c.state, r.stored(shown.CallID).State)
			})
		})
	}
}
