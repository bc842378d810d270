package gobot_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/tau-robot/tau/drivers/gobot"
	"github.com/tau-robot/tau/robot"
)

// uno is an Arduino Uno with StandardFirmata as it behaves: what it does with each message
// is that of its source, version 2.5 (or, with old, of 2.4), the servos at its pins follow
// their pulses, and it may have a PCA9685. Its line is in memory and its time is that of
// the bubble that it lives in.
type uno struct {
	t    testing.TB
	old  bool // what it says of an I2C device that isn't there
	stop chan struct{}
	gone chan struct{}

	mu        sync.Mutex
	line      *wire // that a host has open; nil: none
	unplugged bool
	frozen    bool
	silent    bool // nothing of the host's arrives
	hung      bool // the line takes nothing
	held      []byte
	pins      [20]unoPin
	reports   [6]bool
	every     time.Duration
	attached  int // servos that were attached since the boot
	chip      *pca
	in        []byte // of a message that isn't whole yet
	sent      [][]byte
	hand      map[int]int // counts of an input, whatever the servo does
	blocked   map[int]bool
	pulses    int // setpoints that changed a servo's pulse
	opened    int
}

// unoPin is a pin and the servo at it.
type unoPin struct {
	mode, state int
	on          bool // high
	follows     servoModel
}

// servoModel follows its pulse by a first-order lag, as the emulated bench's does.
type servoModel struct {
	at    float64 // µs, when
	when  time.Time
	pulse float64 // 0: none
}

const servoLag = 60 * time.Millisecond

func (s *servoModel) now() float64 {
	if s.pulse != 0 {
		d := time.Since(s.when)
		s.at = s.pulse + (s.at-s.pulse)*math.Exp(-float64(d)/float64(servoLag))
	}
	s.when = time.Now()
	return s.at
}

func (s *servoModel) follow(pulse float64) { s.now(); s.pulse = pulse }

// wire is one opening of the line.
type wire struct {
	u      *uno
	mu     sync.Mutex
	data   []byte
	ready  chan struct{}
	closed chan struct{}
	once   sync.Once
}

var errUnplugged = errors.New("the device is gone")

func newUno(t testing.TB) *uno {
	u := &uno{t: t, stop: make(chan struct{}), gone: make(chan struct{}), hand: map[int]int{}, blocked: map[int]bool{}}
	u.boot()
	for i := range u.pins {
		u.pins[i].follows = servoModel{at: 1472, when: time.Now()}
	}
	go u.run()
	t.Cleanup(func() {
		close(u.stop)
		<-u.gone
	})
	return u
}

// dial opens the line for one host at a time.
func (u *uno) dial(context.Context) (gobot.Port, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.unplugged:
		return nil, robot.Errf(robot.CodeDisconnected, "fake", "there is no such device")
	case u.line != nil:
		return nil, robot.Errf(robot.CodeBusy, "fake", "another process has it")
	}
	u.opened++
	u.line = &wire{u: u, ready: make(chan struct{}, 1), closed: make(chan struct{})}
	return u.line, nil
}

func (w *wire) Read(p []byte) (int, error) {
	for {
		w.mu.Lock()
		n := copy(p, w.data)
		w.data = w.data[n:]
		w.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		select {
		case <-w.ready:
		case <-w.closed:
			return 0, errUnplugged
		}
	}
}

func (w *wire) Write(p []byte) (int, error) {
	select {
	case <-w.closed:
		return 0, errUnplugged
	default:
	}
	u := w.u
	u.mu.Lock()
	if u.hung {
		u.mu.Unlock()
		<-w.closed
		return 0, errUnplugged
	}
	defer u.mu.Unlock()
	switch {
	case u.line != w:
		return 0, errUnplugged
	case u.silent:
	case u.frozen:
		u.held = append(u.held, p...)
	default:
		u.receive(p)
	}
	return len(p), nil
}

func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	w.u.mu.Lock()
	defer w.u.mu.Unlock()
	if w.u.line == w {
		w.u.line = nil
	}
	return nil
}

// say sends to whoever has the line open; u.mu is held.
func (u *uno) say(b ...byte) {
	if u.line == nil || u.frozen {
		return
	}
	w := u.line
	w.mu.Lock()
	w.data = append(w.data, b...)
	w.mu.Unlock()
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// run reports the analogue inputs.
func (u *uno) run() {
	defer close(u.gone)
	for {
		u.mu.Lock()
		every := u.every
		u.mu.Unlock()
		t := time.NewTimer(every)
		select {
		case <-t.C:
		case <-u.stop:
			t.Stop()
			return
		}
		u.mu.Lock()
		for ch, on := range u.reports {
			if on {
				u.sample(ch)
			}
		}
		u.mu.Unlock()
	}
}

// sample measures and reports an input; u.mu is held. Input ch has the voltage of the servo
// at pin 9+ch: 0 at 500 µs, 1023 at 2500 µs.
func (u *uno) sample(ch int) {
	counts, ok := u.hand[ch]
	if !ok {
		counts = min(max(int(math.Round((u.at(9+ch)-500)/2000*1023)), 0), 1023)
	}
	u.say(0xE0|byte(ch), byte(counts&0x7F), byte(counts>>7))
}

// at is where the servo at a pin is, µs; u.mu is held.
func (u *uno) at(pin int) float64 { return u.pins[pin].follows.now() }

// boot is a reset: all pins are low, all inputs are quiet; u.mu is held or nobody else has u.
func (u *uno) boot() {
	for i := range u.pins {
		p := &u.pins[i]
		p.mode, p.state, p.on = 1, 0, false
		if i >= 14 {
			p.mode = 2
		}
		p.follows.follow(0)
	}
	u.reports, u.every, u.in, u.attached = [6]bool{}, 19*time.Millisecond, nil, 0
	u.version()
	u.firmware()
}

func (u *uno) version() { u.say(0xF9, 2, 5) }

func (u *uno) firmware() { u.text(0x79, []byte{2, 5}, "StandardFirmata.ino") }

// text says something in words; u.mu is held.
func (u *uno) text(command byte, before []byte, s string) {
	out := append([]byte{0xF0, command}, before...)
	for _, c := range []byte(s) {
		out = append(out, c&0x7F, c>>7)
	}
	u.say(append(out, 0xF7)...)
}

// do runs f with the board to itself.
func (u *uno) do(f func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	f()
}

func (u *uno) reset() { u.do(u.boot) }

func (u *uno) freeze() { u.do(func() { u.frozen = true }) }

func (u *uno) thaw() {
	u.do(func() {
		u.frozen = false
		held := u.held
		u.held = nil
		u.receive(held)
	})
}

func (u *uno) unplug() {
	u.do(func() {
		u.unplugged = true
		if u.line != nil {
			w := u.line
			u.line = nil
			w.once.Do(func() { close(w.closed) })
		}
	})
}

func (u *uno) replug() { u.do(func() { u.unplugged = false }) }

// setpoints are the messages so far that give a servo at 9 or 10 one, or
// power.
func (u *uno) setpoints() [][]byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out [][]byte
	for _, m := range u.sent {
		if m[0] == 0xE9 || m[0] == 0xEA || m[0] == 0xF0 && (m[1] == 0x70 || m[1] == 0x6F) {
			out = append(out, m)
		}
	}
	return out
}
