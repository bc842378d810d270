package mcu_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
)

var (
	schedules = flag.Int("schedules", 100, "how many random schedules of calls, stops and faults to run")
	only      = flag.Int("schedule", -1, "the one schedule to run, with its wire in the log")
)

// referee reads a wire on both sides of the board, in the order in which the board does,
// and says what shouldn't be: one actuation that begins while another is on its way, a
// piece of no motion, a piece twice, anything of a motion after a stop.
type referee struct {
	host, board wire.Decoder
	now         func() time.Duration
	open        map[byte]wire.Type // commands that nobody has answered, by seq
	at          map[byte]time.Duration
	motion      uint16 // begun and not at rest; 0: none
	begun       bool   // BEGIN was answered with OK
	started     bool
	stopped     bool // a STOP came since
	forgotten   bool // by the board, and the host can't have heard of it yet
	next        int  // the index of the piece that comes next
	wrong       []string
	log         func(format string, args ...any)
	actuations  int
	runs        int
}

func (r *referee) show(who string, f wire.Frame) {
	if r.log != nil && f.Type != wire.TypeFeedback && f.Type != wire.TypeEcho && f.Type != wire.TypeHeartbeat {
		r.log("%v %s %s %d: %x", r.now(), who, f.Type, f.Seq, f.Payload)
	}
}

func (r *referee) bad(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
	if r.log != nil {
		r.log("WRONG: "+format, args...)
	}
}

// actuates are the commands that do something at once.
func actuates(t wire.Type) bool {
	switch t {
	case wire.TypeEnable, wire.TypeDisable, wire.TypeOutput, wire.TypeReference, wire.TypeClear:
		return true
	}
	return false
}

// givenUp is after which the host doesn't wait for an answer any more.
const givenUp = 400 * time.Millisecond

// busy says what is on its way, "" if nothing is.
func (r *referee) busy() string {
	for seq, t := range r.open {
		if r.now()-r.at[seq] < givenUp {
			return t.String()
		}
		delete(r.open, seq)
		if t == wire.TypeBegin {
			r.motion = 0
		}
	}
	if r.motion != 0 {
		return fmt.Sprintf("motion %d", r.motion)
	}
	return ""
}

func (r *referee) toBoard(b []byte) {
	for len(b) > 0 {
		n, f, ok := r.host.Next(b)
		b = b[n:]
		if !ok {
			continue
		}
		r.show(">", f)
		switch t := f.Type; {
		case t == wire.TypeHello:
			clear(r.open) // who greets has forgotten what was on its way
		case t == wire.TypeStop:
			r.stopped = true
			if !r.started {
				r.motion = 0
			}
		case actuates(t):
			if what := r.busy(); what != "" {
				r.bad("%s while %s is on its way", t, what)
			}
			r.open[f.Seq], r.at[f.Seq] = t, r.now()
			r.actuations++
		case t == wire.TypeBegin:
			var m wire.Begin
			_ = m.Parse(f.Payload)
			// One that seems to have been lost is said again.
			if what := r.busy(); what != "" && (m.Motion != r.motion || r.started) {
				r.bad("BEGIN of motion %d while %s is on its way", m.Motion, what)
			}
			r.open[f.Seq], r.at[f.Seq] = t, r.now()
			r.motion, r.begun, r.started, r.stopped, r.forgotten, r.next = m.Motion, false, false, false, false, 0
			r.actuations++
		case t == wire.TypeSegment:
			var m wire.Segment
			_ = m.Parse(f.Payload)
			switch {
			case r.motion == 0 || !r.begun:
				if !r.stopped && !r.forgotten {
					r.bad("a piece of no motion")
				}
			case r.stopped:
				r.bad("a piece of motion %d after a stop", r.motion)
			case m.Index != byte(r.next):
				r.bad("piece %d of motion %d where %d comes", m.Index, r.motion, byte(r.next))
			}
			r.next++
		case t == wire.TypeGo:
			var m wire.Go
			_ = m.Parse(f.Payload)
			if (m.Motion != r.motion || r.stopped) && !r.forgotten {
				r.bad("GO of motion %d, begun is %d, stopped %t", m.Motion, r.motion, r.stopped)
			}
			r.started = !r.forgotten
			r.open[f.Seq], r.at[f.Seq] = t, r.now()
		}
	}
}

func (r *referee) toHost(b []byte) {
	for len(b) > 0 {
		n, f, ok := r.board.Next(b)
		b = b[n:]
		if !ok {
			continue
		}
		r.show("<", f)
		switch f.Type {
		case wire.TypeAck:
			var m wire.Ack
			_ = m.Parse(f.Payload)
			if m.Type == wire.TypeSegment && !r.started {
				r.motion, r.forgotten = 0, true
			}
			if r.open[m.Seq] != m.Type {
				continue
			}
			delete(r.open, m.Seq)
			switch {
			case m.Type == wire.TypeBegin && m.Code == wire.CodeOK:
				r.begun = true
			case m.Type == wire.TypeGo && m.Code == wire.CodeOK:
				r.runs++
			case m.Type == wire.TypeBegin, m.Type == wire.TypeGo:
				r.motion, r.started = 0, false
			}
		case wire.TypeHelloReply:
			r.motion, r.started = 0, false // it isn't moving, and has forgotten what was begun
		case wire.TypeStatus:
			var m wire.Status
			_ = m.Parse(f.Payload)
			if m.State.AtRest() && m.State != wire.Loaded && r.started {
				r.motion, r.started = 0, false
			}
		}
	}
}

// TestActuationsNeverOverlap runs random schedules of calls, stops and faults from four
// sides at once, and has a referee read the wire. -schedules says how many.
func TestActuationsNeverOverlap(t *testing.T) {
	var actuations, runs int
	outcomes := map[robot.OutcomeStatus]int{}
	for seed := range *schedules {
		if *only >= 0 && seed != *only {
			continue
		}
		inBubble(t, func(t *testing.T, bin string) {
			g := measured()
			if seed%2 == 1 {
				g = servos()
			}
			b := g.newBench(t, bin)
			ref := &referee{open: map[byte]wire.Type{}, at: map[byte]time.Duration{}, now: func() time.Duration { return b.s.now }}
			if *only >= 0 {
				ref.log = t.Logf
			}
			b.s.mu.Lock()
			b.s.onBoard, b.s.onHost = ref.toBoard, ref.toHost
			b.s.mu.Unlock()
			r := b.open(t)
			s := &schedule{b: b, r: r, end: time.Now().Add(1500 * time.Millisecond), outcomes: outcomes}
			s.run(uint64(seed))
			require.NoError(t, r.Close())
			b.s.mu.Lock()
			defer b.s.mu.Unlock()
			require.Empty(t, ref.wrong, "schedule %d", seed)
			actuations, runs = actuations+ref.actuations, runs+ref.runs
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d schedules, %d actuations, %d motions that ran: %v", *schedules, actuations, runs, outcomes)
	if *only >= 0 {
		return
	}
	require.Greater(t, runs, *schedules/4, "the schedules let something run")
	for _, s := range []robot.OutcomeStatus{robot.OutcomeDone, robot.OutcomeStopped, robot.OutcomeCancelled, robot.OutcomeRefused, robot.OutcomeFaulted, robot.OutcomeUnknown} {
		require.Positive(t, outcomes[s], "something ended %s", s)
	}
}

// schedule is one random schedule.
type schedule struct {
	b        *bench
	r        *mcu.Robot
	end      time.Time
	mu       sync.Mutex
	outcomes map[robot.OutcomeStatus]int
}

func (s *schedule) ended(out robot.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcomes[out.Status]++
}

func (s *schedule) run(seed uint64) {
	var wg sync.WaitGroup
	for k, actor := range []func(*rand.Rand){s.call, s.call, s.stop, s.fault} {
		random := rand.New(rand.NewPCG(seed, uint64(k)))
		wg.Go(func() {
			for time.Now().Before(s.end) {
				actor(random)
			}
		})
	}
	wg.Wait()
	s.b.s.replug()
	s.b.s.quiet()
	s.b.s.do("thaw")
}

// call moves the robot, or does a command.
func (s *schedule) call(random *rand.Rand) {
	time.Sleep(time.Duration(random.IntN(120)) * time.Millisecond)
	ctx := context.Background()
	state, err := s.r.State(ctx)
	if err != nil {
		return
	}
	if random.IntN(20) == 0 {
		state.StopEpoch-- // somebody who was asleep
	}
	do := func(kind robot.CommandKind) {
		out, _ := s.r.Actuate(ctx, robot.Command{ID: "c", Kind: kind, Epoch: state.StopEpoch, Name: "lamp", Value: float64(random.IntN(2))})
		s.ended(out)
	}
	switch at := random.IntN(12); {
	case len(state.Faults) > 0 || state.EStopped:
		do(robot.EStopReset)
	case !state.Enabled:
		do(robot.TorqueOn)
	case at == 0:
		do(robot.TorqueOff)
	case at == 1:
		do(robot.EStopReset)
	case at < 4:
		do(robot.SetActuator)
	default:
		s.move(random, state)
	}
}

func (s *schedule) move(random *rand.Rand, state robot.State) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if random.IntN(4) == 0 {
		time.AfterFunc(time.Duration(random.IntN(400))*time.Millisecond, cancel)
	}
	to := state.Where()
	for i := range to {
		to[i] = 0.6 * (2*random.Float64() - 1)
	}
	info := s.r.Info()
	m := robot.Motion{ID: "m", Epoch: state.StopEpoch, Trajectory: straight(info, state.Where(), to, 0.2+0.4*random.Float64())}
	for range info.Joints {
		m.StartTolerance, m.MaxDeviation = append(m.StartTolerance, 0.05), append(m.MaxDeviation, 0.4)
	}
	out, _ := s.r.Execute(ctx, m, nil)
	s.ended(out)
}

func (s *schedule) stop(random *rand.Rand) {
	time.Sleep(time.Duration(50+random.IntN(900)) * time.Millisecond)
	kind := robot.StopControlled
	if random.IntN(4) == 0 {
		kind = robot.StopEmergency
	}
	s.r.Stop(context.Background(), kind)
}

// fault does something to the board or its line, and undoes it.
func (s *schedule) fault(random *rand.Rand) {
	time.Sleep(time.Duration(100+random.IntN(1500)) * time.Millisecond)
	wait := func() { time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond) }
	switch random.IntN(8) {
	case 0:
		s.b.s.unplug()
		wait()
		s.b.s.replug()
	case 1:
		s.b.s.do("reset")
	case 2:
		s.b.s.do("button on")
		wait()
		s.b.s.do("button off")
	case 3:
		s.b.s.do("freeze")
		wait()
		s.b.s.do("thaw")
	case 4:
		s.b.s.silence()
		wait()
		s.b.s.quiet()
	case 5:
		s.b.s.do("stall 0 on")
		wait()
		s.b.s.do("stall 0 off")
	case 6:
		s.b.s.spoil(random.Uint64(), 4)
		wait()
		s.b.s.quiet()
	case 7:
		s.b.s.inject(wire.Append(nil, wire.Frame{Type: wire.Type(random.IntN(256)), Seq: byte(random.IntN(256))}))
	}
}
