package chart

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// ramp moves the first of n joints from 0 by jerk 6 for 1 s and back to rest.
func ramp(n int) robot.Trajectory {
	zero := func() []float64 { return make([]float64, n) }
	t := robot.Trajectory{}
	for i := range n {
		t.Joints = append(t.Joints, string(rune('a'+i))+"_joint")
	}
	// +6, -6, -6, +6 rad/s³ for 0.5 s each: rest to rest.
	q, v, a := 0.0, 0.0, 0.0
	for _, j := range []float64{6, -6, -6, 6} {
		s := robot.Segment{Duration: 0.5, Q: zero(), V: zero(), A: zero(), J: zero()}
		s.Q[0], s.V[0], s.A[0], s.J[0] = q, v, a, j
		t.Segments = append(t.Segments, s)
		const h = 0.5
		q, v, a = q+v*h+a*h*h/2+j*h*h*h/6, v+a*h+j*h*h/2, a+j*h
	}
	return t
}

func limits(n int) []robot.JointLimits {
	out := make([]robot.JointLimits, n)
	for i := range out {
		out[i] = robot.JointLimits{Bounded: i%2 == 0, Lower: -2, Upper: 2, Velocity: 3, Acceleration: 4, Jerk: 40}
	}
	return out
}

func units(n int, u string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = u
	}
	return out
}

func TestDrawShowsCurvesAndLimits(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Draw(&b, "so101", ramp(6), units(6, "rad"), limits(6)))
	img, err := png.Decode(bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	require.Equal(t, image.Pt(1056, 960), img.Bounds().Size())
	// Each third of the picture has pixels of the moving joint's colour.
	h := img.Bounds().Dy()
	for third := range 3 {
		require.Greater(t, count(img, palette[0], third*h/3, (third+1)*h/3), 300, "panel %d", third)
	}
	if dir := os.Getenv("TAU_CHART_DIR"); dir != "" { // to look at it
		require.NoError(t, os.WriteFile(filepath.Join(dir, "chart.png"), b.Bytes(), 0o600))
	}
}

func count(img image.Image, c color.RGBA, from, to int) int {
	n := 0
	for y := from; y < to; y++ {
		for x := range img.Bounds().Dx() {
			if r, g, b, _ := img.At(x, y).RGBA(); uint8(r>>8) == c.R && uint8(g>>8) == c.G && uint8(b>>8) == c.B {
				n++
			}
		}
	}
	return n
}

func TestDrawRefusesWhatHasNothingToDraw(t *testing.T) {
	require.Error(t, Draw(io.Discard, "", robot.Trajectory{}, nil, nil))
	require.ErrorContains(t, Draw(io.Discard, "", robot.Trajectory{Joints: []string{"a"}}, units(1, "rad"), limits(1)), "no time")
	require.Error(t, Draw(io.Discard, "", ramp(2), units(1, "rad"), limits(2)))
}

func TestUnits(t *testing.T) {
	require.Equal(t, "rad/s²", unitOf([]string{"rad", "rad"}, "acceleration"))
	require.Equal(t, "rad/s (m/s for sliding joints)", unitOf([]string{"m", "rad"}, "speed"))
}

func TestSaveIsWholeOrNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.png")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	err := Save(path, func(w io.Writer) error {
		_, _ = w.Write([]byte("half"))
		return errors.New("no more")
	})
	require.ErrorContains(t, err, "no more")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old", string(b))
	require.NoError(t, Save(path, func(w io.Writer) error { _, err := w.Write([]byte("new")); return err }))
	b, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new", string(b))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}
