package bus

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/tau-robot/tau/robot"
)

// Found is a servo, or more than one, that a Scan heard.
type Found struct {
	ID   byte
	Pong Pong // of the first good answer
	// Asked is how often it was asked, Good how many good answers came, Bad how many
	// times damaged ones did, and Doubled how many times more than one good one did.
	Asked, Good, Bad, Doubled int
	// Shared: two devices may share the ID: what came was doubled, or damaged more than
	// once. A single damaged answer is what happens on any line.
	Shared bool
}

// ScanOptions say what a Scan asks for.
type ScanOptions struct {
	IDs []byte // nil: all
	// Addr and Count are of registers in which any two servos differ, such as those that
	// measure: two that answer a Ping with the same bits at the same time are found by it. Count 0: none.
	Addr  uint16
	Count int
}

// again is how often a servo that answered is asked again.
const again = 4

// Scan asks each ID whether somebody has it, and those that have it a few times more. It
// only reads. It takes Exchange for each ID that nobody has, about 6 s for all with the
// default Turnaround, and ends with ctx (CANCELLED, with what was found so far).
func (b *Bus) Scan(ctx context.Context, o ScanOptions) ([]Found, error) {
	var out []Found
	ids := o.IDs
	if ids == nil {
		for id := range byte(Broadcast) {
			if _, err := b.codec.Append(nil, Instruction{Op: Ping, ID: id}); err == nil {
				ids = append(ids, id)
			}
		}
	}
	defer func() { b.quiet = time.Now().Add(b.o.Turnaround) }()
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return out, robot.Errf(robot.CodeCancelled, b.o.Name, "scan: %w", err)
		}
		f, err := b.inspect(id, o)
		if err != nil {
			return out, err
		}
		// One damaged answer and nothing after it is what another servo's late one looks like.
		if f.Good > 0 || f.Bad > 1 {
			out = append(out, f)
		}
	}
	return out, nil
}

// inspect asks one ID, and if anything comes again.
func (b *Bus) inspect(id byte, o ScanOptions) (Found, error) {
	f := Found{ID: id}
	for n := 0; n <= again; n++ {
		i := Instruction{Op: Ping, ID: id}
		params := b.codec.PingParams()
		if n > 0 && o.Count > 0 && n%2 == 0 {
			i, params = Instruction{Op: Read, ID: id, Addr: o.Addr, Count: o.Count}, o.Count
		}
		if err := b.listen(&f, i, params); err != nil {
			return f, err
		}
		if n == 0 && f.Good+f.Bad == 0 {
			return f, nil
		}
	}
	f.Shared = f.Doubled > 0 || f.Bad > 1
	return f, nil
}

// listen sends one instruction and counts what comes until nothing can come any more.
func (b *Bus) listen(f *Found, i Instruction, params int) error {
	if err := b.learn(i, params); err != nil {
		return err
	}
	if err := b.send(i, true); err != nil {
		return err
	}
	f.Asked++
	good := 0
	deadline := b.free.Add(b.Exchange(0, 1, params))
	for {
		s, err := b.next(deadline)
		if errors.Is(err, errLate) {
			break
		}
		if err != nil {
			return err
		}
		if s.ID != i.ID || len(s.Params) != params {
			b.count.Foreign++
			continue
		}
		b.noEcho()
		b.count.Answered++
		good++
		if f.Good == 0 && i.Op == Ping {
			f.Pong = pong(s)
		}
		f.Good++
	}
	if good == 0 && f.Asked > 1 { // a late answer to the first says whose it is
		b.missed = true
		b.ended(deadline)
	}
	if b.hurt || good == 0 && b.heard {
		f.Bad++
	}
	if good > 1 {
		f.Doubled++
	}
	return nil
}

// Line is a Port that can be closed.
type Line interface {
	Port
	io.Closer
}

// Rate is what answered at a baud rate.
type Rate struct {
	Baud int
	IDs  []byte
}

// FindBaud opens the line at each rate in turn and asks who is there: what a servo that
// doesn't answer is set to. open is given the rate; the line is closed before the next.
// It only reads. It ends with ctx, and with the first error of open, with what was found until then.
func FindBaud(ctx context.Context, open func(ctx context.Context, baud int) (Line, error), c Codec, o Options, bauds []int, ids []byte) (out []Rate, err error) {
	for _, baud := range bauds {
		r, err := atBaud(ctx, open, c, o, baud, ids)
		if err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, nil
}

func atBaud(ctx context.Context, open func(ctx context.Context, baud int) (Line, error), c Codec, o Options, baud int, ids []byte) (r Rate, err error) {
	r.Baud = baud
	line, err := open(ctx, baud)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, line.Close()) }()
	o.Baud, o.Echo = baud, EchoUnknown
	b, err := New(line, c, o)
	if err != nil {
		return r, err
	}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return r, robot.Errf(robot.CodeCancelled, b.o.Name, "looking for the baud rate: %w", err)
		}
		_, err := b.Ping(id)
		switch {
		case err == nil:
			r.IDs = append(r.IDs, id)
		case !errors.Is(err, ErrSilent) && !errors.Is(err, ErrDamaged):
			return r, err
		}
	}
	return r, nil
}
