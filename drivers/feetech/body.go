package feetech

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/hosted"
	"github.com/tau-robot/tau/robot"
)

// body is the hosted.Body of a servo bus. Everything but port and gone belongs to the
// engine's one loop.
type body struct {
	o    Options
	fam  *family
	axes []axis
	ids  []byte // of the axes, in their order

	mu   sync.Mutex
	port Port               // nil while nothing is open
	gone context.CancelFunc // ends a Connect that is under way; nil while none is

	bus    *bus.Bus
	said   bus.Counters // of bus, when they were logged last
	saidAt time.Time
	servos []servo // by axis
	slowIn int     // reads until the slow block is due
	looked bool    // it has been looked for servos at other speeds

	// What an exchange needs, so that the loop makes no garbage.
	fast, slow, goals []byte
	status            []byte
	errs              []error
	some              []byte // of a slow read: who is asked
	which             []int  // and of which axes they are
	faults            []robot.Fault
}

var _ hosted.Body = (*body)(nil)

// servo is what is known of a joint's servo since the link came up.
type servo struct {
	setup setup
	last  measured
	heard time.Time // when; zero: never
	turns Turns
	watch watch
	// told: it had torque when it was read last, and hasn't been told to let go since.
	told bool
	// unsaid is how many times in a row it has answered, and said nothing of its torque and
	// its complaints; why is the last reason.
	unsaid int
	why    error
	// strange: it had torque when the link came up, and settings that aren't PowerOn's.
	strange bool
}

const (
	// slowEvery is how many reads lie between two of the slow block.
	slowEvery = 5
	// followed is how long a servo may be silent and still be followed across the seam:
	// half a turn takes the fastest of them longer.
	followed = 150 * time.Millisecond
	// latency is what an adapter and a computer add to an exchange, as they come.
	latency = 16 * time.Millisecond
	// lag is by how much a servo's own position loop is behind.
	lag = 100 * time.Millisecond
	// fullest is what part of the line's time reads and writes may take.
	fullest = 0.7
	period  = 10 * time.Millisecond
	// sayEvery is how often at most it is logged what the line has lost and damaged.
	sayEvery = 10 * time.Second
	// readEvery makes a read of each second period: 50 Hz beside setpoints at 100 Hz.
	readEvery = 2
)

func newBody(o Options, fam *family) (*body, error) {
	axes, err := newAxes(o.Model, o.Hardware, fam)
	if err != nil {
		return nil, err
	}
	n := len(axes)
	b := &body{
		o: o, fam: fam, axes: axes, servos: make([]servo, n), ids: make([]byte, n),
		fast: make([]byte, n*fam.fast.count), slow: make([]byte, n*fam.slow.count), goals: make([]byte, 0, n*fam.goal.Size),
		status: make([]byte, n), errs: make([]error, n),
		some: make([]byte, 0, n), which: make([]int, 0, n),
	}
	for i := range axes {
		b.ids[i] = axes[i].id
	}
	if _, _, err := b.times(); err != nil {
		return nil, err
	}
	return b, nil
}

// times returns the period between two setpoints, and what a read takes.
func (b *body) times() (every, read time.Duration, err error) {
	c, n := b.fam.codec(), len(b.ids)
	size := func(i bus.Instruction) int {
		out, aerr := c.Append(nil, i)
		err = errors.Join(err, aerr)
		return len(out)
	}
	goals := make([]byte, n*b.fam.goal.Size)
	write := size(bus.Instruction{Op: bus.SyncWrite, ID: bus.Broadcast, Addr: b.fam.goal.Addr, Count: b.fam.goal.Size, IDs: b.ids, Data: goals})
	answer := size(bus.Instruction{Op: bus.SyncRead, ID: bus.Broadcast, Addr: b.fam.fast.addr, Count: b.fam.fast.count, IDs: b.ids}) +
		n*c.StatusSize(b.fam.fast.count)
	if b.fam.slow.count > 0 {
		answer += n * c.StatusSize(b.fam.slow.count) / slowEvery
	}
	if err != nil {
		return 0, 0, err
	}
	const bitsPerByte = 10
	wire := func(bytes int) time.Duration {
		return time.Duration(int64(bytes) * bitsPerByte * int64(time.Second) / int64(b.o.Hardware.Baud))
	}
	read = wire(answer)
	for every = period; every <= hosted.LongestPeriod; every += period {
		if float64(readEvery*wire(write)+read) <= fullest*float64(readEvery*every) {
			return every, read, nil
		}
	}
	return 0, 0, robot.LimitErr(robot.CodeInvalidArgument, b.o.Hardware.Name, float64(b.o.Hardware.Baud), 1_000_000, "bit/s",
		fmt.Sprintf("at this speed %d servos can't be told where to go %d times a second and read as well; set them, and baud, to a higher one", n, time.Second/hosted.LongestPeriod))
}

// traits say what this body is. A servo's own speed isn't used: it is that of the moment,
// and a servo that follows a goal every few milliseconds goes in little steps.
func (b *body) traits() hosted.Traits {
	every, read, _ := b.times() // newBody has refused what gives an error
	t := hosted.Traits{
		Backend: b.fam.name, Version: Version, Device: b.o.Port, Period: every, ReadEvery: readEvery,
		Exchange: read + latency, Measured: make([]bool, len(b.axes)), Lag: lag,
	}
	for i := range t.Measured {
		t.Measured[i] = true
	}
	if b.fam.watchdog.Size > 0 {
		t.Watchdog = watchdogTime
	}
	return t
}

// Write implements hosted.Body: one packet to all servos, which none acknowledges.
func (b *body) Write(_ context.Context, q []float64) error {
	data := b.goals[:0]
	for i := range b.axes {
		t, err := b.axes[i].ticks(q[i])
		if err != nil {
			return err
		}
		if data, err = b.fam.goal.Append(data, int64(t)); err != nil {
			return err
		}
	}
	return b.bus.SyncWrite(b.fam.goal.Addr, b.fam.goal.Size, b.ids, data)
}

// Confirm implements hosted.Body: the servos' goals are read back.
func (b *body) Confirm(_ context.Context, q []float64) (robot.Tri, error) {
	size := b.fam.goal.Size
	back := b.goals[:len(b.ids)*size]
	n, err := b.bus.SyncRead(b.fam.goal.Addr, size, b.ids, back, b.status, b.errs)
	if err != nil {
		return robot.Unknown, err
	}
	for i := range b.axes {
		t, err := b.axes[i].ticks(q[i])
		if err != nil {
			return robot.Unknown, err
		}
		if v, _ := b.fam.goal.Value(back[i*size:]); b.errs[i] == nil && v != int64(t) {
			return robot.No, nil
		}
	}
	if n < len(b.ids) {
		return robot.Unknown, nil
	}
	return robot.Yes, nil
}

// Set implements hosted.Body: a servo bus has nothing beside the joints.
func (b *body) Set(_ context.Context, actuator int, _ float64) (float64, error) {
	return 0, robot.Errf(robot.CodeNotSupported, b.fam.name, "actuator %d: a servo bus has nothing beside its joints", actuator)
}

// Disconnect implements hosted.Body. It ends a Connect that is under way as well.
func (b *body) Disconnect() error {
	b.mu.Lock()
	gone := b.gone
	b.mu.Unlock()
	if gone != nil {
		gone()
	}
	return b.hangUp()
}

// hangUp closes the line, if it is open.
func (b *body) hangUp() error {
	b.mu.Lock()
	p := b.port
	b.port = nil
	b.mu.Unlock()
	if p == nil {
		return nil
	}
	return p.Close()
}

// about is an error about a joint's servo. The bus's own names the servo.
func (b *body) about(i int, err error) error {
	if err == nil || robot.CodeOf(err) == robot.CodeDisconnected || robot.CodeOf(err) == robot.CodeLinkTimeout {
		return err
	}
	return robot.Errf(robot.CodeOf(err), b.axes[i].hw.Name, "%w", err)
}

// unknown is what a joint is of which nothing is known.
func unknown(err error) hosted.Joint {
	return hosted.Joint{Position: math.NaN(), Velocity: math.NaN(), Effort: math.NaN(), Setpoint: math.NaN(), Err: err}
}
