package show

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/words"
)

func TestTable(t *testing.T) {
	result := `{"robot":"arm","dof":2,"may":true,"tip":{"at":[1,2.5,0.00001234567],"of":null},
		"joints":[{"name":"a","limits":{"lower":-1.25,"upper":0.5},"in":false,"far":{"on":true}},{"name":"bb","in":false,"limits":{"lower":0,"upper":1e9}}],
		"bodies":[{"name":"cup","geometry":{"cylinder":{"radius":0.01,"length":0.2}}},{"name":"box","geometry":{"box":{"size":[1,2,3]}}}],
		"positions":{"a":0,"bb":-0.25},"velocities":{"a":-1e-5,"bb":3},"empty":[],"none":{},
		"outputs":{"lamp":{"value":1,"unit":"1"},"fan":{"value":0.5,"unit":"1"}},
		"hidden":1,"assumed":["` + strings.Repeat("x", 60) + `","` + strings.Repeat("y", 60) + `"],"few":["p","q"]}`
	require.Equal(t, strings.Join([]string{
		"  robot  arm",
		"  dof    2",
		"  may    yes",
		"  empty  none",
		"  few    p, q",
		"  tip:",
		"    at  (1, 2.5000, 1.235e-05)",
		"  joints:",
		"    name    lower   upper  on",
		"    a     -1.2500  0.5000  yes",
		"    bb          0   1e+09",
		"  bodies:",
		"    name  geometry",
		"    cup   cylinder radius 0.0100, length 0.2000",
		"    box   box size (1, 2, 3)",
		"      positions  velocities",
		"  a      0.0000      0.0000",
		"  bb    -0.2500      3.0000",
		"  outputs:",
		"           value  unit",
		"    lamp       1  1",
		"    fan   0.5000  1",
		"  assumed:",
		"    " + strings.Repeat("x", 60),
		"    " + strings.Repeat("y", 60),
	}, "\n"), Table(words.English, json.RawMessage(result), "hidden"))
}

func TestWhatIsNoTableIsShownAsItIs(t *testing.T) {
	for in, want := range map[string]string{
		`[1,2]`: `[1,2]`, `7`: `7`, ``: ``, `{"a":`: `{"a":`, `{"a":1}{`: "  a  1",
		strings.Repeat(`{"a":`, 40): strings.Repeat(`{"a":`, 40),
	} {
		require.Equal(t, want, Table(words.English, json.RawMessage(in)), in)
	}
	long := `{"a":[` + strings.TrimSuffix(strings.Repeat(`{"b":1},`, maxRows+10), ",") + `]}`
	got := strings.Split(Table(words.English, json.RawMessage(long)), "\n")
	require.Len(t, got, maxRows+1)
	require.Equal(t, "  … (12 more lines)", got[maxRows])
}

func TestCase53_54_55_NothingOfAResultRewritesTheTerminal(t *testing.T) {
	got := Table(words.English, json.RawMessage(`{"\u001b[2J":"a\r","x":[{"\u202e":"\u001b"}]}`))
	require.NotContains(t, got, "\x1b")
	require.NotContains(t, got, "\r")
	require.Contains(t, got, `\u{1b}[2J`)
	require.Contains(t, got, `\u{202e}`)
}

func TestResultsOfReadingToolsAreLaidOut(t *testing.T) {
	a := gate.Answer{Tool: "list_actuators", Status: gate.StatusOK, Text: `{"actuators":[]}`, Result: json.RawMessage(`{"actuators":[{"name":"lamp","value":1}]}`)}
	require.Equal(t, "✓ list_actuators\n  actuators:\n    name  value\n    lamp      1", Result(words.English, a))
	a.Text = "It is noon."
	a.Result = json.RawMessage(`{"time":"12:00"}`)
	require.Equal(t, "✓ list_actuators: It is noon.\n  time  12:00", Result(words.English, a))
	a.Status, a.Code = gate.StatusRefused, gate.CodeBusy
	require.Equal(t, "✗ list_actuators: BUSY: It is noon.", Result(words.English, a))
}

func FuzzTable(f *testing.F) {
	for _, s := range []string{`{"a":[{"b":{"c":1}}],"d":{"e":1},"f":{"e":2}}`, `{"a":{"b":{"c":{}}}}`, `{"":[[]]}`, "{\"a\":\"\x1b\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if got := Table(words.English, in); strings.ContainsAny(got, "\x1b\r\u202e") {
			t.Fatalf("%q became %q", in, got)
		}
	})
}
