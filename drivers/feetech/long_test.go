package feetech_test

import (
	"context"
	"flag"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/drivers/feetech"
	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/emulator"
	"github.com/tau-robot/tau/robot"
)

var minutes = flag.Float64("minutes", 0, "simulated minutes of streaming; 0: 10, or a part of one under the race detector")

// thereAndBack is one motion that goes to a configuration and back so many times.
func (b *bench) thereAndBack(t *testing.T, r *feetech.Robot, to []float64, seconds float64, times int) robot.Motion {
	t.Helper()
	m := b.motion(t, r, to, seconds)
	there := m.Trajectory.Segments
	back := make([]robot.Segment, len(there))
	end := m.Trajectory.End()
	start := m.Trajectory.Start()
	for k, g := range there {
		back[k] = robot.Segment{Duration: g.Duration}
		for i := range g.Q {
			// The same way mirrored: where the one has gone to, the other has yet to.
			back[k].Q = append(back[k].Q, end[i]+start[i]-g.Q[i])
			back[k].V, back[k].A, back[k].J = append(back[k].V, -g.V[i]), append(back[k].A, -g.A[i]), append(back[k].J, -g.J[i])
		}
	}
	m.Trajectory.Segments = nil
	for range times {
		m.Trajectory.Segments = append(append(m.Trajectory.Segments, there...), back...)
	}
	require.NoError(t, m.Trajectory.Validate(r.Info().Limits))
	return m
}

// Setpoints at 100 Hz to six servos, read back at 50 Hz, on one line: not one exchange
// that isn't whole, not one answer that is damaged, while the state is asked for 200 times
// a second. Ten minutes by default; under the race detector a part of one (-minutes).
func TestStreamingWithoutACorruptExchange(t *testing.T) {
	length := *minutes
	if length == 0 {
		length = 10
		if raced {
			length = 0.1
		}
	}
	synctest.Test(t, func(t *testing.T) {
		b := so101().bench(t)
		var mu sync.Mutex
		var w whole
		var writes, reads int
		b.tell = func(p emulator.Packet) {
			mu.Lock()
			defer mu.Unlock()
			w.take(p)
			switch {
			case p.FromHost && p.Op == bus.SyncWrite:
				writes++
			case p.FromHost && p.Op == bus.SyncRead:
				reads++
			}
		}
		r := b.enabled(t)
		const each = 12 * time.Second
		began := time.Now()
		mu.Lock()
		writes, reads = 0, 0
		mu.Unlock()
		asked, stale := 0, 0
		ctx, cancel := context.WithCancel(context.Background())
		var poll sync.WaitGroup
		poll.Go(func() {
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					asked++
					if _, err := r.State(ctx); err != nil {
						stale++
					}
				}
			}
		})
		moved := time.Duration(0)
		for moved < time.Duration(length*float64(time.Minute)) {
			m := b.thereAndBack(t, r, b.to(), 2, int(each/(4*time.Second)))
			out, err := r.Execute(context.Background(), m, nil)
			require.NoError(t, err)
			require.Equal(t, robot.OutcomeDone, out.Status)
			moved += time.Duration(m.Trajectory.Duration() * float64(time.Second))
		}
		took := time.Since(began)
		cancel()
		poll.Wait()
		mu.Lock()
		defer mu.Unlock()
		require.Empty(t, w.bad)
		require.Zero(t, stale, "no state was refused")
		require.InDelta(t, 200*took.Seconds(), asked, 0.02*float64(asked)+2)
		require.InDelta(t, 100*moved.Seconds(), writes, 0.02*float64(writes), "setpoints a second")
		require.InDelta(t, 50*took.Seconds(), reads, 0.02*float64(reads)+10, "reads a second")
		t.Logf("%v of motion: %d setpoints to 6 servos, %d reads of 6 servos, %d packets, all whole; the state was asked for %d times", moved, writes, reads, w.packet, asked)
	})
}

// A hundred times the cable is out and in again: nothing moves by that, no state is given
// that wasn't just measured, and nothing is left behind.
func TestAHundredUnplugs(t *testing.T) {
	cycles := 100
	if raced {
		cycles = 12
	}
	for _, a := range arms() {
		t.Run(a.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := a.bench(t)
				none := goleak.IgnoreCurrent()
				r, err := feetech.Open(context.Background(), b.o)
				require.NoError(t, err)
				t.Cleanup(func() { _ = r.Close() }) // of a failure
				require.NoError(t, actuate(t, r, robot.TorqueOn))
				_, err = b.moveTo(t, r, b.to(), 2)
				require.NoError(t, err)
				at := b.observe()
				b.trace.Reset()
				for i := range cycles {
					_, err := r.State(context.Background())
					require.NoError(t, err)
					b.line.Unplug()
					time.Sleep(time.Duration(20+i%7*40) * time.Millisecond)
					_, err = r.State(context.Background())
					require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
					b.line.Plug()
					plugged := time.Now()
					for {
						s, err := r.State(context.Background())
						if err == nil {
							require.False(t, s.MeasuredAt.Before(plugged), "what was measured before is given for new")
							require.InDeltaSlice(t, at, s.Positions, 2e-3)
							require.False(t, s.Enabled)
							break
						}
						require.Less(t, time.Since(plugged), 30*time.Second)
						time.Sleep(50 * time.Millisecond)
					}
				}
				require.InDeltaSlice(t, at, b.observe(), 1e-4, "it moved")
				for _, p := range b.trace.Packets() {
					require.False(t, wrote(p), "%v at %d", p.Op, p.Addr)
				}
				require.NoError(t, actuate(t, r, robot.EStopReset))
				require.NoError(t, actuate(t, r, robot.TorqueOff))
				require.NoError(t, r.Close())
				synctest.Wait()
				require.NoError(t, goleak.Find(none))
			})
		})
	}
}

// What a read of six servos takes, beside what its bytes take on the wire and the servos
// and the adapter need to turn round.
func TestSyncReadOfSixServos(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := so101().bench(t)
		l, err := b.line.Dial()
		require.NoError(t, err)
		defer func() { require.NoError(t, l.Close()) }()
		line, err := bus.New(l, b.codec(), bus.Options{Baud: 1000000, Echo: bus.NoEcho})
		require.NoError(t, err)
		ids := []byte{1, 2, 3, 4, 5, 6}
		for _, c := range []struct {
			what  string
			addr  uint16
			count int
		}{{"position alone", 56, 2}, {"all of it, as this driver reads", 40, 31}} {
			dst, status, errs := make([]byte, 6*c.count), make([]byte, 6), make([]error, 6)
			const times = 50
			b.trace.Reset()
			began := time.Now()
			for range times {
				n, err := line.SyncRead(c.addr, c.count, ids, dst, status, errs)
				require.NoError(t, err)
				require.Equal(t, 6, n)
			}
			took := time.Since(began) / times
			// Turnaround: what lies between two packets on the wire, as it was there.
			var bytes int
			var gaps, end time.Duration
			for i, p := range b.trace.Packets() {
				bytes += len(p.Bytes)
				if i > 0 && !p.FromHost {
					gaps += p.At - end
				}
				end = p.End
			}
			wire := line.WireTime(bytes) / times
			gaps /= times
			t.Logf("%s: %d bytes, %v on the wire + %v of turning round; the read took %v", c.what, bytes/times, wire, gaps, took)
			require.LessOrEqual(t, took, wire*13/10+gaps, "1.3 times the wire, and the turning round")
		}
	})
}
