package main

import (
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot/builtin"
)

// maxPicture is the size of a picture that a page may carry, bytes.
const maxPicture = 150_000

func requirePicture(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	st, err := f.Stat()
	require.NoError(t, err)
	require.Less(t, st.Size(), int64(maxPicture))
	_, err = png.Decode(f)
	require.NoError(t, err)
}

// Each robot that is built in can be planned for and drawn, in the ways that it moves.
func TestPlansOfEveryRobotAreDrawn(t *testing.T) {
	dir := t.TempDir()
	plans := map[string][][]string{
		"so101":   {{"--to", "shoulder_pan=0.8,elbow_flex=-0.2", "--scene", "../../testdata/scenes/table.json"}, {"--jog", "elbow_flex=0.1"}},
		"panda":   {{"--waypoints", "0.35,0.1,0.45;0.35,-0.2,0.45"}, {"--home", "--from", "panda_joint1=0.4"}},
		"ur5e":    {{"--pose", "0.4,0.2,0.4", "--tool-axis", "0,0,-1"}},
		"pantilt": {{"--to", "pan=0.8,tilt=0.5", "--from", "home"}},
		"rover":   {{"--pose", "0.3,0.2,0"}, {"--drive", "0.05,0.3,3"}, {"--to", "left_wheel=3,right_wheel=3"}},
		"gantry":  {{"--waypoints", "0.2,0.1,0.25;0.2,0.1,0.2"}},
	}
	for _, name := range builtin.Names() {
		require.NotEmpty(t, plans[name], name)
		check := filepath.Join(dir, name+"-check.png")
		r := tau(t, "", "robot", "check", name, "--plot", check, "--scene", "../../testdata/scenes/table.json")
		require.Equal(t, 0, r.status, r.stderr)
		requirePicture(t, check)
		for i, flags := range plans[name] {
			picture, curves := filepath.Join(dir, name+itoa(i)+".png"), filepath.Join(dir, name+itoa(i)+"-curves.png")
			r := tau(t, "", append([]string{"robot", "plan", "--robot", name, "--json", "--picture", picture, "--plot", curves}, flags...)...)
			require.Equal(t, 0, r.status, "%s %v: %s", name, flags, r.stderr)
			var doc struct {
				OK        bool    `json:"ok"`
				DurationS float64 `json:"duration_s"`
			}
			require.NoError(t, json.Unmarshal([]byte(r.stdout), &doc))
			require.True(t, doc.OK)
			require.Positive(t, doc.DurationS)
			requirePicture(t, picture)
			requirePicture(t, curves)
		}
	}
}

// A refusal is that of the tool: with its code, and with what would do.
func TestAPlanThatIsRefusedSaysWhatWouldDo(t *testing.T) {
	r := tau(t, "", "robot", "plan", "--robot", "rover", "--drive", "0.1,0.5,3", "--json")
	require.Equal(t, 1, r.status)
	require.Contains(t, r.stdout, `"code":"SPEED_LIMIT"`)
	require.Contains(t, r.stdout, "nearest admissible: duration")
	r = tau(t, "", "robot", "plan", "--robot", "so101", "--drive", "0.1,0.5,3", "--json")
	require.Equal(t, 1, r.status)
	require.Contains(t, r.stdout, `"code":"NOT_SUPPORTED"`)
}
