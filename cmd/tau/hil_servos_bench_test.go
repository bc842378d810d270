package main

import (
	"context"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/emulator"
	"github.com/tau-robot/tau/drivers/feetech/sts"
	"github.com/tau-robot/tau/drivers/mcu/boardtest"
	"github.com/tau-robot/tau/drivers/port/porttest"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// busBench is an SO-101 at the end of a real pseudo-terminal: its servos are emulated, in
// this process, by the wall clock. All times in its tests are the bus's.
type busBench struct {
	*bench
	bus   *emulator.Bus
	wire  *emulator.Recorder
	cable *porttest.Proxy
	start time.Time
}

// folded is where the arm stands at the start, rad; 0 for what isn't named.
var folded = map[string]float64{"shoulder_lift": -0.6, "elbow_flex": 0.6, "wrist_flex": 0.9}

// arm is the SO-101 of the example, switched on, its bridge running.
func arm(t *testing.T) *busBench {
	t.Helper()
	boardtest.OnTheWallClock(t)
	b := &busBench{bench: benchOf(t, "so101", "so101-feetech.toml"), wire: &emulator.Recorder{}, start: time.Now()}
	var ids []byte
	var shafts []float64
	for i := range b.hw.Joints {
		ids = append(ids, b.id(i))
		shafts = append(shafts, b.shaft(i, folded[b.hw.Joints[i].Name]))
	}
	var err error
	b.bus, err = emulator.New(emulator.Options{
		Kind: emulator.STS3215, IDs: ids, Arm: emulator.NewFree(shafts...), Baud: b.hw.Baud, Trace: b.wire.Add,
	})
	require.NoError(t, err)
	for i := range b.hw.Joints {
		require.NoError(t, b.bus.SetOffset(b.id(i), b.hw.Joints[i].Offset))
	}
	b.cable = porttest.Start(t, porttest.Options{})
	b.port = b.cable.Path()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- b.bus.Serve(ctx, lent{b.cable.Board()}, nil) }()
	t.Cleanup(func() { // before the cable's own
		cancel()
		require.NoError(t, <-served)
	})
	b.begins(t)
	return b
}

// lent is a file of somebody else: what has it open ends, and it isn't closed.
type lent struct{ *os.File }

func (l lent) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

var _ io.ReadWriteCloser = lent{}

// begins is that of bench, again where a busy machine let no servo answer in time.
func (b *busBench) begins(t *testing.T, before ...string) {
	t.Helper()
	for range 5 {
		b.launches(t)
		opened := false
		eventually(t, func() bool {
			opened = strings.Contains(b.out.String(), b.opened())
			select {
			case <-b.ended:
				return true
			default:
				return opened
			}
		}, "a bridge")
		if opened {
			for _, text := range before {
				b.await(text)
			}
			b.await("tau> ")
			return
		}
		require.Regexp(t, "doesn't answer|answers|no answer", b.out.String())
		t.Logf("the machine was too busy:\n%s", b.shows())
	}
	t.Fatal("the machine was too busy for five starts")
}

// id is the servo of a joint, shaft where it stands (rad from the middle of its encoder) with
// the joint at q.
func (b *busBench) id(joint int) byte { return byte(b.hw.Joints[joint].Channel) }

const perTurn = 4096 // ticks

func (b *busBench) shaft(joint int, q float64) float64 {
	j := &b.hw.Joints[joint]
	return (j.Units(q) + float64(j.Offset) - perTurn/2) / j.Scale
}

// observed are the joints as somebody does who stands beside the arm, rad.
func (b *busBench) observed() []float64 {
	q := make([]float64, len(b.hw.Joints))
	for i := range q {
		j := &b.hw.Joints[i]
		q[i] = j.Position(b.bus.Shaft(b.id(i))*j.Scale + perTurn/2 - float64(j.Offset))
	}
	return q
}

// clock is the bus's time.
func (b *busBench) clock() time.Duration { return time.Since(b.start) }

// goals are the setpoints on the wire since a time, each of all joints at once.
func (b *busBench) goals(from time.Duration) (out []told) {
	b.t.Helper()
	n := len(b.hw.Joints)
	for _, w := range b.wire.Writes(sts.GoalPosition.Addr, sts.GoalPosition.Size) {
		if w.At < from {
			continue
		}
		i := slices.IndexFunc(b.hw.Joints, func(j hardware.Joint) bool { return byte(j.Channel) == w.ID })
		require.GreaterOrEqual(b.t, i, 0, "a goal for servo %d, which is no joint's", w.ID)
		ticks := int(w.Data[0]) | int(w.Data[1])<<8
		require.Zero(b.t, ticks&0x8000, "below 0")
		if len(out) == 0 || out[len(out)-1].at != w.At {
			out = append(out, told{at: w.At, q: make([]float64, n)})
		}
		out[len(out)-1].q[i] = b.hw.Joints[i].Position(float64(ticks))
	}
	return out
}

// wrote is what the servos were told since a time, of whatever kind.
func (b *busBench) wrote(from time.Duration) (out []emulator.Packet) {
	for _, p := range b.wire.Packets() {
		if p.FromHost && p.End >= from && p.Op != bus.Ping && p.Op != bus.Read && p.Op != bus.SyncRead {
			out = append(out, p)
		}
	}
	return out
}

// looks waits until the bridge has read its servos so many times more: it lives, and had the
// time for whatever it might have written.
func (b *busBench) looks(times int) {
	b.t.Helper()
	reads := func() (n int) {
		for _, p := range b.wire.Packets() {
			if p.FromHost && p.Op == bus.SyncRead {
				n++
			}
		}
		return n
	}
	until := reads() + times
	eventually(b.t, func() bool { return reads() >= until }, "another read")
}

// silent requires that nothing was written to any servo since a time.
func (b *busBench) silent(from time.Duration) {
	b.t.Helper()
	for _, p := range b.wrote(from) {
		b.t.Fatalf("nobody approved that: %v of % x at %d of servo %d", p.Op, p.Data, p.Addr, p.ID)
	}
}

// settles waits until no joint moves any more, and requires that none does for a while.
func (b *busBench) settles() []float64 {
	b.t.Helper()
	at := b.observed()
	eventually(b.t, func() bool {
		time.Sleep(100 * time.Millisecond)
		before := at
		at = b.observed()
		for i := range at {
			if abs(at[i]-before[i]) > tick/2 {
				return false
			}
		}
		return true
	}, "rest")
	time.Sleep(300 * time.Millisecond)
	require.InDeltaSlice(b.t, at, b.observed(), tick, "it goes on")
	return at
}

// tick is the least that a servo's encoder tells apart, rad.
const tick = 1 / 651.8986

// powers has torque_on approved.
func (b *busBench) powers() bool {
	b.t.Helper()
	return b.approved("torque_on", "✓ torque_on")
}

// underway has a slow motion of the shoulder to its other side approved, and returns it and
// when it began, once it is on its way.
func (b *busBench) underway() (m robot.Motion, from time.Duration, ok bool) {
	b.t.Helper()
	to := 0.7
	if b.observed()[0] > 0 {
		to = -to
	}
	if m, ok = b.asked("move_joints speed_scale=0.3 shoulder_pan=" + strconv.FormatFloat(to, 'g', -1, 64)); !ok {
		return m, 0, false
	}
	from = b.clock()
	b.answers("y")
	first := b.observed()[0]
	return m, from, b.begun(func() bool { return abs(b.observed()[0]-first) > 0.1 })
}

// follows requires that the goals since a time were those of an approved motion, up to its
// end.
func (b *busBench) follows(m robot.Motion, from time.Duration) {
	b.t.Helper()
	require.Len(b.t, m.Trajectory.Joints, len(b.hw.Joints))
	joints, tolerance := make([]int, len(b.hw.Joints)), make([]float64, len(b.hw.Joints))
	for i := range joints {
		require.Equal(b.t, m.Trajectory.Joints[i], b.hw.Joints[i].Name)
		joints[i], tolerance[i] = i, 1.01*tick/2+1e-3*b.model.Limits[i].Velocity // rounding, and the steps of along
	}
	along(b.t, m.Trajectory, joints, b.goals(from), tolerance, never)
}
