package gate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

// elsewhere is a life in which the session that a request is of isn't open.
func elsewhere(t *testing.T, approver gate.Approver) (*rig, gate.Request, gate.Recovery) {
	t.Helper()
	d, shown := pending(t, "s", `{"to":1}`)
	r := d.life(approver)
	r.sessions.set(gate.Session{Name: "s"}, gate.Errf(gate.CodeInvalidArgument, "session", "there is no session \"s\""))
	got, err := r.Recover(t.Context())
	require.NoError(t, err)
	synctest.Wait()
	return r, shown, got
}

// A request of a session that isn't open in this run is left as it is, and told; it is
// asked once its session is opened.
func TestG47_AnotherSessionsRequestWaitsForItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gatetest.Script(t, gatetest.Reject(), gatetest.Approve())
		r, shown, got := elsewhere(t, s)
		defer r.end()
		require.Len(t, got.Open, 1)
		require.Len(t, got.Elsewhere, 1)
		require.Equal(t, shown.CallID, got.Elsewhere[0].Request.CallID)
		require.Contains(t, strings.Join(r.log.levels(), "\n"), "WARN a request waits for a session that isn't open in this run")
		require.Equal(t, gate.RequestPending, r.stored(shown.CallID).State)
		open, err := r.Open(t.Context())
		require.NoError(t, err)
		require.Len(t, open, 1)
		// It holds nobody up.
		require.Equal(t, gate.CodeNotApproved, r.Call(t.Context(), in("t", `{"to":1}`)).Code)
		r.SessionsChanged() // another one's
		synctest.Wait()
		require.Len(t, s.Requests(), 1)

		r.sessions.set(gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim"}, nil)
		r.SessionsChanged()
		synctest.Wait()
		require.Equal(t, gate.RequestDone, r.stored(shown.CallID).State)
		require.Equal(t, shown.Digest, s.Requests()[1].Digest)
		require.EqualValues(t, 1, r.arm.ran.Load())
	})
}

// Whatever else becomes of one.
func TestG47_AnotherSessionsRequestEndsLikeThis(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(*rig, string)
		state gate.RequestState
		says  string
	}{
		"refused": {func(r *rig, id string) { require.NoError(r.t, r.Refuse(context.Background(), id, "ann", "answered")) },
			gate.RequestRejected, "did not approve"},
		"expired":              {func(*rig, string) { time.Sleep(10 * time.Minute) }, gate.RequestExpired, "the request expired at"},
		"closed":               {func(*rig, string) {}, gate.RequestPending, ""},
		"stopped and not open": {func(r *rig, _ string) { r.call("stop", `{}`) }, gate.RequestPending, ""},
		"stopped, then opened": {func(r *rig, _ string) {
			r.call("stop", `{}`)
			r.sessions.set(gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim"}, nil)
			r.SessionsChanged()
		}, gate.RequestStopped, "a stop came first"},
		"opened on another robot": {func(r *rig, _ string) {
			r.sessions.set(gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim2"}, nil)
			r.SessionsChanged()
		}, gate.RequestExpired, "isn't what the card said"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, shown, _ := elsewhere(t, gatetest.Script(t))
				c.do(r, shown.CallID)
				synctest.Wait()
				rec := r.stored(shown.CallID)
				require.Equal(t, c.state, rec.State)
				require.Contains(t, string(rec.Answer), c.says)
				events := 0
				if c.says != "" {
					events = 1
				}
				require.Len(t, r.sink.of("tool_call"), events+len(r.sink.of("stop")))
				require.Len(t, r.sink.of("approval"), events)
				require.Zero(t, r.arm.ran.Load())
				r.close()
				require.Equal(t, c.state, r.stored(shown.CallID).State, "closing leaves it")
				require.NoError(t, r.disk.Close())
			})
		})
	}
}

// One after the other: each is taken up with its own session.
func TestG47_EachWaitsForItsOwnSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, first := pending(t, "s", `{"to":1}`)
		u := gatetest.Nobody(t)
		r := d.life(u)
		other := r.Submit(in("t", `{"to":2}`))
		<-u.Asked
		d = d.killed(r)
		u = gatetest.Nobody(t)
		r = d.life(u)
		defer r.end()
		gone := gate.Errf(gate.CodeInvalidArgument, "session", "there is none")
		r.sessions.set(gate.Session{Name: "s"}, gone)
		r.sessions.set(gate.Session{Name: "t"}, gone)
		got, err := r.Recover(t.Context())
		require.NoError(t, err)
		require.Len(t, got.Elsewhere, 2)
		for _, c := range []struct {
			name, backend, id string
		}{{"t", "sim2", other.ID()}, {"s", "sim", first.CallID}} {
			r.sessions.set(gate.Session{Name: c.name, Mode: gate.ModeSim, Backend: c.backend}, nil)
			r.SessionsChanged()
			require.Equal(t, c.id, (<-u.Asked).CallID)
			require.NoError(t, r.Refuse(t.Context(), c.id, "ann", ""))
			synctest.Wait()
		}
	})
}

// A stop that comes after the gate is there and before what waits is taken up voids it
// like any other.
func TestG6_AStopBeforeWhatWaitsIsTakenUpVoidsIt(t *testing.T) {
	for _, stop := range []gate.StopKind{gate.StopControlled, gate.StopEmergency} {
		for _, session := range []string{"s", "r"} {
			t.Run(fmt.Sprint(stop, " ", session), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var d *disk
					var shown gate.Request
					if session == "s" {
						d, shown = pending(t, "s", `{"to":1}`)
					} else {
						d, shown = pendingReal(t)
					}
					r := d.life(gatetest.Script(t))
					defer r.end()
					r.sessions.set(gate.Session{Name: "r"}, gate.Errf(gate.CodeNotOptedIn, "r", "is not opted in"))
					r.Stop(t.Context(), stop, "", "control", "operator")
					_, err := r.Recover(t.Context())
					require.NoError(t, err)
					synctest.Wait()
					rec := r.stored(shown.CallID)
					require.Equal(t, gate.RequestStopped, rec.State)
					require.Contains(t, string(rec.Answer), "a stop came first")
				})
			})
		}
	}
}

// A conversation that went on in an earlier process has gone on (G47).
func TestG47_AConversationThatWentOnBeforeTheRestart(t *testing.T) {
	for name, c := range map[string]struct {
		session string
		exempt  bool
		says    string
	}{
		"its own session": {"r", false, "another of its calls has run since"},
		"an exempt call":  {"r", true, "another of its calls has run since"},
		"another session": {"s", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, shown := pendingReal(t)
				notYet := gate.Errf(gate.CodeNotOptedIn, "r", "is not opted in")
				steps := []gatetest.Step{gatetest.Approve()}
				if c.exempt {
					steps = nil
				}
				r := d.life(gatetest.Script(t, steps...), func(cfg *gate.Config) {
					if c.exempt {
						cfg.Exemptions = []gate.Exemption{func(gate.Query) bool { return true }}
					}
				})
				r.sessions.set(realSession, nil)
				require.Equal(t, gate.StatusOK, r.Call(t.Context(), in(c.session, `{"to":2}`)).Status)
				d = d.killed(r)

				steps = nil
				if c.says == "" {
					steps = []gatetest.Step{gatetest.Reject()}
				}
				r = d.life(gatetest.Script(t, steps...))
				defer r.end()
				r.sessions.set(gate.Session{Name: "r"}, notYet)
				_, err := r.Recover(t.Context())
				require.NoError(t, err)
				r.sessions.set(realSession, nil)
				r.SessionsChanged()
				synctest.Wait()
				rec := r.stored(shown.CallID)
				require.Contains(t, string(rec.Answer), c.says)
				if c.says == "" {
					require.Equal(t, gate.RequestRejected, rec.State)
				} else {
					require.Equal(t, gate.RequestExpired, rec.State)
				}
			})
		})
	}
}

// roles say no to whom they are told.
type roles struct{ user, decider string }

func (r roles) MayUse(principal, _ string) bool { return principal != r.user }
func (r roles) MayDecide(decider string) bool   { return decider != r.decider }

// Who asked may still use the tool, and who says yes may decide (G47).
func TestG47_TheRolesOfNowCount(t *testing.T) {
	for name, c := range map[string]struct {
		roles roles
		steps []gatetest.Step
		state gate.RequestState
		says  string
	}{
		"everybody":           {roles{}, []gatetest.Step{{Decision: gate.Approved, By: "ann"}}, gate.RequestDone, ""},
		"not who asked":       {roles{user: "p"}, nil, gate.RequestExpired, "may not use move"},
		"not who decides":     {roles{decider: "ann"}, []gatetest.Step{{Decision: gate.Approved, By: "ann"}}, gate.RequestRejected, "may not approve"},
		"not the channel":     {roles{decider: "scripted"}, []gatetest.Step{gatetest.Approve()}, gate.RequestRejected, "may not approve"},
		"a no always counts":  {roles{decider: "ann"}, []gatetest.Step{{Decision: gate.Rejected, By: "ann"}}, gate.RequestRejected, "did not approve"},
		"an edit needs a say": {roles{decider: "ann"}, []gatetest.Step{{Decision: gate.Edited, By: "ann", Edit: gate.Edit{SpeedScale: 0.5}}}, gate.RequestRejected, "may not approve"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, shown := pending(t, "s", `{"to":1}`)
				r := d.life(gatetest.Script(t, c.steps...), func(cfg *gate.Config) { cfg.Roles = c.roles })
				defer r.end()
				_, err := r.Recover(t.Context())
				require.NoError(t, err)
				synctest.Wait()
				rec := r.stored(shown.CallID)
				require.Equal(t, c.state, rec.State)
				require.Contains(t, string(rec.Answer), c.says)
			})
		})
	}
}

// What is taken up takes the tokens that any call takes (G47).
func TestG47_TheRatesOfACallAreTaken(t *testing.T) {
	for name, c := range map[string]struct {
		burst int
		state gate.RequestState
	}{"there is one": {2, gate.RequestDone}, "there is none": {1, gate.RequestExpired}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, shown := pending(t, "s", `{"to":1}`)
				steps := []gatetest.Step{gatetest.Reject(), gatetest.Approve()}[:c.burst]
				r := d.life(gatetest.Script(t, steps...), func(cfg *gate.Config) {
					cfg.Rates.Tools = map[string]gate.Rate{"move": {PerSecond: 1e-6, Burst: c.burst}}
				})
				defer r.end()
				require.Equal(t, gate.CodeNotApproved, r.call("move", `{"to":2}`).Code) // takes one
				_, err := r.Recover(t.Context())
				require.NoError(t, err)
				synctest.Wait()
				require.Equal(t, c.state, r.stored(shown.CallID).State)
				require.Equal(t, gate.CodeRateLimited, r.call("move", `{"to":3}`).Code)
			})
		})
	}
}
