package policy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/policy"
)

// read parses a [policy] as the settings do, unknown keys refused.
func read(t testing.TB, text string) (policy.Section, error) {
	t.Helper()
	var f struct {
		Policy policy.Section `toml:"policy"`
	}
	meta, err := toml.Decode(text, &f)
	if err != nil {
		return f.Policy, err
	}
	if left := meta.Undecoded(); len(left) > 0 {
		return f.Policy, fmt.Errorf("unknown: %v", left)
	}
	return f.Policy, f.Policy.Check()
}

// specs are the tools of these tests.
func specs() []gate.Spec {
	positions := gate.MapOf(gate.Num().In("rad"), 1, 8)
	return append([]gate.Spec{
		{Name: "move", Tier: gate.TierPhysical, Description: "Moves.", Effect: "The arm moves.", Input: gate.Obj(
			gate.Req("positions", positions), gate.Opt("speed_scale", gate.Num().MoreThan(0).AtMost(1).Def("0.5")),
			gate.Opt("frame", gate.Str(64)), gate.Opt("grip", gate.Bool().Def("false")),
			gate.Opt("path", gate.Arr(gate.Obj(gate.Req("at", gate.Vec(gate.Num().In("m"), 3)), gate.Opt("turn", gate.Num().In("rad"))), 1, 8)),
		)},
		{Name: "state", Tier: gate.TierRead, Description: "Reads.", Effect: "Nothing.", Input: gate.Obj(gate.Opt("which", gate.Enum("arm", "base"))), Output: gate.Obj(
			gate.Req("name", gate.Str(0)), gate.Req("mode", gate.Enum("sim", "real")), gate.Req("n", gate.Num()), gate.Opt("m", gate.Num()),
			gate.Req("positions", gate.MapOf(gate.Num(), 0, 0)), gate.Req("some", gate.MapOf(gate.Num(), 1, 0)),
			gate.Req("parts", gate.Arr(gate.Obj(gate.Req("serial", gate.Str(0)), gate.Opt("w", gate.Num())), 0, 0)),
		)},
		{Name: "note", Tier: gate.TierWrite, Description: "Writes.", Effect: "A note.", Input: gate.Obj(gate.Req("text", gate.Str(200)))},
	}, gate.OwnSpecs()...)
}

func compile(t testing.TB, text string) (*policy.Policy, error) {
	t.Helper()
	s, err := read(t, text)
	if err != nil {
		return nil, err
	}
	return policy.Compile(s, specs())
}

func must(t testing.TB, text string) *policy.Policy {
	t.Helper()
	p, err := compile(t, text)
	require.NoError(t, err)
	return p
}

// ask runs the before-call hooks of a policy; nil: none refuses.
func ask(t testing.TB, p *policy.Policy, tool, args string) *gate.Error {
	t.Helper()
	canonical, err := gate.DecodeStrict(nil, []byte(args))
	require.NoError(t, err)
	for _, h := range p.Hooks() {
		if h.BeforeCall == nil {
			continue
		}
		c, err := h.BeforeCall(context.Background(), gate.HookCall{Tool: tool, Args: canonical})
		require.NoError(t, err)
		require.Empty(t, c.Tool)
		require.Nil(t, c.Args, "a policy changes nothing")
		if c.Refuse != nil {
			return c.Refuse
		}
	}
	return nil
}

// Everything that is wrong is named: the key, its value and what is allowed.
func TestWhatIsWrongIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		`[policy]` + "\nalow = []": "unknown",
		`[policy]` + "\n[[policy.bounds]]\ntool=\"move\"\nargument=\"speed_scale\"\nmaximum=1":               "unknown",
		`[policy]` + "\nallow = [\"stop\"]":                                                                  `policy.allow[0] = "stop": a stop is always allowed`,
		`[policy]` + "\ndeny = [\"move\", \"estop\"]":                                                        `policy.deny[1] = "estop": a stop is always allowed`,
		`[policy]` + "\ndeny = [\"move\", \"move\"]":                                                         `policy.deny[1] = "move": it is there twice`,
		`[policy]` + "\nallow = [\"*\"]":                                                                     `policy.allow[0] = "*": want the names of tools`,
		`[policy]` + "\nallow = [\"mvoe\"]":                                                                  `policy.allow[0] = "mvoe": there is no such tool; there are`,
		`[policy]` + "\ndeny = [\"\"]":                                                                       `policy.deny[0] is missing`,
		bound(`tool="move"`, `argument="speed"`, `max=1`):                                                    `policy.bounds[0].argument = "speed" of move: there is no "speed" in the top: want one of positions, speed_scale`,
		bound(`tool="*"`, `argument="speed"`, `max=1`):                                                       `policy.bounds[0].argument = "speed": no tool has such an argument`,
		bound(`tool="move"`, `argument="positions"`, `max=1`):                                                `it isn't a number`,
		bound(`tool="move"`, `argument="frame"`, `values=["base", 1]`):                                       `values: it can't be 1`,
		bound(`tool="move"`, `argument="grip"`, `values=["yes"]`):                                            `values: it can't be "yes"`,
		bound(`tool="move"`, `argument="speed_scale"`):                                                       `policy.bounds[0] bounds nothing: want min, max or values`,
		bound(`tool="move"`, `argument="speed_scale"`, `max=1`, `values=[1]`):                                `either min and max or values`,
		bound(`tool="move"`, `argument="speed_scale"`, `max=0.1`, `min=0.2`):                                 `policy.bounds[0].min = 0.2: it is above max = 0.1`,
		bound(`tool="move"`, `argument="speed_scale"`, `max=nan`):                                            `policy.bounds[0].max = NaN: want a finite number`,
		bound(`tool="move"`, `argument="speed_scale"`, `values=[[1]]`):                                       `want strings, finite numbers or truth values`,
		bound(`tool="move"`, `argument=""`, `max=1`):                                                         `policy.bounds[0].argument = "": want a dotted path`,
		bound(`tool="move"`, `argument="positions..a"`, `max=1`):                                             `want a dotted path`,
		bound(`tool="move"`, `argument="path.x.at"`, `max=1`):                                                `want an index from 0, or *`,
		bound(`tool="move"`, `argument="path.0.at.3"`, `max=1`):                                              `want an index from 0, or *`,
		bound(`tool="move"`, `argument="speed_scale.x"`, `max=1`):                                            `has no parts`,
		bound(`tool="stop"`, `argument="reason"`, `values=["x"]`):                                            `a stop is always allowed`,
		"[policy.rates]\nsession={per_second=0, burst=1}":                                                    `policy.rates.session.per_second = 0: want a number above 0`,
		"[policy.rates]\nsession={per_second=1}":                                                             `policy.rates.session.burst = 0: want at least 1`,
		"[policy.rates.tools]\nmvoe={per_second=1,burst=1}":                                                  `policy.rates.tools = "mvoe": there is no such tool`,
		"[policy.rates.tools]\nestop={per_second=1,burst=1}":                                                 `policy.rates.tools.estop = "estop": a stop is always allowed`,
		"[policy.budget]\ncalls_per_turn=-1":                                                                 `policy.budget.calls_per_turn = -1: want a number above 0`,
		"[policy.budget]\nturn_quiet_s=1e9":                                                                  `policy.budget.turn_quiet_s = 1e+09: want seconds above 0 to 86400`,
		"[policy.roles]\nuse.agent=[\"mvoe\"]":                                                               `policy.roles.use.agent[0] = "mvoe": there is no such tool`,
		"[policy.roles]\ndecide=[\"\"]":                                                                      `policy.roles.decide[0]: "": want a name`,
		"[[policy.redact]]\ntool=\"state\"":                                                                  `policy.redact[0] withholds nothing`,
		"[[policy.redact]]\ntool=\"state\"\nfields=[\"x\"]":                                                  `policy.redact[0].fields[0] = "x" of state: there is no "x"`,
		"[[policy.redact]]\ntool=\"*\"\nfields=[\"nonesuch\"]":                                               `policy.redact[0].fields[0] = "nonesuch": no result has such a field`,
		"[[policy.redact]]\ntool=\"state\"\nfields=[\"n\"]":                                                  `every result has it, and clients insist on it`,
		"[[policy.redact]]\ntool=\"state\"\nfields=[\"mode\"]":                                               `every result has it`,
		"[[policy.redact]]\ntool=\"state\"\nfields=[\"some.a\"]":                                             `has at least 1 members`,
		"[[policy.redact]]\ntool=\"state\"\nfields=[\"parts.0\"]":                                            `elements of a list can't be withheld`,
		"[[policy.redact]]\ntool=\"state\"\npattern=\"(\"":                                                   `policy.redact[0].pattern = "(": error parsing regexp`,
		"[[policy.redact]]\ntool=\"state\"\npattern=\"x*\"":                                                  `it matches the empty text`,
		"[[policy.retry]]\ntools=[\"move\"]\ncodes=[\"STALE_STATE\"]":                                        `policy.retry[0].tools[0] = "move": it is of tier 2, and only reads (tier 0) are tried again`,
		"[[policy.retry]]\ntools=[\"state\"]\ncodes=[\"NOT_APPROVED\"]":                                      `policy.retry[0].codes[0] = "NOT_APPROVED": want one of STALE_STATE`,
		"[[policy.retry]]\ntools=[\"state\"]":                                                                `policy.retry[0]: want tools and codes`,
		"[policy.motion]\nspeed_cap=1.5":                                                                     `policy.motion.speed_cap = 1.5: want a number above 0 to 1`,
		"[policy.motion]\nspeed_cap=-0.1":                                                                    `policy.motion.speed_cap = -0.1`,
		"[policy.motion]\nspeed_cap=nan":                                                                     `policy.motion.speed_cap = NaN`,
		"[policy.motion]\nworkspace={min=[0,0,0],max=[1,1]}":                                                 `policy.motion.workspace.max has 2 numbers: want [x, y, z] in metres`,
		"[policy.motion]\nworkspace={min=[0,0,1],max=[1,1,1]}":                                               `policy.motion.workspace.min[2] = 1: it has to be below max[2] = 1`,
		"[policy.motion]\nworkspace={min=[0,0,-500],max=[1,1,1]}":                                            `want metres from -100 to 100`,
		"[policy.motion]\nzones=[{name=\"a\",min=[0,0,0],max=[1,1,1]},{name=\"a\",min=[0,0,0],max=[1,1,1]}]": `policy.motion.zones[1].name = "a": another zone has it`,
		"[policy.motion]\nzones=[{min=[0,0,0],max=[1,1,1]}]":                                                 `policy.motion.zones[0].name: "": want a name`,
		"[[policy.grants]]\nprincipal=\"p\"\nsession=\"s\"\nvalue=\"speed:2\"":                               `policy.grants[0].value = "speed:2": want "zone:NAME", or "speed:SCALE"`,
		"[[policy.grants]]\nprincipal=\"p\"\nsession=\"s\"\nvalue=\"everything\"":                            `policy.grants[0].value = "everything"`,
		"[[policy.grants]]\nsession=\"s\"\nvalue=\"zone:a\"":                                                 `policy.grants[0].principal`,
	} {
		_, err := compile(t, text)
		require.ErrorContains(t, err, want, text)
	}
	_, err := compile(t, strings.Repeat("[[policy.grants]]\nprincipal=\"p\"\nsession=\"s\"\nvalue=\"zone:a\"\n", 257))
	require.ErrorContains(t, err, "policy.grants has 257 entries: want at most 256")
}

func bound(lines ...string) string { return "[[policy.bounds]]\n" + strings.Join(lines, "\n") }

func TestBounds(t *testing.T) {
	p := must(t, strings.Join([]string{
		bound(`tool="*"`, `argument="speed_scale"`, `max=0.4`),
		bound(`tool="move"`, `argument="positions.elbow"`, `min=-1`, `max=1`),
		bound(`tool="move"`, `argument="path.*.at.2"`, `min=0.1`),
	}, "\n"))
	for args, where := range map[string]string{
		`{"positions":{"elbow":1},"speed_scale":0.4}`:                                        "path",
		`{"positions":{"elbow":1},"speed_scale":0.4,"path":[]}`:                              "",
		`{"positions":{"wrist":9},"speed_scale":0.1,"path":[{"at":[0,0,0.1]}]}`:              "",
		`{"positions":{"elbow":1.01},"speed_scale":0.4,"path":[]}`:                           "positions.elbow",
		`{"positions":{"elbow":-1.01},"speed_scale":0.4,"path":[]}`:                          "positions.elbow",
		`{"positions":{"elbow":1},"speed_scale":0.41,"path":[]}`:                             "speed_scale",
		`{"positions":{"elbow":1},"path":[]}`:                                                "speed_scale", // its default is more
		`{"positions":{"elbow":1},"speed_scale":0.4,"path":[{"at":[0,0,1]},{"at":[0,0,0]}]}`: "path.1.at.2",
	} {
		e := ask(t, p, "move", args)
		if where == "" {
			require.Nil(t, e, args)
			continue
		}
		require.NotNil(t, e, args)
		require.Equal(t, where, e.Where, args)
		require.Equal(t, gate.CodeInvalidArgument, e.Code)
	}
	e := ask(t, p, "move", `{"positions":{"elbow":2},"speed_scale":0.4,"path":[]}`)
	require.Equal(t, &gate.Quantity{Value: 2, Unit: "rad"}, e.Value)
	require.Equal(t, &gate.Quantity{Value: 1, Unit: "rad"}, e.Limit)
	require.Equal(t, []gate.Quantity{{Name: "positions.elbow", Value: 1, Unit: "rad"}}, e.Nearest)
	require.Contains(t, ask(t, p, "move", `{"positions":{"elbow":0},"path":[]}`).Message(), "its default is beyond what the operator's policy allows")
	require.Contains(t, ask(t, p, "move", `{"positions":{"elbow":0},"speed_scale":0.1}`).Message(), "path: has to be given, because the operator's policy bounds it")
	require.Nil(t, ask(t, p, "state", `{}`), "another tool")
}

func TestValues(t *testing.T) {
	p := must(t, strings.Join([]string{
		bound(`tool="move"`, `argument="frame"`, `values=["base"]`),
		bound(`tool="move"`, `argument="grip"`, `values=[false]`),
		bound(`tool="move"`, `argument="speed_scale"`, `values=[0.25, 0.5, 1]`),
	}, "\n"))
	for args, where := range map[string]string{
		`{"frame":"base","positions":{}}`:                     "",
		`{"frame":"base","positions":{},"speed_scale":1}`:     "",
		`{"frame":"base","positions":{},"speed_scale":0.3}`:   "speed_scale",
		`{"frame":"base","positions":{},"grip":false}`:        "",
		`{"frame":"base","positions":{},"grip":true}`:         "grip",
		`{"frame":"tool","positions":{}}`:                     "frame",
		`{"positions":{}}`:                                    "frame", // no default is declared: it could be any
		`{"frame":"base","positions":{},"speed_scale":0.250}`: "",
	} {
		e := ask(t, p, "move", args)
		if where == "" {
			require.Nil(t, e, args)
		} else {
			require.NotNil(t, e, args)
			require.Equal(t, where, e.Where, args)
		}
	}
	require.Contains(t, ask(t, p, "move", `{"frame":"base","speed_scale":0.3}`).Text, "allowed: 0.25, 0.5, 1")
}

func TestAllowAndDeny(t *testing.T) {
	none := must(t, "[policy]\nallow=[]")
	some := must(t, "[policy]\nallow=[\"state\", \"move\"]\ndeny=[\"move\", \"cancel_call\"]")
	for _, tool := range []string{"state", "move", "note", "current_time"} {
		require.Equal(t, "policy.allow", ask(t, none, tool, `{}`).Where, tool)
	}
	for _, tool := range []string{"stop", "estop", "call_status", "cancel_call"} {
		require.Nil(t, ask(t, none, tool, `{}`), tool)
	}
	require.Nil(t, ask(t, some, "state", `{}`))
	require.Equal(t, "policy.deny", ask(t, some, "move", `{}`).Where)
	require.Equal(t, "policy.deny", ask(t, some, "cancel_call", `{}`).Where)
	require.Equal(t, "policy.allow", ask(t, some, "note", `{}`).Where)
}

func TestRoles(t *testing.T) {
	p := must(t, "[policy.roles]\ndecide=[\"ada\"]\nuse.agent=[\"state\",\"move\"]\nuse.operator=[\"*\"]\nuse.\"*\"=[\"state\"]")
	require.True(t, p.MayUse("agent", "move"))
	require.False(t, p.MayUse("agent", "note"))
	require.True(t, p.MayUse("operator", "note"))
	require.True(t, p.MayUse("somebody", "state"))
	require.False(t, p.MayUse("somebody", "move"))
	for _, tool := range []string{"stop", "estop", "call_status", "cancel_call"} {
		require.True(t, p.MayUse("somebody", tool), tool)
	}
	require.True(t, p.MayDecide("ada"))
	require.False(t, p.MayDecide("bob"))
	require.False(t, p.MayDecide(""))
	require.False(t, must(t, "[policy.roles]\nuse.agent=[\"state\"]").MayUse("somebody", "state"), "who isn't listed may nothing")
	require.False(t, must(t, "[policy.roles]\ndecide=[]").MayDecide("ada"), "nobody")
	free := must(t, "[policy]\ndeny=[\"note\"]")
	require.True(t, free.MayUse("anybody", "move"))
	require.True(t, free.MayDecide("anybody"))
}

func TestHash(t *testing.T) {
	base := "[policy]\ndeny=[\"note\"]\n"
	seen := map[[32]byte]string{}
	for _, text := range []string{
		"", base, "[policy]\nallow=[]", "[policy]\nallow=[\"note\"]",
		base + bound(`tool="move"`, `argument="speed_scale"`, `max=0.4`), base + bound(`tool="move"`, `argument="speed_scale"`, `max=0.5`),
		base + bound(`tool="move"`, `argument="speed_scale"`, `values=[0.5]`), base + bound(`tool="move"`, `argument="frame"`, `values=["0.5"]`),
		base + "[policy.rates]\nsession={per_second=1,burst=1}", base + "[policy.budget]\ncalls_per_turn=3",
		base + "[policy.roles]\ndecide=[\"ada\"]", base + "[policy.roles]\ndecide=[]", base + "[policy.roles]\nuse.agent=[\"note\"]",
		base + "[policy.motion]\nspeed_cap=0.5", base + "[policy.motion]\nzones=[{name=\"a\",min=[0,0,0],max=[1,1,1]}]",
		base + "[[policy.grants]]\nprincipal=\"p\"\nsession=\"s\"\nvalue=\"zone:a\"",
		base + "[[policy.redact]]\ntool=\"state\"\npattern=\"x\"", base + "[[policy.retry]]\ntools=[\"state\"]\ncodes=[\"BUSY\"]",
	} {
		h := must(t, text).Hash()
		require.Equal(t, h, must(t, text).Hash())
		require.Empty(t, seen[h], text)
		seen[h] = text + " "
	}
}

func TestApplyOverwritesNothing(t *testing.T) {
	p := must(t, "[policy]\ndeny=[\"note\"]\n[policy.budget]\ncalls_per_turn=3\nturn_quiet_s=1.5\n[policy.rates]\nsession={per_second=1,burst=2}")
	var cfg gate.Config
	require.NoError(t, p.Apply(&cfg))
	require.Equal(t, p.Hash(), cfg.Policy())
	require.Equal(t, 3, cfg.Budget.CallsPerTurn)
	require.Equal(t, "1.5s", cfg.Budget.TurnQuiet.String())
	require.Equal(t, gate.Rate{PerSecond: 1, Burst: 2}, *cfg.Rates.Session)
	require.NotNil(t, cfg.Roles)
	require.Error(t, p.Apply(&cfg))
	for _, cfg := range []gate.Config{{Roles: p}, {Policy: p.Hash}, {Budget: gate.Budget{CallsPerTurn: 1}}, {Rates: p.Rates()}} {
		require.Error(t, p.Apply(&cfg))
	}
	var empty gate.Config
	require.NoError(t, must(t, "").Apply(&empty))
	require.Nil(t, empty.Hooks)
	require.Nil(t, empty.Policy, "what was stored without a policy keeps its digest")
	require.Nil(t, empty.Roles)
	require.Empty(t, must(t, "").Hooks(), "a call pays for no rule that isn't there")
}
