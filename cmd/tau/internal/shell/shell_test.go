package shell

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/gate"
	said "github.com/tau-robot/tau/gate/words"
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
		{Name: "jog", Tier: gate.TierPhysical, Input: gate.Obj(gate.Req("joint", gate.Str(99)), gate.Req("delta", gate.Num()), gate.Opt("speed_scale", gate.Num()))},
		{Name: "reference", Tier: gate.TierPhysical, Input: gate.Obj(gate.Opt("joint", gate.Str(99)))},
		{Name: "set_actuator", Tier: gate.TierPhysical, Input: gate.Obj(gate.Req("name", gate.Str(99)), gate.Req("value", gate.Num()))},
		{Name: "scene_remove", Tier: gate.TierWrite, Input: gate.Obj(gate.Req("name", gate.Str(99)))},
		{Name: "drive", Tier: gate.TierPhysical, Input: gate.Obj(gate.Req("linear", gate.Num()), gate.Req("angular", gate.Num()), gate.Req("duration", gate.Num()))},
		{Name: "go", Tier: gate.TierPhysical, Input: gate.Obj(gate.Req("position", gate.Arr(gate.Num(), 3, 3)), gate.Opt("orientation", gate.Arr(gate.Num(), 4, 4)), gate.Opt("tip", gate.Str(99)))},
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
		got, err := arguments(s[c.tool], c.rest, Names{})
		require.NoError(t, err, c.rest)
		require.Equal(t, c.want, string(got))
	}
	for rest, want := range map[string]string{
		"0.5": "key=value", "=1": "key=value", "a=1 a=2": "twice", `a="x`: "not closed", "a=[1": "bracket", "a=1]": "bracket",
	} {
		_, err := arguments(s[0], rest, Names{})
		require.ErrorContains(t, err, want, rest)
	}
	_, err := arguments(s[1], "pos=1", Names{})
	require.EqualError(t, err, `move_pose has no argument "pos"; it has position, frame`)
	_, err = arguments(s[2], "pos=1", Names{})
	require.EqualError(t, err, "home takes no arguments")
}

func TestWordsWithoutAKey(t *testing.T) {
	all := specs()
	for line, want := range map[string]string{
		"jog elbow 0.1":                       `{"joint":"elbow","delta":0.1}`,
		"jog 0.1 joint=elbow speed_scale=0.2": `{"joint":"elbow","speed_scale":0.2,"delta":0.1}`,
		"reference x":                         `{"joint":"x"}`,
		"set_actuator lamp 1":                 `{"name":"lamp","value":1}`,
		"drive 0.1 0 2":                       `{"linear":0.1,"angular":0,"duration":2}`,
		"go 0.2 0 -0.15":                      `{"position":[0.2,0,-0.15]}`,
		"go 0.2,0,0.15":                       `{"position":[0.2,0,0.15]}`,
		"go [0.2,0,0.15] hand":                `{"position":[0.2,0,0.15],"tip":"hand"}`,
		"go position=0.2,0,0.15":              `{"position":[0.2,0,0.15]}`,
		"go 0.2 0 0.1 orientation=1,0,0,0":    `{"orientation":[1,0,0,0],"position":[0.2,0,0.1]}`,
	} {
		c := split(line)
		spec, ok := find(all, c.word)
		require.True(t, ok)
		got, err := arguments(spec, c.rest, Names{})
		require.NoError(t, err, line)
		require.Equal(t, want, string(got), line)
	}
	for line, want := range map[string]string{
		"jog elbow 0.1 0.2": `"0.2" is not key=value`, "home 1": `"1" is not key=value`, "drive 1 2 3 4": `"4" is not`,
		"move_joints 0.5": "key=value",
	} {
		c := split(line)
		spec, _ := find(all, c.word)
		_, err := arguments(spec, c.rest, Names{})
		require.ErrorContains(t, err, want, line)
	}
}

func TestNumbersInAnotherSpelling(t *testing.T) {
	all := specs()
	names := Names{Joints: []string{"elbow", "shoulder_pan"}}
	for line, want := range map[string]string{
		"move_joints elbow=30deg":       `elbow: "30deg" is in degrees; angles are in radians here: write 0.5236`,
		"move_joints elbow=-90°":        "write -1.5708",
		"move_joints elbow=0,5":         `"0,5" has a decimal comma; numbers have a point here: write 0.5`,
		"move_joints elbow=.5":          "write 0.5",
		"move_joints elbow=+1":          "write 1",
		"move_joints elbow=1rad":        "write 1",
		"move_joints elbow=1,5deg":      "write 0.02618",
		"drive 100mm 0 1":               "linear: \"100mm\" is in millimetres; lengths are in metres here: write 0.1",
		"drive 0.1 0 500ms":             "write 0.5",
		"jog elbow delta=5deg":          "write 0.087266",
		"go 20cm 0 0":                   "position: \"20cm\" is in centimetres; lengths are in metres here: write 0.2",
		"go 1 2":                        "position takes 3 values, and 2 are left: 1 2",
		"jog elbwo 1":                   `there is no joint "elbwo" (did you mean elbow?)`,
		"reference joint=knee":          `there is no joint "knee"; there is elbow, shoulder_pan`,
		"jog elbow 1 speed_scale=50%":   "write 0.5",
		"move_joints elbo=1":            `there is no joint "elbo" (did you mean elbow?); there is elbow, shoulder_pan`,
		"move_joints sholder_pan=1":     "did you mean shoulder_pan?",
		"move_joints knee_of_the_bee=1": `there is no joint "knee_of_the_bee"; there is elbow, shoulder_pan`,
	} {
		c := split(line)
		spec, ok := find(all, c.word)
		require.True(t, ok, line)
		_, err := arguments(spec, c.rest, names)
		require.ErrorContains(t, err, want, line)
	}
	for _, text := range []string{"nan", "inf", "1e999deg", "x", "1.2.3", "--1", "1 deg deg", "1parsec"} {
		require.NoError(t, misspelt(text), "the gate judges %q", text)
	}
}

func TestDidYouMean(t *testing.T) {
	words := []string{"home", "move_joints", "move_pose", "state", "stop"}
	for word, want := range map[string]string{
		"hom": "home", "hmoe": "home", "HOME": "home", "move_joint": "move_joints", "movejoints": "move_joints", "stat": "state",
		"nonsense": "", "x": "", "": "", strings.Repeat("home", 99): "",
	} {
		if want != "" {
			want = " (did you mean " + want + "?)"
		}
		require.Equal(t, want, didYouMean(said.English, word, words), word)
	}
	for _, c := range []struct {
		a, b string
		d    int
	}{{"", "", 0}, {"ab", "", 2}, {"ab", "ba", 1}, {"kitten", "sitting", 3}, {"çok", "cok", 1}} {
		require.Equal(t, c.d, distance(c.a, c.b))
		require.Equal(t, c.d, distance(c.b, c.a))
	}
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{"a=1", `a="x y" b=[1,{"c":2}]`, "{", "a==", "\xff=\xfe", `a="\"`} {
		f.Add(s)
	}
	spec := specs()[0]
	f.Fuzz(func(t *testing.T, s string) {
		b, err := arguments(spec, strings.TrimSpace(s), Names{})
		if err == nil && !strings.HasPrefix(strings.TrimSpace(s), "{") && !json.Valid(b) {
			t.Fatalf("%q became %q", s, b)
		}
	})
}

func TestComplete(t *testing.T) {
	s, j := specs(), Names{Joints: []string{"elbow", "shoulder_pan"}, Links: []string{"base", "hand"}, Actuators: []string{"lamp"}}
	require.Equal(t, []string{"move_joints ", "move_pose "}, complete("mo", s, j))
	require.Equal(t, []string{"state", "stop"}, complete("st", s, j))
	require.Equal(t, []string{"shoulder_pan=", "speed_scale="}, complete("move_joints s", s, j))
	require.Equal(t, []string{"elbow=", "speed_scale="}, complete("move_joints shoulder_pan=0.5 ", s, j))
	require.Equal(t, []string{"frame="}, complete("move_pose fr", s, j))
	require.Equal(t, []string{"home"}, complete("help h", s, j))
	require.Empty(t, complete(`move_joints {"positions":{"s`, s, j))
	require.Empty(t, complete("nothing s", s, j))
	require.Equal(t, []string{"delta=", "elbow ", "joint=", "shoulder_pan ", "speed_scale="}, complete("jog ", s, j))
	require.Equal(t, []string{"delta="}, complete("jog elbow d", s, j))
	require.Equal(t, []string{"joint=elbow ", "joint=shoulder_pan "}, complete("reference joint=", s, j))
	require.Equal(t, []string{"lamp "}, complete("set_actuator l", s, j))
	require.Equal(t, []string{"name=lamp "}, complete("set_actuator value=1 name=", s, j))
	require.Equal(t, []string{"frame=base "}, complete("move_pose frame=b", s, j))

	// The bodies are those of the scene at that moment.
	scene := []string{"crate", "table"}
	j.Bodies = func() []string { return scene }
	require.Equal(t, []string{"crate ", "name=", "table "}, complete("scene_remove ", s, j))
	require.Equal(t, []string{"name=table "}, complete("scene_remove name=t", s, j))
	scene = scene[:1]
	require.Empty(t, complete("scene_remove t", s, j))
	require.Empty(t, complete("set_actuator t", s, j), "a body is no actuator")
	j.Bodies = nil
	require.Equal(t, []string{"name="}, complete("scene_remove ", s, j))
}

// caller answers at once, but "home" runs until a stop or its context ends.
type caller struct {
	began chan gate.Invocation
	stops chan struct{}
	once  sync.Once
	why   string
}

func newCaller() *caller {
	return &caller{began: make(chan gate.Invocation, 64), stops: make(chan struct{})}
}

func (c *caller) Stamp() gate.Stamp  { return 1 }
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
	case "nonsense", "moev_pose":
		a.Status, a.Code, a.Text = gate.StatusRefused, gate.CodeUnknownTool, "Tool '"+inv.Tool+"' is not registered; it was not run."
	}
	return a
}
func (c *caller) Submit(inv gate.Invocation) gate.Ticket {
	return &ticket{c.Call(context.Background(), inv)} // a stop has been commanded when Submit returns
}

// ticket is a call that is over.
type ticket struct{ a gate.Answer }

func (*ticket) ID() string            { return "" }
func (*ticket) Cancel(string)         {}
func (x *ticket) Answer() gate.Answer { return x.a }
func (*ticket) Done() <-chan struct{} { ch := make(chan struct{}); close(ch); return ch }

func newShell(c *caller) (sh *Shell, printed chan string, quits chan struct{}) {
	printed, quits = make(chan string, 64), make(chan struct{}, 1)
	return New(Config{
		Caller: c, Session: "s", Principal: "p", Names: Names{Joints: []string{"shoulder_pan"}},
		Print: func(s string) { printed <- s }, Why: func(string) string { return c.why }, Quit: func() { quits <- struct{}{} },
	}), printed, quits
}

func TestTheStopGetsThroughWhileACallRuns(t *testing.T) {
	for _, line := range []string{"stop", "estop", "stop because of smoke", `stop {"reason":`, "  stop  "} {
		c := newCaller()
		sh, printed, _ := newShell(c)
		done := make(chan struct{})
		go func() { sh.Handle(t.Context(), "home", 0); close(done) }()
		require.Equal(t, "home", (<-c.began).Tool)
		require.True(t, sh.Busy())
		finish, ok := sh.Act(line)
		require.True(t, ok)
		require.Equal(t, split(line).word, (<-c.began).Tool, "it has been commanded")
		<-done
		finish()
		require.Contains(t, <-printed+"\n"+<-printed, "✗ home: STOPPED")
		require.False(t, sh.Busy())
	}
	sh, _, _ := newShell(newCaller())
	for _, line := range []string{"", "home", "stopped", "unstop", "help stop"} {
		_, ok := sh.Act(line)
		require.False(t, ok, line)
	}
	for line, beside := range map[string]bool{
		"state": true, "help move_joints": true, "tools": true, "robot_state": true, " robot_state {}": true,
		"home": false, "quit": false, "exit": false, "stop": false, "nonsense": false, "": false,
	} {
		require.Equal(t, beside, sh.Beside(line), line)
	}
}

// What the gate is told of a line is when that was completed, not when it got there.
func TestG6_ALinesCallCarriesItsStamp(t *testing.T) {
	c := newCaller()
	sh, printed, _ := newShell(c)
	for _, line := range []string{"state", "robot_state", "move_pose", "nonsense"} {
		sh.Handle(t.Context(), line, 7)
		require.Equal(t, gate.Stamp(7), (<-c.began).Taken, line)
		<-printed
	}
}

func TestWhatThePromptShows(t *testing.T) {
	c := newCaller()
	sh, printed, quits := newShell(c)
	say := func(line string) string { sh.Handle(t.Context(), line, 0); return <-printed }
	require.Equal(t, "✓ move_joints: done", say("move_joints shoulder_pan=0.5"))
	inv := <-c.began
	require.Equal(t, `{"positions":{"shoulder_pan":0.5}}`, string(inv.Args))
	require.Equal(t, "prompt", inv.Origin)
	require.Equal(t, "✗ move_pose: not approved", say("move_pose"))
	c.why = "the answer was no"
	require.Equal(t, "✗ move_pose: not approved (the answer was no)", say("move_pose"))
	c.why = ""
	require.Equal(t, strings.Join([]string{
		"sim (sim): moving no, torque no, e-stop latched no",
		"     positions", "  b     2.0000", "  a     1.0000", "  tip:", "    position  (1, 2, 3)", "  faults:", "    code     text", `    CONTACT  x\u{1b}`,
	}, "\n"), say("state"))
	require.Contains(t, say("move_joints nonsense"), "not key=value")
	require.Equal(t, "✗ nonsense: UNKNOWN_TOOL: Tool 'nonsense' is not registered; it was not run. help lists what can be typed", say("nonsense a b c"))
	require.Contains(t, say("moev_pose"), "it was not run. (did you mean move_pose?) help lists")
	require.Contains(t, say("help"), "stop at once")
	require.Contains(t, say("help move_joints"), "positions (required) [rad]")
	require.Contains(t, say("help \x1b[2K"), `\u{1b}`)
	require.Contains(t, say("tools"), "2  move_joints")
	sh.Handle(t.Context(), "quit", 0)
	<-quits
}

func TestCompleteAtTheCursor(t *testing.T) {
	sh, _, _ := newShell(newCaller())
	start, words := sh.Complete("move_joints sho speed_scale=1", len("move_joints sho"))
	require.Equal(t, len("move_joints "), start)
	require.Equal(t, []string{"shoulder_pan="}, words)
}
