package mcu_test

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
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

	"github.com/tau-robot/tau/drivers/mcu"
)

// stepped is the firmware's core in simulated time: in a bubble of testing/synctest it
// passes a millisecond whenever the bubble's clock has, so that tests neither wait nor
// depend on how busy the machine is. Its line is in memory, and what goes wrong on it is
// told to line.
type stepped struct {
	t    testing.TB
	in   io.WriteCloser
	out  *bufio.Reader
	stop chan struct{}
	gone chan struct{}

	mu     sync.Mutex
	line   *line // nil: unplugged
	plug   bool
	now    time.Duration
	toRun  []string // commands
	servo  map[int]int64
	steps  map[int]int64
	output map[int]int64
	moves  int // pulses and steps that changed something
	// fault decides what becomes of bytes: nil for nothing, or what goes on instead.
	toBoard, toHost func([]byte) []byte
	// What each side has said, before anything becomes of it.
	onBoard, onHost func(b []byte)
	foreign         []byte // what somebody else has put on the line
}

// line is the port that a bridge has open.
type line struct {
	s      *stepped
	mu     sync.Mutex
	data   []byte // for the host
	sent   []byte // for the board
	ready  chan struct{}
	closed chan struct{}
	once   sync.Once
}

var errGone = errors.New("the device is gone")

func (l *line) Read(p []byte) (int, error) {
	for {
		l.mu.Lock()
		if n := copy(p, l.data); n > 0 {
			l.data = l.data[n:]
			l.mu.Unlock()
			return n, nil
		}
		l.mu.Unlock()
		select {
		case <-l.ready:
		case <-l.closed:
			return 0, errGone
		}
	}
}

func (l *line) Write(p []byte) (int, error) {
	select {
	case <-l.closed:
		return 0, errGone
	default:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, p...)
	return len(p), nil
}

func (l *line) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// startStepped starts a board; bin is boardtest.HostBuild's. In a bubble, in which it lives.
func startStepped(t testing.TB, bin string, args ...string) *stepped {
	t.Helper()
	cmd := exec.Command(bin, append(args, "--speed", "step")...) //nolint:noctx // it ends with its stdin
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	s := &stepped{
		t: t, in: in, out: bufio.NewReader(out), plug: true,
		stop: make(chan struct{}), gone: make(chan struct{}),
		servo: map[int]int64{}, steps: map[int]int64{}, output: map[int]int64{},
	}
	go s.run()
	t.Cleanup(func() {
		close(s.stop)
		<-s.gone
		require.NoError(t, in.Close())
		_, _ = io.Copy(io.Discard, s.out)
		require.NoError(t, cmd.Wait())
	})
	return s
}

// run passes the board's time with the bubble's.
func (s *stepped) run() {
	defer close(s.gone)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			s.pass()
		}
	}
}

// pass passes one millisecond.
func (s *stepped) pass() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, c := range s.toRun {
		b.WriteString(c + "\n")
	}
	n := len(s.toRun) + 1
	s.toRun = nil
	if l := s.line; l != nil {
		l.mu.Lock()
		sent := l.sent
		l.sent = nil
		l.mu.Unlock()
		if s.onBoard != nil && len(sent) > 0 {
			s.onBoard(sent)
		}
		if s.toBoard != nil && len(sent) > 0 {
			sent = s.toBoard(sent)
		}
		sent = append(sent, s.foreign...)
		s.foreign = nil
		for len(sent) > 0 {
			k := min(len(sent), 48)
			fmt.Fprintf(&b, "rx %x\n", sent[:k])
			sent = sent[k:]
			n++
		}
	}
	b.WriteString("step 1\n")
	if _, err := io.WriteString(s.in, b.String()); err != nil {
		s.t.Errorf("the board has ended: %v", err)
		return
	}
	for n > 0 {
		text, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Errorf("the board has ended: %v", err)
			return
		}
		w := strings.Fields(text)
		at, _ := strconv.ParseInt(w[0], 10, 64)
		s.now = time.Duration(at)
		switch w[1] {
		case "ok":
			n--
		case "error":
			s.t.Errorf("the bench refuses: %s", text)
			n--
		case "tx":
			s.deliver(w[2])
		case "servo", "steps", "output":
			s.took(w)
		}
	}
}

func (s *stepped) took(w []string) {
	k, _ := strconv.Atoi(w[2])
	v, _ := strconv.ParseInt(w[3], 10, 64)
	to := map[string]map[int]int64{"servo": s.servo, "steps": s.steps, "output": s.output}[w[1]]
	if old, had := to[k]; had && old != v && w[1] != "output" {
		s.moves++
	}
	to[k] = v
}

// deliver gives the host what the board has sent.
func (s *stepped) deliver(text string) {
	b, err := hex.DecodeString(text)
	if err != nil {
		s.t.Errorf("tx: %v", err)
		return
	}
	if s.onHost != nil {
		s.onHost(b)
	}
	if s.toHost != nil {
		b = s.toHost(b)
	}
	l := s.line
	if l == nil || len(b) == 0 {
		return
	}
	l.mu.Lock()
	l.data = append(l.data, b...)
	l.mu.Unlock()
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// do has the bench carry out a command before its next millisecond, and waits for that.
func (s *stepped) do(format string, args ...any) {
	s.mu.Lock()
	s.toRun = append(s.toRun, fmt.Sprintf(format, args...))
	s.mu.Unlock()
	time.Sleep(2 * time.Millisecond)
}

// dial opens the line: as of a port that one process at a time has.
func (s *stepped) dial(context.Context) (mcu.Port, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.plug {
		return nil, errGone
	}
	if s.line != nil {
		select {
		case <-s.line.closed:
		default:
			return nil, errors.New("another process has the line")
		}
	}
	s.line = &line{s: s, ready: make(chan struct{}, 1), closed: make(chan struct{})}
	return s.line, nil
}

func (s *stepped) unplug() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plug = false
	if s.line != nil {
		_ = s.line.Close()
		s.line = nil
	}
}

func (s *stepped) replug() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plug = true
}

// inject puts bytes on the line that nobody wrote.
func (s *stepped) inject(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.foreign = append(s.foreign, b...)
}

// silence keeps everything from the board that the host says.
func (s *stepped) silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.toBoard = func([]byte) []byte { return nil }
}

// places is where the joints are told to be, channel units.
func (s *stepped) places(stepper bool, joint int) (float64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stepper {
		return float64(s.steps[joint]), true
	}
	v, ok := s.servo[joint]
	return float64(v) / 1000, ok
}
