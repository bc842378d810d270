package approval_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
)

// bridgeAt opens a store as a bridge of its own, and closes it with the test.
func (p place) bridgeAt(t testing.TB, home string) *approval.Postgres {
	t.Helper()
	s := p.open(t, home, approval.Options{})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func claimOf(t testing.TB, s gate.Requests, id, worker string) (gate.Claim, error) {
	t.Helper()
	r, secret, err := s.Read(t.Context(), id, time.Now())
	return gate.Claim{ID: id, Digest: r.Request.Digest, Secret: secret, Claims: r.Claims, Worker: worker, Decider: "d", Now: time.Now()}, err
}

// A request that a living bridge has is listed everywhere and nobody else's: not to
// read, to claim, to end or to take up.
func TestPostgresWhatALivingBridgeHasIsItsOwn(t *testing.T) {
	p := newPlace(t)
	a, b := p.bridgeAt(t, "a"), p.bridgeAt(t, "b")
	c := ask(t, a, "x")
	for s, owner := range map[*approval.Postgres]string{a: "", b: "a"} {
		list, err := s.Pending(t.Context(), time.Now())
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Equal(t, owner, list[0].Owner)
		got, err := s.Get(t.Context(), "x")
		require.NoError(t, err)
		require.Equal(t, owner, got.Owner)
	}
	shares, err := b.Shares(t.Context(), time.Now())
	require.NoError(t, err)
	require.Len(t, shares, 1)
	require.True(t, shares[0].Lives)
	shares, err = a.Shares(t.Context(), time.Now())
	require.NoError(t, err)
	require.Empty(t, shares)

	busy := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, gate.ErrCode(gate.CodeInProgress), fmt.Sprint(err))
	}
	_, err = claimOf(t, b, "x", "wb")
	busy(err)
	stolen := c
	stolen.Worker = "wb"
	_, err = b.Claim(t.Context(), stolen)
	busy(err)
	busy(b.Finish(t.Context(), "x", gate.Ending{State: gate.RequestRejected}))
	busy(b.Adopt(t.Context(), "x"))
	_, err = b.Open(t.Context(), mustRead(t, a, "x"), []byte("s"))
	busy(err)

	// Its own secret is what it was, whoever has looked.
	c, err = claimOf(t, a, "x", "wa")
	require.NoError(t, err)
	_, err = b.Share(t.Context(), "x")
	require.NoError(t, err)
	l, err := a.Claim(t.Context(), c)
	require.NoError(t, err)
	busy(b.Start(t.Context(), l, time.Now()))
	busy(b.Finish(t.Context(), "x", gate.Ending{State: gate.RequestStopped}))
	require.NoError(t, a.Start(t.Context(), l, time.Now()))
	busy(b.Finish(t.Context(), "x", gate.Ending{State: gate.RequestDone}))
	require.NoError(t, a.Finish(t.Context(), "x", gate.Ending{State: gate.RequestDone}))
}

func mustRead(t testing.TB, s gate.Requests, id string) gate.Request {
	t.Helper()
	r, err := s.Get(t.Context(), id)
	require.NoError(t, err)
	return r.Request
}

// What a bridge is at is settled by another one only when that bridge has ended.
func TestG44_PostgresRecoverLeavesWhatLives(t *testing.T) {
	p := newPlace(t)
	a, b := p.bridgeAt(t, "a"), p.bridgeAt(t, "b")
	began, err := a.Claim(t.Context(), ask(t, a, "started"))
	require.NoError(t, err)
	require.NoError(t, a.Start(t.Context(), began, time.Now()))
	claimed, err := a.Claim(t.Context(), ask(t, a, "claimed"))
	require.NoError(t, err)
	ask(t, a, "pending")

	got, err := b.Recover(t.Context(), "wb", time.Now())
	require.NoError(t, err)
	require.Empty(t, got.Unknown)
	require.Empty(t, got.Reopened)
	require.NoError(t, a.Start(t.Context(), claimed, time.Now()))
	require.NoError(t, a.Finish(t.Context(), "claimed", gate.Ending{State: gate.RequestDone}))
	claimed, err = a.Claim(t.Context(), ask(t, a, "claimed again"))
	require.NoError(t, err)

	require.NoError(t, a.Close())
	got, err = b.Recover(t.Context(), "wb", time.Now())
	require.NoError(t, err)
	require.Len(t, got.Unknown, 1)
	require.Equal(t, "started", got.Unknown[0].Request.CallID)
	require.Equal(t, gate.RequestUnknown, got.Unknown[0].State)
	require.Len(t, got.Reopened, 1)
	require.Equal(t, "claimed again", got.Reopened[0].Request.CallID)
	require.Equal(t, "a", got.Reopened[0].Owner)
	for id, state := range map[string]gate.RequestState{"started": gate.RequestUnknown, "claimed again": gate.RequestPending, "pending": gate.RequestPending} {
		r, err := b.Get(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, state, r.State, id)
		require.Equal(t, "a", r.Owner, "it stays that bridge's")
	}

	// The bridge of that home has them back, and its earlier claim starts nothing.
	again := p.bridgeAt(t, "a")
	got, err = again.Recover(t.Context(), "wa2", time.Now())
	require.NoError(t, err)
	require.Empty(t, got.Unknown, "told once")
	require.ErrorIs(t, again.Start(t.Context(), claimed, time.Now()), gate.ErrCode(gate.CodeNotApproved))
	for _, id := range []string{"pending", "claimed again"} {
		c, err := claimOf(t, again, id, "wa2")
		require.NoError(t, err)
		l, err := again.Claim(t.Context(), c)
		require.NoError(t, err)
		require.NoError(t, again.Start(t.Context(), l, time.Now()))
	}
}

// A hundred people at two other bridges answer one question; the bridge that has it
// hears of one of them, once, and runs it once.
func TestCase64_PostgresAHundredClickersAtTwoBridges(t *testing.T) {
	p := newPlace(t)
	a, b, c := p.bridgeAt(t, "a"), p.bridgeAt(t, "b"), p.bridgeAt(t, "c")
	for round := range rounds(5) {
		id := fmt.Sprint("x", round)
		ask(t, a, id)
		digest := mustRead(t, a, id).Digest
		yes := approval.Posting{ID: id, Digest: digest, Decision: gate.Approved, By: "ann", Reason: "answered", Proof: []byte("p")}
		require.ErrorIs(t, b.Post(t.Context(), yes), gate.ErrCode(gate.CodeInProgress), "it isn't asked yet")
		require.NoError(t, a.Asks(t.Context(), id, "nonce", time.Now().Add(time.Minute)))
		var posted, taken, started atomic.Int32
		var wg sync.WaitGroup
		for i := range 100 {
			s := []*approval.Postgres{b, c}[i%2]
			wg.Go(func() {
				y := yes
				y.By = fmt.Sprint("d", i)
				switch err := s.Post(t.Context(), y); {
				case err == nil:
					posted.Add(1)
				case gate.CodeOf(err) != gate.CodeInProgress:
					t.Errorf("a click too late: %v", err)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 1, posted.Load())
		for range 20 {
			wg.Go(func() {
				got, ok, err := a.Take(t.Context(), id)
				if err != nil || !ok {
					return
				}
				taken.Add(1)
				require.Equal(t, "p", string(got.Proof))
				k, err := claimOf(t, a, id, "wa")
				if err != nil {
					return
				}
				if l, err := a.Claim(t.Context(), k); err == nil && a.Start(t.Context(), l, time.Now()) == nil {
					started.Add(1)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 1, taken.Load())
		require.EqualValues(t, 1, started.Load())
		require.ErrorIs(t, b.Post(t.Context(), yes), gate.ErrCode(gate.CodeInProgress))
	}
}

// The bridge that asked has ended: of a hundred people at two others one takes it up.
func TestCase64_PostgresAHundredClickersOnWhatADeadBridgeLeft(t *testing.T) {
	p := newPlace(t)
	a, b, c := p.bridgeAt(t, "a"), p.bridgeAt(t, "b"), p.bridgeAt(t, "c")
	ask(t, a, "x")
	digest := mustRead(t, a, "x").Digest
	require.NoError(t, a.Asks(t.Context(), "x", "nonce", time.Now().Add(time.Minute)))
	require.NoError(t, a.Close())
	err := b.Post(t.Context(), approval.Posting{ID: "x", Digest: digest, Decision: gate.Approved})
	require.ErrorIs(t, err, gate.ErrCode(gate.CodeDisconnected), "nobody would take it")
	_, err = claimOf(t, b, "x", "w")
	require.ErrorIs(t, err, gate.ErrCode(gate.CodeDisconnected), "nor does anybody who merely looks")
	var adopted, started atomic.Int32
	var wg sync.WaitGroup
	for i := range 100 {
		s := []*approval.Postgres{b, c}[i%2]
		wg.Go(func() {
			err := s.Adopt(t.Context(), "x")
			if err != nil {
				if gate.CodeOf(err) != gate.CodeInProgress {
					t.Errorf("taken up too late: %v", err)
				}
				return
			}
			adopted.Add(1)
			k, err := claimOf(t, s, "x", fmt.Sprint("w", i))
			if err != nil {
				return
			}
			if l, err := s.Claim(t.Context(), k); err == nil && s.Start(t.Context(), l, time.Now()) == nil {
				started.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, adopted.Load())
	require.EqualValues(t, 1, started.Load())
}

// A no needs no open question; an answer is the one's whom it is posted to; one that
// nobody has taken in time is none.
func TestPostgresPosts(t *testing.T) {
	p := newPlace(t)
	a, b := p.bridgeAt(t, "a"), p.bridgeAt(t, "b")
	ask(t, a, "x")
	digest := mustRead(t, a, "x").Digest
	no := approval.Posting{ID: "x", Digest: digest, Decision: gate.Rejected, By: "bob", Reason: "too fast"}
	code := func(err error, c gate.Code) { t.Helper(); require.ErrorIs(t, err, gate.ErrCode(c), fmt.Sprint(err)) }
	code(a.Post(t.Context(), no), gate.CodeInvalidArgument)
	other := no
	other.Digest[0]++
	code(b.Post(t.Context(), other), gate.CodeNotApproved)
	other = no
	other.Decision = gate.Void
	code(b.Post(t.Context(), other), gate.CodeInvalidArgument)
	other = no
	other.Proof = make([]byte, 1<<20)
	code(b.Post(t.Context(), other), gate.CodeInvalidArgument)
	other = no
	other.ID = "nobody"
	code(b.Post(t.Context(), other), gate.CodeInvalidArgument)

	drain(a)
	require.NoError(t, b.Post(t.Context(), no))
	await(t, a.News())
	ids, says, err := a.Posted(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"x"}, ids)
	require.Equal(t, []gate.Decision{gate.Rejected}, says)
	ids, _, err = b.Posted(t.Context())
	require.NoError(t, err)
	require.Empty(t, ids)
	_, ok, err := b.Take(t.Context(), "x")
	require.NoError(t, err)
	require.False(t, ok)
	got, ok, err := a.Take(t.Context(), "x")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, approval.Posting{ID: "x", Decision: gate.Rejected, By: "bob", Reason: "too fast", Proof: []byte{}}, got)
	_, ok, err = a.Take(t.Context(), "x")
	require.NoError(t, err)
	require.False(t, ok)

	drain(b)
	require.NoError(t, a.Says(t.Context(), "x", "the key isn't known here"))
	await(t, b.News())
	share, err := b.Share(t.Context(), "x")
	require.NoError(t, err)
	require.Equal(t, "the key isn't known here", share.Said)

	// Late: it is none, and makes room for another.
	require.NoError(t, b.Post(t.Context(), no))
	code(b.Post(t.Context(), no), gate.CodeInProgress)
	p.exec(t, "UPDATE requests SET posted_at = posted_at - interval '11 s'")
	_, ok, err = a.Take(t.Context(), "x")
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, b.Post(t.Context(), no))
	// An end is an end.
	require.NoError(t, a.Finish(t.Context(), "x", gate.Ending{State: gate.RequestStopped}))
	_, ok, err = a.Take(t.Context(), "x")
	require.NoError(t, err)
	require.False(t, ok)
	code(b.Post(t.Context(), no), gate.CodeStopped)
}

// drain takes what has been told so far.
func drain(s *approval.Postgres) {
	select {
	case <-s.News():
	default:
	}
}

func await(t testing.TB, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatal("nothing was told")
	}
}

// Grants and routines are the bridge's that made them: a session of the same name at
// another bridge is another session.
func TestG48_PostgresAGrantCoversNoOtherBridge(t *testing.T) {
	p := newPlace(t)
	a, b := p.bridgeAt(t, "a"), p.bridgeAt(t, "b")
	now := time.Now()
	s := gate.Session{Name: "sim", Mode: gate.ModeSim, Backend: "sim"}
	require.NoError(t, a.AddGrants(t.Context(), []gate.Grant{{
		ID: "g", Principal: "p", Session: s, Value: "zone:door", Reason: "r", Card: "c", Decider: "d", Granted: now, Expires: now.Add(time.Hour),
	}}))
	r := gate.Routine{
		ID: "r", Name: "wave", Principal: "p", Session: s, Digest: [32]byte{1}, Snapshot: []byte("s"), Firings: 2, Decider: "d",
		Registered: now, Expires: now.Add(time.Hour),
	}
	require.NoError(t, a.AddRoutine(t.Context(), r))
	grants, err := b.Grants(t.Context(), now)
	require.NoError(t, err)
	require.Empty(t, grants)
	_, err = b.Routine(t.Context(), "sim", "p", "wave", now)
	require.ErrorIs(t, err, gate.ErrCode(gate.CodeNotApproved))
	require.ErrorIs(t, b.Fire(t.Context(), "r", 0, now), gate.ErrCode(gate.CodeNotApproved))
	ended, err := b.RevokeGrant(t.Context(), "g", now)
	require.NoError(t, err)
	require.False(t, ended)
	r.ID = "r2"
	require.NoError(t, b.AddRoutine(t.Context(), r), "a name of its own")
	grants, err = a.Grants(t.Context(), now)
	require.NoError(t, err)
	require.Len(t, grants, 1)
	require.NoError(t, a.Fire(t.Context(), "r", 0, now))
}
