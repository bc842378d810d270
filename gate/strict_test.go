package gate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

func moveSchema() *gate.Schema {
	return gate.Obj(
		gate.Req("positions", gate.MapOf(gate.Num().In("rad"), 1, 3).Desc("Target angle by joint")),
		gate.Opt("speed_scale", gate.Num().MoreThan(0).AtMost(1).Def("0.5")),
		gate.Opt("position", gate.Vec(gate.Num().In("m"), 3)),
		gate.Opt("count", gate.Int().Between(0, 10)),
		gate.Opt("note", gate.Str(8)),
		gate.Opt("kind", gate.Enum("a", "b")),
		gate.Opt("dry", gate.Bool()),
		gate.Opt("waypoints", gate.Arr(gate.Obj(gate.Req("position", gate.Vec(gate.Num().In("m"), 3))), 1, 2)),
		gate.Opt("named", gate.MapOf(gate.Num(), 0, 0).OneOf("x", "y")),
	)
}

func TestG7_StrictDecodeRefuses(t *testing.T) {
	cases := []struct{ name, in, where, text string }{
		{"duplicate", `{"positions":{"a":1},"positions":{"a":1}}`, "positions", "twice"},
		{"duplicate nested", `{"positions":{"a":1,"a":2}}`, "positions.a", "twice"},
		{"duplicate by escape", `{"positions":{"a":1,"\u0061":2}}`, "positions.a", "twice"},
		{"lone surrogate", `{"note":"\ud800"}`, "note", "surrogate"},
		{"lone surrogate in a name", `{"positions":{"\udc00":1}}`, "positions", "surrogate"},
		{"invalid UTF-8", "{\"note\":\"\xff\"}", "note", "UTF-8"},
		{"trailing object", `{"positions":{"a":1}}{}`, "arguments", "more behind"},
		{"trailing garbage", `{"positions":{"a":1}} x`, "arguments", "more behind"},
		{"trailing NUL", "{\"positions\":{\"a\":1}}\x00", "arguments", "more behind"},
		{"unknown", `{"positions":{"a":1},"speed":1}`, "speed", "unknown field; known: positions"},
		{"unknown nested", `{"positions":{"a":1},"waypoints":[{"position":[1,2,3],"x":1}]}`, "waypoints[0].x", "unknown field"},
		{"missing", `{}`, "positions", "missing"},
		{"missing nested", `{"positions":{"a":1},"waypoints":[{}]}`, "waypoints[0].position", "missing"},
		{"empty map", `{"positions":{}}`, "positions", "too few"},
		{"full map", `{"positions":{"a":1,"b":1,"c":1,"d":1}}`, "positions", "too many elements (value 4, limit 3)"},
		{"wrong count", `{"positions":{"a":1},"position":[1,2]}`, "position", "too few elements (value 2, limit 3)"},
		{"null", `{"positions":null}`, "positions", "must be an object, not null"},
		{"not an object", `[1]`, "arguments", "must be an object, not an array"},
		{"a string", `"x"`, "arguments", "must be an object, not a string"},
		{"cut", `{"positions":{"a":1}`, "", "ends early"},
		{"cut in a value", `{"positions":{"a":`, "positions.a", "ends early"},
		{"bare text", `hello`, "", "not valid JSON"},
		{"integer", `{"positions":{"a":1},"count":1.5}`, "count", "must be an integer (value 1.5)"},
		{"integer too large", `{"positions":{"a":1},"count":9007199254740993}`, "count", "too large"},
		{"integer bound", `{"positions":{"a":1},"count":11}`, "count", "too large (value 11, limit 10)"},
		{"long string", `{"positions":{"a":1},"note":"123456789"}`, "note", "too long (value 9 bytes, limit 8 bytes)"},
		{"enum", `{"positions":{"a":1},"kind":"c"}`, "kind", `"c" is not one of: a, b`},
		{"number for bool", `{"positions":{"a":1},"dry":1}`, "dry", "must be true or false, not a number"},
		{"map name", `{"positions":{"a":1},"named":{"z":1}}`, "named.z", "unknown name; known: x, y"},
		{"deep meta", `{"_meta":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `,"positions":{"a":1}}`, "_meta", "nested too deep"},
		{"meta below the top", `{"positions":{"_meta":{}}}`, "positions._meta", "must be a number"},
		{"meta in a nested object", `{"positions":{"a":1},"waypoints":[{"position":[1,2,3],"_meta":{}}]}`, "waypoints[0]._meta", "unknown field"},
		{"meta twice", `{"_meta":1,"_meta":2,"positions":{"a":1}}`, "_meta", "twice"},
		{"exclusive bound", `{"positions":{"a":1},"speed_scale":0}`, "speed_scale", "must be above the limit (value 0, limit 0)"},
		{"upper bound", `{"positions":{"a":1},"speed_scale":1.01}`, "speed_scale", "too large (value 1.01, limit 1)"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out, err := gate.DecodeStrict(moveSchema(), []byte(c.in))
			require.Nil(t, out)
			require.ErrorIs(t, err, gate.ErrCode(gate.CodeInvalidArgument))
			var e *gate.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.where, e.Where)
			require.Contains(t, e.Message(), c.text)
		})
	}
	t.Run("size", func(t *testing.T) {
		_, err := gate.DecodeStrict(moveSchema(), []byte(strings.Repeat(" ", gate.MaxArgsBytes+1)))
		require.ErrorContains(t, err, "limit 262144 bytes")
	})
}

// Case 45: nan, inf and true as targets, and 5000 where the schema bounds the value.
func TestCase45_NumbersThatAreNone(t *testing.T) {
	bounded := gate.Obj(gate.Req("positions", gate.MapOf(gate.Num().In("rad").Between(-3.2, 3.2), 1, 8)))
	for in, text := range map[string]string{
		"NaN": "finite", "nan": "finite", "Infinity": "finite", "-Infinity": "finite", "inf": "finite",
		"1e999": "beyond float64", "-1e999": "beyond float64",
		"true": "must be a number, not a boolean", "false": "must be a number, not a boolean",
		`"1.5"`: "must be a number, not a string", `"NaN"`: "must be a number, not a string",
		"5000": "too large (value 5000 rad, limit 3.2 rad)", "-5000": "too small (value -5000 rad, limit -3.2 rad)",
		"0x10": "byte", "01": "byte", "1.": "byte", "+1": "byte",
	} {
		_, err := gate.DecodeStrict(bounded, []byte(`{"positions":{"shoulder_pan":`+in+`}}`))
		require.ErrorIs(t, err, gate.ErrCode(gate.CodeInvalidArgument), in)
		require.ErrorContains(t, err, "positions", in)
		require.ErrorContains(t, err, text, in)
	}
}

// Case 61: nothing that the agent's side sends can approve.
func TestCase61_ApprovedIsAnUnknownField(t *testing.T) {
	for _, in := range []string{
		`{"positions":{"a":1},"approved":true}`,
		`{"positions":{"a":1},"_approved":true}`,
		`{"positions":{"a":1},"decision":"approved"}`,
	} {
		_, err := gate.DecodeStrict(moveSchema(), []byte(in))
		require.ErrorContains(t, err, "unknown field", in)
	}
	// What a client writes into its own field never reaches the tool.
	out, err := gate.DecodeStrict(moveSchema(), []byte(`{"_meta":{"approved":true},"positions":{"a":1}}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"positions":{"a":1}}`, string(out))
}

func TestG7_CanonicalForm(t *testing.T) {
	for in, want := range map[string]string{
		`{"speed_scale":0.50, "positions":{"b":1e0,"a":-0}}`:      `{"positions":{"a":0,"b":1},"speed_scale":0.5}`,
		`{ "_meta" : {"x":[1,{}]} , "positions":{"a":1}}`:         `{"positions":{"a":1}}`,
		`{"positions":{"a":1} , "_meta":{"progressToken":7}}`:     `{"positions":{"a":1}}`,
		`{"note":"\u0041","_meta":null,"positions":{"\u0061":1}}`: `{"note":"A","positions":{"a":1}}`,
		// Names are ordered by UTF-16 code units, not by bytes (RFC 8785, 3.2.3).
		"{\"positions\":{\"\ufb33\":1,\"\U0001F600\":2,\"\u20ac\":3}}": "{\"positions\":{\"\u20ac\":3,\"\U0001F600\":2,\"\ufb33\":1}}",
		`{"positions":{"a":333333333.33333329,"b":1E30,"c":4.50}}`:     `{"positions":{"a":333333333.3333333,"b":1e+30,"c":4.5}}`,
		`{"positions":{"a":1},"count":1e1}`:                            `{"count":10,"positions":{"a":1}}`,
	} {
		out, err := gate.DecodeStrict(moveSchema(), []byte(in))
		require.NoError(t, err, in)
		require.Equal(t, want, string(out), in)
	}
	for _, in := range []string{"", "{}", " { } ", `{"_meta":{}}`, `{ "_meta":1 }`} {
		out, err := gate.DecodeStrict(gate.Obj(), []byte(in))
		require.NoError(t, err, in)
		require.Equal(t, `{}`, string(out), in)
	}
}

func FuzzDecodeStrict(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `{"positions":{"a":1}}`, `{"_meta":{},"positions":{"a":1}}`, `{"positions":{"a":1},"_meta":1}`,
		`{"note":"\ud83d\ude00","positions":{"a":1e-7}}`, `{"positions":{"a":1e999}}`, `{"positions":{"a":1,"a":2}}`,
		`{"positions":{"a":1},"waypoints":[{"position":[1,2,3]}]}`, `{"x":{"y":[1,2,`,
	} {
		f.Add([]byte(s))
	}
	schema := moveSchema()
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := string(raw)
		out, err := gate.DecodeStrict(schema, raw)
		require.Equal(t, before, string(raw), "the input was changed")
		if err != nil {
			require.ErrorIs(t, err, gate.ErrCode(gate.CodeInvalidArgument))
			require.Nil(t, out)
			return
		}
		// What is taken is a JSON object that the standard library reads alike,
		// holds no _meta, and is its own canonical form.
		var got, want map[string]any
		require.NoError(t, json.Unmarshal(out, &got))
		if len(raw) > 0 {
			require.NoError(t, json.Unmarshal(raw, &want))
			delete(want, "_meta")
			require.Equal(t, want, got)
		}
		again, err := gate.DecodeStrict(schema, out)
		require.NoError(t, err)
		require.Equal(t, string(out), string(again))
	})
}

func BenchmarkDecodeStrict(b *testing.B) {
	schema := moveSchema()
	raw := []byte(`{"positions":{"shoulder_pan":0.5,"elbow":-0.25},"speed_scale":0.5}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := gate.DecodeStrict(schema, raw); err != nil {
			b.Fatal(err)
		}
	}
}
