package mcu_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
)

// Open-loop servos: what nobody has said isn't powered, what was said of one life of the
// board isn't good for the next, and what was commanded counts more than what was said.
func TestWhereOpenLoopJointsAre(t *testing.T) {
	inBubble(t, func(t *testing.T, bin string) {
		ctx := context.Background()
		b := servos().newBench(t, bin)
		b.o.At = []float64{0.2, math.NaN()}
		var got frames
		b.s.onBoard = got.take
		r := b.open(t)
		s, err := r.State(ctx)
		require.NoError(t, err)
		require.Equal(t, 0.2, s.Setpoints[0])
		require.True(t, math.IsNaN(s.Setpoints[1]))
		require.Equal(t, []bool{false, true}, s.Unreferenced)
		require.Equal(t, []bool{true, false}, s.Declared)
		_, err = r.Actuate(ctx, robot.Command{Kind: robot.TorqueOn})
		require.Equal(t, robot.CodeNotCalibrated, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "tilt")
		require.Zero(t, got.of(wire.TypeEnable))

		err = r.Declare([]float64{math.NaN(), 1.5})
		require.Equal(t, robot.CodeJointLimit, robot.CodeOf(err), "%v", err)
		require.Error(t, r.Declare([]float64{0}))
		require.Error(t, r.Declare([]float64{math.Inf(1), 0}))
		require.NoError(t, r.Declare([]float64{math.NaN(), -0.3}))
		require.Empty(t, b.s.servo, "saying where it is moves nothing")
		out := actuate(t, r, robot.TorqueOn)
		require.InDeltaSlice(t, []float64{0.2, -0.3}, out.Final.Setpoints, 1e-5)
		require.Nil(t, out.Final.Declared)
		require.Nil(t, out.Final.Unreferenced)
		time.Sleep(100 * time.Millisecond)
		require.InDeltaSlice(t, []float64{0.2, -0.3}, b.observe(), 1e-4)
		require.Equal(t, robot.CodeBusy, robot.CodeOf(r.Declare([]float64{0, 0})))

		// Without power it may be turned by hand; what it was told is still the setpoint.
		actuate(t, r, robot.TorqueOff)
		s, err = r.State(ctx)
		require.NoError(t, err)
		require.InDeltaSlice(t, []float64{0.2, -0.3}, s.Setpoints, 1e-5)
		require.NoError(t, r.Declare([]float64{0.5, math.NaN()}))
		out = actuate(t, r, robot.TorqueOn)
		require.InDeltaSlice(t, []float64{0.5, -0.3}, out.Final.Setpoints, 1e-5)

		b.s.do("brownout")
		require.Eventually(t, func() bool {
			s, err = r.State(ctx)
			return err == nil && len(s.Faults) > 0
		}, 10*time.Second, time.Millisecond)
		require.Equal(t, []bool{true, true}, s.Unreferenced)
		require.Nil(t, s.Declared)
		require.Contains(t, s.Faults[0].Text, "brown-out")
		require.False(t, s.Powered)
		actuate(t, r, robot.EStopReset)
		_, err = r.Actuate(ctx, robot.Command{Kind: robot.TorqueOn, Epoch: s.StopEpoch})
		require.Equal(t, robot.CodeNotCalibrated, robot.CodeOf(err), "%v", err)
		require.NoError(t, r.Declare([]float64{0, 0}))
		actuate(t, r, robot.TorqueOn)
	})
}

// A measured joint is held where it is measured, wherever that is within its limits.
func TestTorqueOnHoldsWhereItIsMeasured(t *testing.T) {
	inBubble(t, func(t *testing.T, bin string) {
		b := measured().newBench(t, bin)
		r := b.open(t)
		b.s.do("hand 0 1800")
		time.Sleep(200 * time.Millisecond)
		out := actuate(t, r, robot.TorqueOn)
		require.InDelta(t, (1800-1472)/590.8, out.Final.Setpoints[0], 4e-3)
		actuate(t, r, robot.TorqueOff)
		b.s.do("hand 0 2400") // beyond the file's limit of 1.4 rad
		time.Sleep(200 * time.Millisecond)
		s, err := r.State(context.Background())
		require.NoError(t, err)
		_, err = r.Actuate(context.Background(), robot.Command{Kind: robot.TorqueOn, Epoch: s.StopEpoch})
		require.Equal(t, robot.CodeJointLimit, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "by hand")
		b.s.do("raw 0 1023")
		time.Sleep(200 * time.Millisecond)
		_, err = r.State(context.Background())
		require.Equal(t, robot.CodeStaleState, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "pan")
	})
}

// Pieces fill at most 70 % of the line, the board holds at most 200 ms, and a stop leaves
// after at most the frame that is on its way.
func TestTheLineIsNeverFull(t *testing.T) {
	inBubble(t, func(t *testing.T, bin string) {
		b := measured().newBench(t, bin)
		type written struct {
			at time.Duration
			n  int
		}
		var sent []written
		var dec wire.Decoder
		var asked, left time.Duration
		b.s.onBoard = func(p []byte) {
			sent = append(sent, written{b.s.now, len(p)})
			for len(p) > 0 {
				n, f, ok := dec.Next(p)
				p = p[n:]
				if ok && f.Type == wire.TypeStop && left == 0 {
					left = b.s.now
				}
			}
		}
		r := b.open(t)
		actuate(t, r, robot.TorqueOn)
		m := moveTo(t, r, b.target(b.o.Model), 1.5)
		sent = nil
		done := make(chan struct{})
		time.AfterFunc(900*time.Millisecond, func() {
			defer close(done)
			b.s.mu.Lock()
			asked = b.s.now
			b.s.mu.Unlock()
			r.Stop(context.Background(), robot.StopControlled)
		})
		_, err := r.Execute(context.Background(), m, nil)
		<-done
		require.Equal(t, robot.CodeStopped, robot.CodeOf(err))
		require.LessOrEqual(t, left-asked, 2*time.Millisecond, "of simulated time, whose grain is one")
		for i := range sent { // any 50 ms
			bytes := 0
			for _, w := range sent[i:] {
				if w.at-sent[i].at < 50*time.Millisecond {
					bytes += w.n
				}
			}
			require.LessOrEqual(t, float64(bytes)*10/115200, 0.7*0.05+37*10/115200.0, "at %v", sent[i].at)
		}
	})
}

// A stepper that had no power may have been pushed: it has to find its switch again before
// it moves anywhere, and that is said as soon as the power is off.
func TestAStepperWithoutPowerLosesItsPlace(t *testing.T) {
	inBubble(t, func(t *testing.T, bin string) {
		ctx := context.Background()
		r := steppers().newBench(t, bin).referenced(t).Backend
		s, err := r.State(ctx)
		require.NoError(t, err)
		require.Nil(t, s.Unreferenced)
		for _, kind := range []robot.CommandKind{robot.TorqueOn, robot.TorqueOff, robot.TorqueOn} {
			_, err = r.Actuate(ctx, robot.Command{ID: "x", Kind: kind, Epoch: s.StopEpoch})
			require.NoError(t, err)
			now, err := r.State(ctx)
			require.NoError(t, err)
			if kind == robot.TorqueOff {
				s = now
			}
			require.Equal(t, s.Unreferenced, now.Unreferenced)
		}
		require.Equal(t, []bool{true, true, true}, s.Unreferenced)
		out, err := r.Execute(ctx, moveTo(t, r.(*mcu.Robot), s.Where(), 1), nil)
		require.Equal(t, robot.OutcomeRefused, out.Status)
		require.Equal(t, robot.CodeNotCalibrated, robot.CodeOf(err), "%v", err)
	})
}
