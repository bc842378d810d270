package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tau-robot/tau/cmd/tau/internal/bench/farend"
	"github.com/tau-robot/tau/drivers/mcu"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/drivers/port"
	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/hardware"
)

const (
	wireBaud     = 115200
	wireRounds   = 400 // commands, and bare writes
	wireStops    = 150
	wireSeconds  = 1.5 // the least that a motion that is stopped lasts
	wireSlice    = 8   // ms of the motion's segments
	wireSeed     = 1
	wireMoreMS   = 1.0
	longestFrame = 40 // bytes on the wire, of the host: firmware/PROTOCOL.md, Frames
)

// Wire measures how long it takes from a call to the first byte on the line: of a command
// through the driver of our own firmware, beside a write to the bare port; and of a stop
// while a motion's segments are streamed. Both go over a pseudo-terminal to a board that
// answers and moves nothing, on a line that is modelled at 115,200 baud: a byte leaves
// when the ones before it have.
func Wire(ctx context.Context) (r Report, err error) {
	rng := rand.New(rand.NewPCG(wireSeed, 0))
	bare, err := openBare(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, bare.Close()) }()
	w, err := openWire(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	var writes, commands []float64
	for i := range wireRounds {
		ms, err := bare.write(ctx, rng, i)
		if err != nil {
			return r, err
		}
		writes = append(writes, ms)
		if ms, err = w.command(ctx, rng, i); err != nil {
			return r, err
		}
		commands = append(commands, ms)
	}
	stops, err := w.stops(ctx, rng)
	if err != nil {
		return r, err
	}
	r = wireReport(commands, writes, wireBaud)
	longest := float64(w.line.WireTime(longestFrame)) / float64(time.Millisecond)
	r.Measures = append(r.Measures, Measure{fmt.Sprintf("stop to its first byte, streaming (%d)", wireStops), "ms", spread(stops)})
	r.Also = append(r.Also, below(fmt.Sprintf("stop p99; %d bytes' wire time + 1 ms", longestFrame), "ms", quantile(stops, 0.99), longest+wireMoreMS))
	r.Within = r.Within && r.Also[1].Within
	r.Notes = append(r.Notes,
		fmt.Sprintf("stop p50 %.3f ms, p99 %.3f ms", quantile(stops, 0.5), quantile(stops, 0.99)),
		fmt.Sprintf("while segments streamed the line was loaded to %.0f %%; %.0f %% of the stops came while a frame was on it", 100*w.load, 100*w.busy))
	return r, nil
}

// wireReport holds commands against bare writes, both in ms.
func wireReport(commands, bare []float64, baud int) Report {
	c99, b99 := quantile(commands, 0.99), quantile(bare, 0.99)
	r := newReport("wire", fmt.Sprintf("from a call to the first byte on the line, %d Bd", baud), len(commands), quantile(bare, 0.5)+wireMoreMS,
		Measure{"command to its first byte", "ms", spread(commands)},
		Measure{"baseline: write to the bare port", "ms", spread(bare)})
	r.Also = append(r.Also, below("command, p99 over the bare port's", "ms", c99-b99, wireMoreMS))
	r.Within = r.Within && r.Also[0].Within
	r.Notes = append(r.Notes, fmt.Sprintf("command p50 %.3f ms, p99 %.3f ms; bare port p50 %.3f ms, p99 %.3f ms",
		quantile(commands, 0.5), c99, quantile(bare, 0.5), b99))
	return r
}

// heard waits for frames at the far end.
type heard struct {
	mu    sync.Mutex
	types []wire.Type
	got   chan farend.Frame
	bytes int
	free  time.Time // when the line has sent what it was given
	line  *farend.Line
	done  chan struct{}
}

func listen(l *farend.Line) *heard {
	h := &heard{line: l, done: make(chan struct{})}
	go func() {
		defer close(h.done)
		for f := range l.Frames() {
			h.mu.Lock()
			h.bytes += f.Len
			h.free = f.Left.Add(l.WireTime(f.Len))
			if slices.Contains(h.types, f.Type) {
				h.types = nil
				h.got <- f
			}
			h.mu.Unlock()
		}
	}()
	return h
}

// next gives the next frame of one of these types that comes from now on.
func (h *heard) next(types ...wire.Type) <-chan farend.Frame {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.types, h.got = types, make(chan farend.Frame, 1)
	return h.got
}

// now is how many bytes have come, and whether the line is still sending.
func (h *heard) now() (bytes int, busy bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bytes, time.Now().Before(h.free)
}

// left is how long after start a frame's first byte left, in ms.
func left(ctx context.Context, start time.Time, frame <-chan farend.Frame) (float64, error) {
	t := time.NewTimer(10 * time.Second)
	defer t.Stop()
	select {
	case f := <-frame:
		return float64(f.Left.Sub(start)) / float64(time.Millisecond), nil
	case <-t.C:
		return 0, errors.New("a frame that was to be measured never came")
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// bareLine is a port of drivers/port with nothing above it.
type bareLine struct {
	line  *farend.Line
	heard *heard
	port  *port.Port
}

func openBare(ctx context.Context) (*bareLine, error) {
	line, err := farend.Open(0, wireBaud)
	if err != nil {
		return nil, err
	}
	b := &bareLine{line: line, heard: listen(line)}
	if b.port, err = port.Open(ctx, port.Options{Path: line.Path(), Baud: wireBaud}); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *bareLine) Close() error {
	var err error
	if b.port != nil {
		err = b.port.Close()
	}
	err = errors.Join(err, b.line.Close())
	<-b.heard.done
	return err
}

// write measures one short frame.
func (b *bareLine) write(ctx context.Context, rng *rand.Rand, round int) (float64, error) {
	frame, err := wire.Heartbeat{}.Append(nil, byte(round))
	if err != nil {
		return 0, err
	}
	pause(rng, 4*time.Millisecond)
	got := b.heard.next(wire.TypeHeartbeat)
	start := time.Now()
	if _, err := b.port.Write(frame); err != nil {
		return 0, err
	}
	return left(ctx, start, got)
}

// pause waits for 1 ms and up to most: what is measured must not fall into step.
func pause(rng *rand.Rand, most time.Duration) {
	time.Sleep(time.Millisecond + time.Duration(rng.Int64N(int64(most))))
}

// wired is a robot at the far end's board.
type wired struct {
	model *robot.Model
	line  *farend.Line
	heard *heard
	robot *mcu.Robot
	ends  [2][]float64 // of the motions
	load  float64      // of the line while streaming
	busy  float64      // of the stops, how many came while a frame was on the line
}

// openWire opens the built-in arm, whose pieces take two frames each.
func openWire(ctx context.Context) (_ *wired, err error) {
	model, err := builtin.Load("so101")
	if err != nil {
		return nil, err
	}
	file, err := hardware.Parse("bench", servoFile(model), model, time.Now())
	if err != nil {
		return nil, err
	}
	w := &wired{}
	if w.model, err = file.Tightened(model); err != nil {
		return nil, err
	}
	if w.line, err = farend.Open(w.model.DoF(), wireBaud); err != nil {
		return nil, err
	}
	w.heard = listen(w.line)
	at := slices.Clone(w.model.Home)
	for end := range w.ends {
		w.ends[end] = slices.Clone(at)
		for i, l := range w.model.Limits {
			w.ends[end][i] = l.Lower + (l.Upper-l.Lower)*(0.2+0.6*float64(end))
		}
	}
	w.robot, err = mcu.Open(ctx, mcu.Options{Model: w.model, Hardware: file, Port: w.line.Path(), At: at})
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// servoFile is a robot's file with a servo for each joint.
func servoFile(m *robot.Model) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "robot = %q\ndriver = \"mcu\"\ncalibrated = 2026-11-30\nbaud = %d\n", m.Name, wireBaud)
	for i, name := range m.JointNames() {
		fmt.Fprintf(&b, "[joint.%s]\nchannel = %d\nkind = \"servo\"\ndirection = 1\nzero = 1500\nscale = 250\npulse_min = 500\npulse_max = 2500\nfeedback = \"none\"\n", name, i)
	}
	return []byte(b.String())
}

// Close ends the robot and the line.
func (w *wired) Close() error {
	var err error
	if w.robot != nil {
		err = w.robot.Close()
	}
	err = errors.Join(err, w.line.Close())
	<-w.heard.done
	return err
}

// command measures torque_on and torque_off in turns: each begins with a frame.
func (w *wired) command(ctx context.Context, rng *rand.Rand, round int) (float64, error) {
	kind, frame := robot.TorqueOn, wire.TypeReport
	if round%2 == 1 {
		kind, frame = robot.TorqueOff, wire.TypeDisable
	}
	pause(rng, 4*time.Millisecond)
	s, err := w.robot.State(ctx)
	if err != nil {
		return 0, err
	}
	got := w.heard.next(frame)
	start := time.Now()
	if _, err := w.robot.Actuate(ctx, robot.Command{ID: "bench", Kind: kind, Epoch: s.StopEpoch}); err != nil {
		return 0, fmt.Errorf("%s: %w", kind, err)
	}
	return left(ctx, start, got)
}

// stops measures stops of motions, at times from the first frame on, when the line is
// loaded most, to when only as much is sent as is used up.
func (w *wired) stops(ctx context.Context, rng *rand.Rand) ([]float64, error) {
	s, err := w.robot.State(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := w.robot.Actuate(ctx, robot.Command{ID: "bench", Kind: robot.TorqueOn, Epoch: s.StopEpoch}); err != nil {
		return nil, err
	}
	var out []float64
	var sent, busy int
	var streamed time.Duration
	for i := range wireStops {
		m, err := w.motion(ctx, i)
		if err != nil {
			return nil, err
		}
		first := w.heard.next(wire.TypeSegment)
		before, _ := w.heard.now()
		ended := make(chan error, 1)
		go func() {
			_, err := w.robot.Execute(ctx, m, nil)
			ended <- err
		}()
		began := time.Now()
		if _, err := left(ctx, began, first); err != nil {
			return nil, errors.Join(err, w.robot.Close(), <-ended)
		}
		pause(rng, 400*time.Millisecond)
		got := w.heard.next(wire.TypeStop)
		bytes, onIt := w.heard.now()
		sent, streamed = sent+bytes-before, streamed+time.Since(began)
		if onIt {
			busy++
		}
		start := time.Now()
		v := w.robot.Stop(ctx, robot.StopControlled)
		ms, err := left(ctx, start, got)
		if e := <-ended; !errors.Is(e, robot.ErrCode(robot.CodeStopped)) {
			return nil, fmt.Errorf("a motion that was stopped ended with: %w", errors.Join(e, err))
		}
		if err != nil {
			return nil, err
		}
		if v.Acknowledged != robot.Yes {
			return nil, fmt.Errorf("a stop wasn't acknowledged: %s", v.Text)
		}
		out = append(out, ms)
	}
	w.load = float64(w.line.WireTime(sent)) / float64(streamed)
	w.busy = float64(busy) / wireStops
	return out, nil
}

// motion leads from where the setpoints are to one end or the other, in segments as
// short as the line can carry.
func (w *wired) motion(ctx context.Context, round int) (robot.Motion, error) {
	s, err := w.robot.State(ctx)
	if err != nil {
		return robot.Motion{}, err
	}
	n := w.model.DoF()
	for scale := 0.5; scale > 1e-3; scale /= 2 {
		t, err := trajectory.PointToPoint(w.model.JointNames(), w.model.Limits, s.Setpoints, w.ends[round%2], scale)
		if err != nil {
			return robot.Motion{}, err
		}
		if t.Duration() >= wireSeconds {
			return robot.Motion{
				ID: "bench", Epoch: s.StopEpoch, Trajectory: sliced(t),
				StartTolerance: slices.Repeat([]float64{0.02}, n), MaxDeviation: slices.Repeat([]float64{0.2}, n),
			}, nil
		}
	}
	return robot.Motion{}, fmt.Errorf("no motion of %g s leads on from here", wireSeconds)
}

// sliced is the same trajectory in segments of wireSlice ms.
func sliced(t robot.Trajectory) robot.Trajectory {
	out := robot.Trajectory{Joints: t.Joints}
	n := len(t.Joints)
	for _, s := range t.Segments {
		parts := max(1, math.Round(s.Duration*1000/wireSlice))
		for i := range int(parts) {
			part := robot.Segment{Duration: s.Duration / parts, J: s.J}
			q, v, a := make([]float64, n), make([]float64, n), make([]float64, n)
			d := float64(i) * part.Duration
			for k := range n {
				q[k] = s.Q[k] + d*(s.V[k]+d*(s.A[k]/2+d*s.J[k]/6))
				v[k] = s.V[k] + d*(s.A[k]+d*s.J[k]/2)
				a[k] = s.A[k] + d*s.J[k]
			}
			part.Q, part.V, part.A = q, v, a
			out.Segments = append(out.Segments, part)
		}
	}
	return out
}
