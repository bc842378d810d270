package gobot_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/gobot"
	"github.com/tau-robot/tau/robot"
)

// atmega is an Arduino Uno with a StandardFirmata that nobody here wrote or built, as machine
// code in an emulated ATmega328P, in the time of the bubble that it lives in: a millisecond
// passes for it whenever one has for the bubble. So nothing depends on how busy the machine
// is. Its line is in memory; what the firmware makes of each byte, when, and what its pins
// do is its own.
type atmega struct {
	t    testing.TB
	in   io.WriteCloser
	out  *bufio.Reader
	stop chan struct{}
	gone chan struct{}

	mu        sync.Mutex
	line      *line // that a host has open; nil: none
	unplugged bool
	silent    bool // nothing of the host's arrives
	cutting   bool // the cable comes out behind the first two bytes of the next sysex
	frozen    bool
	toRun     []string
	now       time.Duration // its own time
	servos    map[int]*watched
	channels  map[int]float64 // of the PCA9685: its pulses, µs
	outputs   map[int]int64
	pulses    []sighting // of the servos
	boots     int
	heard     int // bytes of the board's, whoever listened
}

// sighting is a pulse that a servo was seen to get.
type sighting struct {
	joint int
	at    time.Duration
	us    float64
}

// watched is a servo as somebody sees it who stands beside it: it follows its pulses as the
// bench's model of it does.
type watched struct{ at, pulse float64 } // µs

// follow takes one of its pulses, which come every 20 ms.
func (w *watched) follow(us float64) {
	const follows = 0.2834686894 // 1 - exp(-20/60)
	w.pulse = us
	w.at += (us - w.at) * follows
}

// stands is where the servos of the bench are when it is switched on, µs.
const stands = 1472

// line is one opening of the board's line.
type line struct {
	c      *atmega
	mu     sync.Mutex
	data   []byte // for the host
	sent   []byte // for the board
	ready  chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (l *line) Read(p []byte) (int, error) {
	for {
		l.mu.Lock()
		n := copy(p, l.data)
		l.data = l.data[n:]
		l.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		select {
		case <-l.ready:
		case <-l.closed:
			return 0, errUnplugged
		}
	}
}

func (l *line) Write(p []byte) (int, error) {
	select {
	case <-l.closed:
		return 0, errUnplugged
	default:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, p...)
	return len(p), nil
}

func (l *line) Close() error {
	l.once.Do(func() { close(l.closed) })
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if l.c.line == l {
		l.c.line = nil
	}
	return nil
}

// startAtmega starts a board: command is boardtest.Stepped's. In a bubble, in which it lives.
func startAtmega(t testing.TB, command []string) *atmega {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx // it ends with its stdin
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	c := &atmega{
		t: t, in: in, out: bufio.NewReader(out),
		stop: make(chan struct{}), gone: make(chan struct{}),
		servos: map[int]*watched{}, channels: map[int]float64{}, outputs: map[int]int64{},
	}
	for j := range 2 {
		c.servos[j] = &watched{at: stands}
		c.toRun = append(c.toRun, fmt.Sprintf("hand %d %d", j, stands))
	}
	go c.run()
	t.Cleanup(func() {
		close(c.stop)
		<-c.gone
		require.NoError(t, in.Close())
		_, _ = io.Copy(io.Discard, c.out)
		require.NoError(t, cmd.Wait())
	})
	return c
}

// run passes the board's time with the bubble's.
func (c *atmega) run() {
	defer close(c.gone)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-tick.C:
			c.mu.Lock()
			err := c.pass()
			c.mu.Unlock()
			if err != nil {
				c.t.Errorf("the board has ended: %v", err)
				return
			}
		}
	}
}

// pass passes one millisecond; c.mu is held.
func (c *atmega) pass() error {
	var b strings.Builder
	answers := 1
	say := func(format string, args ...any) {
		fmt.Fprintf(&b, format+"\n", args...)
		answers++
	}
	for _, command := range c.toRun {
		say("%s", command)
	}
	c.toRun = nil
	if l := c.line; l != nil {
		l.mu.Lock()
		sent := l.sent
		l.sent = nil
		l.mu.Unlock()
		if i := bytes.IndexByte(sent, 0xF0); c.cutting && i >= 0 {
			sent, c.cutting = sent[:i+2], false
			c.pull()
		}
		for !c.silent && len(sent) > 0 {
			const most = 48 // bytes of a command
			n := min(len(sent), most)
			say("rx %x", sent[:n])
			sent = sent[n:]
		}
	}
	b.WriteString("step 1\n")
	if _, err := io.WriteString(c.in, b.String()); err != nil {
		return err
	}
	for answers > 0 {
		text, err := c.out.ReadString('\n')
		if err != nil {
			return err
		}
		w := strings.Fields(text)
		if len(w) < 2 {
			return fmt.Errorf("the bench says %q", text)
		}
		at, err := strconv.ParseInt(w[0], 10, 64)
		if err != nil {
			return fmt.Errorf("the bench says %q: %w", text, err)
		}
		c.now = time.Duration(at)
		switch w[1] {
		case "ok":
			answers--
		case "error", "overrun", "end":
			return fmt.Errorf("the bench says %q", text)
		default:
			if err := c.saw(w[1], w[2:]); err != nil {
				return fmt.Errorf("the bench says %q: %w", text, err)
			}
		}
	}
	return nil
}

// saw takes what the bench saw; c.mu is held.
func (c *atmega) saw(what string, of []string) error {
	switch what {
	case "boot":
		c.boots++
	case "tx":
		data, err := hex.DecodeString(of[0])
		if err != nil {
			return err
		}
		c.heard += len(data)
		c.deliver(data)
	case "servo", "chip", "output":
		n, err := strconv.Atoi(of[0])
		if err != nil {
			return err
		}
		v, err := strconv.ParseInt(of[1], 10, 64)
		if err != nil {
			return err
		}
		us := float64(v) / 1000
		switch what {
		case "servo":
			if s := c.servos[n]; s != nil {
				s.follow(us)
			}
			c.pulses = append(c.pulses, sighting{n, c.now, us})
		case "chip":
			c.channels[n] = us
		default:
			c.outputs[n] = v
		}
	}
	return nil
}

// deliver gives the host what the board has said; c.mu is held.
func (c *atmega) deliver(data []byte) {
	l := c.line
	if l == nil {
		return
	}
	l.mu.Lock()
	l.data = append(l.data, data...)
	l.mu.Unlock()
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// dial opens the line for one host at a time.
func (c *atmega) dial(context.Context) (gobot.Port, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.unplugged:
		return nil, robot.Errf(robot.CodeDisconnected, "bench", "there is no such device")
	case c.line != nil:
		return nil, robot.Errf(robot.CodeBusy, "bench", "another process has it")
	}
	c.line = &line{c: c, ready: make(chan struct{}, 1), closed: make(chan struct{})}
	return c.line, nil
}

// do has the bench carry commands out before its next millisecond, and waits for that.
func (c *atmega) do(commands ...string) {
	c.set(func() { c.toRun = append(c.toRun, commands...) })
	time.Sleep(2 * time.Millisecond)
}

// unplug takes the cable away, between two messages: a board that is cut off within one
// waits for its end until it is reset, which is another test's.
func (c *atmega) unplug() {
	c.set(c.pull)
}

// pull is unplug with c.mu held.
func (c *atmega) pull() {
	c.unplugged = true
	if l := c.line; l != nil {
		c.line = nil
		l.once.Do(func() { close(l.closed) })
	}
}

func (c *atmega) replug() { c.set(func() { c.unplugged = false }) }

func (c *atmega) set(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// freeze stops the board's clock.
func (c *atmega) freeze() {
	c.set(func() { c.frozen = true })
	c.do("freeze")
}

// thaw lets it hear and go on again, and reports whether it didn't.
func (c *atmega) thaw() bool {
	var dumb bool
	c.set(func() { dumb, c.silent, c.frozen = c.silent || c.frozen, false, false })
	c.do("thaw")
	return dumb
}

// watch sees the joints as somebody beside the robot does, once a first pulse of the
// firmware's own is over (doc.go: at most one of 1500 µs).
func (g rig) watch(t testing.TB, c *atmega) func() []float64 {
	_, f := g.parts(t)
	return func() []float64 {
		time.Sleep(3 * 20 * time.Millisecond)
		c.mu.Lock()
		defer c.mu.Unlock()
		out := make([]float64, len(f.Joints))
		for i := range out {
			j := &f.Joints[i]
			us := float64(stands)
			if j.Via == "" {
				us = c.servos[i].at // the bench has joint 0's at pin 9 and joint 1's at pin 10
			} else if v := c.channels[j.Channel]; v != 0 {
				us = v
			}
			out[i] = j.Position(us)
		}
		return out
	}
}
