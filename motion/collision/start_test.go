package collision

import (
	"os"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf"
)

// pliers is an arm on a slider with two jaws; each of them overlaps the palm by its
// slider's value.
func pliers() *robot.Model {
	b := kintest.NewBuilder("pliers", "base")
	arm := b.Joint("z", robot.Prismatic, 0, robot.IdentityPose(), mgl64.Vec3{0, 0, 1}, -1, 1)
	palm := b.Joint("palm", robot.Fixed, arm, robot.IdentityPose(), mgl64.Vec3{}, 0, 0)
	b.Body(palm, robot.IdentityPose(), box(0.1, 0.1, 0.1))
	for i, n := range []string{"l", "r"} {
		between := b.Joint("to_"+n, robot.Fixed, palm, kintest.At(0.1*float64(1-2*i), 0, 0, 0, 0, 0), mgl64.Vec3{}, 0, 0)
		jaw := b.Joint(n, robot.Prismatic, between, robot.IdentityPose(), mgl64.Vec3{float64(2*i - 1), 0, 0}, -1, 1)
		b.Body(jaw, robot.IdentityPose(), box(0.1, 0.05, 0.05))
	}
	return b.Model(palm)
}

// TestAGoalIsJudgedAsTheWayToIt: links that overlap where the motion starts may
// overlap as much at its goal, and nothing else may.
func TestAGoalIsJudgedAsTheWayToIt(t *testing.T) {
	m := pliers()
	c := newChecker(t, m, table())
	start := []float64{0.3, 0.004, -0.1}
	from, err := c.With(Exceptions{StartedAt: start})
	require.NoError(t, err)
	for _, q := range [][]float64{start, {0.5, 0.004, -0.1}, {0.3, 0.003, -0.2}, {0.3, -0.1, -0.1}} {
		_, err = c.CheckSegment(start, q)
		require.NoError(t, err, "%v", q)
		_, err = from.Check(q)
		require.NoError(t, err, "%v", q)
	}
	_, err = c.Check(start)
	refused(t, err, robot.CodeSelfCollision, "link_palm, link_l")
	for where, q := range map[string][]float64{
		"link_palm, link_l": {0.3, 0.0045, -0.1}, // deeper
		"link_palm, link_r": {0.3, 0.004, 0.002}, // another pair
	} {
		_, err = from.Check(q)
		refused(t, err, robot.CodeSelfCollision, where)
		_, err = c.CheckSegment(start, q)
		refused(t, err, robot.CodeSelfCollision, where)
	}
	_, err = from.Check([]float64{0.02, 0.004, -0.1})
	refused(t, err, robot.CodeSceneCollision, "link_palm, table")
	// The later start counts, and one that is too deep is none.
	free, err := from.With(Exceptions{StartedAt: []float64{0.3, -0.1, -0.1}})
	require.NoError(t, err)
	_, err = free.Check(start)
	refused(t, err, robot.CodeSelfCollision, "link_palm, link_l")
	deep := []float64{0.3, 0.03, -0.1}
	from, err = c.With(Exceptions{StartedAt: deep})
	require.NoError(t, err)
	_, err = from.Check(deep)
	refused(t, err, robot.CodeSelfCollision, "link_palm, link_l")
	_, err = c.With(Exceptions{StartedAt: []float64{1}})
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
}

// TestAGoalIsMeasuredAsTheStart: where only the spheres overlap, not the bodies, a
// start is free and so is the goal that equals it.
func TestAGoalIsMeasuredAsTheStart(t *testing.T) {
	c := newChecker(t, pliers(), nil)
	near := []float64{0.3, -0.001, -0.1}
	_, err := c.Check(near)
	refused(t, err, robot.CodeSelfCollision, "link_palm, link_l")
	_, err = c.CheckSegment(near, []float64{0.4, -0.001, -0.1})
	require.NoError(t, err)
	from, err := c.With(Exceptions{StartedAt: near})
	require.NoError(t, err)
	_, err = from.Check([]float64{0.4, -0.001, -0.1})
	require.NoError(t, err)
	_, err = from.Check([]float64{0.4, -0.0005, -0.1})
	require.NoError(t, err, "nearer, but with its margin")
	_, err = from.Check([]float64{0.4, 0.0001, -0.1})
	refused(t, err, robot.CodeSelfCollision, "link_palm, link_l")
}

// TestTheRefusalSaysWhatToDo.
func TestTheRefusalSaysWhatToDo(t *testing.T) {
	c := newChecker(t, pliers(), nil)
	in := []float64{0.3, 0.03, -0.1}
	_, err := c.CheckSegment(in, []float64{0.3, -0.1, -0.1})
	e := refused(t, err, robot.CodeSelfCollision, "link_palm, link_l")
	require.Contains(t, e.Text, "link_palm is 30.0 mm inside link_l at the start")
	require.Contains(t, e.Text, "19.8 mm: switch the torque off and move it out by hand")
	require.Contains(t, e.Text, "if these two always touch, disable the pair in an SRDF")
	require.NotContains(t, e.Text, "of the way")
	_, err = c.CheckSegment([]float64{0.3, 0.004, -0.1}, []float64{0.3, 0.01, -0.1})
	e = refused(t, err, robot.CodeSelfCollision, "link_palm, link_l")
	require.Contains(t, e.Text, "if these two always touch, disable the pair in an SRDF")
}

// TestNoDeeperThanTheThinnerBody: more than noise into a plate is in contact with it
// only as far as the plate is thick.
func TestNoDeeperThanTheThinnerBody(t *testing.T) {
	m := crane(box(0.03, 0.03, 0.12), -0.06)
	for _, mesh := range []bool{false, true} {
		for thick, ok := range map[float64]bool{0.005: false, 0.009: false, 0.011: true, 0.1: true} {
			g := box(0.3, 0.3, thick)
			if mesh {
				g = meshOf(g.Size)
			}
			c := newChecker(t, m, &robot.Scene{Bodies: []robot.Body{{Name: "plate", Pose: kintest.At(0.32, 0, -thick/2, 0, 0, 0), Geometry: g}}})
			_, err := c.CheckSegment([]float64{0.11, 0}, []float64{0.3, 0})
			if ok {
				require.NoError(t, err, "%g", thick)
			} else {
				refused(t, err, robot.CodeSceneCollision, "link_pitch, plate")
			}
		}
	}
}

// TestWithSceneIsNew: in every scene the answers are those of a new checker, and what
// covers the robot is shared.
func TestWithSceneIsNew(t *testing.T) {
	m := crane(meshOf(mgl64.Vec3{0.03, 0.03, 0.12}), -0.06)
	block := robot.Body{Name: "block", Pose: kintest.At(0.32, 0, 0.02, 0, 0, 0), Geometry: meshOf(mgl64.Vec3{0.04, 0.04, 0.04}), Movable: true}
	moved := block
	moved.Pose = kintest.At(0.32, 0, 0.07, 0, 0, 0)
	both := table()
	both.Bodies = append(both.Bodies, moved)
	zoned := &robot.Scene{Zones: []robot.Zone{{Name: "block", Pose: moved.Pose, Geometry: moved.Geometry}}}
	last := carrying(t, newChecker(t, m, &robot.Scene{Bodies: []robot.Body{block}}), &Attached{Body: "block", Link: m.Tip, Pose: kintest.At(0, 0, -0.15, 0, 0, 0)})
	covers := last.covers[0:len(m.Links)]
	for _, s := range []*robot.Scene{table(), both, nil, zoned, {Bodies: []robot.Body{block}}} {
		next, err := last.WithScene(s)
		require.NoError(t, err)
		require.Same(t, &covers[m.Tip], &next.covers[m.Tip])
		require.Len(t, next.covers, len(m.Links))
		fresh := newChecker(t, m, s)
		for z := 0.1; z < 0.3; z += 0.023 {
			want, wantErr := fresh.CheckSegment([]float64{z, 0}, []float64{z + 0.01, 0.1})
			got, err := next.CheckSegment([]float64{z, 0}, []float64{z + 0.01, 0.1})
			require.Equal(t, wantErr, err)
			require.Equal(t, want, got)
			want, wantErr = fresh.Check([]float64{z, 0})
			got, err = next.Check([]float64{z, 0})
			require.Equal(t, wantErr, err)
			require.Equal(t, want, got)
		}
		last = next
	}
	two := table()
	two.Bodies = append(two.Bodies, two.Bodies[0])
	_, err := last.WithScene(two)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
}

// TestAnArmWhoseLinksAlwaysTouch: without an SRDF the pincher's finger base and active
// link overlap in every position of the arm.
func TestAnArmWhoseLinksAlwaysTouch(t *testing.T) {
	f := urdf.Files{Description: "../../../shared/cases/robots/phantomx_pincher/pincher_arm.urdf"}
	if _, err := os.Stat(f.Description); err != nil {
		t.Skipf("SKIPPED %s: ../shared/cases/robots/phantomx_pincher isn't there", t.Name())
	}
	m, err := urdf.LoadFile(f)
	require.NoError(t, err)
	c := newChecker(t, m, nil)
	_, err = c.Check(m.Home)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSelfCollision))
	from, err := c.With(Exceptions{StartedAt: m.Home})
	require.NoError(t, err)
	for _, turn := range []float64{0, -0.4, 0.4} {
		goal := append([]float64(nil), m.Home...)
		goal[0] += turn
		_, err = c.CheckSegment(m.Home, goal)
		require.NoError(t, err)
		_, err = from.Check(goal)
		require.NoError(t, err)
	}
}
