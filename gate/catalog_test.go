package gate_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/lane"
)

func tool(name string, tier gate.Tier) gate.Tool {
	return gate.Func(gate.Spec{Name: name, Tier: tier, Description: "Says " + name + ".", Input: gate.Obj()}, nil)
}

func names(c *gate.Catalog) []string {
	out := []string{}
	for _, s := range c.Specs() {
		out = append(out, s.Name)
	}
	return out
}

func TestG1_ATierIsNeededAndCannotBeGuessed(t *testing.T) {
	c := gate.NewCatalog()
	for _, tier := range []gate.Tier{0, 4, 255} {
		err := c.Register(tool("x", tier))
		require.ErrorIs(t, err, gate.ErrCode(gate.CodeInvalidArgument))
		require.ErrorContains(t, err, "tier")
	}
	require.Empty(t, names(c))
	require.NoError(t, c.Register(tool("a", gate.TierRead), tool("b", gate.TierWrite)))

	for _, bad := range []string{`true`, `false`, `1.0`, `2.5`, `"2"`, `3`, `-1`, `null`, `[]`, `{}`, `1e0`, ` 1`} {
		var tier gate.Tier
		require.Error(t, tier.UnmarshalJSON([]byte(bad)), bad)
		require.False(t, tier.Valid())
	}
	for text, want := range map[string]gate.Tier{"0": gate.TierRead, "1": gate.TierWrite, "2": gate.TierPhysical} {
		var tier gate.Tier
		require.NoError(t, json.Unmarshal([]byte(text), &tier))
		require.Equal(t, want, tier)
		b, err := json.Marshal(tier)
		require.NoError(t, err)
		require.Equal(t, text, string(b))
	}
	_, err := json.Marshal(gate.Tier(0))
	require.Error(t, err)
}

func TestG2_EffectDefaultsToTheDescriptionAndIsReadable(t *testing.T) {
	c := gate.NewCatalog()
	require.NoError(t, c.Register(tool("a", gate.TierRead)))
	require.Equal(t, "Says a.", c.Specs()[0].Effect)
	for _, effect := range []string{" ", "Moves\nthe arm.", "Moves \u202ethe arm.", "Двигает руку.", "Moves\x1b[2K.", "bad \xff"} {
		err := c.Register(gate.Func(gate.Spec{Name: "b", Tier: gate.TierRead, Description: "Fine.", Effect: effect, Input: gate.Obj()}, nil))
		require.Error(t, err, "%q", effect)
		require.ErrorContains(t, err, "b.effect")
	}
	require.ErrorContains(t, c.Register(gate.Func(gate.Spec{Name: "b", Tier: gate.TierRead, Input: gate.Obj()}, nil)), "b.description")
}

func TestG3_ASetIsRegisteredWholeOrNotAtAll(t *testing.T) {
	c := gate.NewCatalog()
	require.NoError(t, c.Register(tool("a", gate.TierRead)))
	for what, set := range map[string][]gate.Tool{
		"taken":     {tool("b", gate.TierRead), tool("a", gate.TierRead)},
		"twice":     {tool("b", gate.TierRead), tool("b", gate.TierRead)},
		"no tier":   {tool("b", gate.TierRead), tool("c", 0)},
		"nil":       {tool("b", gate.TierRead), nil},
		"nil arm":   {tool("b", gate.TierRead), (*arm)(nil)},
		"bad name":  {tool("b", gate.TierRead), tool("c d", gate.TierRead)},
		"no name":   {tool("b", gate.TierRead), tool("", gate.TierRead)},
		"stop":      {tool("b", gate.TierRead), tool("stop", gate.TierWrite)},
		"reserved":  {tool("b", gate.TierRead), tool("call_status", gate.TierRead)},
		"physical":  {tool("b", gate.TierRead), tool("c", gate.TierPhysical)},
		"no schema": {tool("b", gate.TierRead), gate.Func(gate.Spec{Name: "c", Tier: gate.TierRead, Description: "C."}, nil)},
		"not an object": {tool("b", gate.TierRead), gate.Func(gate.Spec{
			Name: "c", Tier: gate.TierRead, Description: "C.", Input: gate.Num()}, nil)},
	} {
		require.Error(t, c.Register(set...), what)
		require.Equal(t, []string{"a"}, names(c), what)
	}
	require.NoError(t, c.Register(tool("b", gate.TierRead), tool("c", gate.TierWrite)))
	require.Equal(t, []string{"a", "b", "c"}, names(c))
}

func TestCase46_BoundsThatAreNone(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for what, s := range map[string]*gate.Schema{
		"NaN": gate.Num().AtMost(nan), "infinite": gate.Num().AtLeast(-inf), "inverted": gate.Num().Between(1, -1),
		"empty": gate.Num().MoreThan(1).AtMost(1), "no elements": gate.Arr(nil, 0, 1), "counts": gate.Arr(gate.Num(), 2, 1),
		"any": gate.Any(), "zero": {}, "default": gate.Num().Def("nope"), "meta": gate.Obj(gate.Opt("_meta", gate.Num())),
		"twice": gate.Obj(gate.Opt("a", gate.Num()), gate.Opt("a", gate.Num())), "name": gate.Obj(gate.Opt("a b", gate.Num())),
	} {
		in := gate.Obj(gate.Req("x", s))
		if what == "meta" {
			in = s
		}
		err := gate.NewCatalog().Register(gate.Func(gate.Spec{Name: "a", Tier: gate.TierRead, Description: "A.", Input: in}, nil))
		require.ErrorIs(t, err, gate.ErrCode(gate.CodeInvalidArgument), what)
		require.ErrorContains(t, err, "a.input", what)
	}
}

func TestG3_TheCatalogIsSealedByTheGate(t *testing.T) {
	l := lane.New()
	defer l.Close()
	c := gate.NewCatalog()
	cfg := gate.Config{
		Catalog: c, Lane: l, Requests: approval.NewMemory(), Sink: &sink{},
		Sessions: &sessions{list: map[string]gate.Session{}, err: map[string]error{}},
	}
	_, err := gate.New(cfg)
	require.NoError(t, err)
	require.Subset(t, names(c), []string{"stop", "estop", "cancel_call", "call_status", "session_status", "current_time", "demo_physical_action"})
	require.ErrorContains(t, c.Register(tool("late", gate.TierRead)), "sealed")
	_, err = gate.New(cfg)
	require.Error(t, err, "one catalog serves one gate")

	// What a gate can't work without, and limits that aren't limits.
	fresh := func(change func(*gate.Config)) error {
		cfg := cfg
		cfg.Catalog = gate.NewCatalog()
		change(&cfg)
		_, err := gate.New(cfg)
		return err
	}
	require.NoError(t, fresh(func(*gate.Config) {}))
	for what, change := range map[string]func(*gate.Config){
		"catalog": func(c *gate.Config) { c.Catalog = nil }, "lane": func(c *gate.Config) { c.Lane = nil },
		"sessions": func(c *gate.Config) { c.Sessions = nil }, "requests": func(c *gate.Config) { c.Requests = nil },
		"sink": func(c *gate.Config) { c.Sink = nil }, "stoppers": func(c *gate.Config) { c.Stoppers = []gate.Stopper{nil} },
		"request_ttl": func(c *gate.Config) { c.RequestTTL = -1 }, "max_open": func(c *gate.Config) { c.MaxOpen = -1 },
		"rates.session": func(c *gate.Config) { c.Rates.Session = &gate.Rate{} },
		"rates.echo":    func(c *gate.Config) { c.Rates.Tools = map[string]gate.Rate{"echo": {PerSecond: math.NaN(), Burst: 1}} },
	} {
		require.ErrorContains(t, fresh(change), what)
	}
}

func TestSchemaJSON(t *testing.T) {
	s := gate.Obj(
		gate.Req("positions", gate.MapOf(gate.Num().In("rad"), 1, 6).Desc("Target by joint").OneOf("a", "b")),
		gate.Opt("speed_scale", gate.Num().MoreThan(0).AtMost(1).Def("0.5")),
		gate.Opt("q", gate.Vec(gate.Num().In("m"), 3)), gate.Opt("n", gate.Int().AtLeast(0)),
		gate.Opt("s", gate.Str(8)), gate.Opt("e", gate.Enum("x")), gate.Opt("b", gate.Bool()))
	require.Equal(t, `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{`+
		`"positions":{"type":"object","description":"Target by joint","propertyNames":{"enum":["a","b"]},"additionalProperties":{"type":"number","description":"[rad]"},"minProperties":1,"maxProperties":6},`+
		`"speed_scale":{"type":"number","exclusiveMinimum":0,"maximum":1,"default":0.5},`+
		`"q":{"type":"array","items":{"type":"number","description":"[m]"},"minItems":3,"maxItems":3},`+
		`"n":{"type":"integer","minimum":0},"s":{"type":"string","maxLength":8},"e":{"type":"string","enum":["x"]},"b":{"type":"boolean"}},`+
		`"required":["positions"],"additionalProperties":false}`, string(s.JSON()))
	require.True(t, json.Valid(s.JSON()))
	require.Equal(t, s.Hash(), s.Clone().Hash())
	require.NotEqual(t, s.Hash(), gate.Obj().Hash())
	require.NotEqual(t, gate.Num().AtMost(1).Hash(), gate.Num().AtMost(2).Hash())
	var none *gate.Schema
	require.JSONEq(t, `{"$schema":"https://json-schema.org/draft/2020-12/schema","not":{}}`, string(none.JSON()))
	require.JSONEq(t, `{"$schema":"https://json-schema.org/draft/2020-12/schema","not":{}}`, string((&gate.Schema{}).JSON()))
	require.JSONEq(t, `{"$schema":"https://json-schema.org/draft/2020-12/schema"}`, string(gate.Any().JSON()))
}
