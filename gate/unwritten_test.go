package gate_test

import (
	"context"
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

// downStore is a store whose writes fail while it is told to, after having done what
// they were told where late is set.
type downStore struct {
	gate.Requests
	down, late atomic.Bool
}

var errDown = gate.Errf(gate.CodeInternal, "disk", "there is no room")

func (f *downStore) Open(ctx context.Context, req gate.Request, snapshot []byte) (gate.Secret, error) {
	if f.down.Load() && !f.late.Load() {
		return gate.Secret{}, errDown
	}
	s, err := f.Requests.Open(ctx, req, snapshot)
	if f.down.Load() {
		err = errDown
	}
	return s, err
}

func (f *downStore) Start(ctx context.Context, l gate.Lease, now time.Time) error {
	if f.down.Load() && !f.late.Load() {
		return errDown
	}
	err := f.Requests.Start(ctx, l, now)
	if f.down.Load() {
		err = errDown
	}
	return err
}

func (f *downStore) Finish(ctx context.Context, id string, e gate.Ending) error {
	if f.down.Load() {
		return errDown
	}
	return f.Requests.Finish(ctx, id, e)
}

// flaky puts a store that can fail before the rig's own.
func whileDown(f *downStore) func(*gate.Config) {
	return func(c *gate.Config) { f.Requests, c.Requests = c.Requests, f }
}

// What ends while the store takes nothing is known all the same, and stored as soon as
// it takes something again; until then nothing new is asked, and a stop works.
func TestG40_AnEndThatTheStoreFailedToTakeIsStoredLater(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(*rig, gate.Ticket)
		state gate.RequestState
		code  gate.Code
	}{
		"a no": {func(r *rig, tk gate.Ticket) {
			require.NoError(r.t, r.Refuse(context.Background(), tk.ID(), "ann", "answered"))
		}, gate.RequestRejected, gate.CodeNotApproved},
		"a stop":       {func(r *rig, _ gate.Ticket) { r.call("stop", `{}`) }, gate.RequestStopped, gate.CodeStopped},
		"a withdrawal": {func(_ *rig, tk gate.Ticket) { tk.Cancel("enough") }, gate.RequestWithdrawn, gate.CodeCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, u := &downStore{}, gatetest.Nobody(t)
				r := newRig(t, u, whileDown(f))
				defer r.close()
				tk := r.Submit(in("s", `{"to":1}`))
				<-u.Asked
				f.down.Store(true)
				c.end(r, tk)
				<-tk.Done()
				require.Equal(t, c.code, tk.Answer().Code)
				require.Equal(t, gate.RequestPending, r.state(tk.ID()), "the store doesn't know")

				rec, err := r.Stored(t.Context(), tk.ID())
				require.NoError(t, err)
				require.Equal(t, c.state, rec.State, "the gate does")
				open, err := r.Open(t.Context())
				require.NoError(t, err)
				require.Empty(t, open)
				a := r.call("move", `{"to":2}`)
				require.Equal(t, gate.CodeInternal, a.Code)
				require.Contains(t, a.Text, "the end of 1 earlier request(s) couldn't be stored yet")
				require.Contains(t, a.Text, "there is no room")
				require.Equal(t, gate.StatusRefused, a.Status)
				for _, stop := range []string{"stop", "estop"} {
					r.call(stop, `{}`) // no backend, so not ok; it acts and answers
				}
				require.Equal(t, gate.StatusOK, r.call("echo", `{}`).Status)
				time.Sleep(time.Minute)
				require.Equal(t, gate.RequestPending, r.state(tk.ID()))

				f.down.Store(false)
				time.Sleep(2 * time.Second)
				synctest.Wait()
				require.Equal(t, c.state, r.state(tk.ID()))
				stored, err := r.requests.Get(t.Context(), tk.ID())
				require.NoError(t, err)
				require.Contains(t, string(stored.Answer), string(c.code))
				if c.state == gate.RequestRejected {
					require.Equal(t, "ann", stored.Decider)
				}
				r.Submit(in("s", `{"to":2}`))
				<-u.Asked
			})
		})
	}
}

// Closing writes it down, too, or says that it couldn't.
func TestG40_ClosingStoresWhatIsLeft(t *testing.T) {
	for _, recovers := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := &downStore{}
			r := newRig(t, gatetest.Script(t, gatetest.Step{
				Decision: gate.Rejected, By: "ann", Do: func(context.Context, gate.Request) { f.down.Store(true) },
			}), whileDown(f))
			a := r.call("move", `{"to":1}`)
			require.Equal(t, gate.CodeNotApproved, a.Code)
			if recovers {
				f.down.Store(false)
				r.close()
				require.Equal(t, gate.RequestRejected, r.state(a.CallID))
				return
			}
			err := r.Close(t.Context())
			require.ErrorIs(t, err, errDown)
			require.ErrorContains(t, err, "that request "+a.CallID+" is rejected couldn't be stored")
			require.NoError(t, r.lane.Close())
		})
	}
}

// A store that has failed to say whether it has a request may have it: nobody was
// asked, so nobody is after a restart.
func TestG40_ARequestThatMayBeStoredIsNotAskedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &downStore{}
		f.down.Store(true)
		f.late.Store(true)
		r := newRig(t, gatetest.Script(t), whileDown(f))
		defer r.close()
		a := r.call("move", `{"to":1}`)
		require.Equal(t, gate.CodeInternal, a.Code)
		require.Equal(t, gate.RequestPending, r.state(a.CallID))
		f.down.Store(false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, gate.RequestWithdrawn, r.state(a.CallID))

		// One that it hasn't is none.
		f.late.Store(false)
		f.down.Store(true)
		b := r.call("move", `{"to":2}`)
		require.Equal(t, gate.CodeInternal, b.Code)
		f.down.Store(false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		_, err := r.requests.Get(t.Context(), b.CallID)
		require.Equal(t, gate.CodeInvalidArgument, gate.CodeOf(err))
	})
}

// A start that was recorded and not reported moves nothing, and is done with an answer
// that says so: it is never unknown.
func TestG44_AStartThatMayBeStoredMovesNothing(t *testing.T) {
	for _, late := range []bool{true, false} {
		t.Run(fmt.Sprint("recorded: ", late), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &downStore{}
				f.late.Store(late)
				r := newRig(t, gatetest.Script(t, gatetest.Approve(), gatetest.Approve()), whileDown(f))
				defer r.close()
				r.arm.change(func(a *arm) { a.check = func() error { f.down.Store(true); return nil } })
				a := r.call("move", `{"to":1}`)
				require.Equal(t, gate.CodeInternal, a.Code)
				require.Equal(t, gate.StatusRefused, a.Status)
				require.Zero(t, r.arm.ran.Load())
				r.arm.change(func(a *arm) { a.check = nil })
				f.down.Store(false)
				time.Sleep(2 * time.Second)
				synctest.Wait()
				want := gate.RequestWithdrawn
				if late {
					want = gate.RequestDone
				}
				require.Equal(t, want, r.state(a.CallID))
				require.Contains(t, r.status(a.CallID, 0).Text, "there is no room")
				require.Equal(t, gate.StatusOK, r.call("move", `{"to":2}`).Status)
				require.Contains(t, strings.Join(r.log.levels(), "\n"), "WARN the end of a request is stored at last")
			})
		})
	}
}
