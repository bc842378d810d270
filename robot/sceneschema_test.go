package robot_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// docs/scene.schema.json and ParseScene take and refuse the same files, but for
// what a schema can't say (names used twice, the length of a quaternion).
func TestSceneSchemaAgreesWithTheParser(t *testing.T) {
	text, err := os.ReadFile("../docs/scene.schema.json")
	require.NoError(t, err)
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(text, &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)

	swap := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(goodScene) }
	cases := []string{
		goodScene, `{}`, `{"$schema":"x"}`, `{"bodies":[],"zones":[]}`, `[]`, `5`, `{"nme":"a"}`, `{"name":5}`,
		`{"name":"` + strings.Repeat("x", 129) + `"}`, `{"bodies":{}}`, `{"bodies":[5]}`,
		swap(`"name": "a", `, ""), swap(`"pose": {"xyz": [0, 0, 0]}, `, ""), swap(`, "geometry": {"sphere": {"radius": 2}}`, ""),
		swap(`"xyz": [0, 0, 1]`, ""), swap("[0, 0, 1]", "[0, 1]"), swap("[0, 0, 1]", "[0, 0, 0, 1]"), swap("[0, 0, 1]", `[0, 0, "1"]`),
		swap("[0, 0, 1]", `[0, 0, 1001]`), swap("[0, 0, 1]", `[0, 0, -1001]`), swap(", 0.5]", ", 0.5, 0]"), swap("0.5, 0.5]", "0.5]"),
		swap("true", "1"), swap("true", "false"), swap(`"radius": 2}}`, `"radius": 2}}, "movable": true`), swap(`"name": "z"`, `"name": ""`),
		swap(`"name": "z"`, `"name": "z "`), swap(`"name": "z"`, `"name": " z"`), swap(`"name": "z"`, `"name": " "`), swap(`"name": "z"`, `"name": "z z"`),
		swap(`"name": "z"`, `"name": "z\"z"`), swap(`"name": "z"`, `"name": "z's"`), swap(`"name": "z"`, `"name": "“z"`), swap(`"name": "z"`, `"name": "z»"`),
		`{"name":"a b"}`, `{"name":" a"}`, "{\"name\":\"a`b\"}", `{"name":""}`,
		swap("capsule", "cylinder"), swap("capsule", "cone"), swap("capsule", "sphere"), swap("capsule", "mesh"),
		swap(`{"sphere": {"radius": 2}}`, `{}`), swap(`{"sphere": {"radius": 2}}`, `{"sphere": {"radius": 2}, "box": {"size": [1, 1, 1]}}`),
		swap(`"radius": 2`, `"radius": 0`), swap(`"radius": 2`, `"radius": -2`), swap(`"radius": 2`, `"radius": 1001`), swap(`"radius": 2`, ""),
		swap(`"length": 0.5`, `"length": 0`), swap(`, "length": 0.5`, ""), swap("0.1, 0.2, 0.3", "0.1, 0, 0.3"), swap("0.1, 0.2, 0.3", "0.1, 0.3"),
	}
	files, err := filepath.Glob("../testdata/scenes/*.json")
	require.NoError(t, err)
	for _, f := range files {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		cases = append(cases, string(data))
	}
	taken := 0
	for _, c := range cases {
		var v any
		require.NoError(t, json.Unmarshal([]byte(c), &v), "%s", c)
		_, parsed := robot.ParseScene("s.json", []byte(c))
		valid := resolved.Validate(v)
		require.Equal(t, parsed == nil, valid == nil, "%s\nparser: %v\nschema: %v", c, parsed, valid)
		if valid == nil {
			taken++
		}
	}
	require.GreaterOrEqual(t, taken, 8)
	require.Less(t, taken, len(cases)/2)
}
