package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tau-robot/tau/drivers/mcu"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/drivers/port"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

const wirePortRounds = 200

// WirePort measures what Wire does on a real port, as far as that moves nothing: stops of
// a robot at rest, beside bare writes of an empty frame. The board is opened as for a
// session, which sets its limits and its outputs to off. What leaves the machine can't be
// seen from here; a frame's first byte counts as gone when the kernel has taken it and has
// sent, by its count and by the baud rate, what was before it.
func WirePort(ctx context.Context, model *robot.Model, file *hardware.File, path string) (Report, error) {
	baud := file.Baud
	if baud == 0 {
		baud = wireBaud
	}
	rng := rand.New(rand.NewPCG(wireSeed, 0))
	o := port.Options{Path: path, Baud: baud}
	bare, err := emptyFrames(ctx, o, rng)
	if err != nil {
		return Report{}, err
	}
	t := &tap{}
	r, err := mcu.Open(ctx, mcu.Options{
		Model: model, Hardware: file, Port: path, Baud: baud,
		Dial: func(ctx context.Context) (mcu.Port, error) {
			p, err := port.Open(ctx, o)
			if err != nil {
				return nil, err
			}
			return &tapped{p, t}, nil
		},
	})
	if err != nil {
		return Report{}, err
	}
	stops, err := idleStops(ctx, r, t, rng)
	if err = errors.Join(err, r.Close()); err != nil {
		return Report{}, err
	}
	report := wireReport(stops, bare, baud)
	report.Notes = append(report.Notes,
		"the command is a stop of the robot at rest; nothing was moved, so that a stop while segments stream is measured only without --port",
		"a first byte counts as gone when the kernel has taken it and has sent what was before it")
	return report, nil
}

// emptyFrames measures writes of a delimiter, which a board ignores.
func emptyFrames(ctx context.Context, o port.Options, rng *rand.Rand) ([]float64, error) {
	p, err := port.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	var out []float64
	for range wirePortRounds {
		pause(rng, 4*time.Millisecond)
		start := time.Now()
		ahead := p.Ahead()
		if _, err := p.Write([]byte{0}); err != nil {
			return nil, errors.Join(err, p.Close())
		}
		out = append(out, float64(time.Since(start)+ahead)/float64(time.Millisecond))
	}
	return out, p.Close()
}

// idleStops measures stops of a robot that doesn't move.
func idleStops(ctx context.Context, r *mcu.Robot, t *tap, rng *rand.Rand) ([]float64, error) {
	var out []float64
	for range wirePortRounds {
		pause(rng, 4*time.Millisecond)
		left := t.arm()
		start := time.Now()
		v := r.Stop(ctx, robot.StopControlled)
		if v.Commanded != robot.Yes || v.Acknowledged != robot.Yes {
			return nil, errors.Join(ctx.Err(), robot.Errf(robot.CodeLinkTimeout, "wire", "a stop wasn't acknowledged: %s", v.Text))
		}
		var at time.Time
		select {
		case at = <-left:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		out = append(out, float64(at.Sub(start))/float64(time.Millisecond))
	}
	return out, nil
}

// tap notes when the first byte of the next STOP left.
type tap struct {
	mu   sync.Mutex
	next chan time.Time // of one; nil: nobody waits for one
}

// arm gives the time of the next STOP. The board may have answered it before.
func (t *tap) arm() <-chan time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = make(chan time.Time, 1)
	return t.next
}

func (t *tap) left(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next != nil {
		t.next <- at
		t.next = nil
	}
}

// tapped is a port whose writes are looked at.
type tapped struct {
	*port.Port
	tap *tap
}

func (p *tapped) Write(b []byte) (int, error) {
	ahead := p.Ahead()
	n, err := p.Port.Write(b)
	if f, ok := frameOf(b); ok && f == wire.TypeStop && err == nil {
		p.tap.left(time.Now().Add(ahead))
	}
	return n, err
}

// frameOf is the type of the first frame in b.
func frameOf(b []byte) (wire.Type, bool) {
	var d wire.Decoder
	_, f, ok := d.Next(b)
	return f.Type, ok
}
