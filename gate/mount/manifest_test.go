package mount

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate"
)

func testLog(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}

// TestG4_TheManifestDecidesTheTier: writing, shell and file tools are tier 2, fetching
// tools have a list, and a tier is never a guess.
func TestG4_TheManifestDecidesTheTier(t *testing.T) {
	rule := func(kind Kind, n int64) Rule { return Rule{Kind: kind, Tier: tier(n), Description: "Does it."} }
	fetch := func(n int64, allow ...string) Rule {
		r := rule(KindFetch, n)
		r.URLArgument, r.Allow = "url", allow
		return r
	}
	for name, c := range map[string]struct {
		rule Rule
		ok   bool
	}{
		"read 0": {rule(KindRead, 0), true}, "read 2": {rule(KindRead, 2), true},
		"note 0": {rule(KindNote, 0), false}, "note 1": {rule(KindNote, 1), true},
		"write 1": {rule(KindWrite, 1), false}, "write 2": {rule(KindWrite, 2), true},
		"file 0": {rule(KindFile, 0), false}, "file 1": {rule(KindFile, 1), false}, "file 2": {rule(KindFile, 2), true},
		"shell 1": {rule(KindShell, 1), false}, "shell 2": {rule(KindShell, 2), true},
		"no kind": {rule("", 2), false}, "another kind": {rule("harmless", 0), false},
		"no tier": {Rule{Kind: KindRead, Description: "Does it."}, false}, "tier 3": {rule(KindRead, 3), false}, "tier -1": {rule(KindRead, -1), false},
		"no description":       {Rule{Kind: KindRead, Tier: tier(0)}, false},
		"fetch without a list": {fetch(0), false}, "fetch": {fetch(0, "https://example.org/"), true},
		"fetch anywhere": {fetch(0, "https://"), false}, "fetch in the open": {fetch(0, "http://example.org/"), false},
		"a list for another kind": {Rule{Kind: KindRead, Tier: tier(0), Description: "D.", Allow: []string{"https://a/"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := Manifest{Name: "x", Command: []string{"c"}, Tools: map[string]Rule{"t": c.rule}}
			err := m.Check()
			if c.ok {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, gate.ErrCode(gate.CodeInvalidArgument))
			require.ErrorContains(t, err, "mount x.tools.t")
		})
	}
}

func TestAManifestThatIsntOne(t *testing.T) {
	ok := manifest()
	require.NoError(t, ok.Check())
	for name, change := range map[string]func(*Manifest){
		"no name":             func(m *Manifest) { m.Name = "" },
		"a name with blank":   func(m *Manifest) { m.Name = "a b" },
		"both ways":           func(m *Manifest) { m.URL = "https://a/" },
		"neither":             func(m *Manifest) { m.Command = nil },
		"no program":          func(m *Manifest) { m.Command = []string{""} },
		"no tools":            func(m *Manifest) { m.Tools = nil },
		"in the open":         func(m *Manifest) { m.Command, m.URL = nil, "http://example.org/mcp" },
		"a password":          func(m *Manifest) { m.Command, m.URL = nil, "https://a:b@example.org/mcp" },
		"a token of nothing":  func(m *Manifest) { m.TokenFile = "x" },
		"forever":             func(m *Manifest) { m.TimeoutS = 301 },
		"a stop of nothing":   func(m *Manifest) { m.Stop = &StopRule{} },
		"a stop with rubbish": func(m *Manifest) { m.Stop = &StopRule{Tool: "off", Arguments: `{"a":1,"a":2}`} },
	} {
		m := manifest()
		change(&m)
		require.ErrorIs(t, m.Check(), gate.ErrCode(gate.CodeInvalidArgument), name)
	}
}

func TestAllowedAddresses(t *testing.T) {
	list := []string{"https://example.org/pictures", "https://data.example.org/", "http://127.0.0.1:8080/cam", "https://q.example.org/a?x=1"}
	for _, yes := range []string{
		"https://example.org/pictures", "https://example.org/pictures/1.png", "https://EXAMPLE.org/pictures/", "https://example.org:443/pictures",
		"https://data.example.org", "https://data.example.org/any?q=1", "http://127.0.0.1:8080/cam/0", "https://q.example.org/a?x=1",
	} {
		require.NoError(t, allowed(list, yes), yes)
	}
	for _, no := range []string{
		"https://example.org/", "https://example.org/pictures2", "https://example.org/pictures/../secret", "https://example.org/pictures/%2e%2e/secret",
		"https://example.org/pictures%2f..%2fsecret", "https://example.org.evil.net/pictures", "https://evil.net/https://example.org/pictures",
		"https://example.org@evil.net/pictures", "http://example.org/pictures", "https://example.org:444/pictures", "http://127.0.0.1:8081/cam",
		"//example.org/pictures", "file:///etc/passwd", "https://example.org/pictures\\..\\x", "https://example.org/pictures\n", "", "https://q.example.org/a?x=2",
		"https://example.org/pictures#x", "gopher://example.org/pictures", "https://ехample.org/pictures",
	} {
		require.Error(t, allowed(list, no), no)
	}
}

// TestAllowedIsBelowTheList: whatever is appended, what is allowed begins with a listed
// scheme, host and path.
func TestAllowedIsBelowTheList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tail := rapid.StringMatching(`[a-z./%25@:\\?#&=-]{0,24}`).Draw(t, "tail")
		at := rapid.SampledFrom([]string{"https://example.org/p", "https://example.org", "https://", "https://x@example.org/p"}).Draw(t, "at") + tail
		if allowed([]string{"https://example.org/p"}, at) == nil {
			u, err := parseAddress(at)
			require.NoError(t, err)
			require.Equal(t, "example.org", u.Hostname())
			require.Regexp(t, `^/p(/|$)`, u.Path)
		}
	})
}

func FuzzSchema(f *testing.F) {
	f.Add([]byte(lampSchema))
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/a"}}}`))
	f.Add([]byte(`{"properties":{"a":{"type":["string","null"],"enum":["x"]},"b":{"type":"array","items":{"type":"integer","exclusiveMinimum":0}}}}`))
	f.Add([]byte(`{"type":"object","additionalProperties":{"type":"number"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := arguments(raw, nil)
		if err != nil {
			return
		}
		c := gate.NewCatalog()
		x := &tool{s: &Server{}, spec: gate.Spec{Name: "x", Description: "Does it.", Tier: gate.TierRead, Input: s}}
		_ = c.Register(x) // may refuse, must not fail inside
		_, _ = gate.DecodeStrict(s, []byte(`{"a":1}`))
	})
}
