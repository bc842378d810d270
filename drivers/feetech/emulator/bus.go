package emulator

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/dxl"
	"github.com/tau-robot/tau/drivers/feetech/sts"
	"github.com/tau-robot/tau/robot"
)

// Kind is a make of servo.
type Kind uint8

// The kinds. The zero value is none.
const (
	STS3215 Kind = iota + 1 // Feetech's, of an SO-100 or SO-101
	XL430                   // Robotis' XL430-W250, of the Dynamixel X series
)

const (
	// loop is the period of a servo's own loop, and of the arm's steps.
	loop = time.Millisecond
	// think is how long a servo takes to begin with its answer, beyond the delay of its
	// register, and skews by how much more each may take, so that two servos with one ID
	// don't answer bit by bit together. Assumed.
	think = 8 * time.Microsecond
	skews = 4 * time.Microsecond
	// silence is after which pause in the middle of a packet a servo forgets its beginning.
	silence = 100 * time.Millisecond
	// patience is how long, beyond what an answer takes, a servo waits in a sync read for
	// one before it that says nothing. Assumed.
	patience = 200 * time.Microsecond
	// pingSlot is how far apart servos answer a ping to all, by ID (the maker's
	// description of protocol 2.0; Feetech's servos spread out as well).
	pingSlot = 3 * time.Millisecond
	// earSize bounds what a servo keeps of a packet that doesn't end, and the trace of what
	// is none.
	earSize = 2048
	// fifo is what the host's adapter keeps for a reader that doesn't come.
	fifo = 4096
	// mostLag is how far behind the clock a served bus may be before it leaves time out.
	mostLag = 250 * time.Millisecond
)

// Options say which servos hang on the bus.
type Options struct {
	Kind Kind
	IDs  []byte // of the servos, in the order of the arm's joints; different ones
	Arm  Arm    // what they turn; the Bus is its only user. nil: a Free one, all at the middle
	Baud int    // bit/s that the servos are set to; 0: 1,000,000
	Seed uint64 // of noise and garbling
	// Volts is the supply; 0: 7.4 of STS3215s, 12 of XL430s.
	Volts float64
	// Trace is told of each packet on the wire, once its last byte has passed, in order. It
	// must not call the Bus.
	Trace func(Packet)
}

// Bus is a half-duplex line of servos, and the arm that they turn. Its time is the
// system's clock, so that it runs in a synctest bubble; it starts no goroutine, and works
// off what is due whenever somebody looks. Safe for concurrent use.
type Bus struct {
	mu      sync.Mutex
	start   time.Time
	kind    kind
	codec   bus.Codec // of what the servos hear
	told    bus.Codec // of what the host sent, for the trace
	servos  []*servo
	baud    int // that the servos were made with
	arm     Arm
	drives  []Drive
	senses  []Sense
	rng     *rand.Rand
	trace   func(Packet)
	stepped time.Duration
	wire    wire
	ears    []*ear // one for each rate
	sent    []byte // of the host, not yet traced
	run     []byte // of the host, without a pause so far
	meant   Packet // of the host, being sent
	in      []byte // what the host's adapter has for its reader
	lost    int
	link    *Link
	replies int
	live    bool // served by the wall clock
	changed chan struct{}

	unplugged               bool
	garbleEvery, dropsEvery int
}

// ear is a receiver at one rate, which all servos that are set to it share.
type ear struct {
	baud int
	buf  []byte
	last time.Duration
}

// New returns a bus with its servos powered and booted, without torque. INVALID_ARGUMENT:
// no kind, no servo, two of one ID, a rate that such servos haven't.
func New(o Options) (*Bus, error) {
	b := &Bus{
		start: time.Now(), rng: rand.New(rand.NewPCG(o.Seed, 0x7461755f)), trace: o.Trace,
		changed: make(chan struct{}),
	}
	switch o.Kind {
	case STS3215:
		b.kind, b.codec, b.told = &sts3215{stsTable()}, sts.New(), sts.New()
	case XL430:
		b.kind, b.codec, b.told = &xl430{xlTable()}, dxl.New(), dxl.New()
	default:
		return nil, robot.Errf(robot.CodeInvalidArgument, "servo bus", "kind %d is no kind of servo", o.Kind)
	}
	if len(o.IDs) == 0 {
		return nil, robot.Errf(robot.CodeInvalidArgument, "servo bus", "no servo hangs on it")
	}
	if o.Baud == 0 {
		o.Baud = 1_000_000
	}
	if o.Volts == 0 {
		o.Volts = b.kind.supply()
	}
	b.baud = o.Baud
	for i, id := range o.IDs {
		s := newServo(i, id, b.kind, time.Duration(b.rng.Int64N(int64(skews))))
		if err := b.kind.factory(s, id, o.Baud); err != nil {
			return nil, err
		}
		for _, other := range b.servos {
			if other.made == id {
				return nil, robot.Errf(robot.CodeInvalidArgument, "servo bus", "two servos have the ID %d", id)
			}
		}
		s.volts = o.Volts
		b.servos = append(b.servos, s)
	}
	if b.arm = o.Arm; b.arm == nil {
		b.arm = NewFree(make([]float64, len(o.IDs))...)
	}
	b.drives, b.senses = make([]Drive, len(o.IDs)), make([]Sense, len(o.IDs))
	b.arm.Step(0, b.drives, b.senses)
	for i, s := range b.servos {
		s.sense = b.senses[i]
		s.start()
	}
	return b, nil
}

// now is the time since the bus was made.
func (b *Bus) now() time.Duration { return time.Since(b.start) }

// at works off what is due and calls f, with the bus locked.
func (b *Bus) at(f func(now time.Duration)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.process(now)
	if f != nil {
		f(now)
	}
}

// notify wakes whoever waits for something to happen on the bus.
func (b *Bus) notify() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// process works off, in the order of time, what has happened up to now: the bytes that
// have come to their end, what the servos make of them, and the arm's motion.
func (b *Bus) process(now time.Duration) {
	if b.live && now-b.stepped > mostLag {
		b.stepped = now - mostLag // a machine that stood still isn't made up for
	}
	for {
		i := b.wire.next()
		if i < 0 || b.wire.frames[i].to > now {
			break
		}
		b.advance(b.wire.frames[i].to)
		b.arrived(i)
	}
	b.advance(now)
	b.wire.prune(now)
}

// advance moves the arm, and the servos' own loops, on to a time.
func (b *Bus) advance(to time.Duration) {
	for b.stepped+loop <= to {
		b.stepped += loop
		for i, s := range b.servos {
			b.drives[i] = Drive{}
			if s.runs(b.stepped) {
				b.drives[i] = b.kind.drive(s, loop.Seconds())
			}
		}
		b.arm.Step(loop.Seconds(), b.drives, b.senses)
		for i, s := range b.servos {
			s.sense = b.senses[i]
		}
	}
}

// arrived is what happens when a byte has come to its end.
func (b *Bus) arrived(i int) {
	c, clash, lost := b.wire.heard(i)
	f := &b.wire.frames[i]
	f.done = true
	src, p := f.src, f.packet
	if src == host {
		b.fromHost(*f, c, clash, lost)
		return
	}
	p.packet.Collided = p.packet.Collided || clash
	if !lost {
		b.toHost(c, f.baud, p)
	}
	if p.left--; p.left == 0 {
		b.toHostAnew(p, f.baud)
		b.emit(p.packet)
	}
}

// toHost hands the host's adapter a byte of a servo.
func (b *Bus) toHost(c byte, baud int, p *sending) {
	switch {
	case b.unplugged || b.link == nil:
	case baud != b.link.baud:
		p.strange = append(p.strange, c)
	default:
		b.buffer(c)
	}
}

// toHostAnew is toHost of a whole packet at a rate that isn't the host's.
func (b *Bus) toHostAnew(p *sending, baud int) {
	if b.unplugged || b.link == nil || len(p.strange) == 0 {
		return
	}
	for _, c := range resample(p.strange, baud, b.link.baud) {
		b.buffer(c)
	}
}

func (b *Bus) buffer(c byte) {
	if len(b.in) >= fifo {
		b.lost++
		return
	}
	b.in = append(b.in, c)
}

// fromHost feeds a byte of the host to whoever hears it, and to the trace.
func (b *Bus) fromHost(f frame, heard byte, clash, lost bool) {
	if len(b.sent) == 0 {
		b.meant = Packet{FromHost: true, At: f.from}
	}
	b.sent = append(b.sent, f.b)
	b.meant.End, b.meant.Collided = f.to, b.meant.Collided || clash
	b.traceHost(f.to)
	if lost || b.unplugged {
		return
	}
	b.run = append(b.run, heard)
	goesOn := b.wire.follows(f) && len(b.run) < earSize
	for _, e := range b.listening() {
		switch {
		case e.baud == f.baud:
			b.hear(e, heard, f.to)
		case !goesOn: // what a strange rate makes of bytes depends on those around them
			for _, c := range resample(b.run, f.baud, e.baud) {
				b.hear(e, c, f.to)
			}
		}
	}
	if !goesOn {
		b.run = b.run[:0]
	}
}

// listening returns the receivers of the servos, one for each rate, and forgets those that
// nobody listens with any more.
func (b *Bus) listening() []*ear {
	var out []*ear
	for _, s := range b.servos {
		baud := b.kind.baud(s)
		found := false
		for _, e := range out {
			found = found || e.baud == baud
		}
		if found {
			continue
		}
		mine := &ear{baud: baud}
		for _, e := range b.ears {
			if e.baud == baud {
				mine = e
			}
		}
		out = append(out, mine)
	}
	b.ears = out
	return out
}

// hear is one byte more for a receiver.
func (b *Bus) hear(e *ear, c byte, at time.Duration) {
	if at-e.last > silence || len(e.buf) >= earSize {
		e.buf = e.buf[:0]
	}
	e.last = at
	e.buf = append(e.buf, c)
	for len(e.buf) > 0 {
		i, n, err := b.codec.ParseInstruction(e.buf)
		if err == nil {
			b.execute(i, e.baud, at)
		}
		e.buf = append(e.buf[:0], e.buf[n:]...)
		if errors.Is(err, bus.ErrMore) {
			return
		}
	}
}

// traceHost tells the trace of a packet of the host, as it was meant.
func (b *Bus) traceHost(at time.Duration) {
	for len(b.sent) > 0 {
		i, n, err := b.told.ParseInstruction(b.sent)
		if errors.Is(err, bus.ErrMore) && (n == 0 || len(b.sent) < earSize) {
			return // what stands before a packet goes with it
		}
		p := b.meant
		p.Bytes = append([]byte(nil), b.sent[:n]...)
		if err == nil {
			p.instructed(i)
		}
		b.sent = append(b.sent[:0], b.sent[n:]...)
		b.meant = Packet{FromHost: true, At: at, End: at}
		b.emit(p)
	}
}

func (b *Bus) emit(p Packet) {
	if b.trace != nil {
		b.trace(p)
	}
}
