package hosted_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/hosted"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/robottest"
)

func TestCase37_StopOfAClosedRobotIsNotCommanded(t *testing.T) {
	robottest.RunCase(t, measuredRig.harness(), 37)
}
func TestCase38_AStopWinsOverWhatIsBeingStarted(t *testing.T) {
	robottest.RunCase(t, measuredRig.harness(), 38)
}
func TestCase40_ACancelIsAControlledStop(t *testing.T) {
	robottest.RunCase(t, measuredRig.harness(), 40)
}
func TestCase41_AResetEnablesNothing(t *testing.T) {
	robottest.RunCase(t, measuredRig.harness(), 41)
}
func TestCase43_OneMotionAtATime(t *testing.T) { robottest.RunCase(t, measuredRig.harness(), 43) }
func TestCase44_AfterAFaultTheMeasuredPositionIsHeld(t *testing.T) {
	robottest.RunCase(t, measuredRig.harness(), 44)
}
func TestCase45_NonsenseIsRefused(t *testing.T) { robottest.RunCase(t, measuredRig.harness(), 45) }
func TestCase47_RadiansOnly(t *testing.T)       { robottest.RunCase(t, measuredRig.harness(), 47) }
func TestCase48_AResultIsWhatWasMeasured(t *testing.T) {
	robottest.RunCase(t, measuredRig.harness(), 48)
	robottest.RunCase(t, halfRig.harness(), 48)
}
func TestCase49_ALostLinkIsUnknown(t *testing.T) { robottest.RunCase(t, measuredRig.harness(), 49) }
func TestCase50_CloseGivesTheRobotBack(t *testing.T) {
	robottest.RunCase(t, measuredRig.harness(), 50)
}

// A joint that misses a read now and then is no reason to stop, and is never said to be
// fresher than it is; one that stays silent is unknown, and the motion halts.
func TestCase27_ASilentJointIsUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		name := b.m.JointNames()[3]
		reads := 0
		answered := time.Now()
		b.do(func() {
			b.garbage = func(s *hosted.Sample) { // each third read finds it, and 0 is what it says else
				if reads++; reads%hosted.SilentReads != 0 {
					s.Joints[3] = hosted.Joint{Err: errSilent}
				} else {
					answered = s.At
				}
			}
		})
		m := motion(e, state(t, e), b.target(), 2)
		var r ended
		older := 0
		r.out, r.err = e.Execute(context.Background(), m, func(p robot.Progress) {
			require.NotZero(t, p.State.Positions[3], "what isn't measured isn't 0")
			b.do(func() { require.False(t, p.State.MeasuredAt.After(answered), "it isn't said to be fresher than it is") })
			if time.Since(p.State.MeasuredAt) > 2*b.o.Traits.Period*time.Duration(b.o.Traits.ReadEvery) {
				older++
			}
		})
		require.NoError(t, r.err)
		require.Positive(t, older)

		b.do(func() { b.garbage = nil })
		m = motion(e, back(t, e), b.m.Home, 2)
		at := 0
		r = during(t, e, m, 1, func() {
			b.do(func() { b.silent[3] = true })
			at = b.count("write")
		})
		code(t, robot.CodeStaleState, r.err)
		require.ErrorContains(t, r.err, name)
		require.Equal(t, robot.OutcomeUnknown, r.out.Status, "nobody measured its end")
		require.Nil(t, r.out.Final.Positions)
		end := m.Trajectory.End()
		require.Greater(t, math.Abs(b.goals()[3]-end[3]), 0.1, "it halted on the way")
		require.Less(t, b.count("write")-at, 60, "the brake doesn't go on and on")
		_, err := e.State(context.Background())
		code(t, robot.CodeStaleState, err)
		require.ErrorContains(t, err, name)
		v := e.Stop(context.Background(), robot.StopControlled)
		require.Equal(t, robot.Unknown, v.Stationary)
		require.Contains(t, v.Text, name)

		b.do(func() { b.silent[3] = false })
		s := back(t, e)
		require.InDelta(t, b.where()[3], s.Positions[3], tick)
		require.Less(t, time.Since(s.MeasuredAt), hosted.StaleAfter)
		require.Equal(t, robot.CodeStaleState, s.Faults[0].Code, "why it halted is latched")
		require.False(t, s.Enabled)
	})
}

// One servo that doesn't answer is named, and the others have lost their torque.
func TestCase28_AMuteServoIsNamedAndTheOthersAreOff(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		b.do(func() { b.clings[3] = true })
		out, err := do(e, robot.TorqueOff)
		require.ErrorContains(t, err, "joint 3 doesn't answer")
		require.ErrorContains(t, err, b.m.JointNames()[3]+" still has torque")
		require.Equal(t, robot.OutcomeFaulted, out.Status)
		require.Equal(t, []bool{false, false, false, true, false, false}, b.torque())
		s := state(t, e)
		require.False(t, s.Enabled)
		require.True(t, s.Powered, "one of them has power, and it is said")
		require.NotEmpty(t, s.Faults)
		b.do(func() { b.clings[3] = false })
		_, err = do(e, robot.EStopReset)
		require.NoError(t, err)
		_, err = do(e, robot.TorqueOff)
		require.NoError(t, err)
		require.False(t, state(t, e).Powered)
	})
}

// A stop that nobody can hear isn't commanded, and says why; one that is heard is
// acknowledged by the device and measured.
func TestCase29_AStopThatWasNotSentIsNotCommanded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		v := e.Stop(context.Background(), robot.StopControlled)
		require.Equal(t, robot.StopVerdict{Backend: "fake", Commanded: robot.Yes, Acknowledged: robot.Yes, Stationary: robot.Yes}, v)

		// A device that takes no setpoint any more, with the link still there.
		r := during(t, e, motion(e, state(t, e), b.target(), 2), 1, func() {
			b.do(func() { b.broken["write"] = robot.Errf(robot.CodeStaleState, "fake", "the adapter is full") })
			v = e.Stop(context.Background(), robot.StopEmergency)
		})
		require.Equal(t, robot.OutcomeUnknown, r.out.Status)
		require.Equal(t, robot.No, v.Commanded)
		require.Contains(t, v.Text, "the adapter is full")
		require.NotEqual(t, robot.Yes, v.Stationary)

		b.unplug()
		time.Sleep(100 * time.Millisecond)
		writes := b.count("write")
		v = e.Stop(context.Background(), robot.StopEmergency)
		require.Equal(t, robot.No, v.Commanded)
		require.Contains(t, v.Text, "link")
		require.Equal(t, robot.No, v.Acknowledged)
		require.Equal(t, robot.Unknown, v.Stationary)
		require.Equal(t, writes, b.count("write"))
		b.do(func() { delete(b.broken, "write") })
	})
}

// What the device says of the setpoints is what a stop says of its acknowledgement.
func TestCase29_AnAcknowledgementIsTheDevices(t *testing.T) {
	for _, acked := range []robot.Tri{robot.Yes, robot.No, robot.Unknown, ""} {
		inBubble(t, func(t *testing.T) {
			b, e := measuredRig.enabled(t)
			b.do(func() { b.confirm = acked })
			v := e.Stop(context.Background(), robot.StopControlled)
			require.Equal(t, robot.Yes, v.Commanded)
			want := acked
			if acked == "" {
				want = robot.Unknown
			}
			require.Equal(t, want, v.Acknowledged)
			if acked == robot.No {
				require.Contains(t, v.Text, "other setpoints")
			}
		})
	}
}

// A stop while torque is being switched on, and one before a motion's first setpoint.
func TestCase38_AStopDuringAnyPhaseWins(t *testing.T) {
	for _, kind := range []robot.StopKind{robot.StopControlled, robot.StopEmergency} {
		for _, phase := range []string{"read", "power on"} {
			inBubble(t, func(t *testing.T) {
				b := lampRig.bench(t)
				e := b.open(t)
				var v robot.StopVerdict
				var wg sync.WaitGroup
				s := state(t, e)
				b.do(func() { b.once[phase] = func() { wg.Go(func() { v = e.Stop(context.Background(), kind) }) } })
				_, err := e.Actuate(context.Background(), robot.Command{Kind: robot.TorqueOn, Epoch: s.StopEpoch})
				wg.Wait()
				code(t, robot.CodeStopped, err)
				require.Equal(t, robot.Yes, v.Commanded, v.Text)
				require.Equal(t, robot.Yes, v.Stationary, v.Text)
				s = state(t, e)
				if kind == robot.StopEmergency {
					require.False(t, s.Enabled || s.Powered, "category 1 ends without power")
				}
				require.Zero(t, b.count("write"))
			})
		}
		inBubble(t, func(t *testing.T) {
			b, e := measuredRig.enabled(t)
			m := motion(e, state(t, e), b.target(), 2)
			var wg sync.WaitGroup
			var out robot.Outcome
			var err error
			var v robot.StopVerdict
			wg.Go(func() { out, err = e.Execute(context.Background(), m, nil) })
			b.do(func() { b.once["read"] = func() { wg.Go(func() { v = e.Stop(context.Background(), kind) }) } })
			wg.Wait()
			code(t, robot.CodeStopped, err)
			require.Contains(t, []robot.OutcomeStatus{robot.OutcomeRefused, robot.OutcomeStopped}, out.Status)
			require.Equal(t, robot.Yes, v.Commanded)
			require.InDeltaSlice(t, b.m.Home, b.where(), 0.01, "it was over before it had begun")
		})
	}
}

// A stop is taken in every state in which anything else is refused.
func TestCase39_AStopIsNeverRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := lampRig.bench(t)
		e := b.open(t)
		stop := func(what string, kind robot.StopKind) {
			t.Helper()
			before, _ := e.State(context.Background())
			v := e.Stop(context.Background(), kind)
			require.Equal(t, robot.Yes, v.Commanded, "%s: %s", what, v.Text)
			require.Equal(t, robot.Yes, v.Stationary, "%s: %s", what, v.Text)
			require.Equal(t, before.StopEpoch+1, state(t, e).StopEpoch, what)
		}
		stop("without torque", robot.StopControlled)
		enable(t, e)
		stop("a kind that there isn't", "sotp")
		b.do(func() { b.complains = []robot.Fault{{Code: robot.CodeOverload, Where: "pan", Text: "hot"}} })
		time.Sleep(50 * time.Millisecond)
		stop("with a fault", robot.StopControlled)
		stop("an e-stop with a fault", robot.StopEmergency)
		stop("an e-stop after one", robot.StopEmergency)
		b.do(func() { b.complains = nil })
	})
}

// The brake begins with the first setpoint that is written after the call of Stop: until
// then they are the trajectory's, one period apart, to the last bit.
func TestCase40_TheBrakeBeginsWithinAPeriod(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		// From the setpoints on, so that there is no way to the start.
		s := state(t, e)
		m := motion(e, s, b.target(), 2)
		m.Trajectory = straight(e.Info(), s.Setpoints, b.target(), 2)
		before := len(b.writings())
		var at time.Time
		r := during(t, e, m, 1, func() {
			time.Sleep(3 * time.Millisecond)
			at = time.Now()
			e.Stop(context.Background(), robot.StopControlled)
		})
		code(t, robot.CodeStopped, r.err)
		require.InDeltaSlice(t, b.where(), r.out.Final.Positions, 2*tick, "it says where it stopped")
		q := make([]float64, len(m.StartTolerance))
		braked := 0
		for k, w := range b.writings()[before:] {
			m.Trajectory.Sample(float64(k+1)*b.o.Traits.Period.Seconds(), q, nil, nil)
			if w.at.Before(at) {
				require.InDeltaSlice(t, q, w.q, 1e-12, "setpoint %d is the trajectory's", k)
				continue
			}
			braked++
			require.NotEqual(t, q, w.q, "setpoint %d brakes", k)
			require.Less(t, math.Abs(w.q[0]-b.m.Home[0]), math.Abs(q[0]-b.m.Home[0]))
		}
		require.Positive(t, braked)
	})
}

// Hardware without a watchdog says so, and isn't opened where the file asks for one.
func TestCase42_NoWatchdogIsPromised(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := measuredRig.bench(t)
		b.o.Hardware.LostLinkPowersOff = true
		_, err := hosted.Open(context.Background(), b.o)
		code(t, robot.CodeNotSupported, err)
		require.Zero(t, b.count("connect"))
		b.o.Hardware.LostLinkPowersOff = false
		for _, a := range b.open(t).Info().Actuators {
			require.Equal(t, "hold", a.OnLost, a.Name)
		}
	})
}

// Whoever asks for the state, at 200 Hz, is never on the wire: the device would say so of
// two calls at once.
func TestCase43_OneMasterOnTheWire(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := lampRig.enabled(t)
		m := motion(e, state(t, e), b.target(), 2)
		over := make(chan struct{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					select {
					case <-over:
						return
					case <-time.After(5 * time.Millisecond):
					}
					if _, err := e.State(context.Background()); err != nil {
						t.Errorf("State: %v", err)
					}
					_, err := e.Actuate(context.Background(), robot.Command{Kind: robot.SetActuator, Name: "lamp", Value: 1, Epoch: m.Epoch})
					if c := robot.CodeOf(err); err != nil && c != robot.CodeBusy {
						t.Errorf("SetActuator: %v", err)
					}
					if out, err := e.Execute(context.Background(), m, nil); err == nil || out.Status != robot.OutcomeRefused {
						t.Errorf("a second motion: %v, %v", out.Status, err)
					}
				}
			})
		}
		time.Sleep(time.Millisecond)
		reads := b.count("read")
		began := time.Now()
		for {
			_, err := e.Execute(context.Background(), m, nil)
			if robot.CodeOf(err) == robot.CodeBusy { // one of the lamp's was there first
				time.Sleep(time.Millisecond)
				continue
			}
			require.NoError(t, err)
			break
		}
		close(over)
		wg.Wait()
		most := int(time.Since(began)/(20*time.Millisecond)) + 20
		require.LessOrEqual(t, b.count("read")-reads, most, "nobody's asking is a read")
	})
}

// Nothing that is refused has the device called.
func TestCase45_NothingRefusedIsOnTheWire(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := lampRig.enabled(t)
		s := state(t, e)
		told := func() int {
			return b.count("write") + b.count("power on") + b.count("power off") + b.count("set") + b.count("clear")
		}
		before := told()
		for _, v := range []float64{math.NaN(), math.Inf(1), 5000, -1} {
			_, err := e.Actuate(context.Background(), robot.Command{Kind: robot.SetActuator, Name: "lamp", Value: v, Epoch: s.StopEpoch})
			code(t, robot.CodeInvalidArgument, err)
			m := motion(e, s, []float64{v, v}, 1)
			out, err := e.Execute(context.Background(), m, nil)
			require.Contains(t, []robot.Code{robot.CodeInvalidArgument, robot.CodeJointLimit}, robot.CodeOf(err), "%v", err)
			require.Equal(t, robot.OutcomeRefused, out.Status)
		}
		m := motion(e, s, b.target(), 1)
		m.Trajectory.Segments[1].V[0] = math.NaN()
		_, err := e.Execute(context.Background(), m, nil)
		code(t, robot.CodeInvalidArgument, err)
		m = motion(e, s, b.target(), 1)
		m.Seek = &robot.Seek{Joint: 0, Switch: 0, Direction: -1, Speed: 0.1, Travel: 1}
		_, err = e.Execute(context.Background(), m, nil)
		require.Error(t, err)
		_, err = e.Actuate(context.Background(), robot.Command{Kind: "dance", Epoch: s.StopEpoch})
		code(t, robot.CodeInvalidArgument, err)
		require.Equal(t, before, told())
	})
}

// A command whose link is lost in the middle is unknown, and isn't done again by itself.
func TestCase49_ALostCommandIsUnknownAndNotRepeated(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := measuredRig.bench(t)
		e := b.open(t)
		b.do(func() { b.once["power on"] = func() { go b.unplug() } })
		out, err := do(e, robot.TorqueOn)
		code(t, robot.CodeDisconnected, err)
		require.Equal(t, robot.OutcomeUnknown, out.Status)
		require.Nil(t, out.Final.Positions)
		b.replug()
		s := back(t, e)
		require.False(t, s.Enabled)
		require.Equal(t, robot.CodeDisconnected, s.Faults[0].Code)
		time.Sleep(10 * time.Second)
		require.Equal(t, 1, b.count("power on"))
		require.Zero(t, b.count("write"))
	})
}

// Close tries everything whatever failed before, and says all of it.
func TestCase50_CloseTriesEverything(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := lampRig.bench(t)
		e, err := hosted.Open(context.Background(), b.o)
		require.NoError(t, err)
		enable(t, e)
		lost := errors.New("the port can't be closed")
		b.do(func() {
			b.clings[0] = true
			b.broken["set"] = robot.Errf(robot.CodeStaleState, "fake", "the lamp doesn't answer")
			b.broken["disconnect"] = lost
		})
		err = e.Close()
		require.ErrorIs(t, err, lost)
		require.ErrorContains(t, err, "the lamp doesn't answer")
		require.ErrorContains(t, err, "joint 0 doesn't answer")
		require.Equal(t, []bool{true, false}, b.torque(), "the other one is off")
		require.False(t, b.used())
		require.NoError(t, e.Close())
		_, err = e.State(context.Background())
		code(t, robot.CodeDisconnected, err)
	})
}
