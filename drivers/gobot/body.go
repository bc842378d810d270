package gobot

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tau-robot/tau/drivers/hosted"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// rig is one connection to what moves a robot's servos: a board, or this computer's own
// pins. It belongs to one goroutine but for Close, and is never used again after an error
// of the link.
type rig interface {
	servo(i int) servo   // of joint i
	output(i int) output // of actuator i
	// batch has the setpoints that f sets leave in one go.
	batch(f func() error) error
	// input returns the newest counts of an analogue input and a time that they didn't
	// arrive before; the zero time: none have.
	input(ch int) (counts int, at time.Time)
	// again reports whether the hardware has forgotten what it was told, and makes it
	// ready anew. It moves and powers nothing.
	again(ctx context.Context) (bool, error)
	Close() error
}

// servo is what moves one joint.
type servo interface {
	// step returns the pulse, µs, that the hardware makes of one.
	step(us float64) float64
	// set gives the next setpoint, µs; within a batch.
	set(us float64) error
	// attach begins the pulses at us, and asks whether that was done.
	attach(ctx context.Context, us float64) error
	// detach ends them. It asks nobody.
	detach(ctx context.Context) error
	// read asks whether there are pulses, and how long they are; NaN: that isn't said.
	read(ctx context.Context) (powered bool, us float64, err error)
}

// output is what switches one actuator.
type output interface {
	most() float64 // the largest value, from 0
	// set returns the value that the hardware's steps make of v.
	set(ctx context.Context, v float64) (float64, error)
}

// body is the hosted.Body of a rig.
type body struct {
	hw   *hardware.File
	open func(ctx context.Context) (rig, error)

	mu     sync.Mutex // of what follows; the loop's own methods hold it for no exchange
	rig    rig        // nil: not connected
	cancel context.CancelFunc
	closed chan struct{} // closed by the Disconnect of this connection

	// What follows is the loop's alone.
	powered []bool
	gone    []bool    // its pulses were ended, and nobody has looked since
	told    []float64 // µs; NaN: nothing
	seen    []float64 // rad or m: a setpoint that isn't what it was told; NaN: none was found
	wrong   []error   // by joint: what came of asking it last
	next    int       // the joint that is asked next
	first   bool      // nothing was read of this connection yet
	again   bool      // and there was one before it
	before  bool      // there was a connection
}

var _ hosted.Body = (*body)(nil)

// freshFor is how old the newest report of an analogue input may be: three of them were
// lost then, or the board has stopped to look.
const freshFor = 3*sampleEvery*time.Millisecond + 40*time.Millisecond

func newBody(f *hardware.File, open func(context.Context) (rig, error)) *body {
	b := &body{hw: f, open: open, wrong: make([]error, len(f.Joints)), powered: make([]bool, len(f.Joints)), gone: make([]bool, len(f.Joints)), told: make([]float64, len(f.Joints)), seen: make([]float64, len(f.Joints))}
	b.forget()
	return b
}

func (b *body) forget() {
	for i := range b.told {
		b.powered[i], b.gone[i], b.told[i], b.seen[i], b.wrong[i] = false, false, math.NaN(), math.NaN(), nil
	}
}

// Connect opens a new connection, which nothing of an old one is left in.
func (b *body) Connect(ctx context.Context) error {
	if err := b.Disconnect(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	b.mu.Lock()
	b.cancel, b.closed = cancel, make(chan struct{})
	closed := b.closed
	b.mu.Unlock()
	r, err := b.open(ctx)
	if err != nil {
		cancel()
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-closed:
		return errors.Join(robot.Errf(robot.CodeDisconnected, "gobot", "disconnected while connecting"), r.Close())
	default:
	}
	b.rig, b.first, b.again = r, true, b.before
	b.before = true
	b.forget()
	return nil
}

// Disconnect ends the connection. On a board with Firmata that leaves servos where they
// were told to be, with power.
func (b *body) Disconnect() error {
	b.mu.Lock()
	r, cancel, closed := b.rig, b.cancel, b.closed
	b.rig, b.cancel, b.closed = nil, nil, nil
	b.mu.Unlock()
	if closed != nil {
		close(closed)
		cancel()
	}
	if r == nil {
		return nil
	}
	return r.Close()
}

// connected returns the connection.
func (b *body) connected() (rig, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rig == nil {
		return nil, robot.Errf(robot.CodeDisconnected, "gobot", "not connected")
	}
	return b.rig, nil
}

// isLinkLoss reports an error after which there is no connection.
func isLinkLoss(err error) bool {
	c := robot.CodeOf(err)
	return c == robot.CodeDisconnected || c == robot.CodeLinkTimeout
}

// nobody reports an error of a question that nobody answered, or that wasn't asked: it says
// nothing of the one that the question was about.
func nobody(err error) bool {
	c := robot.CodeOf(err)
	return isLinkLoss(err) || c == robot.CodeStaleState || c == robot.CodeCancelled
}

// Read asks one servo after the other what it does, one with each call, and takes the
// newest of the analogue inputs: so each call is a question that the hardware has to
// answer, and one that has stopped to answer is found out whether anything moves or not.
func (b *body) Read(ctx context.Context, s *hosted.Sample) error {
	r, err := b.connected()
	if err != nil {
		return err
	}
	n := len(b.hw.Joints)
	s.Joints = slices.Grow(s.Joints[:0], n)[:n]
	s.Faults, s.Actuators, s.Restarted = s.Faults[:0], nil, false
	for i := range s.Joints {
		s.Joints[i] = hosted.Joint{Position: math.NaN(), Velocity: math.NaN(), Effort: math.NaN(), Setpoint: b.seen[i], Err: b.wrong[i]}
	}
	ask := []int{b.next}
	if b.first {
		ask = ask[:0]
		for i := range n {
			ask = append(ask, i)
		}
	}
	s.At = time.Time{}
	for _, i := range ask {
		if err := b.look(ctx, r, i, s); err != nil {
			return err
		}
	}
	b.first, b.again, b.next = false, false, (b.next+1)%n
	again, err := r.again(ctx)
	if err != nil {
		return err
	}
	if again {
		s.Restarted = true
		b.forget()
		for i := range n {
			if err := b.look(ctx, r, i, s); err != nil {
				return err
			}
		}
	}
	b.measure(r, s)
	for i := range s.Joints {
		s.Joints[i].Powered = b.powered[i]
	}
	if s.At.IsZero() {
		s.At = time.Now()
	}
	return nil
}

// look asks servo i. What goes wrong with it alone is its own error.
func (b *body) look(ctx context.Context, r rig, i int, s *hosted.Sample) error {
	j := &s.Joints[i]
	powered, us, err := r.servo(i).read(ctx)
	switch {
	case err == nil:
	case nobody(err):
		return err
	default:
		j.Err, b.wrong[i] = err, err
		return nil
	}
	j.Err, b.wrong[i] = nil, nil
	if b.again && !powered {
		// Nobody can tell a board that was only out of reach from one that was reset
		// meanwhile, unless it still holds what it was told.
		s.Restarted = true
	}
	if b.powered[i] && !powered && !b.gone[i] {
		// It was told to hold, and nothing here took that back.
		s.Restarted = true
		b.told[i] = math.NaN()
	}
	b.powered[i], b.gone[i], b.seen[i], j.Setpoint = powered, false, math.NaN(), math.NaN()
	switch {
	case !powered || math.IsNaN(us):
	case math.Abs(us-r.servo(i).step(b.told[i])) <= samePulse:
		j.Setpoint = b.hw.Joints[i].Position(b.told[i]) // and not what the hardware's steps make of it
	default:
		j.Setpoint = b.hw.Joints[i].Position(us)
		b.seen[i] = j.Setpoint
	}
	return nil
}

// samePulse is by how much, µs, two pulses of the same step may differ: the same rounding
// on both sides leaves the same number.
const samePulse = 1e-3

// measure makes positions of the analogue inputs.
func (b *body) measure(r rig, s *hosted.Sample) {
	now := time.Now()
	for i := range s.Joints {
		hw, j := &b.hw.Joints[i], &s.Joints[i]
		if hw.Feedback != hardware.ADC || j.Err != nil {
			continue
		}
		counts, at := r.input(hw.ADCPin)
		if age := now.Sub(at); at.IsZero() || age > freshFor {
			j.Err = robot.LimitErr(robot.CodeStaleState, hw.Name, min(age, time.Hour).Seconds(), freshFor.Seconds(), "s", "the board's last report of its analogue input is too old")
			continue
		}
		q, ok := hw.Measured(float64(counts))
		if !ok {
			first, last := hw.Points[0].Counts, hw.Points[len(hw.Points)-1].Counts
			j.Err = robot.LimitErr(robot.CodeStaleState, hw.Name, float64(counts), max(first, last), "counts",
				"its feedback is outside of the calibrated range: a broken wire, or a calibration of another servo")
			continue
		}
		j.Position = q
		if s.At.IsZero() || at.Before(s.At) {
			s.At = at
		}
	}
}

// reach are the shortest and the longest pulse, µs, within a joint's limits.
func reach(j *hardware.Joint) (least, most float64) {
	a, b := j.Units(j.Lower), j.Units(j.Upper)
	return min(a, b), max(a, b)
}

// pulse returns the pulse of joint i at q, or refuses one that it may not be sent.
func (b *body) pulse(i int, q float64) (float64, error) {
	j := &b.hw.Joints[i]
	us := j.Units(q)
	least, most := reach(j)
	const slack = 1e-6 // of rounding
	if !(us >= least-slack && us <= most+slack) {
		unit := j.Kind.Unit()
		return 0, robot.LimitErr(robot.CodeJointLimit, j.Name, us, min(max(us, least), most), unit, "the setpoint is outside of the joint's limits; nothing was sent")
	}
	return min(max(us, least), most), nil
}

// pulses are those of all joints.
func (b *body) pulses(q []float64) ([]float64, error) {
	if len(q) != len(b.hw.Joints) {
		return nil, robot.Errf(robot.CodeInvalidArgument, "gobot", "%d setpoints for %d joints", len(q), len(b.hw.Joints))
	}
	out := make([]float64, len(q))
	for i := range q {
		var err error
		if out[i], err = b.pulse(i, q[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Write sends the setpoints of all joints that have power in one go.
func (b *body) Write(_ context.Context, q []float64) error {
	r, err := b.connected()
	if err != nil {
		return err
	}
	us, err := b.pulses(q)
	if err != nil {
		return err
	}
	err = r.batch(func() error {
		for i := range us {
			if !b.powered[i] {
				continue
			}
			if err := r.servo(i).set(us[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range us {
		if b.powered[i] {
			b.told[i] = us[i]
		}
	}
	return nil
}

// Confirm asks each servo for its setpoint.
func (b *body) Confirm(ctx context.Context, q []float64) (robot.Tri, error) {
	r, err := b.connected()
	if err != nil {
		return robot.Unknown, err
	}
	us, err := b.pulses(q)
	if err != nil {
		return robot.Unknown, err
	}
	for i := range us {
		powered, at, err := r.servo(i).read(ctx)
		if err != nil {
			return robot.Unknown, err
		}
		if !powered || !(math.Abs(at-r.servo(i).step(us[i])) <= samePulse) {
			return robot.No, nil
		}
	}
	return robot.Yes, nil
}

// PowerOn attaches one servo after the other at its setpoint.
func (b *body) PowerOn(ctx context.Context, q []float64) error {
	r, err := b.connected()
	if err != nil {
		return err
	}
	us, err := b.pulses(q)
	if err != nil {
		return err
	}
	for i := range us {
		// From here on it may have power, whatever is said of it.
		b.powered[i], b.gone[i], b.told[i] = true, false, us[i]
		if err := r.servo(i).attach(ctx, us[i]); err != nil {
			return named(b.hw.Joints[i].Name, err)
		}
	}
	return nil
}

// PowerOff ends the pulses of each servo. Whether they have ended is what the next Read
// asks each of them.
func (b *body) PowerOff(ctx context.Context) error {
	r, err := b.connected()
	if err != nil {
		return err
	}
	b.first = true
	var all []error
	for i := range b.hw.Joints {
		if err := r.servo(i).detach(ctx); err != nil {
			all = append(all, named(b.hw.Joints[i].Name, err))
			continue
		}
		b.gone[i] = true
	}
	return errors.Join(all...)
}

// named says of an error which joint it is of.
func named(joint string, err error) error {
	var e *robot.Error
	if errors.As(err, &e) && e.Where == joint {
		return err
	}
	return robot.Errf(robot.CodeOf(err), joint, "%w", err)
}

// Set sets an output.
func (b *body) Set(ctx context.Context, actuator int, v float64) (float64, error) {
	r, err := b.connected()
	if err != nil {
		return 0, err
	}
	o := &b.hw.Outputs[actuator]
	out := r.output(actuator)
	n := math.Round(v * o.Scale)
	if !(n >= 0 && n <= out.most()) {
		return 0, robot.LimitErr(robot.CodeInvalidArgument, o.Actuator, n, min(max(n, 0), out.most()), "", "the output has no such value; nothing was sent")
	}
	got, err := out.set(ctx, n)
	if err != nil {
		return 0, named(o.Actuator, err)
	}
	return got / o.Scale, nil
}

// Clear has nothing to do: neither a board nor a servo latches anything.
func (b *body) Clear(context.Context) error {
	_, err := b.connected()
	return err
}

// sorted are a map's keys in order.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
