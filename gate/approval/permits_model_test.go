package approval_test

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/approval/storetest"
)

const permitTTL = 10 * time.Minute

// given is what a model knows of a grant or a routine: from what it was told, and from
// its own watch, which runs on whatever the clocks say.
type given struct {
	id, card string
	routine  bool
	expires  time.Time
	opened   time.Time     // on the wall clock, when the store last began to count
	since    time.Duration // on the watch
	over     bool          // it was revoked, or was found to be over
	maybe    bool          // it was over by a clock, and nobody is known to have looked then
	lost     bool          // no clock knows its time any more
	fired    int
}

const modelFirings = 3

// permitStore is what the model drives.
type permitStore interface {
	gate.Requests
	gate.Grants
	gate.Routines
}

// permitWorld holds what must hold of grants and routines whatever happens: what was
// revoked, denied or over isn't in force again, what wasn't is, and nothing is fired
// more often than was approved.
type permitWorld struct {
	t     *rapid.T
	clock *storetest.Clock
	watch time.Duration
	store permitStore
	open  func() permitStore
	close func()
	all   []*given
	n     int
	keeps bool // it outlives its process
}

func (w *permitWorld) next() string {
	w.n++
	return fmt.Sprint("permit ", w.n)
}

func (w *permitWorld) some(routine bool) *given {
	var of []*given
	for _, g := range w.all {
		if g.routine == routine {
			of = append(of, g)
		}
	}
	if len(of) == 0 {
		w.t.Skip("there is none")
	}
	return rapid.SampledFrom(of[max(0, len(of)-4):]).Draw(w.t, "one of the latest")
}

// alive says what a store must say now. A clock that
// went past an expiry and back again, or began anew, may have been seen there or not:
// then the store is asked, and has to stay with what it says.
func (w *permitWorld) alive(g *given) bool {
	switch {
	case g.over:
	case g.lost || w.watch-g.since >= permitTTL || !w.clock.Now().Before(g.expires):
		g.maybe = true // until somebody looks
		return false
	case g.maybe:
		g.over, g.maybe = !w.listed(g), false
	}
	return !g.over
}

func (w *permitWorld) listed(g *given) bool {
	for _, id := range w.inForce() {
		if id == fmt.Sprint(g.id, " ", g.fired) {
			return true
		}
	}
	return false
}

// inForce is what the store says is in force, with how often it was fired.
func (w *permitWorld) inForce() (out []string) {
	grants, err := w.store.Grants(bg, w.clock.Now())
	require.NoError(w.t, err)
	routines, err := w.store.Routines(bg, w.clock.Now())
	require.NoError(w.t, err)
	for _, g := range grants {
		out = append(out, fmt.Sprint(g.ID, " 0"))
	}
	for _, r := range routines {
		out = append(out, fmt.Sprint(r.ID, " ", r.Fired))
	}
	return out
}

// passed marks what a clock has gone past.
func (w *permitWorld) passed() {
	for _, g := range w.all {
		g.maybe = g.maybe || !w.clock.Now().Before(g.expires) || w.watch-g.since >= permitTTL || g.lost
	}
}

func (w *permitWorld) Grant(t *rapid.T) {
	now, card := w.clock.Now(), fmt.Sprint("card ", rapid.IntRange(1, 3).Draw(t, "card"))
	var all []gate.Grant
	for range rapid.IntRange(1, 3).Draw(t, "values") {
		id := w.next()
		all = append(all, gate.Grant{
			ID: id, Principal: "p", Session: gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim"}, Value: "zone:z",
			Card: card, Decider: "d", Granted: now, Expires: now.Add(permitTTL),
		})
		w.all = append(w.all, &given{id: id, card: card, expires: now.Add(permitTTL), opened: now, since: w.watch})
	}
	require.NoError(t, w.store.AddGrants(bg, all))
}

func (w *permitWorld) Register(t *rapid.T) {
	now, id := w.clock.Now(), w.next()
	name := fmt.Sprint("name ", rapid.IntRange(1, 2).Draw(t, "name"))
	taken := false
	for _, g := range w.all {
		taken = g.routine && g.card == name && w.alive(g) || taken
	}
	err := w.store.AddRoutine(bg, gate.Routine{
		ID: id, Name: name, Principal: "p", Session: gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim"},
		Digest: [32]byte{1}, Snapshot: []byte("steps"), Firings: modelFirings, Decider: "d", Registered: now, Expires: now.Add(permitTTL),
	})
	if taken {
		require.ErrorIs(t, err, gate.ErrCode(gate.CodeInvalidArgument))
		return
	}
	require.NoError(t, err)
	w.all = append(w.all, &given{id: id, card: name, routine: true, expires: now.Add(permitTTL), opened: now, since: w.watch})
}

// Revoke has several people revoke one at once: one of them has done it.
func (w *permitWorld) Revoke(t *rapid.T) {
	routine := rapid.Bool().Draw(t, "a routine")
	g := w.some(routine)
	was, now := w.alive(g), w.clock.Now()
	var did atomic.Int64
	var wg sync.WaitGroup
	for range rapid.IntRange(1, 4).Draw(t, "people") {
		wg.Go(func() {
			revoke := w.store.RevokeGrant
			if routine {
				revoke = w.store.EndRoutine
			}
			if ok, err := revoke(bg, g.id, now); err == nil && ok {
				did.Add(1)
			}
		})
	}
	wg.Wait()
	require.Equal(t, was, did.Load() == 1)
	require.LessOrEqual(t, did.Load(), int64(1))
	g.over = true
}

func (w *permitWorld) Deny(t *rapid.T) {
	card, want := fmt.Sprint("card ", rapid.IntRange(1, 3).Draw(t, "card")), 0
	for _, g := range w.all {
		if !g.routine && w.alive(g) && g.card == card {
			want++
			g.over = true
		}
	}
	n, err := w.store.RevokeCard(bg, card, w.clock.Now())
	require.NoError(t, err)
	require.Equal(t, want, n)
}

// Fire has several callers fire a routine at once, on a count that may be an old one.
func (w *permitWorld) Fire(t *rapid.T) {
	g := w.some(true)
	may := w.alive(g) && g.fired < modelFirings
	count := max(0, g.fired-rapid.IntRange(0, 1).Draw(t, "behind"))
	now := w.clock.Now()
	var won atomic.Int64
	var wg sync.WaitGroup
	for range rapid.IntRange(1, 4).Draw(t, "callers") {
		wg.Go(func() {
			if w.store.Fire(bg, g.id, count, now) == nil {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	if may && count == g.fired {
		require.EqualValues(t, 1, won.Load())
		g.fired++
	} else {
		require.Zero(t, won.Load())
	}
}

func (w *permitWorld) Wait(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{1, time.Second, time.Minute, permitTTL / 2, permitTTL - 1}).Draw(t, "for")
	w.watch += d
	w.clock.Advance(d)
	w.passed()
}

func (w *permitWorld) Jump(t *rapid.T) {
	w.clock.Jump(rapid.SampledFrom([]time.Duration{-2 * permitTTL, -time.Minute, -time.Second, time.Minute, permitTTL, 2 * permitTTL}).Draw(t, "by"))
	w.passed()
}

// Restart is a new life of the bridge, perhaps after one of the machine.
func (w *permitWorld) Restart(t *rapid.T) {
	if w.keeps && rapid.Bool().Draw(t, "the machine too") {
		w.clock.Reboot()
		for _, g := range w.all {
			// How long it was off only the clock on the wall knows; one that stands
			// before the permission doesn't.
			passed := w.clock.Now().Sub(g.expires.Add(-permitTTL))
			g.since, g.lost = w.watch-passed, g.lost || w.clock.Now().Before(g.opened.Add(-5*time.Second))
			g.opened = w.clock.Now()
		}
	}
	w.store = w.open()
	_, err := w.store.Recover(bg, fmt.Sprint("life ", w.watch), w.clock.Now())
	require.NoError(t, err)
	w.passed()
}

// Look compares what is in force with what the model says.
func (w *permitWorld) Look(t *rapid.T) {
	if rapid.IntRange(0, 2).Draw(t, "looks") > 0 {
		return
	}
	var want []string
	for _, g := range w.all {
		if w.alive(g) {
			want = append(want, fmt.Sprint(g.id, " ", g.fired))
		}
	}
	require.ElementsMatch(t, want, w.inForce())
	for _, g := range w.all { // the store has said so
		g.over, g.maybe = g.over || g.maybe, false
	}
}

func (w *permitWorld) drive(t *rapid.T) {
	w.t, w.clock = t, storetest.NewClock()
	w.store = w.open()
	defer w.close()
	t.Repeat(map[string]func(*rapid.T){
		"Grant": w.Grant, "Register": w.Register, "Revoke": w.Revoke, "Deny": w.Deny, "Fire": w.Fire, "Fire again": w.Fire,
		"Wait": w.Wait, "Jump": w.Jump, "Restart": w.Restart, "": w.Look,
	})
}

func (w *permitWorld) options() approval.Options {
	return approval.Options{Retention: time.Hour, Now: w.clock.Now, Boot: w.clock.Boot, BootID: w.clock.BootID()}
}

func TestG48_PermitsModelMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &permitWorld{close: func() {}}
		var m *approval.Memory
		w.open = func() permitStore {
			if m == nil {
				m = approval.NewMemoryWith(w.options())
			}
			return m
		}
		w.drive(t)
	})
}

func TestG48_PermitsModelSQLite(t *testing.T) {
	dir := dbIn(fastDir(t)) + ".permits"
	rapid.Check(t, func(t *rapid.T) {
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.Mkdir(dir, 0o700))
		w := &permitWorld{keeps: true}
		var db *approval.SQLite
		w.close = func() {
			if db != nil {
				require.NoError(t, db.Close())
			}
		}
		w.open = func() permitStore {
			w.close()
			var err error
			db, err = approval.OpenSQLite(bg, dbIn(dir), w.options())
			require.NoError(t, err)
			return db
		}
		w.drive(t)
	})
}
