package feetech_test

import (
	"context"
	"math"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech"
	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/dxl"
	"github.com/tau-robot/tau/drivers/feetech/emulator"
	"github.com/tau-robot/tau/drivers/feetech/sts"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/hardware"
)

// arm is which robot a test is about.
type arm struct {
	name, file string
	kind       emulator.Kind
	volts      float64
	start      map[string]float64 // rad
	target     map[string]float64 // rad
}

// so101 is six STS3215, pantilt two Dynamixel.
func so101() arm {
	return arm{
		name: "so101", file: "so101-feetech.toml", kind: emulator.STS3215, volts: 7.4,
		start:  map[string]float64{"shoulder_lift": -0.6, "elbow_flex": 0.6, "wrist_flex": 0.9},
		target: map[string]float64{"shoulder_pan": 0.8, "shoulder_lift": -0.2, "elbow_flex": 0.2, "wrist_flex": 0.4, "gripper": 0.6},
	}
}

func pantilt() arm {
	return arm{
		name: "pantilt", file: "pantilt-dynamixel.toml", kind: emulator.XL430, volts: 12,
		target: map[string]float64{"pan": 0.9, "tilt": 0.5},
	}
}

// arms are both.
func arms() []arm { return []arm{so101(), pantilt()} }

// configuration is one of the model's joints, 0 where by says nothing.
func configuration(m *robot.Model, by map[string]float64) []float64 {
	q := make([]float64, m.DoF())
	for name, v := range by {
		q[m.ActiveIndex(name)] = v
	}
	return q
}

// bench is an arm on an emulated bus.
type bench struct {
	arm
	line  *emulator.Bus
	free  *emulator.Free
	trace *emulator.Recorder
	o     feetech.Options
	// tell, set before anything is opened, is told of each packet instead of trace.
	tell func(emulator.Packet)
	on   atomic.Pointer[hooks]
}

// hooks are a hand on the host's end of the line, in the goroutine that speaks on it.
type hooks struct {
	before func(i bus.Instruction)  // before the host's bytes go on the line; nil: nothing
	after  func(came []byte) []byte // what is read in place of what came; nil: that
}

// load reads the arm's model and file. A servo bus has nothing beside the joints, so the
// model has not either.
func (a arm) load(t testing.TB) (*robot.Model, *hardware.File) {
	m, err := builtin.Load(a.name)
	require.NoError(t, err)
	m.Actuators = nil
	path := "../../testdata/hardware/" + a.file
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	f, err := hardware.Parse(a.file, data, m, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	require.NoError(t, err)
	m, err = f.Tightened(m)
	require.NoError(t, err)
	return m, f
}

// bench makes the arm; within a bubble. Each servo is set up as the file says, and stands
// where the arm starts.
func (a arm) bench(t testing.TB) *bench {
	m, f := a.load(t)
	b := &bench{arm: a, trace: &emulator.Recorder{}}
	ids := make([]byte, len(f.Joints))
	shafts := make([]float64, len(f.Joints))
	start := configuration(m, a.start)
	for i := range f.Joints {
		ids[i] = byte(f.Joints[i].Channel)
		shafts[i] = b.shaftAt(&f.Joints[i], start[i])
	}
	b.free = emulator.NewFree(shafts...)
	var err error
	b.line, err = emulator.New(emulator.Options{Kind: a.kind, IDs: ids, Arm: b.free, Baud: f.Baud, Volts: a.volts, Trace: b.packet})
	require.NoError(t, err)
	for i := range f.Joints {
		b.register(t, ids[i], b.offsetRegister(), b.offsetValue(f.Joints[i].Offset))
	}
	b.o = feetech.Options{
		Model: m, Hardware: f, Port: "the bus",
		Dial: func(context.Context) (feetech.Port, error) { return b.dial() },
	}
	return b
}

// dial is the line; no typed nil.
func (b *bench) dial() (feetech.Port, error) {
	l, err := b.line.Dial()
	if err != nil {
		return nil, err
	}
	return &tap{Link: l, b: b, codec: b.codec()}, nil
}

// packet takes one from the wire.
func (b *bench) packet(p emulator.Packet) {
	if b.tell != nil {
		b.tell(p)
		return
	}
	b.trace.Add(p)
}

func (b *bench) codec() bus.Codec {
	if b.kind == emulator.XL430 {
		return dxl.New()
	}
	return sts.New()
}

// tap is the host's end, with a hand on it.
type tap struct {
	*emulator.Link
	b     *bench
	codec bus.Codec
}

func (p *tap) Write(raw []byte) (int, error) {
	if h := p.b.on.Load(); h != nil && h.before != nil {
		if i, _, err := p.codec.ParseInstruction(raw); err == nil {
			h.before(i)
		}
	}
	return p.Link.Write(raw)
}

// Read never returns nothing without an error: what was to be nothing is waited past.
func (p *tap) Read(raw []byte) (int, error) {
	for {
		n, err := p.Link.Read(raw)
		h := p.b.on.Load()
		if err != nil || h == nil || h.after == nil {
			return n, err
		}
		if n = copy(raw, h.after(raw[:n])); n > 0 {
			return n, nil
		}
	}
}

func (b *bench) register(t testing.TB, id byte, addr int, v uint32) {
	t.Helper()
	require.NoError(t, b.line.SetRegister(id, addr, v))
}

func (b *bench) offsetRegister() int {
	if b.kind == emulator.XL430 {
		return int(dxl.HomingOffset.Addr)
	}
	return int(sts.HomingOffset.Addr)
}

// offsetValue is an offset as the register has it.
func (b *bench) offsetValue(offset int) uint32 {
	switch {
	case b.kind == emulator.XL430:
		return uint32(int32(-offset))
	case offset < 0:
		return uint32(-offset) | 1<<11
	}
	return uint32(offset)
}

// goal is where a goal lies in a servo's memory, and in how many bytes.
func (b *bench) goal() (addr uint16, size int) {
	if b.kind == emulator.XL430 {
		return dxl.GoalPosition.Addr, dxl.GoalPosition.Size
	}
	return sts.GoalPosition.Addr, sts.GoalPosition.Size
}

func (b *bench) torque() uint16 {
	if b.kind == emulator.XL430 {
		return dxl.TorqueEnable.Addr
	}
	return sts.TorqueEnable.Addr
}

const perRadian = feetech.Turn / (2 * math.Pi)

// shaftAt is where a joint's shaft stands, rad from the middle of its encoder, with the
// joint at q.
func (b *bench) shaftAt(j *hardware.Joint, q float64) float64 {
	return (j.Units(q) + float64(j.Offset) - feetech.Turn/2) / perRadian
}

// id is the servo of a joint.
func (b *bench) id(joint int) byte { return byte(b.o.Hardware.Joints[joint].Channel) }

// observe sees the joints as somebody beside the robot does.
func (b *bench) observe() []float64 {
	out := make([]float64, len(b.o.Hardware.Joints))
	for i := range out {
		j := &b.o.Hardware.Joints[i]
		out[i] = j.Position(b.line.Shaft(b.id(i))*perRadian + feetech.Turn/2 - float64(j.Offset))
	}
	return out
}

// hand moves a joint that has no torque.
func (b *bench) hand(t testing.TB, joint int, q float64) {
	t.Helper()
	ok(t, b.line.ByHand(b.id(joint), b.shaftAt(&b.o.Hardware.Joints[joint], q)))
}

// ok is must for the goroutine that speaks on the line, which a test may not end.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// each does something to every servo.
func (b *bench) each(t testing.TB, do func(id byte) error) {
	t.Helper()
	for i := range b.o.Hardware.Joints {
		require.NoError(t, do(b.id(i)))
	}
}

func (b *bench) open(t testing.TB) *feetech.Robot {
	t.Helper()
	r, err := feetech.Open(context.Background(), b.o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// enabled is open with the torque on.
func (b *bench) enabled(t testing.TB) *feetech.Robot {
	t.Helper()
	r := b.open(t)
	require.NoError(t, actuate(t, r, robot.TorqueOn))
	return r
}

func actuate(t testing.TB, r *feetech.Robot, kind robot.CommandKind) error {
	t.Helper()
	s, err := r.State(context.Background())
	require.NoError(t, err)
	_, err = r.Actuate(context.Background(), robot.Command{ID: t.Name(), Kind: kind, Epoch: s.StopEpoch})
	return err
}

// motion is a straight line of so many seconds in joint space from where the robot is.
func (b *bench) motion(t testing.TB, r *feetech.Robot, to []float64, seconds float64) robot.Motion {
	t.Helper()
	s, err := r.State(context.Background())
	require.NoError(t, err)
	n := len(to)
	m := robot.Motion{ID: t.Name(), Epoch: s.StopEpoch, StartTolerance: make([]float64, n), MaxDeviation: make([]float64, n)}
	for i := range to {
		m.StartTolerance[i], m.MaxDeviation[i] = 0.02, 0.2
	}
	from := s.Positions
	h := seconds / 4
	q, v, a := append([]float64(nil), from...), make([]float64, n), make([]float64, n)
	m.Trajectory.Joints = r.Info().Joints
	for _, k := range [...]struct{ t, sign float64 }{{h, 1}, {2 * h, -1}, {h, 1}} {
		g := robot.Segment{Duration: k.t}
		for i := range q {
			j := k.sign * (to[i] - from[i]) / (2 * h * h * h)
			g.Q, g.V, g.A, g.J = append(g.Q, q[i]), append(g.V, v[i]), append(g.A, a[i]), append(g.J, j)
			q[i] += k.t * (v[i] + k.t*(a[i]/2+k.t*j/6))
			v[i] += k.t * (a[i] + k.t*j/2)
			a[i] += k.t * j
		}
		m.Trajectory.Segments = append(m.Trajectory.Segments, g)
	}
	require.NoError(t, m.Trajectory.Validate(r.Info().Limits))
	return m
}

// moveTo runs one and returns how it ended.
func (b *bench) moveTo(t testing.TB, r *feetech.Robot, to []float64, seconds float64) (robot.Outcome, error) {
	t.Helper()
	return r.Execute(context.Background(), b.motion(t, r, to, seconds), nil)
}

// to is the arm's target.
func (b *bench) to() []float64 { return configuration(b.o.Model, b.target) }
