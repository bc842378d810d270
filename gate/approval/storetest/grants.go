package storetest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

const grantTTL = 30 * time.Minute

func (x *suite) grant(id, card string) gate.Grant {
	now := x.clock.Now()
	return gate.Grant{
		ID: id, Principal: "p", Session: gate.Session{Name: "s", Mode: gate.ModeReal, Backend: "arm", OptIn: "who to what"},
		Value: "zone:" + id, Reason: "To fetch the cup.", Card: card, Decider: "terminal", Granted: now, Expires: now.Add(grantTTL),
	}
}

func (x *suite) granted() (ids []string) {
	x.Helper()
	all, err := x.s.Grants.Grants(ctx(x), x.clock.Now())
	require.NoError(x, err)
	for _, g := range all {
		ids = append(ids, g.ID)
	}
	return ids
}

// grants: what is stored is what is listed, to the last field, in its order.
func (x *suite) grants() {
	a, b := x.grant("a", "card 1"), x.grant("b", "card 1")
	b.Principal, b.Session, b.Value = "q", gate.Session{Name: "t", Mode: gate.ModeSim, Backend: "sim"}, "speed:0.5"
	require.NoError(x, x.s.AddGrants(ctx(x), []gate.Grant{b, a}))
	x.clock.Advance(time.Second)
	c := x.grant("c", "card 2")
	require.NoError(x, x.s.AddGrants(ctx(x), []gate.Grant{c}))
	got, err := x.s.Grants.Grants(ctx(x), x.clock.Now())
	require.NoError(x, err)
	require.Equal(x, []gate.Grant{b, a, c}, got)

	ok, err := x.s.RevokeGrant(ctx(x), "b", x.clock.Now())
	require.NoError(x, err)
	require.True(x, ok)
	require.Equal(x, []string{"a", "c"}, x.granted())
	for _, id := range []string{"b", "nobody"} {
		ok, err = x.s.RevokeGrant(ctx(x), id, x.clock.Now())
		require.NoError(x, err)
		require.False(x, ok, id)
	}
	code(x, x.s.AddGrants(ctx(x), []gate.Grant{x.grant("b", "card 3")}), gate.CodeInvalidArgument)
	require.Equal(x, []string{"a", "c"}, x.granted(), "a revoked one isn't granted again under its id")
}

// allOrNone: nothing of a set is stored that has one that can't be.
func (x *suite) allOrNone() {
	require.NoError(x, x.s.AddGrants(ctx(x), []gate.Grant{x.grant("old", "card 1")}))
	x.clock.Advance(time.Second)
	with := func(f func(*gate.Grant)) gate.Grant {
		g := x.grant("bad", "card 2")
		f(&g)
		return g
	}
	for name, c := range map[string]struct {
		bad  gate.Grant
		code gate.Code
	}{
		"no id":             {with(func(g *gate.Grant) { g.ID = "" }), gate.CodeInvalidArgument},
		"no principal":      {with(func(g *gate.Grant) { g.Principal = "" }), gate.CodeInvalidArgument},
		"no session":        {with(func(g *gate.Grant) { g.Session.Name = "" }), gate.CodeInvalidArgument},
		"no mode":           {with(func(g *gate.Grant) { g.Session.Mode = "" }), gate.CodeInvalidArgument},
		"no backend":        {with(func(g *gate.Grant) { g.Session.Backend = "" }), gate.CodeInvalidArgument},
		"no value":          {with(func(g *gate.Grant) { g.Value = "" }), gate.CodeInvalidArgument},
		"no card":           {with(func(g *gate.Grant) { g.Card = "" }), gate.CodeInvalidArgument},
		"nobody decided":    {with(func(g *gate.Grant) { g.Decider = "" }), gate.CodeInvalidArgument},
		"no time":           {with(func(g *gate.Grant) { g.Expires = g.Granted }), gate.CodeInvalidArgument},
		"a taken id":        {with(func(g *gate.Grant) { g.ID = "old" }), gate.CodeInvalidArgument},
		"twice the same id": {with(func(g *gate.Grant) { g.ID = "good" }), gate.CodeInvalidArgument},
		"over already": {with(func(g *gate.Grant) {
			g.Granted, g.Expires = g.Granted.Add(-time.Hour), x.clock.Now()
		}), gate.CodeRequestExpired},
	} {
		err := x.s.AddGrants(ctx(x), []gate.Grant{x.grant("good", "card 2"), c.bad})
		require.ErrorIs(x, err, gate.ErrCode(c.code), name)
		require.Equal(x, []string{"old"}, x.granted(), name)
	}
	code(x, x.s.AddGrants(ctx(x), nil), gate.CodeInvalidArgument)
	many := make([]gate.Grant, 65)
	for i := range many {
		many[i] = x.grant(fmt.Sprint(i), "card")
	}
	code(x, x.s.AddGrants(ctx(x), many), gate.CodeInvalidArgument)
	require.NoError(x, x.s.AddGrants(ctx(x), many[:64]))
}

// cards: a card's no takes away what that card has given, and nothing else.
func (x *suite) cards() {
	require.NoError(x, x.s.AddGrants(ctx(x), []gate.Grant{x.grant("a", "card 1"), x.grant("b", "card 1")}))
	other := x.grant("c", "card 2")
	other.Value = "zone:a" // the same value, from another card
	require.NoError(x, x.s.AddGrants(ctx(x), []gate.Grant{other}))
	n, err := x.s.RevokeCard(ctx(x), "card", x.clock.Now())
	require.NoError(x, err)
	require.Zero(x, n, "no card's name is the beginning of another's")
	n, err = x.s.RevokeCard(ctx(x), "card 1", x.clock.Now())
	require.NoError(x, err)
	require.Equal(x, 2, n)
	require.Equal(x, []string{"c"}, x.granted())
	n, err = x.s.RevokeCard(ctx(x), "card 1", x.clock.Now())
	require.NoError(x, err)
	require.Zero(x, n)
}

// grantClocks: a grant ends as soon as either clock says so, and for good.
func (x *suite) grantClocks() {
	add := func(id string) {
		x.Helper()
		require.NoError(x, x.s.AddGrants(ctx(x), []gate.Grant{x.grant(id, "card")}))
	}
	add("time passes")
	x.clock.Advance(grantTTL - 1)
	require.Len(x, x.granted(), 1)
	x.clock.Advance(1)
	require.Empty(x, x.granted())
	ok, err := x.s.RevokeGrant(ctx(x), "time passes", x.clock.Now())
	require.NoError(x, err)
	require.False(x, ok, "it wasn't in force")

	add("the wall clock is set back")
	x.clock.Jump(-grantTTL)
	x.clock.Advance(grantTTL - 1)
	require.Len(x, x.granted(), 1)
	x.clock.Advance(1)
	require.Empty(x, x.granted(), "the clock that nobody can set says so")

	add("the wall clock jumps ahead")
	x.clock.Jump(grantTTL)
	require.Empty(x, x.granted())
	x.clock.Jump(-grantTTL)
	require.Empty(x, x.granted(), "it isn't in force again")

	add("revoked while it is over")
	now := x.clock.Jump(grantTTL)
	ok, err = x.s.RevokeGrant(ctx(x), "revoked while it is over", now)
	require.NoError(x, err)
	require.False(x, ok)
	x.clock.Jump(-grantTTL)
	require.Empty(x, x.granted(), "whoever was told so isn't told a lie")
}

// grantRace: of any number of people who revoke one at once, one has done it.
func (x *suite) grantRace() {
	require.NoError(x, x.s.AddGrants(ctx(x), []gate.Grant{x.grant("a", "card")}))
	now, did := x.clock.Now(), atomic.Int64{}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if ok, err := x.s.RevokeGrant(ctx(x), "a", now); err == nil && ok {
				did.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(x, 1, did.Load())
	require.Empty(x, x.granted())
}

// grantRestart: what was granted, revoked or over is so afterwards, and the machine's
// start neither prolongs it nor brings it back.
func (x *suite) grantRestart() {
	require.NoError(x, x.s.AddGrants(ctx(x), []gate.Grant{x.grant("kept", "card"), x.grant("revoked", "card")}))
	_, err := x.s.RevokeGrant(ctx(x), "revoked", x.clock.Now())
	require.NoError(x, err)
	before, err := x.s.Grants.Grants(ctx(x), x.clock.Now())
	require.NoError(x, err)
	if !x.reopen() {
		return
	}
	after, err := x.s.Grants.Grants(ctx(x), x.clock.Now())
	require.NoError(x, err)
	require.Equal(x, before, after)
	require.Equal(x, []string{"kept"}, x.granted())
	require.NoError(x, x.s.AddGrants(ctx(x), []gate.Grant{x.grant("set back", "card")}))

	x.clock.Reboot()
	require.True(x, x.reopen())
	_, err = x.s.Recover(ctx(x), "next", x.clock.Now())
	require.NoError(x, err)
	require.Equal(x, []string{"kept", "set back"}, x.granted())
	// Its time runs in this start of the machine.
	x.clock.Jump(-time.Hour)
	x.clock.Advance(grantTTL)
	require.Empty(x, x.granted())

	require.NoError(x, x.s.AddGrants(ctx(x), []gate.Grant{x.grant("from the future", "card")}))
	x.clock.Reboot()
	x.clock.Jump(-time.Hour)
	require.True(x, x.reopen())
	_, err = x.s.Recover(ctx(x), "third", x.clock.Now())
	require.NoError(x, err)
	require.Empty(x, x.granted(), "a wall clock from before the grant says nothing of it")
	x.clock.Jump(time.Hour)
	require.Empty(x, x.granted(), "and it isn't in force again")
}

func (x *suite) routine(id, name string) gate.Routine {
	now := x.clock.Now()
	return gate.Routine{
		ID: id, Name: name, Principal: "p", Session: gate.Session{Name: "s", Mode: gate.ModeReal, Backend: "arm", OptIn: "who to what"},
		Digest: [32]byte{1, 2}, Snapshot: []byte("steps"), Firings: 3, Decider: "terminal", Registered: now, Expires: now.Add(grantTTL),
	}
}

func (x *suite) find() (gate.Routine, error) {
	return x.s.Routine(ctx(x), "s", "p", "wave", x.clock.Now())
}

// routines: what is stored is what is found; a name is one routine's at a time.
func (x *suite) routines() {
	a := x.routine("1", "wave")
	in := a.Clone()
	require.NoError(x, x.s.AddRoutine(ctx(x), in))
	in.Snapshot[0] = 'X'
	got, err := x.find()
	require.NoError(x, err)
	require.Equal(x, a, got)
	got.Snapshot[0] = 'X'
	got, err = x.find()
	require.NoError(x, err)
	require.Equal(x, a, got, "the store keeps copies and hands out copies")

	code(x, x.s.AddRoutine(ctx(x), x.routine("2", "wave")), gate.CodeInvalidArgument)
	code(x, x.s.AddRoutine(ctx(x), x.routine("1", "other")), gate.CodeInvalidArgument)
	for i, change := range []func(*gate.Routine){
		func(r *gate.Routine) { r.Principal = "q" },
		func(r *gate.Routine) { r.Session.Name = "t" },
		func(r *gate.Routine) { r.Name = "bow" },
	} {
		r := x.routine(fmt.Sprint("other ", i), "wave")
		change(&r)
		require.NoError(x, x.s.AddRoutine(ctx(x), r))
	}
	for _, key := range [][3]string{{"s", "nobody", "wave"}, {"nowhere", "p", "wave"}, {"s", "p", "nothing"}} {
		_, err = x.s.Routine(ctx(x), key[0], key[1], key[2], x.clock.Now())
		code(x, err, gate.CodeNotApproved)
	}
	list, err := x.s.Routines.Routines(ctx(x), x.clock.Now())
	require.NoError(x, err)
	require.Len(x, list, 4)
	light := a
	light.Snapshot = nil
	require.Equal(x, light, list[0], "a list is without its bulk")

	// A name is free again when its routine has ended.
	ended, err := x.s.EndRoutine(ctx(x), "1", x.clock.Now())
	require.NoError(x, err)
	require.True(x, ended)
	for _, id := range []string{"1", "nobody"} {
		ended, err = x.s.EndRoutine(ctx(x), id, x.clock.Now())
		require.NoError(x, err)
		require.False(x, ended)
	}
	_, err = x.find()
	code(x, err, gate.CodeNotApproved)
	code(x, x.s.Fire(ctx(x), "1", 0, x.clock.Now()), gate.CodeNotApproved)
	code(x, x.s.AddRoutine(ctx(x), x.routine("1", "wave")), gate.CodeInvalidArgument)
	require.NoError(x, x.s.AddRoutine(ctx(x), x.routine("5", "wave")))

	for name, change := range map[string]func(*gate.Routine){
		"no id": func(r *gate.Routine) { r.ID = "" }, "no name": func(r *gate.Routine) { r.Name = "" },
		"no principal": func(r *gate.Routine) { r.Principal = "" }, "no session": func(r *gate.Routine) { r.Session.Name = "" },
		"no mode": func(r *gate.Routine) { r.Session.Mode = "" }, "no backend": func(r *gate.Routine) { r.Session.Backend = "" },
		"nobody decided": func(r *gate.Routine) { r.Decider = "" }, "no digest": func(r *gate.Routine) { r.Digest = [32]byte{} },
		"no steps": func(r *gate.Routine) { r.Snapshot = nil }, "too many steps": func(r *gate.Routine) { r.Snapshot = bytes.Repeat([]byte("s"), 16<<20+1) },
		"no firings": func(r *gate.Routine) { r.Firings = 0 }, "fired": func(r *gate.Routine) { r.Fired = 1 },
		"no time": func(r *gate.Routine) { r.Expires = r.Registered },
	} {
		r := x.routine("6", "bad")
		change(&r)
		require.ErrorIs(x, x.s.AddRoutine(ctx(x), r), gate.ErrCode(gate.CodeInvalidArgument), name)
	}
	late := x.routine("7", "late")
	late.Registered, late.Expires = late.Registered.Add(-time.Hour), x.clock.Now()
	code(x, x.s.AddRoutine(ctx(x), late), gate.CodeRequestExpired)
}

// firings: each is counted once, and there are no more than were approved.
func (x *suite) firings() {
	require.NoError(x, x.s.AddRoutine(ctx(x), x.routine("1", "wave")))
	now := x.clock.Now()
	for n := range 3 {
		code(x, x.s.Fire(ctx(x), "1", n+1, now), gate.CodeInProgress)
		var wg sync.WaitGroup
		won := atomic.Int64{}
		for range 10 {
			wg.Go(func() {
				if x.s.Fire(ctx(x), "1", n, now) == nil {
					won.Add(1)
				}
			})
		}
		wg.Wait()
		require.EqualValues(x, 1, won.Load())
		got, err := x.find()
		require.NoError(x, err)
		require.Equal(x, n+1, got.Fired)
	}
	code(x, x.s.Fire(ctx(x), "1", 3, now), gate.CodeNotApproved)
	code(x, x.s.Fire(ctx(x), "1", 2, now), gate.CodeNotApproved)
	code(x, x.s.Fire(ctx(x), "nobody", 0, now), gate.CodeNotApproved)
	if x.reopen() {
		code(x, x.s.Fire(ctx(x), "1", 3, now), gate.CodeNotApproved)
		got, err := x.find()
		require.NoError(x, err)
		require.Equal(x, 3, got.Fired, "a firing that was counted stays so")
	}
}

// routineClocks: a routine ends as soon as either clock says so, and for good.
func (x *suite) routineClocks() {
	in := func(id string) {
		x.Helper()
		require.NoError(x, x.s.AddRoutine(ctx(x), x.routine(id, "wave")))
	}
	gone := func(id string) {
		x.Helper()
		code(x, x.s.Fire(ctx(x), id, 0, x.clock.Now()), gate.CodeNotApproved)
		_, err := x.find()
		code(x, err, gate.CodeNotApproved)
		list, err := x.s.Routines.Routines(ctx(x), x.clock.Now())
		require.NoError(x, err)
		require.Empty(x, list)
		ended, err := x.s.EndRoutine(ctx(x), id, x.clock.Now())
		require.NoError(x, err)
		require.False(x, ended)
	}
	in("1")
	x.clock.Advance(grantTTL - 1)
	_, err := x.find()
	require.NoError(x, err)
	x.clock.Advance(1)
	gone("1")
	in("2")
	x.clock.Jump(-grantTTL)
	x.clock.Advance(grantTTL)
	gone("2")
	in("3")
	x.clock.Jump(grantTTL)
	gone("3")
	x.clock.Jump(-grantTTL)
	gone("3")

	in("4")
	x.clock.Reboot()
	if x.reopen() {
		_, err = x.s.Recover(ctx(x), "next", x.clock.Now())
		require.NoError(x, err)
		require.NoError(x, x.s.Fire(ctx(x), "4", 0, x.clock.Now()))
		x.clock.Jump(-time.Hour)
		x.clock.Advance(grantTTL)
		gone("4")
	}
}

// permitContext: whoever has gone changes nothing.
func (x *suite) permitContext() {
	require.NoError(x, x.s.AddGrants(ctx(x), []gate.Grant{x.grant("a", "card")}))
	require.NoError(x, x.s.AddRoutine(ctx(x), x.routine("1", "wave")))
	gone, cancel := context.WithCancel(ctx(x))
	cancel()
	if err := x.s.AddGrants(gone, []gate.Grant{x.grant("b", "card")}); err != nil {
		code(x, err, gate.CodeCancelled)
		require.Equal(x, []string{"a"}, x.granted())
	}
	if err := x.s.Fire(gone, "1", 0, x.clock.Now()); err != nil {
		code(x, err, gate.CodeCancelled)
		require.NoError(x, x.s.Fire(ctx(x), "1", 0, x.clock.Now()))
	}
}
