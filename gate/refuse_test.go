package gate_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/gate/words"
)

func TestG7_RefusedBeforeAnybodyIsAsked(t *testing.T) {
	limit := &gate.Error{Code: gate.CodeJointLimit, Where: "positions.a", Text: "beyond the limit",
		Value: &gate.Quantity{Value: 4, Unit: "rad"}, Limit: &gate.Quantity{Value: 3, Unit: "rad"}}
	for name, c := range map[string]struct {
		inv  gate.Invocation
		bend func(*rig)
		code gate.Code
		text string
	}{
		"bad arguments":     {inv: inv("move", `{"to":"x"}`), code: gate.CodeInvalidArgument, text: "to: must be a number, not a string"},
		"duplicate":         {inv: inv("move", `{"to":1,"to":2}`), code: gate.CodeInvalidArgument, text: "to: the name is there twice"},
		"approved by agent": {inv: inv("move", `{"to":1,"approved":true}`), code: gate.CodeInvalidArgument, text: "approved: unknown field"},
		"out of bounds":     {inv: inv("move", `{"to":5000}`), code: gate.CodeInvalidArgument, text: "to: too large (value 5000 rad, limit 3 rad)"},
		"hard limit":        {inv: inv("move", `{"to":1}`), bend: func(r *rig) { r.arm.prepare = func(context.Context, gate.Call) error { return limit } }, code: gate.CodeJointLimit, text: "positions.a: beyond the limit (value 4 rad, limit 3 rad)"},
		"planner panics":    {inv: inv("move", `{"to":1}`), bend: func(r *rig) { r.arm.prepare = func(context.Context, gate.Call) error { panic("x") } }, code: gate.CodeInternal, text: "failed inside"},
		"untyped error":     {inv: inv("move", `{"to":1}`), bend: func(r *rig) { r.arm.prepare = func(context.Context, gate.Call) error { return errTest } }, code: gate.CodeInternal, text: "made by the test"},
		"stale plan":        {inv: inv("move", `{"to":1}`), bend: func(r *rig) { r.arm.stale = -time.Second }, code: gate.CodePlanExpired, text: "expired"},
		"no session":        {inv: gate.Invocation{Tool: "move", Session: "nope"}, code: gate.CodeInvalidArgument, text: "there is no session"},
		"empty session":     {inv: gate.Invocation{Tool: "move"}, code: gate.CodeInvalidArgument, text: "there is no session"},
		"no opt-in": {inv: gate.Invocation{Tool: "move", Session: "r"}, bend: func(r *rig) {
			r.sessions.set(gate.Session{Name: "r", Mode: gate.ModeReal, Backend: "arm"}, gate.Errf(gate.CodeOptInExpired, "r", "the opt-in has expired"))
		}, code: gate.CodeOptInExpired, text: "opt-in has expired"},
		"session without a mode": {inv: gate.Invocation{Tool: "move", Session: "s"}, bend: func(r *rig) {
			r.sessions.set(gate.Session{Name: "s", Backend: "sim"}, nil)
		}, code: gate.CodeNotOptedIn, text: "not a session"},
		"bad principal": {inv: gate.Invocation{Tool: "move", Session: "s", Principal: "\xff"}, code: gate.CodeInvalidArgument, text: "principal"},
		"bad call id":   {inv: gate.Invocation{Tool: "move", Session: "s", CallID: "1"}, code: gate.CodeInvalidArgument, text: "call_id"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := gatetest.Script(t) // a question would fail the test
				r := newRig(t, s)
				defer r.close()
				if c.bend != nil {
					c.bend(r)
				}
				a := r.Call(t.Context(), c.inv)
				require.Equal(t, gate.StatusRefused, a.Status)
				require.Equal(t, c.code, a.Code, a.Text)
				require.Contains(t, a.Text, c.text)
				require.Equal(t, gate.ApprovalNone, a.Approval)
				require.Zero(t, r.arm.ran.Load())
				require.Len(t, r.sink.of("tool_call"), 1)
				require.Empty(t, r.sink.of("approval"))
			})
		})
	}
}

func TestG8_UnknownTool(t *testing.T) {
	r := newRig(t, nil)
	defer r.close()
	a := r.call("reboot", `{}`)
	require.Equal(t, "Tool 'reboot' is not registered; it was not run.", a.Text)
	require.Equal(t, gate.CodeUnknownTool, a.Code)
	require.Equal(t, gate.StatusRefused, a.Status)
	e := r.sink.of("error")
	require.Len(t, e, 1)
	require.Equal(t, "reboot", e[0].Tool)
	require.Equal(t, "s", e[0].SessionID)
	require.Contains(t, r.log.levels(), "WARN Tool 'reboot' is not registered; it was not run.")
	// Strict decoding comes before the look-up.
	require.Equal(t, gate.CodeInvalidArgument, r.call("reboot", `{"a":1,"a":2}`).Code)
}

func TestG8_RefusedText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, gatetest.Script(t, gatetest.Reject()))
		defer r.close()
		a := r.call("move", `{"to":1}`)
		require.Equal(t, refusedText, a.Text)
		require.Equal(t, gate.StatusRefused, a.Status)
		require.Equal(t, gate.CodeNotApproved, a.Code)
		require.Equal(t, gate.ApprovalRejected, a.Approval)
		require.Equal(t, gate.RequestRejected, r.state(a.CallID))
		require.Equal(t, "✗ move: not approved", words.English.NotApproved("move"))
	})
}

// approver is what a test makes of one.
type approver struct {
	decide     func(context.Context, gate.Request) (gate.Word, error)
	timeout    func() time.Duration
	unattended func() bool
}

func (approver) Name() string { return "test" }
func (a approver) Decide(ctx context.Context, r gate.Request) (gate.Word, error) {
	return a.decide(ctx, r)
}

type timed struct{ approver }

func (a timed) Timeout() time.Duration { return a.timeout() }

type nobody struct{ approver }

func (a nobody) Unattended() bool { return a.unattended() }

func decides(d gate.Decision, err error) gate.Approver {
	return approver{decide: func(context.Context, gate.Request) (gate.Word, error) {
		return gate.Word{Decision: d, Reason: "test"}, err
	}}
}

// G9, and cases 58 (end of file), 59 (timeout) and 60 (nobody there) as far as
// the gate sees them: only the value Approved, without an error, allows.
func TestG9_Case58_Case59_Case60_OnlyApprovedAllows(t *testing.T) {
	yes := func(context.Context, gate.Request) (gate.Word, error) {
		return gate.Word{Decision: gate.Approved, Reason: ""}, nil
	}
	for name, c := range map[string]struct {
		approver gate.Approver
		approval gate.ApprovalKind
	}{
		"rejected":            {decides(gate.Rejected, nil), gate.ApprovalRejected},
		"end of file":         {decides(gate.Rejected, errors.New("EOF")), gate.ApprovalRejected},
		"timed out":           {decides(gate.TimedOut, nil), gate.ApprovalTimeout},
		"zero":                {decides(0, nil), gate.ApprovalRejected},
		"one":                 {decides(3, nil), gate.ApprovalRejected},
		"unknown value":       {decides(0x5A, nil), gate.ApprovalRejected},
		"approved with error": {decides(gate.Approved, errTest), gate.ApprovalRejected},
		"panic":               {approver{decide: func(context.Context, gate.Request) (gate.Word, error) { panic("x") }}, gate.ApprovalRejected},
		"nil function":        {approver{}, gate.ApprovalRejected},
		"nobody configured":   {nil, gate.ApprovalRejected},
		"auto reject":         {gate.AutoReject{}, gate.ApprovalRejected},
		"unattended says yes": {nobody{approver{decide: yes, unattended: func() bool { return true }}}, gate.ApprovalRejected},
		"unattended panics":   {nobody{approver{decide: yes, unattended: func() bool { panic("x") }}}, gate.ApprovalRejected},
		"panic in the time-out": {timed{approver{decide: func(ctx context.Context, _ gate.Request) (gate.Word, error) {
			<-ctx.Done()
			return gate.Word{Decision: gate.Approved, Reason: ""}, nil
		}, timeout: func() time.Duration { panic("x") }}}, gate.ApprovalTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, c.approver)
				defer r.close()
				a := r.call("move", `{"to":1}`)
				require.Equal(t, gate.StatusRefused, a.Status)
				require.Equal(t, gate.CodeNotApproved, a.Code)
				require.Equal(t, c.approval, a.Approval)
				require.Contains(t, a.Text, refusedText)
				require.Zero(t, r.arm.ran.Load())
				e := r.sink.of("approval")
				require.Len(t, e, 1)
				require.NotEqual(t, "approved", e[0].Decision)
				require.NotEqual(t, gate.ApprovalApproved, e[0].Approval)
			})
		})
	}
}

func TestG9_AToolThatIsNotWhatWasRegistered(t *testing.T) {
	for name, change := range map[string]func(*arm){
		"no tier":    func(a *arm) { a.spec.Tier = 0 },
		"lower tier": func(a *arm) { a.spec.Tier = gate.TierRead },
		"bad tier":   func(a *arm) { a.spec.Tier = 9 },
		"other name": func(a *arm) { a.spec.Name = "echo" },
		"schema":     func(a *arm) { a.spec.Input = gate.Obj() },
		"no schema":  func(a *arm) { a.spec.Input = nil },
		"effect":     func(a *arm) { a.spec.Effect = "Nothing moves." },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, gatetest.Script(t))
			defer r.close()
			r.arm.change(change)
			a := r.call("move", `{"to":1}`)
			require.Equal(t, gate.StatusRefused, a.Status)
			require.Equal(t, gate.CodeNotApproved, a.Code, a.Text)
			require.Contains(t, a.Text, "not what was registered")
			require.Zero(t, r.arm.prepared.Load())
			require.Zero(t, r.arm.ran.Load())
		})
	}
}

// The same for a tool of tier 0, which nothing prepares beforehand.
func TestG9_AReaderThatBecomesSomethingElse(t *testing.T) {
	for name, tier := range map[string]gate.Tier{"physical": gate.TierPhysical, "none": 0} {
		reader := newArm()
		reader.spec.Name, reader.spec.Tier = "look", gate.TierRead
		r := newRig(t, nil, func(c *gate.Config) { require.NoError(t, c.Catalog.Register(reader)) })
		require.Equal(t, gate.StatusOK, r.call("look", `{}`).Status)
		reader.change(func(a *arm) { a.spec.Tier = tier })
		a := r.call("look", `{}`)
		require.Equal(t, gate.CodeNotApproved, a.Code, name)
		require.Equal(t, gate.StatusRefused, a.Status)
		require.EqualValues(t, 1, reader.ran.Load())
		r.close()
	}
}

// An action that can't be told from another one can't be approved.
func TestG12_AnActionWithoutADigestIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, gatetest.Script(t))
		defer r.close()
		r.arm.wrap = func(x *armAction) gate.Action { return blank{x} }
		a := r.call("move", `{"to":1}`)
		require.Equal(t, gate.CodeInternal, a.Code)
		require.Contains(t, a.Text, "no digest")
	})
}

type blank struct{ *armAction }

func (blank) Digest() [32]byte { return [32]byte{} }

func TestG10_Timeouts(t *testing.T) {
	var takenAway time.Time
	waits := func(ctx context.Context, _ gate.Request) (gate.Word, error) {
		<-ctx.Done()
		if ctx.Err() == context.DeadlineExceeded {
			takenAway = time.Now()
		}
		return gate.Word{Decision: gate.Approved, Reason: "too late"}, nil // a word after the end doesn't count
	}
	for name, c := range map[string]struct {
		own, approvers, want time.Duration
		code                 gate.Code
	}{
		"the gate's own wins":      {time.Minute, 2 * time.Minute, time.Minute, gate.CodeNotApproved},
		"else the approver's":      {0, 5 * time.Minute, 5 * time.Minute, gate.CodeNotApproved},
		"else the request expires": {0, 0, 10 * time.Minute, gate.CodeRequestExpired},
		"which bounds both":        {time.Hour, time.Hour, 10 * time.Minute, gate.CodeRequestExpired},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, timed{approver{decide: waits, timeout: func() time.Duration { return c.approvers }}},
					func(cfg *gate.Config) { cfg.QuestionTimeout = c.own })
				defer r.close()
				start := time.Now()
				a := r.call("move", `{"to":1}`)
				require.Equal(t, c.want, time.Since(start))
				synctest.Wait()
				require.Equal(t, start.Add(c.want), takenAway, "the card is taken away when the time is up")
				require.Equal(t, gate.StatusRefused, a.Status)
				require.Equal(t, c.code, a.Code)
				require.Equal(t, gate.ApprovalTimeout, a.Approval)
				require.Zero(t, r.arm.ran.Load())
				e := r.sink.of("approval")
				require.Len(t, e, 1)
				require.Equal(t, "timeout", e[0].Decision)
				require.Equal(t, gate.RequestExpired, r.state(a.CallID))
				require.Contains(t, r.log.levels(), "WARN decision")
			})
		})
	}
}

func TestG25_NobodyCanAnswer(t *testing.T) {
	const want = "The user did not approve this action: move. Do not perform it; tell the user briefly." +
		" Nobody can answer in this run. Blocked: move {\"to\":1} on sim (sim). Continue without it and say so."
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, gate.AutoReject{})
		defer r.close()
		start := time.Now()
		for range 3 {
			a := r.call("move", `{"to":1.0}`)
			require.Equal(t, want, a.Text)
			require.Equal(t, gate.StatusRefused, a.Status)
			require.Equal(t, gate.CodeNotApproved, a.Code)
			require.Equal(t, gate.ApprovalRejected, a.Approval)
		}
		require.Zero(t, time.Since(start))
		require.Zero(t, r.arm.ran.Load())
		// What can't be planned says why instead.
		require.Equal(t, gate.CodeInvalidArgument, r.call("move", `{"to":9}`).Code)
	})
}
