package robottest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"sync"

	"github.com/tau-robot/tau/robot"
)

// DoubleOptions say what a Double is.
type DoubleOptions struct {
	// OpenLoop says of each active joint that nothing measures it; nil: of all.
	OpenLoop []bool
	// At is where a person says that the open-loop joints are, rad or m by active joint;
	// nil: nobody has said it.
	At []float64
	// Port makes it a real robot by name, at that port; "": a simulated one.
	Port string
	// Watchdog is how long, s of motion time, it goes on without a host; 0: 0.2 s.
	Watchdog float64
}

// Double is a board with hobby servos in front of another backend, which plays the
// servos: it starts without torque, measures nothing of its open-loop joints, knows of
// them what it was told since its last reset, stops by itself when its host is gone and
// is enabled anew after whatever went wrong. It shows that the suite's checks of such
// robots can be passed, and what stands above a backend that it is right for them.
//
// It is safe for concurrent use. It owns the backend that it stands on, which must have
// been made without torque, measure all its joints and be a simulated one.
type Double struct {
	in   robot.Backend
	o    DoubleOptions
	info robot.Info

	mu       sync.Mutex
	link     link
	enabled  bool
	quiet    bool      // nothing gets to the board any more
	pressed  bool      // its e-stop button
	told     []float64 // setpoints of this power-up, NaN where nothing was told
	declared []bool
	fault    *robot.Fault
	run      *boardRun // what moves; nil while nothing does
	closed   bool
}

// link is the state of the wire between host and board.
type link uint8

const (
	linkUp link = iota
	linkLost
	linkBoot // the board is coming up
)

// boardRun is one motion that the board runs.
type boardRun struct {
	lost chan struct{} // closed when the host hears of it no more
	cut  sync.Once
	done chan struct{} // closed once the board is at rest
	at   float64       // motion time of the last report, s; with Double.mu
	deaf float64       // motion time since which no host is heard, s; with Double.mu
	why  *robot.Error  // why the board stopped by itself; with Double.mu
}

var _ robot.Backend = (*Double)(nil)

// NewDouble makes a Double of a backend.
func NewDouble(in robot.Backend, o DoubleOptions) *Double {
	d := &Double{in: in, o: o, info: in.Info()}
	n := len(d.info.Joints)
	if o.Watchdog == 0 {
		d.o.Watchdog = 0.2
	}
	d.info.OpenLoop = append([]bool(nil), o.OpenLoop...)
	if o.OpenLoop == nil {
		for range n {
			d.info.OpenLoop = append(d.info.OpenLoop, true)
		}
	}
	d.info.Backend = "double"
	if o.Port != "" {
		d.info.Mode, d.info.Port = robot.ModeReal, o.Port
	}
	d.info.MeasuresPosition = !blind(d.info)
	d.info.MeasuresVelocity, d.info.MeasuresEffort = d.info.MeasuresVelocity && d.info.MeasuresPosition, false
	d.info.Identity = sha256.Sum256(fmt.Appendf(append([]byte("double\x00"), d.info.Identity[:]...), "%v", d.info.OpenLoop))
	d.told, d.declared = make([]float64, n), make([]bool, n)
	for i := range d.told {
		d.told[i] = math.NaN()
		if o.At != nil && d.info.OpenLoop[i] {
			d.told[i], d.declared[i] = o.At[i], true
		}
	}
	return d
}

// Info says what it is.
func (d *Double) Info() robot.Info {
	i := d.info
	i.Joints = append([]string(nil), i.Joints...)
	i.Limits = append([]robot.JointLimits(nil), i.Limits...)
	i.Actuators = append([]robot.Actuator(nil), i.Actuators...)
	i.OpenLoop = append([]bool(nil), i.OpenLoop...)
	return i
}

// reach is why nothing can be asked of the board, nil if it can; mu is held.
func (d *Double) reach() error {
	switch {
	case d.closed:
		return robot.Errf(robot.CodeDisconnected, "double", "it is closed")
	case d.link != linkUp:
		return robot.Errf(robot.CodeDisconnected, "double", "the link to the board is lost")
	}
	return nil
}

// State is what the board reports.
func (d *Double) State(ctx context.Context) (robot.State, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state(ctx)
}

// state is State with mu held.
func (d *Double) state(ctx context.Context) (robot.State, error) {
	if err := d.reach(); err != nil {
		return robot.State{}, err
	}
	s, err := d.in.State(ctx)
	if err != nil {
		return robot.State{}, err
	}
	return d.shown(s), nil
}

// shown is what the host gets to see of a state; mu is held.
func (d *Double) shown(s robot.State) robot.State {
	s = s.Clone()
	known := true
	for i, openLoop := range d.info.OpenLoop {
		switch {
		case openLoop:
			if !s.Enabled || math.IsNaN(d.told[i]) {
				s.Setpoints[i] = d.told[i]
			}
			known = known && !math.IsNaN(d.told[i])
			for _, list := range [][]float64{s.Positions, s.Velocities, s.Efforts} {
				if i < len(list) {
					list[i] = math.NaN()
				}
			}
		case !s.Enabled:
			s.Setpoints[i] = s.Positions[i]
		}
	}
	s.Efforts, s.Held, s.HeldPose = nil, "", nil
	if blind(d.info) {
		s.Positions, s.Velocities = nil, nil
	}
	s.Unreferenced, s.Declared = nil, nil
	if !known {
		s.Unreferenced = make([]bool, len(d.told))
		for i, q := range d.told {
			s.Unreferenced[i] = d.info.OpenLoop[i] && math.IsNaN(q)
		}
	}
	if anyOf(d.declared) {
		s.Declared = append([]bool(nil), d.declared...)
	}
	s.Powered = s.Enabled && !d.enabled
	s.Enabled = s.Enabled && d.enabled
	if d.fault != nil {
		s.Faults = append([]robot.Fault{*d.fault}, s.Faults...)
	}
	s.EStopped = s.EStopped || d.pressed
	return s
}

// refuse says why the board takes no motion or command of this epoch now; mu is held.
func (d *Double) refuse(epoch uint64, s robot.State) error {
	switch {
	case d.quiet:
		return robot.Errf(robot.CodeLinkTimeout, "double", "the board answers nothing")
	case s.EStopped:
		return robot.Errf(robot.CodeEStopped, "double", "the e-stop is latched; only estop_reset clears it")
	case epoch != s.StopEpoch:
		return robot.Errf(robot.CodeStopped, "double", "prepared in stop epoch %d, it is %d now", epoch, s.StopEpoch)
	case len(s.Faults) > 0:
		return robot.Errf(s.Faults[0].Code, s.Faults[0].Where, "a fault is latched until estop_reset: %s", s.Faults[0].Text)
	}
	return nil
}

func refused(err error) (robot.Outcome, error) {
	return robot.Outcome{Status: robot.OutcomeRefused}, err
}

// Actuate does one command on the board.
func (d *Double) Actuate(ctx context.Context, c robot.Command) (robot.Outcome, error) {
	x, s, err := d.admit(ctx, func(s robot.State) error {
		switch {
		case c.Kind == robot.EStopReset:
			return d.releasable(c, s)
		case c.Kind == robot.TorqueOn && anyOf(s.Unreferenced) && d.refuse(c.Epoch, s) == nil:
			return robot.Errf(robot.CodeNotCalibrated, "double", "nobody has said where its joints are")
		}
		return d.refuse(c.Epoch, s)
	})
	if err != nil {
		return refused(err)
	}
	to := s.Where()
	if s.Powered || s.Enabled {
		to = s.Setpoints // what is powered is at its setpoint already
	}
	out, err := d.in.Actuate(ctx, c)
	done := out.Status == robot.OutcomeDone && err == nil
	if done && c.Kind == robot.TorqueOn && !s.Powered && !s.Enabled {
		if err = d.snap(ctx, c, out.Final, to); err != nil {
			out.Status = robot.OutcomeUnknown
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run = nil
	defer close(x.done)
	if done {
		d.did(c.Kind, to)
	}
	if last, serr := d.state(ctx); serr == nil && out.Status != robot.OutcomeRefused {
		out.Final = last
	}
	return out, err
}

// did notes a command that the board has done; mu is held.
func (d *Double) did(kind robot.CommandKind, to []float64) {
	switch kind {
	case robot.TorqueOn:
		d.enabled = true
		clear(d.declared)
		copy(d.told, to)
	case robot.TorqueOff:
		d.enabled = false
	case robot.EStopReset:
		d.fault, d.enabled = nil, false
	}
}

// admit takes the board for a motion or command, if may has nothing against it.
func (d *Double) admit(ctx context.Context, may func(robot.State) error) (*boardRun, robot.State, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, err := d.state(ctx)
	switch {
	case err != nil:
	case d.run != nil:
		err = robot.Errf(robot.CodeBusy, "double", "a motion or command is running")
	default:
		err = may(s)
	}
	if err != nil {
		return nil, s, err
	}
	d.run = &boardRun{lost: make(chan struct{}), done: make(chan struct{}), deaf: math.Inf(1)}
	return d.run, s, nil
}

// snap takes the servos to their setpoints, as fast as they may.
func (d *Double) snap(ctx context.Context, c robot.Command, is robot.State, to []float64) error {
	m := robot.Motion{ID: c.ID, Epoch: c.Epoch, Trajectory: restToRest(d.info, is.Positions, to, 0)}
	far := 0.0
	for i := range to {
		far = math.Max(far, math.Abs(to[i]-is.Positions[i]))
		m.StartTolerance, m.MaxDeviation = append(m.StartTolerance, 1), append(m.MaxDeviation, 10)
	}
	if far < 1e-6 {
		return nil
	}
	_, err := d.in.Execute(ctx, m, nil)
	return err
}

// releasable says why what is latched can't be released now; mu is held.
func (d *Double) releasable(c robot.Command, s robot.State) error {
	switch {
	case d.quiet:
		return robot.Errf(robot.CodeLinkTimeout, "double", "the board answers nothing")
	case c.Epoch != s.StopEpoch:
		return robot.Errf(robot.CodeStopped, "double", "prepared in stop epoch %d, it is %d now", c.Epoch, s.StopEpoch)
	case d.pressed:
		return robot.Errf(robot.CodeEStopped, "double", "the e-stop button is pressed")
	}
	return nil
}

// Stop stops the board, if it can be reached.
func (d *Double) Stop(ctx context.Context, kind robot.StopKind) robot.StopVerdict {
	d.mu.Lock()
	err, quiet := d.reach(), d.quiet
	d.mu.Unlock()
	v := robot.StopVerdict{Backend: d.info.Backend, Commanded: robot.No, Acknowledged: robot.No, Stationary: robot.Unknown}
	switch {
	case err != nil:
		v.Text = err.Error()
		return v
	case quiet:
		v.Commanded, v.Text = robot.Yes, "the stop was sent, and nothing has answered it"
		return v
	}
	v = d.in.Stop(ctx, kind)
	v.Backend = d.info.Backend
	if open(d.info) && v.Stationary == robot.Yes {
		v.Stationary, v.Text = robot.Unknown, "the setpoints stand still; nothing measures whether the joints do"
	}
	return v
}

// Close stops what moves and gives the board back.
func (d *Double) Close() error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	return d.in.Close() // which waits for rest
}

// Rival tries to get the board as a second bridge does.
func (d *Double) Rival() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		return robot.Errf(robot.CodeBusy, "double", "a bridge has the board")
	}
	return nil
}
