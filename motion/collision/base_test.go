package collision

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

// counted counts the poses that a check looks at.
type counted struct {
	Kinematics
	poses int
}

func (c *counted) FrameFK(frames [][12]float64, q []float64) {
	c.poses++
	c.Kinematics.FrameFK(frames, q)
}

func rover(t *testing.T, bodies ...robot.Body) (*Checker, *counted) {
	m, err := builtin.Load("rover")
	require.NoError(t, err)
	tree, err := kinematics.New(m.Description)
	require.NoError(t, err)
	n := &counted{Kinematics: tree}
	c, err := New(m, &robot.Scene{Bodies: bodies}, n, DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, []string{"x", "y", "yaw", "left_wheel", "right_wheel"}, c.names)
	return c, n
}

func body(name string, x, y, z float64, g robot.Geometry) robot.Body {
	return robot.Body{Name: name, Pose: kintest.At(x, y, z, 0, 0, 0), Geometry: g}
}

// TestRoverOnAFloor: the root, odom, has no bodies, so everything of a rover moves.
// Its wheels and its caster touch the floor all the way, which costs no more looks
// than a thousand a metre; a sill, a kerb beside it and a hole's far edge are seen.
func TestRoverOnAFloor(t *testing.T) {
	floor := body("floor", 0, 0, -0.05, box(20, 20, 0.1))
	at := func(x, y, yaw, wheels float64) []float64 { return []float64{x, y, yaw, wheels, wheels} }
	from, ahead := at(0, 0, 0, 0), at(1, 0, 0, 30)
	c, n := rover(t, floor)
	_, err := c.CheckSegment(from, ahead)
	require.NoError(t, err)
	require.Less(t, n.poses, 1000)
	_, err = c.CheckTrajectory(moveThrough(c.m, from, ahead, at(1, 0, 1, 30), at(2, 1, 1, 70)))
	require.NoError(t, err)

	// A floor that is 0.1 mm too high is a floor; one that is 0.4 mm too high or
	// that rises isn't.
	high := floor
	high.Pose.P[2] += 1e-4
	c, _ = rover(t, high)
	_, err = c.CheckSegment(from, ahead)
	require.NoError(t, err)
	high.Pose.P[2] += 3e-4
	c, _ = rover(t, high)
	_, err = c.CheckSegment(from, ahead)
	require.ErrorContains(t, err, "may only move away")
	ramp := floor
	ramp.Pose = kintest.At(0, 0, -0.05, 0, -0.002, 0)
	c, _ = rover(t, ramp)
	_, err = c.CheckSegment(from, ahead)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
	require.ErrorContains(t, err, "may only move away")
	require.ErrorContains(t, err, "floor")
	_, err = c.CheckSegment(from, at(-1, 0, 0, -30))
	require.NoError(t, err, "down the ramp it parts")

	c, _ = rover(t, floor, body("sill", 0.6, 0, 0, box(0.05, 1, 0.006)))
	_, err = c.CheckSegment(from, ahead)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
	require.ErrorContains(t, err, "sill")
	c, _ = rover(t, floor, body("kerb", 0, 0.142, 0, box(1, 0.1, 0.02)))
	_, err = c.CheckSegment(from, at(0.3, 0, 0, 9))
	require.NoError(t, err)
	_, err = c.CheckSegment(from, at(0, 0, 0.4, 0))
	require.ErrorContains(t, err, "left_wheel_link, kerb")
}

// TestRootBodiesAreNoConcern: what no joint moves may stand in the scene; a link
// that only a fixed joint parts from the root is such a thing, too.
func TestRootBodiesAreNoConcern(t *testing.T) {
	b := kintest.NewBuilder("post", "base")
	b.Body(0, robot.IdentityPose(), box(0.2, 0.2, 0.2))
	l := b.Joint("plate", robot.Fixed, 0, robot.IdentityPose(), mgl64.Vec3{}, 0, 0)
	b.Body(l, robot.IdentityPose(), box(0.3, 0.3, 0.02))
	arm := b.Joint("z", robot.Prismatic, l, kintest.At(0, 0, 0.5, 0, 0, 0), mgl64.Vec3{0, 0, 1}, -1, 1)
	b.Body(arm, robot.IdentityPose(), box(0.1, 0.1, 0.1))
	c := newChecker(t, b.Model(arm), table())
	require.Len(t, c.pairs, 2, "the arm with the base and with the table")
	got, err := c.Check([]float64{0})
	require.NoError(t, err)
	require.Equal(t, "link_z", got.B)
}

// TestTurningAWheelMovesNothing: only where all of the link is round about the
// joint's own axis.
func TestTurningAWheelMovesNothing(t *testing.T) {
	cyl := robot.Geometry{Kind: robot.Cylinder, Radius: 0.05, Length: 0.02}
	y := mgl64.Vec3{0, 1, 0}
	for name, c := range map[string]struct {
		axis  mgl64.Vec3
		round bool
		add   func(b *kintest.Builder, link int)
	}{
		"a wheel":   {y, true, func(b *kintest.Builder, l int) { b.Body(l, kintest.At(0, 0.01, 0, math.Pi/2, 0, 0), cyl) }},
		"backwards": {y.Mul(-1), true, func(b *kintest.Builder, l int) { b.Body(l, kintest.At(0, 0.01, 0, -math.Pi/2, 0, 0), cyl) }},
		"a ball on it": {y, true, func(b *kintest.Builder, l int) {
			b.Body(l, kintest.At(0, 0.3, 0, 0, 0, 0), robot.Geometry{Kind: robot.Sphere, Radius: 0.02})
		}},
		"off centre": {y, false, func(b *kintest.Builder, l int) { b.Body(l, kintest.At(0.001, 0, 0, math.Pi/2, 0, 0), cyl) }},
		"a ball beside it": {y, false, func(b *kintest.Builder, l int) {
			b.Body(l, kintest.At(0, 0, 0.01, 0, 0, 0), robot.Geometry{Kind: robot.Sphere, Radius: 0.02})
		}},
		"wobbling": {y, false, func(b *kintest.Builder, l int) { b.Body(l, kintest.At(0, 0, 0, math.Pi/2+0.01, 0, 0), cyl) }},
		"a box":    {y, false, func(b *kintest.Builder, l int) { b.Body(l, robot.IdentityPose(), box(0.1, 0.02, 0.1)) }},
		"a mesh": {y, false, func(b *kintest.Builder, l int) {
			b.Body(l, robot.IdentityPose(), robot.Geometry{Kind: robot.MeshGeometry, Mesh: boxMesh(mgl64.Vec3{1, 1, 1}, false)})
		}},
		"with a crank": {y, false, func(b *kintest.Builder, l int) {
			b.Body(l, kintest.At(0, 0, 0, math.Pi/2, 0, 0), cyl)
			b.Body(l, kintest.At(0.04, 0, 0, 0, 0, 0), box(0.01, 0.1, 0.01))
		}},
	} {
		b := kintest.NewBuilder(name, "base")
		wheel := b.Joint("wheel", robot.Continuous, 0, kintest.At(0, 0, 0.2, 0, 0, 0), c.axis, 0, 0)
		c.add(b, wheel)
		tip := b.Joint("tip", robot.Fixed, wheel, kintest.At(0.3, 0, 0, 0, 0, 0), mgl64.Vec3{}, 0, 0)
		b.Body(tip, robot.IdentityPose(), box(0.01, 0.01, 0.01))
		ch := newChecker(t, b.Model(tip), table())
		pairs := 2
		if c.round {
			pairs = 1
		}
		require.Len(t, ch.pairs, pairs, name)
		require.Equal(t, "link_tip", ch.pairs[len(ch.pairs)-1].a, "%s: what the wheel carries moves", name)
		_, err := ch.CheckSegment([]float64{0}, []float64{6})
		require.ErrorContains(t, err, "table", name)
	}
}

// TestRateAlongBoundsEveryPoint: on random trees no point of a link gets farther
// along a direction than the bound says, at any time of a piece.
func TestRateAlongBoundsEveryPoint(t *testing.T) {
	tight := 0
	rapid.Check(t, func(t *rapid.T) {
		m := kintest.Tree(t, 6)
		for i := range m.Links {
			m.Links[i].Colliders = []robot.Collider{{Name: "b", Origin: kintest.At(0.1, 0, 0, 0, 0, 0), Geometry: box(0.1, 0.1, 0.1)}}
		}
		c := newChecker(t, m, &robot.Scene{Bodies: []robot.Body{body("far", 50, 0, 0, box(1, 1, 1))}})
		from, to := kintest.Q(t, m), kintest.Q(t, m)
		f := func() float64 { return rapid.Float64Range(-1, 1).Draw(t, "n") }
		n := mgl64.Vec3{f(), f(), f() + 1.1}.Normalize()
		if rapid.Bool().Draw(t, "upright") {
			n = mgl64.Vec3{0, 0, 1}
		}
		d := c.take("")
		for i := range d.speed {
			to[i] = from[i] + 0.3*(to[i]-from[i])
			d.speed[i] = math.Abs(to[i] - from[i])
			d.extent[i] = math.Abs(from[i]) + d.speed[i]
		}
		c.levers(d)
		c.kin.FrameFK(d.frames, from)
		start := append([]transform(nil), d.frames...)
		rate := make([]float64, len(c.pairs))
		for i := range c.pairs {
			if p := &c.pairs[i]; p.other < 0 {
				rate[i] = c.rateAlong(d, p, n)
				full := dotn(d.lever[i*len(from):(i+1)*len(from)], d.speed)
				require.LessOrEqual(t, rate[i], full*(1+1e-9)+1e-12)
				if full > 0.1 && rate[i] < full/2 {
					tight++
				}
			}
		}
		q := make([]float64, len(from))
		for k := 1; k <= 10; k++ {
			at := float64(k) / 10
			for i := range q {
				q[i] = from[i] + at*(to[i]-from[i])
			}
			c.kin.FrameFK(d.frames, q)
			for i := range c.pairs {
				if p := &c.pairs[i]; p.other < 0 {
					for _, local := range [][3]float64{{0.15, 0.05, 0.05}, {0.15, -0.05, -0.05}, {0.05, 0.05, -0.05}} {
						moved := n.Dot(mgl64.Vec3(sub(apply(&d.frames[p.body], local), apply(&start[p.body], local))))
						require.LessOrEqual(t, math.Abs(moved), at*rate[i]*(1+1e-9)+1e-12, "%s", p.a)
					}
				}
			}
		}
	})
	require.Greater(t, tight, 0, "the test must see a link that slides")
}

// TestASlidingContactIsStillWatched: a box on a floor that slides, turns and tips a
// little. No corner of an accepted path gets lower than the start allows.
func TestASlidingContactIsStillWatched(t *testing.T) {
	const half, height = 0.05, 0.03
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		f := func(lo, hi float64, n string) float64 { return rapid.Float64Range(lo, hi).Draw(t, n) }
		b := kintest.NewBuilder("sled", "odom")
		l := b.Joint("x", robot.Prismatic, 0, robot.IdentityPose(), mgl64.Vec3{1, 0, 0}, -5, 5)
		l = b.Joint("y", robot.Prismatic, l, robot.IdentityPose(), mgl64.Vec3{0, 1, 0}, -5, 5)
		l = b.Joint("yaw", robot.Continuous, l, robot.IdentityPose(), mgl64.Vec3{0, 0, 1}, 0, 0)
		l = b.Joint("tip", robot.Revolute, l, kintest.At(0, 0, height, 0, 0, 0), mgl64.Vec3{1, 1, 0}.Normalize(), -1, 1)
		b.Body(l, robot.IdentityPose(), box(2*half, 2*half, 2*height))
		c := newChecker(t, b.Model(l), &robot.Scene{Bodies: []robot.Body{body("floor", 0, 0, -0.05+f(-0.002, 0.001, "height"), box(9, 9, 0.1))}})
		from := []float64{f(-1, 1, "x"), f(-1, 1, "y"), f(-3, 3, "yaw"), f(-0.005, 0.005, "tip")}
		to := []float64{f(-1, 1, "x"), f(-1, 1, "y"), f(-3, 3, "yaw"), from[3]}
		if rapid.Bool().Draw(t, "tips") {
			to[3] = f(-0.01, 0.01, "tip")
		}
		lowest := func(q []float64) float64 {
			c := -half * math.Sqrt2 * math.Abs(math.Sin(q[3])) // the corner farthest from the diagonal
			return height*(1-math.Cos(q[3])) + c
		}
		_, err := c.CheckSegment(from, to)
		deepest, q := math.Inf(1), make([]float64, 4)
		for k := range 101 {
			for i := range q {
				q[i] = from[i] + float64(k)/100*(to[i]-from[i])
			}
			deepest = min(deepest, lowest(q))
		}
		if lost := lowest(from) - deepest; err == nil {
			accepted++
			require.LessOrEqual(t, lost, max(ContactTolerance, lowest(from)))
		} else if lost > ContactTolerance {
			refused++
		}
	})
	require.Greater(t, accepted, 3)
	require.Greater(t, refused, 0)
}

// TestASlidingContactThatDips: half a metre along a floor and half a millimetre into
// it and out again, in one piece that starts and ends on it.
func TestASlidingContactThatDips(t *testing.T) {
	b := kintest.NewBuilder("sled", "odom")
	l := b.Joint("x", robot.Prismatic, 0, robot.IdentityPose(), mgl64.Vec3{1, 0, 0}, -5, 5)
	l = b.Joint("z", robot.Prismatic, l, robot.IdentityPose(), mgl64.Vec3{0, 0, 1}, -5, 5)
	b.Body(l, kintest.At(0, 0, 0.05, 0, 0, 0), box(0.1, 0.1, 0.1))
	m := b.Model(l)
	c := newChecker(t, m, &robot.Scene{Bodies: []robot.Body{body("floor", 0, 0, -0.05, box(9, 9, 0.1))}})
	for _, dip := range []float64{0, 5e-5, 5e-4} {
		_, err := c.CheckTrajectory(robot.Trajectory{Joints: m.JointNames(), Segments: []robot.Segment{
			{Duration: 1, Q: []float64{0, 0}, V: []float64{0.5, -4 * dip}, A: []float64{0, 8 * dip}, J: []float64{0, 0}},
		}})
		if dip > ContactTolerance {
			require.ErrorContains(t, err, "link_z, floor")
		} else {
			require.NoError(t, err)
		}
	}
}
