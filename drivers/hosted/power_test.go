package hosted_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/hosted"
	"github.com/tau-robot/tau/robot"
)

// Torque is switched on where the joints are measured, and whatever doesn't fit is refused
// before any of them has it.
func TestTorqueOnIsRefused(t *testing.T) {
	for name, k := range map[string]struct {
		with func(d *device, l robot.JointLimits)
		code robot.Code
	}{
		"outside its limits": {func(d *device, l robot.JointLimits) { d.q[3] = l.Upper + 0.05 }, robot.CodeJointLimit},
		"silent":             {func(d *device, _ robot.JointLimits) { d.silent[3] = true }, robot.CodeStaleState},
		"says nonsense": {func(d *device, _ robot.JointLimits) {
			d.garbage = func(s *hosted.Sample) { s.Joints[3].Position = math.NaN() }
		}, robot.CodeStaleState},
		"says nothing of one": {func(d *device, _ robot.JointLimits) {
			d.garbage = func(s *hosted.Sample) { s.Joints = s.Joints[:5] }
		}, robot.CodeStaleState},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := measuredRig.bench(t)
				e := b.open(t)
				b.do(func() { k.with(b.device, b.m.Limits[3]) })
				out, err := e.Actuate(context.Background(), robot.Command{Kind: robot.TorqueOn})
				code(t, k.code, err)
				require.Equal(t, robot.OutcomeRefused, out.Status)
				require.Zero(t, b.count("power on"))
			})
		})
	}
}

// An arm by hand before torque: it is powered where it was moved to, and doesn't snap back
// (the device would say so).
func TestTorqueOnAfterMovingByHand(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		_, err := do(e, robot.TorqueOff)
		require.NoError(t, err)
		for i := range b.q {
			b.do(func() { b.q[i] += 0.3 * (b.target()[i] - b.m.Home[i]) })
		}
		at := b.where()
		b.do(func() { b.once["power on"] = func() {} })
		out, err := do(e, robot.TorqueOn)
		require.NoError(t, err)
		require.InDeltaSlice(t, at, out.Final.Setpoints, tick)
		require.InDeltaSlice(t, at, b.where(), tick)
		require.Zero(t, b.count("write"), "nothing moves until a motion is approved")
	})
}

// One that can't be powered takes the torque of the others with it.
func TestHalfAnArmIsNotLeftWithTorque(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := measuredRig.bench(t)
		e := b.open(t)
		b.do(func() { b.refuses[4] = true })
		out, err := do(e, robot.TorqueOn)
		require.ErrorContains(t, err, "joint 4 doesn't answer")
		require.Equal(t, robot.OutcomeFaulted, out.Status)
		require.NotContains(t, b.torque(), true)
		s := state(t, e)
		require.False(t, s.Enabled || s.Powered)
		require.NotEmpty(t, s.Faults)
		b.do(func() { b.refuses[4] = false })
		_, err = do(e, robot.EStopReset)
		require.NoError(t, err)
		enable(t, e)
	})
	// One that says that it has none although it took the command.
	inBubble(t, func(t *testing.T) {
		b := measuredRig.bench(t)
		e := b.open(t)
		b.do(func() { b.garbage = func(s *hosted.Sample) { s.Joints[4].Powered = false } })
		_, err := do(e, robot.TorqueOn)
		code(t, robot.CodeNotEnabled, err)
		require.ErrorContains(t, err, b.m.JointNames()[4])
		require.NotContains(t, b.torque(), true)
	})
}

// Joints that a bridge before left with torque keep it and what they hold: torque_on takes
// them up again without a word to the device.
func TestJointsThatHaveTorqueAlready(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := measuredRig.bench(t)
		b.do(func() {
			b.approved = true
			for i := range b.power {
				b.power[i], b.sag[i] = true, 0.01
			}
		})
		time.Sleep(time.Second)
		e := b.open(t)
		s := state(t, e)
		require.False(t, s.Enabled)
		require.True(t, s.Powered)
		require.InDeltaSlice(t, b.goals(), s.Setpoints, tick, "what they hold is what they say")
		enable(t, e)
		require.Zero(t, b.count("power on"))
		require.InDeltaSlice(t, b.m.Home, b.goals(), tick)
		_, err := e.Execute(context.Background(), motion(e, state(t, e), b.target(), 1), nil)
		require.NoError(t, err)
	})
	// Where they don't say what they hold they are told to hold where they are.
	inBubble(t, func(t *testing.T) {
		b := measuredRig.bench(t)
		b.tells = false
		b.do(func() {
			for i := range b.power {
				b.power[i] = true
			}
		})
		e := b.open(t)
		for _, q := range state(t, e).Setpoints {
			require.True(t, math.IsNaN(q), "nobody knows what they hold")
		}
		enable(t, e)
		require.Equal(t, 1, b.count("power on"))
	})
}

// Open-loop joints: what nobody has said isn't powered, what was said of one life of the
// device isn't good for the next, and what was commanded counts more than what was said.
func TestWhereOpenLoopJointsAre(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx := context.Background()
		b := blindRig.bench(t)
		b.o.At = []float64{0.2, math.NaN()}
		e := b.open(t)
		s := state(t, e)
		require.Equal(t, 0.2, s.Setpoints[0])
		require.True(t, math.IsNaN(s.Setpoints[1]))
		require.Equal(t, []bool{false, true}, s.Unreferenced)
		require.Equal(t, []bool{true, false}, s.Declared)
		_, err := do(e, robot.TorqueOn)
		code(t, robot.CodeNotCalibrated, err)
		require.ErrorContains(t, err, "tilt")
		require.Zero(t, b.count("power on"))

		code(t, robot.CodeJointLimit, e.Declare([]float64{math.NaN(), 1.5}))
		require.Error(t, e.Declare([]float64{0}))
		require.Error(t, e.Declare([]float64{math.Inf(1), 0}))
		require.NoError(t, e.Declare([]float64{math.NaN(), -0.3}))
		out, err := do(e, robot.TorqueOn)
		require.NoError(t, err)
		require.Equal(t, []float64{0.2, -0.3}, out.Final.Setpoints)
		require.Nil(t, out.Final.Declared)
		require.Nil(t, out.Final.Unreferenced)
		require.Equal(t, []float64{0.2, -0.3}, b.goals())
		code(t, robot.CodeBusy, e.Declare([]float64{0, 0}))

		// Without power it may be turned by hand; what it was told is still the setpoint.
		_, err = do(e, robot.TorqueOff)
		require.NoError(t, err)
		require.Equal(t, []float64{0.2, -0.3}, state(t, e).Setpoints)
		require.NoError(t, e.Declare([]float64{0.5, math.NaN()}))
		out, err = do(e, robot.TorqueOn)
		require.NoError(t, err)
		require.Equal(t, []float64{0.5, -0.3}, out.Final.Setpoints)

		b.restart()
		time.Sleep(100 * time.Millisecond)
		s = state(t, e)
		require.Equal(t, []bool{true, true}, s.Unreferenced)
		require.Equal(t, robot.CodeDisconnected, s.Faults[0].Code)
		_, err = do(e, robot.EStopReset)
		require.NoError(t, err)
		_, err = do(e, robot.TorqueOn)
		code(t, robot.CodeNotCalibrated, err)
		require.NoError(t, e.Close())
		code(t, robot.CodeDisconnected, e.Declare([]float64{0, 0}))
		_, err = e.Execute(ctx, motion(e, s, b.target(), 1), nil)
		code(t, robot.CodeInvalidArgument, err) // from NaN
	})
	inBubble(t, func(t *testing.T) { // a place that isn't one
		b := blindRig.bench(t)
		b.o.At = []float64{2, 0}
		_, err := hosted.Open(context.Background(), b.o)
		code(t, robot.CodeJointLimit, err)
		require.False(t, b.used())
	})
}

// An e-stop takes the power away once at rest, and tries it again; without a link it does
// so as soon as there is one.
func TestAnEStopTakesThePower(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := lampRig.enabled(t)
		b.do(func() {
			b.clings[0] = true
			b.once["power off"] = func() { b.do(func() { b.once["power off"] = func() { b.clings[0] = false } }) }
		})
		v := e.Stop(context.Background(), robot.StopEmergency)
		require.Equal(t, robot.Yes, v.Stationary, v.Text)
		require.Equal(t, []bool{false, false}, b.torque())
		require.Empty(t, state(t, e).Faults)
		require.Equal(t, 2, b.count("power off"))
	})
	inBubble(t, func(t *testing.T) {
		b, e := lampRig.enabled(t)
		b.do(func() { b.clings[0] = true })
		e.Stop(context.Background(), robot.StopEmergency)
		s := state(t, e)
		require.True(t, s.Powered)
		require.NotEmpty(t, s.Faults, "that it couldn't is said")
		require.Equal(t, 3, b.count("power off"))
		b.do(func() { b.clings[0] = false })
	})
	inBubble(t, func(t *testing.T) {
		b, e := lampRig.enabled(t)
		b.unplug()
		time.Sleep(100 * time.Millisecond)
		require.Equal(t, robot.No, e.Stop(context.Background(), robot.StopEmergency).Commanded)
		require.Contains(t, b.torque(), true)
		b.replug()
		s := back(t, e)
		time.Sleep(100 * time.Millisecond)
		require.True(t, s.EStopped)
		require.NotContains(t, b.torque(), true)
	})
}

// What stands beside the joints is off from Open on, keeps what it was set to, and is off
// again after a lost link where it says so. A switch that fails is latched.
func TestActuatorsBesideTheJoints(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := lampRig.bench(t)
		b.do(func() { b.lamps[0] = 0.7 })
		e := b.open(t)
		require.Equal(t, []float64{0}, b.lamps)
		set := func(v float64) error {
			_, err := e.Actuate(context.Background(), robot.Command{Kind: robot.SetActuator, Name: "lamp", Value: v, Epoch: state(t, e).StopEpoch})
			return err
		}
		require.NoError(t, set(0.5))
		require.Equal(t, robot.ActuatorState{Name: "lamp", Value: 0.5}, state(t, e).Actuators[0])
		b.do(func() { b.garbage = func(s *hosted.Sample) { s.Actuators = append(s.Actuators[:0], 0.48) } })
		time.Sleep(50 * time.Millisecond)
		require.Equal(t, robot.ActuatorState{Name: "lamp", Value: 0.48, Measured: true}, state(t, e).Actuators[0])
		b.do(func() { b.garbage = nil })

		b.do(func() { b.broken["set"] = robot.Errf(robot.CodeInvalidArgument, "lamp", "between two steps") })
		code(t, robot.CodeInvalidArgument, set(0.4))
		b.do(func() { b.broken["set"] = robot.Errf(robot.CodeStaleState, "lamp", "no answer") })
		out, err := e.Actuate(context.Background(), robot.Command{Kind: robot.SetActuator, Name: "lamp", Value: 1, Epoch: state(t, e).StopEpoch})
		code(t, robot.CodeStaleState, err)
		require.Equal(t, robot.OutcomeUnknown, out.Status)
		e.Stop(context.Background(), robot.StopControlled)
		time.Sleep(50 * time.Millisecond)
		s := state(t, e)
		require.Equal(t, "lamp", s.Faults[0].Where)
		require.Contains(t, s.Faults[0].Text, "couldn't be switched off")
		b.do(func() { delete(b.broken, "set") })
		_, err = do(e, robot.EStopReset)
		require.NoError(t, err)

		require.NoError(t, set(1))
		b.unplug()
		time.Sleep(100 * time.Millisecond)
		require.Equal(t, []float64{1}, b.lamps, "nobody can say anything to it")
		b.replug()
		s = back(t, e)
		require.Zero(t, s.Actuators[0].Value)
		require.Equal(t, []float64{0}, b.lamps)
	})
}

// A robot whose devices restart writes nothing more, whatever it was at.
func TestNothingIsWrittenToADeviceThatRestarted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		writes := 0
		r := during(t, e, motion(e, state(t, e), b.target(), 2), 1, func() {
			b.restart()
			writes = b.count("write")
		})
		code(t, robot.CodeDisconnected, r.err)
		require.Equal(t, robot.OutcomeUnknown, r.out.Status)
		require.LessOrEqual(t, b.count("write"), writes+2, "until the next read")
		require.NotContains(t, b.torque(), true)
		for _, q := range state(t, e).Setpoints {
			require.True(t, math.IsNaN(q), "it was told nothing in this life")
		}
		require.False(t, slices.Contains(b.torque(), true))
	})
}

// A command that comes while an e-stop is still to take the power waits for its turn, and is
// not forgotten.
func TestACommandBehindAnEStop(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := lampRig.enabled(t)
		out := make(chan error, 1)
		b.do(func() {
			b.once["read"] = func() { // while the loop is busy both come at once
				go e.Stop(context.Background(), robot.StopEmergency)
				time.Sleep(time.Microsecond)
				go func() {
					_, err := e.Actuate(context.Background(), robot.Command{Kind: robot.EStopReset, Epoch: 1})
					out <- err
				}()
				time.Sleep(time.Microsecond)
			}
		})
		select {
		case err := <-out:
			require.NoError(t, err)
		case <-time.After(time.Minute):
			require.FailNow(t, "the reset was forgotten")
		}
		require.NotContains(t, b.torque(), true)
		require.False(t, state(t, e).EStopped)
	})
}
