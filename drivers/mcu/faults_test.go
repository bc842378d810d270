package mcu_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
)

// noisy spoils a part of what goes over a line, the same for the same seed.
type noisy struct {
	random *rand.Rand
	every  int // one in so many pieces of bytes
	held   []byte
	hits   int
}

// pass is a fault of each kind: bytes that vanish, come twice, change, or wait.
func (n *noisy) pass(b []byte) []byte {
	b = append(n.held, b...)
	n.held = nil
	if len(b) == 0 || n.random.IntN(n.every) != 0 {
		return b
	}
	n.hits++
	b = append([]byte(nil), b...)
	at := n.random.IntN(len(b))
	switch n.random.IntN(5) {
	case 0:
		return append(b[:at:at], b[at+1:]...)
	case 1:
		return append(append(b[:at+1:at+1], b[at]), b[at+1:]...)
	case 2:
		b[at] ^= 1 << n.random.IntN(8)
		return b
	case 3:
		n.held = append(n.held, b[at:]...)
		return b[:at]
	}
	return append(b, b...)
}

// spoil puts noise on both directions.
func (s *stepped) spoil(seed uint64, every int) *noisy {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := &noisy{random: rand.New(rand.NewPCG(seed, 7)), every: every}
	s.toBoard, s.toHost = n.pass, n.pass
	return n
}

func (s *stepped) quiet() {
	time.Sleep(100 * time.Millisecond) // what was lost is noticed
	s.mu.Lock()
	defer s.mu.Unlock()
	s.toBoard, s.toHost = nil, nil
}

// On a bad line a motion either runs as it was approved or ends in a named fault, and the
// robot moves again only once a person has reset and enabled it.
func TestABadLineEndsInANamedFaultOrNotAtAll(t *testing.T) {
	ended, hits := map[robot.Code]int{}, 0
	inBubble(t, func(t *testing.T, bin string) {
		for seed := range uint64(12) {
			b := measured().newBench(t, bin)
			r := b.open(t)
			actuate(t, r, robot.TorqueOn)
			m := moveTo(t, r, b.target(b.o.Model), 1)
			noise := b.s.spoil(seed, 3+int(seed)*15)
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			out, err := r.Execute(ctx, m, nil)
			cancel()
			b.s.quiet()
			hits += noise.hits
			ended[robot.CodeOf(err)]++
			if err == nil {
				require.Equal(t, robot.OutcomeDone, out.Status)
				require.InDeltaSlice(t, m.Trajectory.End(), out.Final.Positions, 0.012)
			} else {
				require.Contains(t, []robot.Code{robot.CodeLinkTimeout, robot.CodeDisconnected}, robot.CodeOf(err), "%v", err)
				require.NotEqual(t, robot.OutcomeDone, out.Status)
			}
			recoversFrom(t, b, r, err)
			require.NoError(t, r.Close())
		}
	})
	require.Greater(t, hits, 50)
	require.Greater(t, len(ended), 1, "some lines were bad enough to notice, and some were not: %v", ended)
}

// recoversFrom has a robot move again after whatever went wrong with it.
func recoversFrom(t *testing.T, b *bench, r *mcu.Robot, failed error) {
	t.Helper()
	require.Eventually(t, func() bool {
		s, err := r.State(context.Background())
		return err == nil && !s.Moving
	}, 20*time.Second, 10*time.Millisecond)
	s, err := r.State(context.Background())
	require.NoError(t, err)
	require.True(t, failed == nil || len(s.Faults) > 0 || s.Enabled, "%v", failed) // refused before it moved
	if len(s.Faults) > 0 || s.EStopped {
		require.False(t, s.Enabled)
		seen := b.observe()
		actuate(t, r, robot.EStopReset)
		actuate(t, r, robot.TorqueOn)
		require.InDeltaSlice(t, seen, b.observe(), 0.012, "neither moves it")
	}
	m := moveTo(t, r, b.o.Model.Home, 1)
	_, err = r.Execute(context.Background(), m, nil)
	require.NoError(t, err)
}

// A STOP that is garbled is said again until the board has answered it.
func TestAGarbledStopIsSaidAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, bin string) {
		b := measured().newBench(t, bin)
		r := b.open(t)
		actuate(t, r, robot.TorqueOn)
		m := moveTo(t, r, b.target(b.o.Model), 2)
		lost := 0
		var v robot.StopVerdict
		stopped := make(chan struct{})
		b.s.mu.Lock()
		b.s.toBoard = func(sent []byte) []byte {
			var d wire.Decoder
			for rest := sent; len(rest) > 0; {
				n, f, ok := d.Next(rest)
				rest = rest[n:]
				if ok && f.Type == wire.TypeStop && lost < 2 {
					lost++
					return nil
				}
			}
			return sent
		}
		b.s.mu.Unlock()
		time.AfterFunc(700*time.Millisecond, func() {
			defer close(stopped)
			v = r.Stop(context.Background(), robot.StopControlled)
		})
		out, err := r.Execute(context.Background(), m, nil)
		<-stopped
		require.Equal(t, 2, lost)
		require.Equal(t, robot.CodeStopped, robot.CodeOf(err), "%v", err)
		require.Equal(t, robot.OutcomeStopped, out.Status)
		require.Equal(t, robot.StopVerdict{Backend: "mcu", Commanded: robot.Yes, Acknowledged: robot.Yes, Stationary: robot.Yes, Duration: v.Duration}, v)
		s, err := r.State(context.Background())
		require.NoError(t, err)
		require.Equal(t, m.Epoch+1, s.StopEpoch, "it was one stop")
		// The board, too, has noticed that a frame was missing in mid-motion.
		require.Len(t, s.Faults, 1)
		require.Equal(t, robot.CodeLinkTimeout, s.Faults[0].Code)
		recoversFrom(t, b, r, err)
	})
}

// The states in which a robot is left by what may happen to it in mid-motion, with the
// code that is latched first and what is said of the motion.
func TestWhatEndsAMotionIsLatchedByName(t *testing.T) {
	for name, c := range map[string]struct {
		do     func(*bench)
		undo   func(*bench)
		codes  []robot.Code
		status robot.OutcomeStatus
		words  string
	}{
		"the e-stop button": {
			do: func(b *bench) { b.s.do("button on") }, undo: func(b *bench) { b.s.do("button off") },
			codes: []robot.Code{robot.CodeEStopped}, status: robot.OutcomeFaulted, words: "ESTOP_INPUT",
		},
		"the host falls silent": {
			do: func(b *bench) { b.s.silence() }, undo: func(b *bench) { b.s.quiet() },
			codes: []robot.Code{robot.CodeLinkTimeout}, status: robot.OutcomeFaulted, words: "braked by itself",
		},
		"the board freezes": {
			do: func(b *bench) { b.s.do("freeze") }, undo: func(b *bench) { b.s.do("thaw") },
			codes: []robot.Code{robot.CodeLinkTimeout}, status: robot.OutcomeUnknown, words: "said nothing",
		},
		"its program hangs": {
			do: func(b *bench) { b.s.do("hang") }, undo: func(*bench) {},
			codes: []robot.Code{robot.CodeLinkTimeout, robot.CodeDisconnected}, status: robot.OutcomeUnknown, words: "",
		},
		"a reset": {
			do: func(b *bench) { b.s.do("reset") }, undo: func(*bench) {},
			codes: []robot.Code{robot.CodeDisconnected}, status: robot.OutcomeUnknown, words: "restarted",
		},
		"a brown-out": {
			do: func(b *bench) { b.s.do("brownout") }, undo: func(*bench) {},
			codes: []robot.Code{robot.CodeDisconnected}, status: robot.OutcomeUnknown, words: "brown-out",
		},
		"the cable": {
			do: func(b *bench) { b.s.unplug() }, undo: func(b *bench) { b.s.replug() },
			codes: []robot.Code{robot.CodeDisconnected}, status: robot.OutcomeUnknown, words: "the link to the board was lost",
		},
		"a broken feedback wire": {
			do: func(b *bench) { b.s.do("feedback 0 off") }, undo: func(b *bench) { b.s.do("feedback 0 on") },
			codes: []robot.Code{robot.CodeDeviation}, status: robot.OutcomeFaulted, words: "pan is off its setpoint",
		},
		"somebody holds a joint": {
			do: func(b *bench) { b.s.do("stall 0 on") }, undo: func(b *bench) { b.s.do("stall 0 off") },
			codes: []robot.Code{robot.CodeDeviation}, status: robot.OutcomeFaulted, words: "pan is off its setpoint",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, bin string) {
				b := measured().newBench(t, bin)
				r := b.open(t)
				actuate(t, r, robot.TorqueOn)
				m := moveTo(t, r, b.target(b.o.Model), 1.5)
				time.AfterFunc(700*time.Millisecond, func() { c.do(b) })
				out, err := r.Execute(context.Background(), m, nil)
				require.Contains(t, c.codes, robot.CodeOf(err), "%v", err)
				require.ErrorContains(t, err, c.words)
				require.Equal(t, c.status, out.Status)
				if c.status == robot.OutcomeUnknown {
					require.Nil(t, out.Final.Positions)
				}
				if name == "a broken feedback wire" {
					require.Greater(t, b.observe()[0], 0.1, "the setpoint doesn't go where a broken wire says")
				}
				c.undo(b)
				time.Sleep(200 * time.Millisecond) // until a report is one of that
				require.Eventually(t, func() bool {
					s, err := r.State(context.Background())
					return err == nil && !s.Moving
				}, 20*time.Second, 10*time.Millisecond)
				s, err := r.State(context.Background())
				require.NoError(t, err)
				require.NotEmpty(t, s.Faults)
				require.Contains(t, c.codes, s.Faults[0].Code)
				require.False(t, s.Enabled)
				recoversFrom(t, b, r, err)
			})
		})
	}
}

// Nothing leaks, and the last of a hundred links is as good as the first.
func TestAHundredUnplugs(t *testing.T) {
	inBubble(t, func(t *testing.T, bin string) {
		b := measured().newBench(t, bin)
		r := b.open(t)
		for n := range 100 {
			actuate(t, r, robot.TorqueOn)
			m := moveTo(t, r, []float64{0.2 * float64(n%2), 0.1}, 0.3) // it asks for the state, so before the unplug
			time.AfterFunc(time.Duration(n%40)*10*time.Millisecond, b.s.unplug)
			_, err := r.Execute(context.Background(), m, nil)
			if err == nil { // it was over before
				time.Sleep(500 * time.Millisecond)
			}
			_, err = r.State(context.Background())
			require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
			b.s.replug()
			require.Eventually(t, func() bool {
				_, err := r.State(context.Background())
				return err == nil
			}, 20*time.Second, 10*time.Millisecond)
			actuate(t, r, robot.EStopReset)
		}
	})
}
