package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

// slideTool is the arm as a tool that can be made slower, and moves less far.
type slideTool struct {
	*arm
	edit func(args slideArgs, e gate.Edit) (slideArgs, error)
}

type slideArgs struct {
	To    float64 `json:"to"`
	Speed float64 `json:"speed"`
}

func (s *slideTool) Spec() gate.Spec {
	spec := s.arm.Spec()
	spec.Name = "slide"
	spec.Input = gate.Obj(gate.Req("to", gate.Num().In("rad").Between(-3, 3)), gate.Req("speed", gate.Num().Between(0, 1)))
	return spec
}

func (s *slideTool) Edit(_ context.Context, c gate.Call, _ gate.Action, e gate.Edit) (json.RawMessage, error) {
	var a slideArgs
	if err := json.Unmarshal(c.Args, &a); err != nil {
		return nil, err
	}
	if s.edit != nil {
		var err error
		if a, err = s.edit(a, e); err != nil {
			return nil, err
		}
		return json.Marshal(a)
	}
	if e.SpeedScale > 0 {
		a.Speed *= e.SpeedScale
	}
	if e.Fraction > 0 {
		a.To *= e.Fraction
	}
	return json.Marshal(a)
}

func slower(by float64) gatetest.Step {
	return gatetest.Step{Decision: gate.Edited, Reason: "answered", By: "ann", Edit: gate.Edit{SpeedScale: by}}
}

// sliding is a rig with the tool slide.
func sliding(t *testing.T, approver gate.Approver, change ...func(*gate.Config)) (*rig, *slideTool) {
	t.Helper()
	s := &slideTool{arm: newArm()}
	r := newRig(t, approver, append([]func(*gate.Config){func(c *gate.Config) {
		require.NoError(t, c.Catalog.Register(s))
	}}, change...)...)
	return r, s
}

// An approver's edit approves nothing: the request is replaced by another one, planned
// and rehearsed anew, with its own id, secret, digest and expiry, and asked.
func TestG46_AnEditIsAskedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := gatetest.Script(t, slower(0.5), gatetest.Step{
			Decision: gate.Edited, By: "bob", Edit: gate.Edit{Fraction: 0.5},
			Do: func(context.Context, gate.Request) { time.Sleep(time.Minute) },
		}, gatetest.Approve())
		r, s := sliding(t, script)
		defer r.close()
		var steps []string
		i := in("s", `{"to":1,"speed":0.8}`)
		i.Tool, i.Progress = "slide", func(text string) { steps = append(steps, text) }
		a := r.Call(t.Context(), i)
		require.Equal(t, gate.StatusOK, a.Status, a.Text)
		require.Equal(t, `The approver changed this call to slide {"speed":0.4,"to":0.5}. Moved.`, a.Text)
		require.EqualValues(t, 1, s.ran.Load())
		require.EqualValues(t, 3, s.prepared.Load(), "planned anew each time")

		asked := script.Requests()
		require.Len(t, asked, 3)
		for k, want := range []string{`{"speed":0.8,"to":1}`, `{"speed":0.4,"to":1}`, `{"speed":0.4,"to":0.5}`} {
			require.JSONEq(t, want, string(asked[k].Args))
			require.True(t, asked[k].Editable)
			require.Equal(t, asked[k].Expiry.Sub(asked[k].Asked), gate.DefaultRequestTTL)
		}
		require.True(t, asked[2].Asked.After(asked[1].Asked))
		ids := map[string]bool{}
		for _, q := range asked {
			ids[q.CallID] = true
			ids[fmt.Sprint(q.Digest)] = true
		}
		require.Len(t, ids, 6, "each has its own id and digest")
		require.Equal(t, a.CallID, asked[0].CallID, "the caller's id is that of the first")
		require.Equal(t, fmt.Sprintf("%x", asked[2].Digest), a.Digest, "the digest is that of what ran")
		require.Contains(t, steps, `waiting for approval of what the approver made of it: {"speed":0.4,"to":0.5}`)

		for k, q := range asked[:2] {
			rec, err := r.requests.Get(t.Context(), q.CallID)
			require.NoError(t, err)
			require.Equal(t, gate.RequestWithdrawn, rec.State)
			require.Zero(t, rec.Decision, "nothing of it was approved")
			require.Contains(t, string(rec.Answer), "replaced by the request "+asked[k+1].CallID)
			require.Equal(t, []string{"ann", "bob"}[k], rec.Decider)
		}
		require.Equal(t, gate.RequestDone, r.state(asked[2].CallID))
		last, err := r.requests.Get(t.Context(), asked[2].CallID)
		require.NoError(t, err)
		require.Equal(t, 1, last.Claims, "the count begins anew")
		// The caller's id answers, and so does each of the others.
		for _, q := range asked {
			st := r.status(q.CallID, 0)
			require.Equal(t, "ok", st.Status, q.CallID)
			require.Contains(t, st.Text, "The approver changed this call to slide")
		}
		var said []string
		for _, e := range r.sink.of("approval") {
			said = append(said, e.Decision+" by "+e.Decider+" "+string(e.Arguments))
		}
		require.Equal(t, []string{
			`edited by ann {"speed":0.8,"to":1}`, `edited by bob {"speed":0.4,"to":1}`, `approved by scripted {"speed":0.4,"to":0.5}`,
		}, said)
		for k, e := range r.sink.of("approval") {
			require.Equal(t, asked[k].CallID, e.CallID, "each is of the request that was shown")
			require.Equal(t, fmt.Sprintf("%x", asked[k].Digest), e.Digest)
		}
		require.Contains(t, r.sink.of("approval")[0].Text, "replaced by the request "+asked[1].CallID)
		end := r.sink.of("tool_call")[0]
		require.Equal(t, asked[0].CallID, end.CallID, "the call is the caller's")
		require.Equal(t, a.Digest, end.Digest)
	})
}

// What becomes of the edited question is what would have become of the first one.
func TestG46_AnEditApprovesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		then  gatetest.Step
		code  gate.Code
		state gate.RequestState
	}{
		"a no":         {gatetest.Reject(), gate.CodeNotApproved, gate.RequestRejected},
		"nothing":      {gatetest.Step{Decision: gate.TimedOut}, gate.CodeNotApproved, gate.RequestExpired},
		"no meaning":   {gatetest.Step{}, gate.CodeNotApproved, gate.RequestRejected},
		"the expiry":   {gatetest.Step{Decision: gate.Approved, Do: func(ctx context.Context, _ gate.Request) { <-ctx.Done() }}, gate.CodeRequestExpired, gate.RequestExpired},
		"an edit of 0": {gatetest.Step{Decision: gate.Edited}, gate.CodeNotApproved, gate.RequestRejected},
		"an edit of 2": {slower(2), gate.CodeNotApproved, gate.RequestRejected},
		"an edit of 1": {slower(1), gate.CodeNotApproved, gate.RequestRejected},
		"a minus":      {slower(-0.5), gate.CodeNotApproved, gate.RequestRejected},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := gatetest.Script(t, slower(0.5), c.then)
				r, tool := sliding(t, s)
				defer r.close()
				a := r.call("slide", `{"to":1,"speed":1}`)
				require.Equal(t, c.code, a.Code, a.Text)
				require.Zero(t, tool.ran.Load())
				require.Equal(t, c.state, r.state(s.Requests()[1].CallID))
			})
		})
	}
}

// An edit that can't be done leaves the same request, which is asked again and says why.
func TestG46_AnEditThatCantBeDoneIsAskedAgainAsItWas(t *testing.T) {
	for name, c := range map[string]struct {
		bend func(*slideTool)
		tool string
		says string
	}{
		"not slower": {func(s *slideTool) {
			s.edit = func(a slideArgs, _ gate.Edit) (slideArgs, error) { return a, nil }
		}, "slide", "changes nothing"},
		"the tool says no": {func(s *slideTool) {
			s.edit = func(a slideArgs, _ gate.Edit) (slideArgs, error) {
				return a, gate.Errf(gate.CodeNotSupported, "speed", "has none")
			}
		}, "slide", "speed: has none"},
		"not valid": {func(s *slideTool) {
			s.edit = func(a slideArgs, _ gate.Edit) (slideArgs, error) { a.Speed = 7; return a, nil }
		}, "slide", "an edit made arguments that aren't valid"},
		"a panic": {func(s *slideTool) {
			s.edit = func(slideArgs, gate.Edit) (slideArgs, error) { panic("x") }
		}, "slide", "failed inside"},
		"no plan": {func(s *slideTool) {
			s.change(func(a *arm) {
				a.prepare = func(_ context.Context, c gate.Call) error {
					if string(c.Args) != `{"speed":1,"to":1}` {
						return gate.Errf(gate.CodeNoPath, "", "there is none")
					}
					return nil
				}
			})
		}, "slide", "there is none"},
		"another tool": {func(*slideTool) {}, "move", "can't be made slower or shorter"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := gatetest.Script(t, slower(0.5), gatetest.Approve())
				r, tool := sliding(t, script)
				defer r.close()
				c.bend(tool)
				args := `{"to":1,"speed":1}`
				if c.tool == "move" {
					args = `{"to":1}`
				}
				a := r.call(c.tool, args)
				require.Equal(t, gate.StatusOK, a.Status, a.Text)
				require.Equal(t, "Moved.", a.Text, "it is what was asked")
				asked := script.Requests()
				require.Len(t, asked, 2)
				require.Empty(t, asked[0].Notices)
				require.Len(t, asked[1].Notices, 1)
				require.Equal(t, gate.CantEdit, asked[1].Notices[0].Kind)
				require.Contains(t, asked[1].Notices[0].Text, c.says)
				require.Equal(t, c.tool == "slide", asked[0].Editable)
				asked[1].Notices = nil
				require.Equal(t, asked[0], asked[1], "the same request")
				require.Equal(t, 1, len(r.sink.of("tool_call")))
				require.Contains(t, r.sink.of("approval")[0].Text, "asked again as it was")
			})
		})
	}
}

// Whatever ends a call ends one whose edit is being planned.
func TestG46_WhileAnEditIsPlanned(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(*rig, gate.Ticket)
		code  gate.Code
		state gate.RequestState
	}{
		"a stop":  {func(r *rig, _ gate.Ticket) { r.call("stop", `{}`) }, gate.CodeStopped, gate.RequestStopped},
		"a no":    {func(r *rig, tk gate.Ticket) { go func() { _ = r.Refuse(context.Background(), tk.ID(), "ann", "") }() }, gate.CodeNotApproved, gate.RequestRejected},
		"cancel":  {func(_ *rig, tk gate.Ticket) { tk.Cancel("") }, gate.CodeCancelled, gate.RequestWithdrawn},
		"nothing": {func(*rig, gate.Ticket) {}, "", gate.RequestWithdrawn},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				steps := []gatetest.Step{slower(0.5)}
				if c.code == "" {
					steps = append(steps, gatetest.Approve())
				}
				r, tool := sliding(t, gatetest.Script(t, steps...))
				defer r.close()
				planning, go1 := make(chan struct{}), make(chan struct{})
				tool.edit = func(a slideArgs, _ gate.Edit) (slideArgs, error) {
					close(planning)
					<-go1
					a.Speed /= 2
					return a, nil
				}
				i := in("s", `{"to":1,"speed":1}`)
				i.Tool = "slide"
				tk := r.Submit(i)
				<-planning
				c.end(r, tk)
				synctest.Wait()
				close(go1)
				<-tk.Done()
				require.Equal(t, c.code, tk.Answer().Code)
				require.Equal(t, c.state, r.state(tk.ID()))
				// The question is free again.
				synctest.Wait()
			})
		})
	}
}

// An approver that never says anything else is no way to keep a question for ever.
func TestG46_EditsHaveAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var steps []gatetest.Step
		for range 9 {
			steps = append(steps, slower(0.9))
		}
		s := gatetest.Script(t, append(steps, gatetest.Approve())...)
		r, tool := sliding(t, s)
		defer r.close()
		a := r.call("slide", `{"to":1,"speed":1}`)
		require.Equal(t, gate.CodeNotApproved, a.Code)
		require.Contains(t, a.Text, "it was edited too often")
		require.Contains(t, a.Text, "nobody has refused it")
		require.Zero(t, tool.ran.Load())
		require.Equal(t, gate.StatusOK, r.call("slide", `{"to":1,"speed":1}`).Status, "the question is free")
	})
}

// A claim or a replacement that the store refuses ends it: nothing is asked of which
// nothing is stored.
func TestG46_WhereTheStoreFailsNothingIsAsked(t *testing.T) {
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := &noReplace{late: late}
			s := gatetest.Script(t, slower(0.5))
			r, tool := sliding(t, s, func(c *gate.Config) { f.Requests, c.Requests = c.Requests, f })
			defer r.close()
			a := r.call("slide", `{"to":1,"speed":1}`)
			require.Equal(t, gate.CodeInternal, a.Code)
			require.Zero(t, tool.ran.Load())
			list, err := r.requests.Pending(t.Context(), time.Now())
			require.NoError(t, err)
			require.Empty(t, list, "nor after a restart")
			require.Equal(t, gate.RequestWithdrawn, r.state(a.CallID))
		})
	}
}

// noReplace can't replace, or can't say that it has.
type noReplace struct {
	gate.Requests
	late bool
}

func (f *noReplace) Replace(ctx context.Context, l gate.Lease, req gate.Request, snapshot []byte, now time.Time) (gate.Secret, error) {
	if f.late {
		_, _ = f.Requests.Replace(ctx, l, req, snapshot, now)
	}
	return gate.Secret{}, errDown
}

// After a restart the edited request is asked again, and may be edited again; the id
// that the caller holds leads to it.
func TestG46_AfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, u := newDisk(t), gatetest.Nobody(t)
		tool := &slideTool{arm: newArm()}
		register := func(c *gate.Config) { require.NoError(t, c.Catalog.Register(tool)) }
		i := in("s", `{"to":1,"speed":1}`)
		i.Tool = "slide"
		r := d.life(&wordsThen{steps: []gate.Word{{Decision: gate.Edited, By: "ann", Edit: gate.Edit{SpeedScale: 0.5}}}, then: u}, register)
		tk := r.Submit(i)
		shown := <-u.Asked
		require.JSONEq(t, `{"to":1,"speed":0.5}`, string(shown.Args))
		d = d.killed(r)

		script := gatetest.Script(t, slower(0.5), gatetest.Approve())
		r = d.life(script, register)
		_, err := r.Recover(t.Context())
		require.NoError(t, err)
		st := r.status(tk.ID(), 30)
		require.Equal(t, "ok", st.Status, st.Text)
		asked := script.Requests()
		require.Equal(t, shown.CallID, asked[0].CallID)
		require.Equal(t, shown.Digest, asked[0].Digest)
		require.JSONEq(t, `{"to":1,"speed":0.25}`, string(asked[1].Args))
		require.Equal(t, gate.RequestDone, r.stored(asked[1].CallID).State)
		require.EqualValues(t, 1, tool.ran.Load())

		// In a third life the caller's id, sent again, gives the answer and runs nothing.
		i.CallID = tk.ID()
		d = d.killed(r)
		r = d.life(nil, register)
		defer r.end()
		a := r.Call(t.Context(), i)
		require.Equal(t, gate.StatusOK, a.Status, a.Text)
		require.Equal(t, gate.ApprovalApproved, a.Approval)
		require.EqualValues(t, 1, tool.ran.Load())
		for _, id := range []string{tk.ID(), shown.CallID, asked[1].CallID} {
			require.Equal(t, "ok", r.status(id, 0).Status)
		}
	})
}

// wordsThen says its words and then leaves the questions to another approver.
type wordsThen struct {
	steps []gate.Word
	then  gate.Approver
}

func (a *wordsThen) Name() string { return "words, then" }
func (a *wordsThen) Decide(ctx context.Context, req gate.Request) (gate.Word, error) {
	if len(a.steps) == 0 {
		return a.then.Decide(ctx, req)
	}
	w := a.steps[0]
	a.steps = a.steps[1:]
	return w, nil
}
