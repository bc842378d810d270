package approval_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/approval/storetest"
)

const modelTTL = time.Minute

// known is what the model knows of a request from what it was told, and from its
// own watch, which runs on whatever the clocks say.
type known struct {
	req      gate.Request
	n        int           // in the order of asking
	asked    time.Duration // on the watch
	state    gate.RequestState
	maybe    gate.RequestState // what a write that was cut off may have made of it; "": nothing
	lease    gate.Lease        // of the claim that was acknowledged last
	claimed  time.Duration     // on the watch, when that was, or was renewed
	approved bool              // that claim stands
	revoked  bool              // a no, a withdrawal or a stop was acknowledged
	answer   string
	ran      int
	lost     bool      // no clock knows its time any more
	ended    time.Time // on the wall clock, at the earliest
	reading  gate.Claim
	// Whether its session has gone on since, and whether that may be so.
	gone, goneMaybe bool
}

// world drives a store as bridges do that crash, and holds what must hold whatever
// happens: physics at most once, and only what was approved, is unexpired and not
// revoked; and nothing that was acknowledged is lost.
type world struct {
	t     *rapid.T
	clock *storetest.Clock
	watch time.Duration
	path  string // "": there is no file
	kept  bool   // without a file, a store that is opened again has what it had
	store gate.Requests
	open  func() gate.Requests
	close func(gate.Requests)
	n     int
	lives int // of the bridge: names its worker
	reqs  map[string]*known
	ids   []string
}

var bg = context.Background()

func (w *world) worker() string { return fmt.Sprint("life ", w.lives) }

func (w *world) some() *known {
	if len(w.ids) == 0 {
		w.t.Skip("there is no request")
	}
	// Mostly one of the latest, which are open; any other comes, too.
	latest := w.ids[max(0, len(w.ids)-2):]
	if rapid.IntRange(0, 4).Draw(w.t, "any") == 0 {
		latest = w.ids
	}
	return w.reqs[rapid.SampledFrom(latest).Draw(w.t, "request")]
}

// Ask opens a request; few at a time, so that much happens to each.
func (w *world) Ask(t *rapid.T) {
	open := 0
	for _, k := range w.reqs {
		if k.ended.IsZero() {
			open++
		}
	}
	if open >= 2 {
		t.Skip("enough are open")
	}
	req := w.request()
	_, err := w.store.Open(bg, req, []byte("snapshot of "+req.CallID))
	require.NoError(t, err)
	w.add(req)
}

// Click has several people decide one request at once, each on a reading of their
// own or on a common one; some say no, one may never come to start what won.
func (w *world) Click(t *rapid.T) {
	k := w.some()
	n := rapid.IntRange(1, 6).Draw(t, "clickers")
	now := w.clock.Now()
	if k.reading.ID == "" || rapid.Bool().Draw(t, "reads first") {
		rec, secret, err := w.store.Read(bg, k.req.CallID, now)
		if err != nil {
			require.Equal(t, gate.CodeInvalidArgument, gate.CodeOf(err), "%v", err)
			w.gone(k)
			return
		}
		k.reading = gate.Claim{ID: k.req.CallID, Digest: rec.Request.Digest, Secret: secret, Claims: rec.Claims, Decider: "d"}
		if rapid.Bool().Draw(t, "goes away") {
			return
		}
	}
	c := k.reading
	c.Worker, c.Now = w.worker(), now
	var err error
	stale := rapid.IntRange(0, 3).Draw(t, "somebody reads it again") == 0
	if stale {
		if _, _, err = w.store.Read(bg, k.req.CallID, now); err != nil {
			w.gone(k)
			return
		}
		k.reading = gate.Claim{}
	}
	said := make([]string, n)
	for i := range said {
		said[i] = rapid.SampledFrom([]string{"yes", "yes", "no", "stop"}).Draw(t, "says")
	}
	type outcome struct {
		lease gate.Lease
		ended gate.RequestState
	}
	got := make([]outcome, n)
	var wg sync.WaitGroup
	for i, s := range said {
		wg.Go(func() {
			switch s {
			case "yes":
				c := c
				c.Decider = fmt.Sprint("d", i)
				if l, err := w.store.Claim(bg, c); err == nil {
					got[i].lease = l
				}
			case "no":
				if w.store.Finish(bg, k.req.CallID, gate.Ending{State: gate.RequestRejected, Answer: []byte(`{}`)}) == nil {
					got[i].ended = gate.RequestRejected
				}
			case "stop":
				if w.store.Finish(bg, k.req.CallID, gate.Ending{State: gate.RequestStopped, Answer: []byte(`{}`)}) == nil {
					got[i].ended = gate.RequestStopped
				}
			}
		})
	}
	wg.Wait()
	claims, ends := 0, 0
	for _, o := range got {
		if o.lease.ID != "" {
			claims++
			require.False(t, stale, "a secret from before the last reading opened it")
			w.mayRun(k)
			k.state, k.lease, k.claimed, k.approved = gate.RequestClaimed, o.lease, w.watch, true
		}
	}
	for _, o := range got {
		if o.ended != "" {
			ends++
			require.Contains(t, []gate.RequestState{gate.RequestPending, gate.RequestClaimed}, k.state)
			k.state, k.revoked, k.approved, k.ended, k.answer = o.ended, true, false, w.clock.Now(), "{}"
		}
	}
	require.LessOrEqual(t, claims, 1, "of any number of clicks one wins")
	require.LessOrEqual(t, ends, 1)
}

// Start has everybody who ever held a claim on a request begin at once; the
// physics runs for each who is told that he may.
func (w *world) Start(t *rapid.T) {
	k := w.some()
	if k.lease.ID == "" {
		t.Skip("never claimed")
	}
	tries := []gate.Lease{k.lease, k.lease}
	for claims := range k.lease.Claims {
		old := k.lease
		old.Claims = claims
		tries = append(tries, old)
	}
	other := k.lease
	other.Worker = "somebody else"
	tries = append(tries, other)
	now := w.clock.Now()
	moved := make([]bool, len(tries))
	var wg sync.WaitGroup
	for i, l := range tries {
		wg.Go(func() { moved[i] = w.store.Start(bg, l, now) == nil })
	}
	wg.Wait()
	for i, yes := range moved {
		if yes {
			require.Less(t, i, 2, "who doesn't hold the claim started")
			w.run(k)
		}
	}
}

// run is the physics.
func (w *world) run(k *known) {
	k.ran++
	require.Equal(w.t, 1, k.ran, "%s ran twice", k.req.CallID)
	require.True(w.t, k.approved, "nobody had approved it")
	require.Equal(w.t, w.worker(), k.lease.Worker, "the approval was given to a process that has ended")
	require.False(w.t, k.revoked, "it had been revoked")
	w.mayRun(k)
	require.Less(w.t, w.watch-k.claimed, modelLease, "its lease had run out")
	k.state = gate.RequestStarted
	w.overtake(k.req.Session.Name, k.n, false)
}

// mayRun holds that a request was open and alive by the watch.
func (w *world) mayRun(k *known) {
	require.Contains(w.t, []gate.RequestState{gate.RequestPending, gate.RequestClaimed}, k.state)
	require.Less(w.t, w.watch-k.asked, modelTTL, "it had expired")
	require.True(w.t, w.clock.Now().Before(k.req.Expiry), "it had expired by the clock on the wall")
}

// End has what runs come to its end.
func (w *world) End(t *rapid.T) {
	k := w.some()
	if k.state != gate.RequestStarted || k.lease.Worker != w.worker() {
		t.Skip("doesn't run")
	}
	state := rapid.SampledFrom([]gate.RequestState{gate.RequestDone, gate.RequestDone, gate.RequestUnknown}).Draw(t, "as")
	k.answer = fmt.Sprintf(`{"ran":%d}`, k.ran)
	require.NoError(t, w.store.Finish(bg, k.req.CallID, gate.Ending{State: state, Answer: []byte(k.answer)}))
	k.state, k.ended = state, w.clock.Now()
}

// Wait lets time pass, up to beyond a lease and an expiry.
func (w *world) Wait(t *rapid.T) {
	d := time.Duration(rapid.SampledFrom([]int{1, 15, 45, 61}).Draw(t, "s")) * time.Second
	w.clock.Advance(d)
	w.watch += d
}

// Jump sets the clock on the wall.
func (w *world) Jump(t *rapid.T) {
	w.clock.Jump(time.Duration(rapid.SampledFrom([]int{-86400, -30, -1, 1, 30, 120}).Draw(t, "s")) * time.Second)
}

// Crash ends the bridge as kill -9 would between two writes, with or without a
// start of the machine, and opens another on the files as they were.
func (w *world) Crash(t *rapid.T) {
	if w.path == "" {
		if w.kept {
			w.close(w.store)
			w.reborn(rapid.Bool().Draw(t, "the machine starts anew"))
			return
		}
		w.recover()
		return
	}
	files := imageOf(t, w.path)
	w.close(w.store)
	files.write(t, w.path)
	w.reborn(rapid.Bool().Draw(t, "the machine starts anew"))
}

// PowerLoss cuts a write off: of what wasn't synced any part is there.
func (w *world) PowerLoss(t *rapid.T) {
	if w.path == "" {
		t.Skip("memory")
	}
	k := w.some()
	before := imageOf(t, w.path)
	what := w.write(k)
	after := imageOf(t, w.path)
	mask := rapid.SliceOfN(rapid.Bool(), 64, 64).Draw(t, "written")
	cut, ok := torn(before, after, func(s int) bool { return mask[s%len(mask)] })
	if !ok {
		cut = before // it checkpointed: before that is a moment too
	}
	if what != "" && what != k.state {
		k.maybe = what
	}
	w.close(w.store)
	cut.write(t, w.path)
	w.reborn(true)
}

// write begins some write on a request that nobody hears the end of, and returns
// the state that it would have made of it.
func (w *world) write(k *known) gate.RequestState {
	id, now := k.req.CallID, w.clock.Now()
	switch rapid.SampledFrom([]string{"claim", "start", "finish", "stop"}).Draw(w.t, "cut off") {
	case "claim":
		rec, secret, err := w.store.Read(bg, id, now)
		if err != nil {
			return ""
		}
		if _, err := w.store.Claim(bg, gate.Claim{
			ID: id, Digest: k.req.Digest, Secret: secret, Claims: rec.Claims, Worker: w.worker(), Decider: "cut off", Now: now,
		}); err == nil {
			return gate.RequestClaimed
		}
	case "start":
		// It was never told that it may: nothing moved.
		if w.store.Start(bg, k.lease, now) == nil {
			w.overtake(k.req.Session.Name, k.n, true)
			return gate.RequestStarted
		}
	case "finish":
		if k.state == gate.RequestStarted && w.store.Finish(bg, id, gate.Ending{State: gate.RequestDone, Answer: []byte(`{}`)}) == nil {
			return gate.RequestDone
		}
	case "stop":
		if w.store.Finish(bg, id, gate.Ending{State: gate.RequestStopped, Answer: []byte(`{}`)}) == nil {
			return gate.RequestStopped
		}
	}
	return ""
}

func (w *world) reborn(reboot bool) {
	if reboot {
		w.clock.Reboot()
		// How long the machine was off only the clock on the wall knows; one that
		// stands before the question doesn't.
		for _, id := range w.ids {
			k := w.reqs[id]
			passed := w.clock.Now().Sub(k.req.Asked)
			k.asked, k.lost = w.watch-passed, k.lost || passed < -10*time.Second
		}
	}
	w.store = w.open()
	w.recover()
}

// recover is a new life on what is there, and looks at all of it.
func (w *world) recover() {
	w.lives++
	now := w.clock.Now()
	got, err := w.store.Recover(bg, w.worker(), now)
	require.NoError(w.t, err)
	told := map[string]bool{}
	for _, r := range got.Unknown {
		told[r.Request.CallID] = true
	}
	for _, id := range slices.Clone(w.ids) {
		k := w.reqs[id]
		was := []gate.RequestState{k.state}
		if k.maybe != "" {
			was = append(was, k.maybe)
		}
		cut := k.maybe
		k.maybe = ""
		rec, err := w.store.Get(bg, id)
		if err != nil {
			require.Equal(w.t, gate.CodeInvalidArgument, gate.CodeOf(err), "%v", err)
			w.gone(k)
			continue
		}
		var may []gate.RequestState
		for _, s := range was {
			switch s {
			case gate.RequestPending, gate.RequestClaimed:
				may = append(may, gate.RequestExpired)
				if !k.lost {
					may = append(may, gate.RequestPending)
				}
			case gate.RequestStarted:
				may = append(may, gate.RequestUnknown)
				if rec.State == gate.RequestUnknown && cut == "" {
					require.True(w.t, told[id], "nobody is told of %s", id)
				}
			default:
				may = append(may, s)
			}
		}
		require.Contains(w.t, may, rec.State, "%s was %v", id, was)
		require.Equal(w.t, k.req, rec.Request)
		w.goneOn(k, rec)
		if slices.Contains([]gate.RequestState{gate.RequestDone, gate.RequestRejected}, k.state) {
			require.Equal(w.t, k.answer, string(rec.Answer))
		}
		if rec.State != k.state {
			k.answer, k.ended = string(rec.Answer), now
		}
		k.state, k.approved = rec.State, false
		k.revoked = k.revoked || rec.State == gate.RequestStopped
	}
}

// gone holds that a request that isn't known any more was forgotten rightly.
func (w *world) gone(k *known) {
	require.False(w.t, slices.Contains([]gate.RequestState{gate.RequestClaimed, gate.RequestStarted}, k.state) && w.alive(k),
		"%s (%s) is lost", k.req.CallID, k.state)
	require.False(w.t, w.clock.Now().Before(k.req.Expiry) && w.alive(k), "%s was forgotten before its own expiry", k.req.CallID)
	w.ids = slices.DeleteFunc(w.ids, func(id string) bool { return id == k.req.CallID })
}

// alive reports whether the watch still counts a request as one that may run.
func (w *world) alive(k *known) bool { return w.watch-k.asked < modelTTL && k.ended.IsZero() }

// Look compares what is there with what was told, between some steps: whoever
// reads an expired request ends it, which a click alone has to do as well.
func (w *world) Look(t *rapid.T) {
	if rapid.IntRange(0, 2).Draw(t, "looks") > 0 {
		return
	}
	list, err := w.store.Pending(bg, w.clock.Now())
	require.NoError(t, err)
	open := map[string]bool{}
	for _, r := range list {
		open[r.Request.CallID] = true
		require.Less(t, w.watch-w.reqs[r.Request.CallID].asked, modelTTL, "an expired request is listed")
	}
	for _, id := range slices.Clone(w.ids) {
		k := w.reqs[id]
		rec, err := w.store.Get(bg, id)
		if err != nil {
			require.Equal(t, gate.CodeInvalidArgument, gate.CodeOf(err), "%v", err)
			w.gone(k)
			continue
		}
		if rec.State != k.state {
			require.Contains(t, []gate.RequestState{gate.RequestPending, gate.RequestClaimed}, k.state, "%s became %s by itself", id, rec.State)
			require.Equal(t, gate.RequestExpired, rec.State)
			k.state, k.approved, k.ended = gate.RequestExpired, false, w.clock.Now()
		}
		require.Equal(t, k.state == gate.RequestPending, open[id])
		w.goneOn(k, rec)
	}
}

const modelLease = 15 * time.Second

// drive runs one life of the world.
func (w *world) drive(t *rapid.T) {
	w.t, w.reqs, w.clock = t, map[string]*known{}, storetest.NewClock()
	w.store = w.open()
	defer func() { w.close(w.store) }()
	t.Repeat(map[string]func(*rapid.T){
		"Ask": w.Ask, "Ask more": w.Ask, "Click": w.Click, "Click again": w.Click, "Start": w.Start, "Start again": w.Start,
		"End": w.End, "Renew": w.Renew, "Wait": w.Wait, "Wait again": w.Wait, "Jump": w.Jump, "Crash": w.Crash, "PowerLoss": w.PowerLoss,
		"Edit": w.Edit, "Edit again": w.Edit, "Refuse": w.Refuse, "Exempt": w.Exempt, "": w.Look,
	})
}

func (w *world) options() approval.Options {
	return approval.Options{
		Lease: modelLease, HardStop: time.Minute, MaxClaims: 3, Retention: 2 * time.Minute,
		Now: w.clock.Now, Boot: w.clock.Boot, BootID: w.clock.BootID(),
	}
}

func TestG44_ModelMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{close: func(gate.Requests) {}}
		w.open = func() gate.Requests { return approval.NewMemoryWith(w.options()) }
		w.drive(t)
	})
}

func sqliteWorld(t require.TestingT, dir string, wrap func(gate.Requests) gate.Requests) *world {
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.Mkdir(dir, 0o700))
	w := &world{path: dbIn(dir)}
	var db *approval.SQLite
	w.open = func() gate.Requests {
		var err error
		db, err = approval.OpenSQLite(bg, w.path, w.options())
		require.NoError(t, err)
		return wrap(db)
	}
	w.close = func(gate.Requests) {
		if db != nil {
			require.NoError(t, db.Close())
		}
	}
	return w
}

func TestG44_ModelSQLite(t *testing.T) {
	dir := dbIn(fastDir(t)) + ".world"
	rapid.Check(t, func(t *rapid.T) {
		sqliteWorld(t, dir, func(r gate.Requests) gate.Requests { return r }).drive(t)
	})
}
