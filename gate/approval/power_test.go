package approval

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3/vfs"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

func diskName(d *disk) string { return fmt.Sprintf("disk%p", d) }

// powerLosses is how often TestG44_PowerLoss cuts the power; `make soak` says 1000.
var powerLosses = flag.Int("power", 20, "how often TestG44_PowerLoss cuts the power")

// TestG44_PowerLoss: the power goes at random moments, in the middle of writes and
// syncs, and whatever the drive's cache makes of it, what a method had reported is
// there afterwards: nothing that moved can be run again, and no answer is lost.
func TestG44_PowerLoss(t *testing.T) {
	found, err := withoutPower(t, *powerLosses, "FULL")
	require.NoError(t, err)
	t.Logf("states found afterwards: %v", found)
	for _, s := range []gate.RequestState{gate.RequestDone, gate.RequestRejected, gate.RequestStarted} {
		require.NotZero(t, found[s], s)
	}
}

// The model sees what it is for: a store that doesn't wait for the disk.
func TestG44_PowerLossSeesAStoreThatDoesntSync(t *testing.T) {
	for _, synchronous := range []string{"NORMAL", "OFF"} {
		_, err := withoutPower(t, 40, synchronous)
		require.Error(t, err, synchronous)
		t.Log(err)
	}
}

// requestsAt is what somebody holds who was told of a store's work.
type requestsAt struct {
	reported map[string]gate.RequestState // the last that was reported of each
	trying   string                       // what was under way when the power went
	moved    map[string]bool
}

// withoutPower lives a store's life again and again, each cut off, and returns what is
// wrong afterwards.
func withoutPower(t *testing.T, lives int, synchronous string) (map[gate.RequestState]int, error) {
	rng := rand.New(rand.NewPCG(21, 22))
	found := map[gate.RequestState]int{}
	var dir, path string
	var known requestsAt
	for life := range lives {
		if life%20 == 0 { // a store of a few hundred requests is looked through quickly
			dir = t.TempDir()
			path = filepath.Join(dir, "bridge.db")
			first, err := OpenSQLite(t.Context(), path, Options{})
			require.NoError(t, err)
			require.NoError(t, first.Close())
			known = requestsAt{reported: map[string]gate.RequestState{}, moved: map[string]bool{}}
		}
		d := &disk{rng: rng, left: -1}
		if err := d.load(dir); err != nil {
			return found, err
		}
		vfs.Register(diskName(d), d)
		s, err := openOn(t.Context(), path, Options{}, d.below(synchronous))
		if err != nil {
			return found, fmt.Errorf("life %d: it can't be opened: %w", life, err)
		}
		d.mu.Lock()
		d.left = 1 + rng.IntN(300)
		d.mu.Unlock()
		known.live(s, life, rng)
		_ = s.Close() // the power is off
		vfs.Unregister(diskName(d))
		if err := d.lose(); err != nil {
			return found, err
		}
		if err := known.hold(t.Context(), path, found); err != nil {
			return found, fmt.Errorf("life %d: %w", life, err)
		}
	}
	return found, nil
}

// live asks, decides and moves until something fails.
func (k *requestsAt) live(s *SQLite, life int, rng *rand.Rand) {
	ctx, worker := context.Background(), fmt.Sprint("life ", life)
	did := func(id string, to gate.RequestState, err error) bool {
		if err != nil {
			return false
		}
		k.reported[id] = to
		return true
	}
	left, err := s.Recover(ctx, worker, time.Now())
	if err != nil {
		return
	}
	for _, r := range left.Unknown {
		k.reported[r.Request.CallID] = gate.RequestUnknown
	}
	for _, r := range left.Reopened {
		k.reported[r.Request.CallID] = gate.RequestPending
	}
	for n := 0; ; n++ {
		id := fmt.Sprintf("%d-%d", life, n)
		k.trying = id
		now := time.Now()
		_, err := s.Open(ctx, gate.Request{
			CallID: id, Tool: "move", Tier: gate.TierPhysical, Args: []byte(`{}`), Session: gate.Session{Name: "s"},
			Digest: [32]byte{1}, Asked: now, Expiry: now.Add(time.Hour),
		}, make([]byte, rng.IntN(20_000)))
		if !did(id, gate.RequestPending, err) {
			return
		}
		if rng.IntN(4) == 0 {
			if !did(id, gate.RequestRejected, s.Finish(ctx, id, gate.Ending{State: gate.RequestRejected, Answer: []byte(`{}`), Decider: "d"})) {
				return
			}
			continue
		}
		rec, secret, err := s.Read(ctx, id, time.Now())
		if err != nil {
			return
		}
		l, err := s.Claim(ctx, gate.Claim{ID: id, Digest: rec.Request.Digest, Secret: secret, Claims: rec.Claims, Worker: worker, Decider: "d", Now: time.Now()})
		if !did(id, gate.RequestClaimed, err) || !did(id, gate.RequestStarted, s.Start(ctx, l, time.Now())) {
			return
		}
		k.moved[id] = true
		if rng.IntN(3) > 0 && !did(id, gate.RequestDone, s.Finish(ctx, id, gate.Ending{State: gate.RequestDone, Answer: []byte(`{"status":"ok"}`)})) {
			return
		}
	}
}

// hold compares what was reported with what is there, as the program itself opens it.
func (k *requestsAt) hold(ctx context.Context, path string, found map[gate.RequestState]int) (err error) {
	s, err := OpenSQLite(ctx, path, Options{})
	if err != nil {
		return fmt.Errorf("it can't be opened: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	// What was under way may have come one step further.
	next := map[gate.RequestState][]gate.RequestState{
		gate.RequestPending: {gate.RequestClaimed, gate.RequestRejected},
		gate.RequestClaimed: {gate.RequestStarted, gate.RequestPending},
		gate.RequestStarted: {gate.RequestDone, gate.RequestUnknown},
	}
	for id, was := range k.reported {
		rec, err := s.Get(ctx, id)
		if err != nil {
			return fmt.Errorf("%s was %s and is lost: %w", id, was, err)
		}
		if rec.State != was && !slices.Contains(next[was], rec.State) {
			return fmt.Errorf("%s was %s and is %s", id, was, rec.State)
		}
		if rec.State != was && id != k.trying && rec.State != gate.RequestUnknown && rec.State != gate.RequestPending {
			return fmt.Errorf("%s was %s, is %s, and nobody was at it", id, was, rec.State)
		}
		if k.moved[id] && !slices.Contains([]gate.RequestState{gate.RequestStarted, gate.RequestUnknown, gate.RequestDone}, rec.State) {
			return fmt.Errorf("%s moved and is %s: it could run again", id, rec.State)
		}
		k.reported[id] = rec.State
		found[rec.State]++
	}
	return nil
}
