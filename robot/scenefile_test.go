package robot_test

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

const goodScene = `{
  "name": "s",
  "bodies": [
    {"name": "b", "pose": {"xyz": [1, 2, -3], "quat_wxyz": [-0.5, 0.5, 0.5, 0.5]}, "geometry": {"box": {"size": [0.1, 0.2, 0.3]}}, "movable": true},
    {"name": "a", "pose": {"xyz": [0, 0, 0]}, "geometry": {"capsule": {"radius": 0.1, "length": 0.5}}}
  ],
  "zones": [{"name": "z", "pose": {"xyz": [0, 0, 1]}, "geometry": {"sphere": {"radius": 2}}}]
}`

func TestParseScene(t *testing.T) {
	s, err := robot.ParseScene("s.json", []byte(goodScene))
	require.NoError(t, err)
	require.Equal(t, "s", s.Name)
	require.Equal(t, []robot.Body{
		{Name: "a", Pose: robot.IdentityPose(), Geometry: robot.Geometry{Kind: robot.Capsule, Radius: 0.1, Length: 0.5}},
		{Name: "b", Movable: true, Geometry: robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{0.1, 0.2, 0.3}},
			Pose: robot.Pose{P: mgl64.Vec3{1, 2, -3}, Q: mgl64.Quat{W: 0.5, V: mgl64.Vec3{-0.5, -0.5, -0.5}}}},
	}, s.Bodies)
	require.Equal(t, []robot.Zone{
		{Name: "z", Pose: robot.Pose{P: mgl64.Vec3{0, 0, 1}, Q: mgl64.QuatIdent()}, Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 2}},
	}, s.Zones)
}

// The hash is of what the file says, not of how it says it.
func TestSceneHashIsOfContent(t *testing.T) {
	base, err := robot.ParseScene("s.json", []byte(goodScene))
	require.NoError(t, err)
	same := []string{
		strings.ReplaceAll(goodScene, " ", ""),
		strings.NewReplacer("[1, 2, -3]", "[1.0, 2e0, -30e-1]", "0.1, 0.2, 0.3", "1e-1, 0.20, 0.3").Replace(goodScene),
		strings.ReplaceAll(goodScene, "[-0.5, 0.5, 0.5, 0.5]", "[0.5, -0.5, -0.5, -0.5]"),
		strings.ReplaceAll(goodScene, `"xyz": [0, 0, 0]`, `"quat_wxyz": [-1, 0, -0.0, 0], "xyz": [0, -0.0, 0]`),
	}
	for _, text := range same {
		s, err := robot.ParseScene("t.json", []byte(text))
		require.NoError(t, err)
		require.Equal(t, base, s)
	}
	swapped, err := robot.NewScene(base.Name, []robot.Body{base.Bodies[1], base.Bodies[0]}, base.Zones)
	require.NoError(t, err)
	require.Equal(t, base, swapped)
	hashes := map[[32]byte]bool{base.Hash: true}
	for _, change := range [][2]string{
		{`"name": "s"`, `"name": "t"`}, {`"name": "a"`, `"name": "c"`}, {"-3", "-3.0000001"}, {"0.1, 0.2", "0.2, 0.1"},
		{`, "movable": true`, ""}, {"capsule", "cylinder"}, {`"radius": 2`, `"radius": 2.5`},
		{`"name": "z"`, `"name": "y"`}, {"[-0.5, 0.5", "[-0.5, -0.5"},
	} {
		s, err := robot.ParseScene("s.json", []byte(strings.Replace(goodScene, change[0], change[1], 1)))
		require.NoError(t, err)
		require.False(t, hashes[s.Hash], "%v", change)
		hashes[s.Hash] = true
	}
	// A zone is not a body.
	moved, err := robot.NewScene("s", base.Bodies, nil)
	require.NoError(t, err)
	other, err := robot.NewScene("s", append([]robot.Body{{Name: "z", Pose: base.Zones[0].Pose, Geometry: base.Zones[0].Geometry}}, base.Bodies...), nil)
	require.NoError(t, err)
	require.NotEqual(t, moved.Hash, other.Hash)
	require.NotEqual(t, base.Hash, other.Hash)
}

func TestParseSceneRefuses(t *testing.T) {
	body := func(s string) string { return "{\"bodies\": [\n" + s + "\n]}" }
	geo := func(s string) string { return body(`{"name":"b","pose":{"xyz":[0,0,0]},"geometry":` + s + `}`) }
	quat := func(s string) string {
		return body(`{"name":"b","geometry":{"sphere":{"radius":1}},"pose":{"xyz":[0,0,0],"quat_wxyz":` + s + `}}`)
	}
	ball := `{"name":"b","pose":{"xyz":[0,0,0]},"geometry":{"sphere":{"radius":1}}}`
	for _, c := range []struct {
		text string
		line int
		want string
	}{
		{``, 1, "too early"},
		{`[]`, 1, "an object is due"},
		{"{}\n{}", 2, "data after the end"},
		{"{}\n,", 2, "data after the end"},
		{"{\n\"name\":\"a\",\n\"name\":\"b\"}", 3, "duplicate"},
		{"{\n\"nme\":\"a\"}", 2, `unknown field "nme"`},
		{"{\"name\":\"\xff\"}", 1, "UTF-8"},
		{`{"name":"a\u001b[2J"}`, 1, "can't be shown"},
		{`{"name":"a\u202eb"}`, 1, "can't be shown"},
		{`{"name":5}`, 1, "a string is due"},
		{`{"bodies":{}}`, 1, "an array is due"},
		{body(`5`), 2, "an object is due"},
		{body(ball + ",\n" + ball), 3, "used twice; the first is in line 2"},
		{body(strings.Replace(ball, `"name":"b",`, "", 1)), 2, `"name" is missing`},
		{body(strings.Replace(ball, `"pose":{"xyz":[0,0,0]},`, "", 1)), 2, `"pose" is missing`},
		{body(strings.Replace(ball, `,"geometry":{"sphere":{"radius":1}}`, "", 1)), 2, `"geometry" is missing`},
		{body(strings.Replace(ball, `"xyz":[0,0,0]`, "", 1)), 2, `"xyz" is missing`},
		{body(strings.Replace(ball, `[0,0,0]`, "[0,0]", 1)), 2, "2 numbers where 3 are due"},
		{body(strings.Replace(ball, `[0,0,0]`, "[0,0,0,0]", 1)), 2, "more than 3"},
		{body(strings.Replace(ball, `[0,0,0]`, "[0,true,0]", 1)), 2, "a number is due"},
		{body(strings.Replace(ball, `[0,0,0]`, "[0,\"1\",0]", 1)), 2, "a number is due"},
		{body(strings.Replace(ball, `[0,0,0]`, "[0,NaN,0]", 1)), 2, "not well-formed"},
		{body(strings.Replace(ball, `[0,0,0]`, "[0,1e999,0]", 1)), 2, "out of range"},
		{body(strings.Replace(ball, `[0,0,0]`, "[0,1001,0]", 1)), 2, "beyond 1000 m"},
		{body(strings.Replace(ball, `}}}`, `}},"movable":1}`, 1)), 2, "true or false"},
		{body(strings.Replace(ball, `}}}`, `}},"mass":1}`, 1)), 2, `unknown field "mass"`},
		{`{"zones":[` + strings.Replace(ball, `}}}`, `}},"movable":true}`, 1) + `]}`, 1, `unknown field "movable"`},
		{geo(`{}`), 2, "one of box"},
		{geo(`{"box":{"size":[1,1,1]},"sphere":{"radius":1}}`), 2, "a second shape"},
		{geo(`{"cone":{}}`), 2, `unknown field "cone"`},
		{geo(`{"box":{}}`), 2, `"size" is missing`},
		{geo(`{"box":{"size":[1,0,1]}}`), 2, "must be above zero"},
		{geo(`{"box":{"size":[1,1,-1]}}`), 2, "must be above zero"},
		{geo(`{"cylinder":{"radius":1}}`), 2, `"length" is missing`},
		{geo(`{"cylinder":{"length":1,"radius":-1}}`), 2, "must be above zero"},
		{geo(`{"capsule":{"length":0,"radius":1}}`), 2, "must be above zero"},
		{geo(`{"sphere":{"radius":0}}`), 2, "must be above zero"},
		{geo(`{"sphere":{"radius":1,"length":1}}`), 2, `unknown field "length"`},
		{quat(`[1,0,0,0.1]`), 2, "length"},
		{quat(`[0,0,0,0]`), 2, "length"},
		{quat(`[1e200,1e200,0,0]`), 2, "length"},
		{strings.Repeat("[", 100000), 1, "an object is due"},
		{`{"bodies":` + strings.Repeat("[", 100000), 1, "an object is due"},
	} {
		_, err := robot.ParseScene("s.json", []byte(c.text))
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), "%.80s", c.text)
		require.Contains(t, err.Error(), c.want, "%.80s", c.text)
		require.Contains(t, err.Error(), "s.json:"+strconv.Itoa(c.line)+":", "%.80s", c.text)
	}
	_, err := robot.ParseScene("s.json", []byte(geo(`{"mesh":{"file":"x.stl"}}`)))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeNotSupported))
	_, err = robot.ParseScene("s.json", make([]byte, robot.MaxSceneBytes+1))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
}

func TestNewSceneRefuses(t *testing.T) {
	ball := func(name string) robot.Body {
		return robot.Body{Name: name, Pose: robot.IdentityPose(), Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 1}}
	}
	for _, change := range []func(*robot.Body){
		func(b *robot.Body) { b.Name = "" },
		func(b *robot.Body) { b.Name = "a" },
		func(b *robot.Body) { b.Pose.P[1] = math.NaN() },
		func(b *robot.Body) { b.Pose.P[1] = math.Inf(1) },
		func(b *robot.Body) { b.Pose.Q.W = math.NaN() },
		func(b *robot.Body) { b.Pose.Q = mgl64.Quat{} },
		func(b *robot.Body) { b.Geometry.Radius = math.NaN() },
		func(b *robot.Body) { b.Geometry.Radius = math.Inf(1) },
		func(b *robot.Body) { b.Geometry.Kind = 0 },
		func(b *robot.Body) { b.Geometry.Kind = robot.MeshGeometry },
	} {
		b := ball("b")
		change(&b)
		_, err := robot.NewScene("s", []robot.Body{ball("a"), b}, nil)
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	}
	_, err := robot.NewScene("s", []robot.Body{ball("a")}, []robot.Zone{{Name: "a", Pose: robot.IdentityPose(), Geometry: ball("").Geometry}})
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	_, err = robot.NewScene("s", make([]robot.Body, robot.MaxBodies+1), nil)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))

	s, err := robot.NewScene("s", []robot.Body{ball("tool")}, nil)
	require.NoError(t, err)
	require.NoError(t, s.CheckNames(&robot.Description{Links: []robot.Link{{Name: "hand"}}}))
	require.ErrorIs(t, s.CheckNames(&robot.Description{Links: []robot.Link{{Name: "tool"}}}), robot.ErrCode(robot.CodeInvalidArgument))
}

// NewScene leaves what it was given alone.
func TestNewSceneCopies(t *testing.T) {
	in := []robot.Body{{Name: "a", Pose: robot.Pose{Q: mgl64.Quat{W: -1}}, Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 1}}}
	s, err := robot.NewScene("s", in, nil)
	require.NoError(t, err)
	require.Equal(t, -1.0, in[0].Pose.Q.W)
	require.Equal(t, 1.0, s.Bodies[0].Pose.Q.W)
}

func TestExampleScenes(t *testing.T) {
	files, err := filepath.Glob("../testdata/scenes/*.json")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 2)
	for _, f := range files {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		_, err = robot.ParseScene(f, data)
		require.NoError(t, err)
	}
}

func FuzzParseScene(f *testing.F) {
	f.Add([]byte(goodScene))
	f.Add([]byte(`{"bodies":[{"name":"a","pose":{"xyz":[0,0,0],"quat_wxyz":[0.9995,0,0,0]},"geometry":{"mesh":{}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := robot.ParseScene("f", data)
		if err != nil {
			require.NotEmpty(t, robot.CodeOf(err))
			return
		}
		again, err := robot.NewScene(s.Name, s.Bodies, s.Zones)
		require.NoError(t, err)
		require.Equal(t, s, again)
	})
}
