package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

func TestParseFaults(t *testing.T) {
	got, err := ParseFaults("f.json", []byte(`{"faults":[
  {"kind":"stuck","joint":"elbow_flex","motion":2,"at_s":0.5},
  {"kind":"kick","joint":"shoulder_pan","at_s":1,"value":-2.5,"duration_s":0.2},
  {"kind":"lost_steps","joint":"elbow_flex","value":0.1},
  {"kind":"freeze","at_s":0}
]}`))
	require.NoError(t, err)
	require.Equal(t, []Fault{
		{Kind: FaultStuck, Joint: "elbow_flex", Motion: 2, At: 0.5},
		{Kind: FaultKick, Joint: "shoulder_pan", At: 1, Value: -2.5, Duration: 0.2},
		{Kind: FaultLostSteps, Joint: "elbow_flex", Value: 0.1},
		{Kind: FaultFreeze},
	}, got)
}

func TestParseFaultsRefusals(t *testing.T) {
	for _, c := range []struct{ name, in, where string }{
		{"empty", ``, "f.json:1"},
		{"no faults", `{}`, "f.json:1"},
		{"null", "{\"faults\":\nnull}", "f.json:2"},
		{"null for an element", "{\"faults\":[\nnull]}", "f.json:2"},
		{"null for a number", "{\"faults\":[{\"kind\":\"freeze\",\n\"at_s\":null}]}", "f.json:2"},
		{"not an object", `[]`, "f.json:1"},
		{"unknown field", "{\"faults\":[\n{\"kind\":\"freeze\",\"when\":1}]}", "f.json:2"},
		{"repeated field", "{\"faults\":[{\"kind\":\"freeze\",\n\"at_s\":1,\"at_s\":2}]}", "f.json:2"},
		{"trailing data", "{\"faults\":[]}\n{}", "f.json:2"},
		{"unknown kind", "{\"faults\":[\n\n{\"kind\":\"melt\"}]}", "f.json:3"},
		{"boolean for a number", `{"faults":[{"kind":"freeze","at_s":true}]}`, "f.json:1"},
		{"negative time", `{"faults":[{"kind":"freeze","at_s":-1}]}`, "at_s"},
		{"no joint", `{"faults":[{"kind":"stuck"}]}`, "joint"},
		{"joint too many", `{"faults":[{"kind":"freeze","joint":"elbow_flex"}]}`, "joint"},
		{"no value", `{"faults":[{"kind":"kick","joint":"elbow_flex"}]}`, "value"},
		{"value too many", `{"faults":[{"kind":"freeze","value":1}]}`, "value"},
		{"strong weakness", `{"faults":[{"kind":"weak","joint":"elbow_flex","value":1}]}`, "value"},
		{"steps lost for a while", `{"faults":[{"kind":"lost_steps","joint":"elbow_flex","value":1,"duration_s":1}]}`, "duration_s"},
		{"steps of no joint", `{"faults":[{"kind":"lost_steps","value":1}]}`, "joint"},
		{"no steps lost", `{"faults":[{"kind":"lost_steps","joint":"elbow_flex"}]}`, "value"},
		{"motion 0 backwards", `{"faults":[{"kind":"freeze","motion":-1}]}`, "motion"},
		{"lone surrogate", `{"faults":[{"kind":"stuck","joint":"\ud800"}]}`, "f.json:1"},
		{"second of two", "{\"faults\":[{\"kind\":\"freeze\"},\n{\"kind\":\n\"stuck\"}]}", "f.json:2: faults[1].joint"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseFaults("f.json", []byte(c.in))
			require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err), "%v", err)
			var e *robot.Error
			require.ErrorAs(t, err, &e)
			require.Contains(t, e.Where, c.where)
		})
	}
}

func TestFaultsAreHeldAgainstTheRobot(t *testing.T) {
	m := so101(t)
	for _, f := range []Fault{
		{Kind: FaultStuck, Joint: "nobody"}, {Kind: "melt"}, {Kind: FaultKick, Joint: "elbow_flex"},
	} {
		_, err := New(Options{Model: m, Clock: Fast, Faults: []Fault{f}})
		require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err))
		require.ErrorContains(t, err, "faults[0]")
	}
	_, err := New(Options{Model: pendulum(1, 1), Clock: Fast, Faults: []Fault{{Kind: FaultWeak, Joint: "hinge", Value: 0.5}}})
	require.ErrorContains(t, err, "no effort limit")
}

func FuzzParseFaults(f *testing.F) {
	f.Add([]byte(`{"faults":[{"kind":"stuck","joint":"elbow_flex","motion":2,"at_s":0.5}]}`))
	f.Add([]byte("{\"faults\":[\n{\"kind\":\"melt\"}]}"))
	f.Add([]byte(`{"faults":[{"kind":"kick","joint":"a","value":1e999}]}`))
	f.Add([]byte(`{"faults":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := ParseFaults("f", data)
		if err != nil {
			require.NotEmpty(t, robot.CodeOf(err))
			return
		}
		for i := range got {
			require.NoError(t, got[i].check(""))
		}
	})
}
