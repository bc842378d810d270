package settings

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

func example(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "testdata", "settings", "policy.toml"))
	require.NoError(t, err)
	return b
}

func TestTheExampleOfAPolicyIsRead(t *testing.T) {
	f, err := Parse("policy.toml", example(t))
	require.NoError(t, err)
	p := f.Policy
	require.Contains(t, p.Allow, "move_joints")
	require.Equal(t, []string{"torque_off"}, p.Deny)
	require.Len(t, p.Bounds, 5)
	require.Equal(t, 0.5, *p.Bounds[0].Max)
	require.Equal(t, 0.05, *p.Bounds[2].Min)
	require.Len(t, p.Bounds[4].Values, 2)
	require.Equal(t, 40, p.Rates.Session.Burst)
	require.Equal(t, 0.5, p.Rates.Tools["move_joints"].PerSecond)
	require.Equal(t, 60, p.Budget.CallsPerTurn)
	require.Equal(t, []string{"terminal", "operator"}, p.Roles.Decide)
	require.Equal(t, []string{"robot_state"}, p.Roles.Use["*"])
	require.Len(t, p.Redact, 2)
	require.Equal(t, []gate.Code{gate.CodeStaleState, gate.CodeLinkTimeout}, p.Retry[0].Codes)
	require.Equal(t, 0.8, p.Motion.SpeedCap)
	require.Equal(t, []float64{0.6, 0.6, 0.8}, p.Motion.Workspace.Max)
	require.Equal(t, "keyboard", p.Motion.Zones[0].Name)
	require.Equal(t, "speed:1", p.Grants[1].Value)
}

func TestAPolicyIsReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"[policy]\nallowed = []":                         "x.toml: unknown: policy.allowed",
		"[policy.motion]\nspeedcap = 1":                  "x.toml: unknown: policy.motion.speedcap",
		"[policy.rates]\nsession = {per_s = 1}":          "x.toml: unknown: policy.rates.session.per_s",
		"[policy]\nallow = \"move\"":                     "x.toml",
		"[policy]\ndeny = [\"stop\"]":                    `x.toml: policy.deny[0] = "stop": a stop is always allowed`,
		"[policy.motion]\nspeed_cap = 3":                 "x.toml: policy.motion.speed_cap = 3: want a number above 0 to 1",
		"[[policy.bounds]]\ntool=\"a\"\nargument=\"b\"":  "x.toml: policy.bounds[0] bounds nothing",
		"[policy]\ndeny = [\"a\"]\n[policy]\ndeny = []":  "x.toml:3:",
		"[policy.budget]\ncalls_per_turn = 1.5":          "x.toml",
		"[[policy.grants]]\nprincipal = \"p\"\nx = true": "x.toml: unknown: policy.grants.x",
	} {
		_, err := Parse("x.toml", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

// Whatever the bytes are, they are read or refused, and what is read is read the same
// way again.
func FuzzParse(f *testing.F) {
	f.Add(example(f))
	for _, s := range []string{"", "[ui]\nlanguage=\"tr\"", "[policy]\nallow=[]", "[policy.roles]\nuse.\"*\"=[\"*\"]", "[[policy.bounds]]\ntool=\"*\"\nargument='\"a.b\".*'\nvalues=[1, true, \"x\"]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		one, err := Parse("f", b)
		if err != nil {
			return
		}
		two, err := Parse("f", b)
		require.NoError(t, err)
		require.Equal(t, one, two)
	})
}
