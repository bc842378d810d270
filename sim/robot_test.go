package sim

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// bare is the built-in arm without collision bodies, for tests that go anywhere
// in its range.
func bare(t testing.TB) *robot.Model {
	m := *so101(t)
	d := *m.Description
	d.Links = append([]robot.Link(nil), d.Links...)
	for i := range d.Links {
		d.Links[i].Colliders = nil
	}
	m.Description = &d
	return &m
}

func newRobot(t testing.TB, o Options) *Robot {
	if o.Clock == 0 {
		o.Clock = Fast
	}
	r, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// TestEndsWhereCommanded: anywhere in the range the arm comes to rest within 3
// mrad of the command, and follows within what a planner may count on.
func TestEndsWhereCommanded(t *testing.T) {
	n := draws(t, 8)
	t.Parallel()
	m := bare(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	between := func(lo, hi float64) float64 { return lo + (hi-lo)*rnd.Float64() }
	for k := range n {
		from, to := make([]float64, m.DoF()), make([]float64, m.DoF())
		for i, l := range m.Limits {
			from[i], to[i] = between(l.Lower, l.Upper), between(l.Lower, l.Upper)
			switch rnd.IntN(8) { // the ends of the range are where overshoot would show
			case 0:
				to[i] = l.Lower
			case 1:
				to[i] = l.Upper
			}
		}
		r := newRobot(t, Options{Model: m, Start: from})
		scale := between(0.3, 1)
		out, err := r.Execute(context.Background(), motionOf(restToRest(m, from, to, scale, 0), 0), nil)
		require.NoError(t, err, "case %d", k)
		require.Equal(t, robot.OutcomeDone, out.Status)
		for i := range to {
			require.InDelta(t, to[i], out.Final.Positions[i], 3e-3)
			require.Less(t, out.MaxTrackingError[i], 0.05, "speed scale %g", scale)
		}
		require.False(t, out.Final.Moving)
	}
}

// TestSameSeedSameBits: the clock and the process don't change a result.
func TestSameSeedSameBits(t *testing.T) {
	m := so101(t)
	to := append([]float64(nil), m.Home...)
	to[0], to[3] = 0.4, m.Home[3]-0.2
	run := func(c Clock, seed uint64) robot.Outcome {
		var out robot.Outcome
		synctest.Test(t, func(t *testing.T) {
			r := newRobot(t, Options{Model: m, Scene: busyScene(), Clock: c, Seed: seed, Noise: Noise{Position: 1e-4, Velocity: 1e-4}})
			began := time.Now()
			var err error
			out, err = r.Execute(context.Background(), motionOf(restToRest(m, m.Home, to, 0.5, 0), 0), nil)
			require.NoError(t, err)
			if took := time.Since(began).Seconds(); c == Real {
				require.InDelta(t, out.Duration, took, 0.002, "real time is held to the wall clock")
			} else {
				require.Zero(t, took, "fast time waits for nothing")
			}
		})
		out.Final.MeasuredAt = time.Time{}
		return out
	}
	want := run(Fast, 7)
	require.Equal(t, want, run(Fast, 7))
	require.Equal(t, want, run(Real, 7))
	require.NotEqual(t, want, run(Fast, 8))
}

func TestStateIsStampedWhenMeasured(t *testing.T) {
	m := so101(t)
	synctest.Test(t, func(t *testing.T) {
		r := newRobot(t, Options{Model: m, Clock: Real})
		time.Sleep(time.Hour) // of the bubble's time
		s, err := r.State(context.Background())
		require.NoError(t, err)
		require.Equal(t, time.Now(), s.MeasuredAt)
		require.True(t, s.Enabled)
		var seen []time.Time
		began := time.Now()
		_, err = r.Execute(context.Background(), motionOf(restToRest(m, m.Home, m.Home, 1, 0.2), 0), func(p robot.Progress) {
			seen = append(seen, p.State.MeasuredAt)
			require.InDelta(t, p.T, p.State.MeasuredAt.Sub(began).Seconds(), 0.0011)
			require.Len(t, p.Setpoint, m.DoF())
		})
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(seen), 10, "at least 20 a second of motion time")
	})
}

// faulty runs a slow move of the first joint with faults and returns how it ended.
func faulty(t *testing.T, faults ...Fault) (*Robot, robot.Motion, robot.Outcome, error) {
	m := so101(t)
	r := newRobot(t, Options{Model: m, Faults: faults})
	to := append([]float64(nil), m.Home...)
	to[0] = 1
	mo := motionOf(restToRest(m, m.Home, to, 1, 2), 0)
	out, err := r.Execute(context.Background(), mo, nil)
	return r, mo, out, err
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		fault Fault
		code  robot.Code
	}{
		{Fault{Kind: FaultFreeze, At: 0.7}, robot.CodeStaleState},
		{Fault{Kind: FaultStuck, Joint: "shoulder_pan", At: 0.7}, robot.CodeDeviation},
		{Fault{Kind: FaultDisconnect, At: 0.7}, robot.CodeDisconnected},
		{Fault{Kind: FaultKick, Joint: "shoulder_pan", At: 0.7, Value: -4, Duration: 0.4}, robot.CodeDeviation},
		{Fault{Kind: FaultEncoder, Joint: "elbow_flex", At: 0.7, Value: 0.3}, robot.CodeDeviation},
		{Fault{Kind: FaultWeak, Joint: "shoulder_lift", At: 0.7, Value: 0.01}, robot.CodeDeviation},
		{Fault{Kind: FaultWeak, Joint: "elbow_flex", At: 0.7, Value: 0.2}, robot.CodeTorqueLimit},
	} {
		t.Run(string(c.fault.Kind)+" "+string(c.code), func(t *testing.T) {
			_, mo, out, err := faulty(t, c.fault)
			require.Equal(t, c.code, robot.CodeOf(err), "%v", err)
			require.Greater(t, out.Duration, 0.7)
			require.Less(t, out.Duration, mo.Trajectory.Duration()+settleTimeout)
			switch c.fault.Kind {
			case FaultFreeze:
				require.Equal(t, robot.OutcomeFaulted, out.Status)
				require.Nil(t, out.Final.Positions, "nothing is measured, nothing is said")
			case FaultDisconnect:
				require.Equal(t, robot.OutcomeUnknown, out.Status)
				require.Nil(t, out.Final.Positions)
			default:
				require.Equal(t, robot.OutcomeFaulted, out.Status)
				require.Greater(t, math.Abs(out.Final.Positions[0]-1), 0.01)
				require.Equal(t, c.code, out.Final.Faults[0].Code)
			}
		})
	}
}

// TestFollowingErrorBound: a joint is held to the motion's own bound, 0.15 rad
// here, neither more nor less.
func TestFollowingErrorBound(t *testing.T) {
	for _, off := range []float64{0.145, -0.145, 0.155, -0.155} {
		_, mo, out, err := faulty(t, Fault{Kind: FaultEncoder, Joint: "elbow_flex", At: 0.7, Value: off})
		require.Equal(t, 0.15, mo.MaxDeviation[2])
		if math.Abs(off) < 0.15 {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, robot.CodeDeviation, robot.CodeOf(err))
		require.Equal(t, robot.OutcomeFaulted, out.Status)
		var e *robot.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, 0.15, e.Limit.Value)
	}
}

// TestG12_TheIdentityCoversWhatIsSimulated: whatever changes what the simulator
// does changes the hash that goes into an approval.
func TestG12_TheIdentityCoversWhatIsSimulated(t *testing.T) {
	m := so101(t)
	other := *m
	other.ModelHash[7]++
	g := vec3{0, 0, -1.62}
	seen := map[[32]byte]string{}
	for name, o := range map[string]Options{
		"base": {Model: m}, "model": {Model: &other}, "scene": {Model: m, Scene: &robot.Scene{Hash: [32]byte{1}}},
		"seed": {Model: m, Seed: 1}, "faults": {Model: m, Faults: []Fault{{Kind: FaultFreeze, At: 1}}},
		"noise": {Model: m, Noise: Noise{Position: 1e-4}}, "speed noise": {Model: m, Noise: Noise{Velocity: 1e-4}},
		"gravity": {Model: m, Gravity: &g},
	} {
		id := newRobot(t, o).Info().Identity
		require.Empty(t, seen[id], name)
		seen[id] = name
		require.Equal(t, id, newRobot(t, o).Info().Identity)
	}
}

// TestFaultLatchesUntilReset: the first reason stays, whatever happens then, and
// a reset starts nothing.
func TestFaultLatchesUntilReset(t *testing.T) {
	r, mo, out, err := faulty(t,
		Fault{Kind: FaultEncoder, Joint: "elbow_flex", At: 0.7, Value: 0.3},
		Fault{Kind: FaultKick, Joint: "shoulder_pan", At: 0.75, Value: -20, Duration: 0.3})
	require.Equal(t, robot.CodeDeviation, robot.CodeOf(err))
	require.ErrorContains(t, err, "elbow_flex")
	_, err = r.Execute(context.Background(), mo, nil)
	require.Equal(t, robot.CodeDeviation, robot.CodeOf(err))
	require.ErrorContains(t, err, "elbow_flex")
	s, err := r.State(context.Background())
	require.NoError(t, err)
	require.Len(t, s.Faults, 1)
	require.Equal(t, "elbow_flex", s.Faults[0].Where)
	_, err = r.Actuate(context.Background(), robot.Command{Kind: robot.EStopReset, Epoch: s.StopEpoch})
	require.NoError(t, err)
	s, err = r.State(context.Background())
	require.NoError(t, err)
	require.Empty(t, s.Faults)
	require.Equal(t, out.Final.Positions, s.Positions)
}

func TestShortFaultsPass(t *testing.T) {
	_, _, out, err := faulty(t, Fault{Kind: FaultFreeze, At: 0.7, Duration: 0.05}, Fault{Kind: FaultKick, Joint: "shoulder_pan", At: 1, Value: 0.2})
	require.NoError(t, err)
	require.InDelta(t, 1, out.Final.Positions[0], 3e-3)
	_, _, _, err = faulty(t, Fault{Kind: FaultStuck, Joint: "shoulder_pan", At: 0.1, Motion: 2})
	require.NoError(t, err, "it is for the second motion")
}

// TestTorqueOffSagsAndTorqueOnHolds (CASES 44): what was commanded before is not
// where the arm goes when it is switched on again.
func TestCase44_TorqueOffSagsAndTorqueOnHoldsTheMeasuredPosition(t *testing.T) {
	m := so101(t)
	r := newRobot(t, Options{Model: m})
	out, err := r.Actuate(context.Background(), robot.Command{Kind: robot.TorqueOff})
	require.NoError(t, err)
	require.False(t, out.Final.Enabled)
	sagged := out.Final.Positions
	var moved float64
	for i := range sagged {
		moved = math.Max(moved, math.Abs(sagged[i]-m.Home[i]))
		require.GreaterOrEqual(t, sagged[i], m.Limits[i].Lower-1e-6)
		require.LessOrEqual(t, sagged[i], m.Limits[i].Upper+1e-6)
	}
	require.Greater(t, moved, 0.2, "gravity moves it")
	require.LessOrEqual(t, out.Duration, sagTime)

	_, err = r.Execute(context.Background(), motionOf(restToRest(m, sagged, m.Home, 0.3, 0), 0), nil)
	require.Equal(t, robot.CodeNotEnabled, robot.CodeOf(err))
	out, err = r.Actuate(context.Background(), robot.Command{Kind: robot.EStopReset})
	require.NoError(t, err)
	require.False(t, out.Final.Enabled, "a reset enables nothing (CASES 41)")

	out, err = r.Actuate(context.Background(), robot.Command{Kind: robot.TorqueOn})
	require.NoError(t, err)
	require.True(t, out.Final.Enabled)
	for i := range sagged {
		require.InDelta(t, sagged[i], out.Final.Positions[i], 5e-3)
		require.InDelta(t, sagged[i], out.Final.Setpoints[i], 5e-3, "it holds where it is measured")
	}
	out, err = r.Execute(context.Background(), motionOf(restToRest(m, out.Final.Positions, m.Home, 0.3, 0), 0), nil)
	require.NoError(t, err)
	require.InDelta(t, m.Home[1], out.Final.Positions[1], 3e-3)
}

func TestContactEndsTheMotionWhereItIs(t *testing.T) {
	m := so101(t)
	p := robot.IdentityPose()
	p.P = vec3{0.2, -0.2, 0.15}
	scene := &robot.Scene{Bodies: []robot.Body{{Name: "post", Pose: p, Geometry: robot.Geometry{Kind: robot.Cylinder, Radius: 0.03, Length: 0.5}}}}
	for _, to := range []float64{1.5, -1.5} {
		r := newRobot(t, Options{Model: m, Scene: scene})
		mo := motionOf(restToRest(m, m.Home, pan(m, to), 0.5, 0), 0)
		out, err := r.Execute(context.Background(), mo, nil)
		if to < 0 { // the way that the post isn't on
			require.NoError(t, err)
			require.InDelta(t, to, out.Final.Positions[0], 3e-3)
			continue
		}
		require.Equal(t, robot.CodeContact, robot.CodeOf(err))
		require.ErrorContains(t, err, "post")
		require.Equal(t, robot.OutcomeFaulted, out.Status)
		require.Less(t, out.Duration, mo.Trajectory.Duration())
		s, err := r.State(context.Background())
		require.NoError(t, err)
		require.False(t, s.Moving)
		require.InDeltaSlice(t, s.Positions, s.Setpoints, 3e-3, "it doesn't press on")
		r.mon.refresh(r.pl.q, 0)
		require.InDelta(t, 0, r.mon.best.Distance, 5e-3, "it stays where it touched")

		// Away from it is allowed once the fault is cleared, deeper isn't.
		_, err = r.Actuate(context.Background(), robot.Command{Kind: robot.EStopReset})
		require.NoError(t, err)
		out, err = r.Execute(context.Background(), motionOf(restToRest(m, s.Positions, m.Home, 0.5, 0), 0), nil)
		require.NoError(t, err)
		require.InDelta(t, m.Home[0], out.Final.Positions[0], 3e-3)
	}
}

func TestMeasuredOutOfLimitsIsAFault(t *testing.T) {
	m := so101(t)
	r := newRobot(t, Options{Model: m, Faults: []Fault{{Kind: FaultEncoder, Joint: "wrist_roll", At: 0.5, Value: 2.9}}})
	mo := motionOf(restToRest(m, m.Home, pan(m, 0.5), 0.5, 2), 0)
	mo.MaxDeviation = bounds6(m.DoF(), 10)
	out, err := r.Execute(context.Background(), mo, nil)
	require.Equal(t, robot.CodeJointLimit, robot.CodeOf(err))
	require.ErrorContains(t, err, "wrist_roll")
	require.Equal(t, robot.OutcomeFaulted, out.Status)
}

func TestTheFirstOfTwoFaultsStays(t *testing.T) {
	r, _, out, err := faulty(t,
		Fault{Kind: FaultEncoder, Joint: "elbow_flex", At: 0.7, Value: 0.3},
		Fault{Kind: FaultDisconnect, At: 0.72})
	require.Equal(t, robot.CodeDeviation, robot.CodeOf(err))
	require.Equal(t, robot.OutcomeUnknown, out.Status)
	require.Equal(t, robot.CodeDeviation, r.fault.Code)
	_, err = r.State(context.Background())
	require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err))
}

// TestStopInMidMoveOnTheWallClock: with the real clock a stop begins within one
// control period of the wall's time too.
func TestStopInMidMoveOnTheWallClock(t *testing.T) {
	m := so101(t)
	synctest.Test(t, func(t *testing.T) {
		r := newRobot(t, Options{Model: m, Clock: Real})
		mo := motionOf(restToRest(m, m.Home, pan(m, 1), 0.5, 3), 0)
		var v robot.StopVerdict
		var waited time.Duration
		done := make(chan struct{})
		go func() {
			defer close(done)
			time.Sleep(1500 * time.Millisecond)
			began := time.Now()
			v = r.Stop(context.Background(), robot.StopControlled)
			waited = time.Since(began)
		}()
		out, err := r.Execute(context.Background(), mo, nil)
		<-done
		require.Equal(t, robot.CodeStopped, robot.CodeOf(err))
		require.Equal(t, robot.OutcomeStopped, out.Status)
		require.Equal(t, robot.Yes, v.Stationary)
		require.InDelta(t, waited.Seconds(), v.Duration, 2e-3)
		require.Less(t, waited, time.Second)
	})
}

// TestCase48_AJointThatStopsShortIsNoSuccess: nothing is saturated and the bound on
// deviation is wide, and still an end that isn't the commanded one is a fault.
func TestCase48_AJointThatStopsShortIsNoSuccess(t *testing.T) {
	m := pendulum(1, 0.5) // its motor has no limit
	r := newRobot(t, Options{Model: m, Faults: []Fault{{Kind: FaultStuck, Joint: "hinge", At: 0.3}}})
	mo := motionOf(restToRest(m, []float64{0}, []float64{0.5}, 0.5, 0), 0)
	mo.MaxDeviation[0] = 10
	out, err := r.Execute(context.Background(), mo, nil)
	require.Equal(t, robot.CodeDeviation, robot.CodeOf(err))
	require.ErrorContains(t, err, "hinge")
	require.Equal(t, robot.OutcomeFaulted, out.Status)
	require.Less(t, out.Final.Positions[0], 0.45)
	require.InDelta(t, out.Final.Positions[0], out.Final.Setpoints[0], 1e-9)
}

// stopping is a context that calls stop when somebody first looks whether it has ended.
type stopping struct {
	context.Context
	once sync.Once
	stop func()
}

func (c *stopping) Err() error {
	c.once.Do(c.stop)
	return c.Context.Err()
}

// TestG6_AStopAtTheLastMomentBeforeTheFirstActuation: Execute looks at its context
// before it takes the robot, and a stop that comes then is not overlooked.
func TestG6_AStopAtTheLastMomentBeforeTheFirstActuation(t *testing.T) {
	m := so101(t)
	r := newRobot(t, Options{Model: m})
	ctx := &stopping{Context: context.Background(), stop: func() {
		require.Equal(t, robot.Yes, r.Stop(context.Background(), robot.StopControlled).Stationary)
	}}
	out, err := r.Execute(ctx, motionOf(restToRest(m, m.Home, pan(m, 1), 0.5, 0), 0), nil)
	require.Equal(t, robot.CodeStopped, robot.CodeOf(err), "%v", err)
	require.Equal(t, robot.OutcomeRefused, out.Status)
	s, err := r.State(context.Background())
	require.NoError(t, err)
	require.EqualValues(t, 1, s.StopEpoch)
	require.InDelta(t, m.Home[0], s.Positions[0], 1e-6)
}

// TestCase48_WhatIsMeasuredLags: in mid-move the servo is behind its setpoint, and
// a state says where the joint is.
func TestCase48_WhatIsMeasuredLags(t *testing.T) {
	m := so101(t)
	r := newRobot(t, Options{Model: m})
	mo := motionOf(restToRest(m, m.Home, pan(m, 1), 0.5, 2), 0)
	var lag float64
	_, err := r.Execute(context.Background(), mo, func(p robot.Progress) {
		lag = math.Max(lag, p.Setpoint[0]-p.State.Positions[0])
		require.Equal(t, p.Setpoint, p.State.Setpoints)
	})
	require.NoError(t, err)
	require.Greater(t, lag, 1e-3)
	require.Less(t, lag, mo.MaxDeviation[0])
}

func TestCloseReturnsOnceTheArmIsAtRest(t *testing.T) {
	m := so101(t)
	r := newRobot(t, Options{Model: m})
	var running, again bool
	r.AtMotionTime(0.5, func() {
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() {
				_ = r.Close()
				r.mu.Lock()
				defer r.mu.Unlock()
				if i == 0 {
					running = r.run != nil
				} else {
					again = r.run != nil
				}
			})
		}
		wg.Wait()
	})
	out, err := r.Execute(context.Background(), motionOf(restToRest(m, m.Home, pan(m, 1), 0.5, 2), 0), nil)
	require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err))
	require.False(t, out.Final.Moving)
	require.False(t, running, "Close waits for the arm")
	require.False(t, again, "so does a second one")
}

// Whoever follows a motion may panic; the robot is then at a latched fault, and
// nobody waits for the motion for ever.
func TestPanicOfAFollowerLeavesNoRunBehind(t *testing.T) {
	model := so101(t)
	r := newRobot(t, Options{Model: model})
	to := append([]float64(nil), model.Home...)
	to[0] += 0.5
	m := motionOf(restToRest(model, model.Home, to, 0.5, 0), 0)
	require.Panics(t, func() {
		_, _ = r.Execute(t.Context(), m, func(robot.Progress) { panic("a defect of the caller") })
	})
	st, err := r.State(t.Context())
	require.NoError(t, err)
	require.False(t, st.Moving)
	require.Equal(t, robot.CodeInternal, st.Faults[0].Code)
	require.Equal(t, robot.Yes, r.Stop(t.Context(), robot.StopControlled).Commanded)
}

func TestTooManyJointsAreRefusedAtOnce(t *testing.T) {
	m := &robot.Model{Description: &robot.Description{Name: "centipede"}}
	m.Active = make([]int, maxJoints+1)
	_, err := newTree(m)
	require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err))
	require.ErrorContains(t, err, "limit 64")
}
