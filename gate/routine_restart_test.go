package gate_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

// atDisk is a bridge on a disk with a rail, and a routine that was approved.
func atDisk(t *testing.T, sled *rail, args string) (*disk, *rig, gate.Answer) {
	t.Helper()
	d := newDisk(t)
	r := d.life(gatetest.Script(t, gatetest.Approve()), withRail(sled))
	_, err := r.Recover(t.Context())
	require.NoError(t, err)
	reg := r.call("register_routine", args)
	require.Equal(t, gate.StatusOK, reg.Status, reg.Text)
	return d, r, reg
}

func TestG14_AFiringThatWasKilledIsUnknownAndNeverResumed(t *testing.T) {
	sled, in := newRail(), make(chan struct{})
	d, r, _ := atDisk(t, sled, routine("out", 3, "1", "2", "3"))
	sled.set(func(x *rail) {
		x.on = func(ctx context.Context, to float64) error {
			if to == 2 {
				close(in)
				<-ctx.Done()
				return gate.Errf(gate.CodeStopped, "sled", "stopped")
			}
			return nil
		}
	})
	ticket := r.Submit(inv("run_routine", `{"name":"out"}`))
	<-in
	d = d.killed(r)
	require.Equal(t, []float64{1, 2}, sled.ran())

	sled.set(func(x *rail) { x.on = nil })
	r = d.life(gatetest.Script(t), withRail(sled))
	defer r.end()
	got, err := r.Recover(t.Context())
	require.NoError(t, err)
	require.Len(t, got.Unknown, 1)
	require.Empty(t, got.Open)
	a := r.status(ticket.ID(), 0)
	require.Equal(t, "unknown", a.Status)
	require.Equal(t, string(gate.CodeUnknownOutcome), a.Code)
	require.Equal(t, "exempt", a.Approval)
	require.Equal(t, []float64{1, 2}, sled.ran(), "the rest never runs")
	all, err := r.Routines(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, 1, all[0].Fired, "it was one")
	// The same call id runs nothing.
	i := inv("run_routine", `{"name":"out"}`)
	i.CallID = ticket.ID()
	require.Equal(t, gate.StatusUnknown, r.Call(t.Context(), i).Status)
	require.Len(t, sled.ran(), 2)
	// From where the robot is the next firing doesn't begin; from the start it does.
	b, _ := r.fire("out")
	require.Equal(t, gate.CodeStartMoved, b.Code, b.Text)
	sled.set(func(x *rail) { x.at = 0 })
	b, firing := r.fire("out")
	require.Equal(t, gate.StatusOK, b.Status, b.Text)
	require.Equal(t, 2, firing.Firing)
}

// A firing that hadn't begun when the bridge ended isn't asked of anybody.
func TestG14_AFiringThatHadntBegunIsDropped(t *testing.T) {
	sled := newRail()
	d, r, _ := atDisk(t, sled, routine("out", 3, "1"))
	now := time.Now()
	req := gate.Request{
		CallID: "0123456789abcdef0123456789abcdef", Tool: "run_routine", Tier: gate.TierPhysical, Args: []byte(`{"name":"out"}`),
		Effect: "x", Session: gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim"}, Principal: "p", Origin: "test",
		Digest: [32]byte{1}, Asked: now, Expiry: now.Add(time.Minute),
	}
	secret, err := r.disk.Open(t.Context(), req, []byte(`{}`))
	require.NoError(t, err)
	_, err = r.disk.Claim(t.Context(), gate.Claim{ID: req.CallID, Digest: req.Digest, Secret: secret, Worker: "w", Decider: "routine out", Now: now})
	require.NoError(t, err)
	d = d.killed(r)
	r = d.life(gatetest.Script(t), withRail(sled))
	defer r.end()
	_, err = r.Recover(t.Context())
	require.NoError(t, err)
	a := r.status(req.CallID, 30)
	require.Equal(t, string(gate.CodeRequestExpired), a.Code, a.Text)
	require.Empty(t, sled.ran())
	all, err := r.Routines(t.Context())
	require.NoError(t, err)
	require.Zero(t, all[0].Fired)
}

func TestG14_ARegistrationOutlivesTheBridge(t *testing.T) {
	sled, u := newRail(), gatetest.Nobody(t)
	d := newDisk(t)
	r := d.life(u, withRail(sled))
	_, err := r.Recover(t.Context())
	require.NoError(t, err)
	r.Submit(inv("register_routine", routine("out", 2, "1", "2")))
	shown := <-u.Asked
	d = d.killed(r)

	s := gatetest.Script(t, gatetest.Approve())
	r = d.life(s, withRail(sled))
	_, err = r.Recover(t.Context())
	require.NoError(t, err)
	a := r.status(shown.CallID, 30)
	require.Equal(t, "ok", a.Status, a.Text)
	require.Equal(t, shown.Card, s.Requests()[0].Card)
	require.Equal(t, shown.Digest, s.Requests()[0].Digest)
	d = d.killed(r)

	r = d.life(gatetest.Script(t), withRail(sled))
	defer r.end()
	b, got := r.fire("out")
	require.Equal(t, gate.StatusOK, b.Status, b.Text)
	require.Equal(t, shown.CallID, got.Card)
	require.Equal(t, []float64{1, 2}, sled.ran())
}

func TestG14_AChangedSceneExpiresARegistrationThatWaits(t *testing.T) {
	sled, u := newRail(), gatetest.Nobody(t)
	d := newDisk(t)
	r := d.life(u, withRail(sled))
	r.Submit(inv("register_routine", routine("out", 2, "1", "2")))
	shown := <-u.Asked
	d = d.killed(r)
	sled.set(func(x *rail) { x.scene++ })
	r = d.life(gatetest.Script(t), withRail(sled))
	defer r.end()
	_, err := r.Recover(t.Context())
	require.NoError(t, err)
	a := r.status(shown.CallID, 30)
	require.Equal(t, string(gate.CodeRequestExpired), a.Code)
	require.Contains(t, a.Text, "the scene changed")
}

// However many fire it at once, no more firings begin than were approved.
func TestG14_ManyCallersFireItNoMoreOftenThanWasApproved(t *testing.T) {
	sled := newRail()
	r := newRig(t, gatetest.Script(t, gatetest.Approve()), withRail(sled))
	defer r.close()
	require.Equal(t, gate.StatusOK, r.call("register_routine", routine("stay", 3, "0")).Status)
	var mu sync.Mutex
	count := map[gate.Code]int{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			a := r.Call(context.Background(), inv("run_routine", `{"name":"stay"}`))
			mu.Lock()
			defer mu.Unlock()
			count[a.Code]++
		})
	}
	wg.Wait()
	require.Equal(t, map[gate.Code]int{"": 3, gate.CodeNotApproved: 5}, count)
	require.Len(t, sled.ran(), 3)
}

func TestG14_WhatCantBeCountedIsntFired(t *testing.T) {
	sled := newRail()
	f := &cantCount{}
	r := newRig(t, gatetest.Script(t, gatetest.Approve()), withRail(sled), func(c *gate.Config) {
		f.kept = c.Routines
		c.Routines = f
	})
	defer r.close()
	require.Equal(t, gate.StatusOK, r.call("register_routine", routine("stay", 3, "0")).Status)
	a, _ := r.fire("stay")
	require.Equal(t, gate.CodeNotApproved, a.Code, a.Text)
	require.Contains(t, a.Text, "could not be counted, so nothing was run")
	require.Empty(t, sled.ran())
}

// cantCount is a store that doesn't know whether it has counted a firing.
type cantCount struct{ kept }

// kept has another name than its own method, so that it can be embedded.
type kept = gate.Routines

func (*cantCount) Fire(context.Context, string, int, time.Time) error {
	return gate.Errf(gate.CodeInternal, "bridge.db", "the disk is full")
}
