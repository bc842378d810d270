package shell

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func specs() []gate.Spec {
	num := &gate.Schema{Kind: gate.KindNumber}
	obj := func(ps ...gate.Property) *gate.Schema { return &gate.Schema{Kind: gate.KindObject, Properties: ps} }
	return []gate.Spec{
		{Name: "move_joints", Tier: gate.TierPhysical, Effect: "Moves.", Input: obj(
			gate.Property{Name: "positions", Required: true, Schema: &gate.Schema{Kind: gate.KindMap, Elem: num, Unit: "rad"}},
			gate.Property{Name: "speed_scale", Schema: num})},
		{Name: "move_pose", Tier: gate.TierPhysical, Input: obj(
			gate.Property{Name: "position", Schema: &gate.Schema{Kind: gate.KindArray, Elem: num}},
			gate.Property{Name: "frame", Schema: &gate.Schema{Kind: gate.KindString}})},
		{Name: "home", Tier: gate.TierPhysical, Input: obj()},
		{Name: "robot_state", Tier: gate.TierRead, Input: obj()},
		{Name: "stop", Tier: gate.TierWrite}, {Name: "estop", Tier: gate.TierWrite},
	}
}

func TestArguments(t *testing.T) {
	s := specs()
	for _, c := range []struct {
		tool int
		rest string
		want string
	}{
		{0, "shoulder_pan=0.5", `{"positions":{"shoulder_pan":0.5}}`},
		{0, "a=0.5 speed_scale=0.3  b=-1e-3", `{"speed_scale":0.3,"positions":{"a":0.5,"b":-1e-3}}`},
		{0, `positions={"a": 1}`, `{"positions":{"a": 1}}`},
		{0, `{"positions":{"a":1}}`, `{"positions":{"a":1}}`},
		{0, "a=nan", `{"positions":{"a":"nan"}}`}, // the gate refuses the string
		{0, "a=true", `{"positions":{"a":true}}`},
		{1, "position=[0.2, 0, 0.1] frame=base", `{"position":[0.2, 0, 0.1],"frame":"base"}`},
		{1, `frame="a b"`, `{"frame":"a b"}`},
		{1, `frame=7`, `{"frame":"7"}`},
		{2, "", `{}`},
	} {
		got, err := arguments(s[c.tool], c.rest)
		require.NoError(t, err, c.rest)
		require.Equal(t, c.want, string(got))
	}
	for rest, want := range map[string]string{
		"0.5": "key=value", "=1": "key=value", "a=1 a=2": "twice", `a="x`: "not closed", "a=[1": "bracket", "a=1]": "bracket",
	} {
		_, err := arguments(s[0], rest)
		require.ErrorContains(t, err, want, rest)
	}
	_, err := arguments(s[1], "pos=1")
	require.EqualError(t, err, `move_pose has no argument "pos"; it has position, frame`)
	_, err = arguments(s[2], "pos=1")
	require.EqualError(t, err, "home takes no arguments")
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{"a=1", `a="x y" b=[1,{"c":2}]`, "{", "a==", "\xff=\xfe", `a="\"`} {
		f.Add(s)
	}
	spec := specs()[0]
	f.Fuzz(func(t *testing.T, s string) {
		b, err := arguments(spec, strings.TrimSpace(s))
		if err == nil && !strings.HasPrefix(strings.TrimSpace(s), "{") && !json.Valid(b) {
			t.Fatalf("%q became %q", s, b)
		}
	})
}

func TestComplete(t *testing.T) {
	s, j := specs(), []string{"elbow", "shoulder_pan"}
	require.Equal(t, []string{"move_joints ", "move_pose "}, Complete("mo", s, j))
	require.Equal(t, []string{"state", "stop"}, Complete("st", s, j))
	require.Equal(t, []string{"shoulder_pan=", "speed_scale="}, Complete("move_joints s", s, j))
	require.Equal(t, []string{"elbow=", "speed_scale="}, Complete("move_joints shoulder_pan=0.5 ", s, j))
	require.Equal(t, []string{"frame="}, Complete("move_pose fr", s, j))
	require.Equal(t, []string{"home"}, Complete("help h", s, j))
	require.Empty(t, Complete(`move_joints {"positions":{"s`, s, j))
	require.Empty(t, Complete("nothing s", s, j))
}

// console feeds lines as the test sends them and keeps what is printed.
type console struct {
	lines   chan string
	printed chan string
}

func (c *console) ReadLine() (string, error) {
	l, ok := <-c.lines
	if !ok {
		return "", io.EOF
	}
	return l, nil
}
func (c *console) Print(s string) { c.printed <- s }

// caller answers at once, but "home" runs until a stop or its context ends.
type caller struct {
	began chan gate.Invocation
	stops chan struct{}
	once  sync.Once
}

func (c *caller) Specs() []gate.Spec { return specs() }
func (c *caller) Call(ctx context.Context, inv gate.Invocation) gate.Answer {
	c.began <- inv
	a := gate.Answer{Tool: inv.Tool, Status: gate.StatusOK, Text: "done"}
	switch inv.Tool {
	case "stop", "estop":
		c.once.Do(func() { close(c.stops) })
	case "home":
		a.Status = gate.StatusCancelled
		select {
		case <-c.stops:
			a.Code = gate.CodeStopped
		case <-ctx.Done():
			a.Code = gate.CodeCancelled
		}
	case "move_pose":
		a.Status, a.Code, a.Text = gate.StatusRefused, gate.CodeNotApproved, "The user did not approve this action: move_pose."
	case "robot_state":
		a.Result = json.RawMessage(`{"positions":{"b":2,"a":1},"backend":"sim","mode":"sim","tip":{"position":[1,2,3]},"faults":[{"code":"CONTACT","text":"x\u001b"}]}`)
	}
	return a
}
func (c *caller) Submit(gate.Invocation) gate.Ticket { panic("the prompt only calls") }

func run(t *testing.T) (*console, *caller, func() error) {
	t.Helper()
	con := &console{lines: make(chan string), printed: make(chan string, 64)}
	cal := &caller{began: make(chan gate.Invocation, 64), stops: make(chan struct{})}
	done := make(chan error, 1)
	go func() {
		done <- Run(t.Context(), Config{Console: con, Caller: cal, Session: "s", Principal: "p"})
	}()
	return con, cal, func() error { return <-done }
}

func TestTheStopGetsThroughWhileACallRuns(t *testing.T) {
	for _, word := range []string{"stop", "estop", "stop because of smoke", `stop {"reason":`} {
		con, cal, end := run(t)
		con.lines <- "home"
		require.Equal(t, "home", (<-cal.began).Tool)
		con.lines <- word
		inv := <-cal.began
		require.Equal(t, split(word).word, inv.Tool)
		got := []string{<-con.printed, <-con.printed}
		require.Contains(t, strings.Join(got, "\n"), "✗ home: STOPPED")
		close(con.lines)
		require.NoError(t, end())
	}
}

func TestQuitCancelsWhatRunsAndWaitsForIt(t *testing.T) {
	con, cal, end := run(t)
	con.lines <- "home"
	<-cal.began
	con.lines <- "quit"
	require.NoError(t, end())
	require.Contains(t, <-con.printed, "✗ home: CANCELLED")
}

func TestWhatThePromptShows(t *testing.T) {
	con, cal, end := run(t)
	con.lines <- "move_joints shoulder_pan=0.5"
	inv := <-cal.began
	require.Equal(t, `{"positions":{"shoulder_pan":0.5}}`, string(inv.Args))
	require.Equal(t, "prompt", inv.Origin)
	require.Equal(t, "✓ move_joints: done", <-con.printed)
	con.lines <- "move_pose"
	require.Equal(t, "✗ move_pose: not approved", <-con.printed)
	con.lines <- "state"
	require.Equal(t, "sim (sim): moving false, torque false, e-stop latched false\n  a                     1.0000\n  b                     2.0000\n  tip                  (1.0000, 2.0000, 3.0000) m\n  fault: CONTACT: x\\u{1b}", <-con.printed)
	con.lines <- ""
	con.lines <- "move_joints nonsense"
	require.Contains(t, <-con.printed, "not key=value")
	con.lines <- "help"
	require.Contains(t, <-con.printed, "stop at once")
	con.lines <- "help move_joints"
	require.Contains(t, <-con.printed, "positions (required) [rad]")
	con.lines <- "tools"
	require.Contains(t, <-con.printed, "2  move_joints")
	close(con.lines)
	require.NoError(t, end())
}

func TestTooManyCallsAreRefusedAStopIsNot(t *testing.T) {
	con, cal, end := run(t)
	for range maxRunning {
		con.lines <- "home"
		<-cal.began
	}
	con.lines <- "home"
	require.Contains(t, <-con.printed, "16 calls are under way")
	con.lines <- "stop"
	require.Equal(t, "stop", (<-cal.began).Tool)
	close(con.lines)
	require.NoError(t, end())
}
