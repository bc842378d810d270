package calibrate

import (
	"fmt"
	"strings"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// Options say what is to be calibrated.
type Options struct {
	Model  *robot.Model // the description's own limits
	Driver string       // hardware.DriverFeetech or hardware.DriverDynamixel
	Baud   int          // bit/s, for the file
	Name   string       // the file's path
	// Old is the file that is there, nil if none is: its IDs, limits and guards are kept.
	Old *hardware.File
	// Drop says how far the arm falls, as the simulator has it; "" leaves it out.
	Drop string
	Now  time.Time
}

// Do is what whoever drives a Session is to do next.
type Do uint8

// The actions. After each comes the method of Session of the same meaning.
const (
	DoNothing  Do = iota // go on as before
	DoScan               // then Scanned
	DoPowerOff           // Out.IDs, then PoweredOff
	DoOffsets            // Out.Offsets, then Wrote
	DoLimits             // Out.Limits, then Limited
	DoSave               // Out.File, then Saved
	DoEnd                // the end; Out.Err says how
)

// Out is what a step of a Session comes to.
type Out struct {
	Say     string   // for the person, lines with their ends
	Live    []string // lines that replace the last Live ones; nil leaves them
	Asks    bool     // only a line that is typed from now on is an answer
	Do      Do
	IDs     []int
	Offsets []Offset
	Limits  []Limit
	File    []byte
	Err     error // of DoEnd; nil: the file was written
}

// Offset is a homing offset that is to be written, or was.
type Offset struct {
	ID, Ticks int
	Read      int   // after writing
	Err       error // it couldn't be written or read back
}

// Limit are the bounds of a servo's goals, ticks.
type Limit struct{ ID, Low, High int }

type stage uint8

const (
	scanning stage = iota
	power          // may torque be switched off?
	pose           // waits for the pose
	writing        // may the offsets be written?
	turning        // waits for each joint's positive side
	ranging        // waits for each joint's ends
	confirm        // may the file be written?
	ended
)

// Session is one walk. Its methods are called by one goroutine, one after another: Begin,
// and then whatever happens. Each says what is to be said and done. Sampling says whether
// readings are wanted now.
type Session struct {
	o     Options
	names []string
	ids   []int // by joint
	words *words
	q     []float64 // the pose, by joint
	stage stage

	found   []Found // by joint
	recent  [][]int // the last readings of each joint, the oldest first
	silent  []int   // how many readings in a row a joint hasn't given
	tracks  []track // by joint
	written bool    // servos' memory was written in this walk
	settle  bool    // the next pose is the same one, to see that what was written holds

	at        []int     // ticks at the pose, by joint
	joint     int       // whose positive side is asked for
	from      []int     // unwrapped, where the joints were when that was asked
	direction []float64 // by joint
	file      []byte
	limits    []Limit // that servos are to have with it and haven't
}

// New prepares a walk. It refuses a robot that no servo bus can measure.
func New(o Options) (*Session, error) {
	m := o.Model
	s := &Session{o: o, names: m.JointNames(), ids: make([]int, m.DoF()), q: make([]float64, m.DoF())}
	if m.DoF() == 0 || m.Base != nil {
		return nil, robot.Errf(robot.CodeNotSupported, m.Name, "it has no joints that a servo bus could move, or it has wheels")
	}
	for i, l := range m.Limits {
		s.ids[i] = i + 1
		if o.Old != nil {
			s.ids[i] = o.Old.Joints[i].Channel
		}
		if m.Joints[m.Active[i]].Type.Unit() != "rad" && o.Old == nil {
			return nil, robot.Errf(robot.CodeNotSupported, s.names[i], "it slides, and how many ticks a metre has can't be seen; write a file with its scale first")
		}
		if !l.Bounded {
			return nil, robot.Errf(robot.CodeNotSupported, s.names[i], "it turns without end, and a servo's encoder counts one turn")
		}
		if s.q[i] = poseOf(l); (l.Upper-l.Lower)*s.scale(i) >= turn {
			return nil, robot.LimitErr(robot.CodeNotSupported, s.names[i], (l.Upper-l.Lower)*s.scale(i), turn, "ticks",
				"the description lets it go further than one turn of the encoder")
		}
	}
	var err error
	if s.words, err = newWords(m, s.q); err != nil {
		return nil, err
	}
	s.recent, s.silent = make([][]int, m.DoF()), make([]int, m.DoF())
	s.tracks, s.from = make([]track, m.DoF()), make([]int, m.DoF())
	s.at, s.direction = make([]int, m.DoF()), make([]float64, m.DoF())
	return s, nil
}

// within is how far a joint may go from the pose, rad, so that the pose may be 0: a
// half turn, less what a person may be off by.
const within = 3.0

// poseOf is where a joint is to be put: at 0, which people can recognise, unless the
// range lies so far to one side of it that the seam would be inside.
func poseOf(l robot.JointLimits) float64 {
	if l.Lower <= 0 && l.Upper >= 0 && l.Upper < within && -l.Lower < within {
		return 0
	}
	return (l.Lower + l.Upper) / 2
}

// scale is the ticks per rad or m of a joint.
func (s *Session) scale(i int) float64 {
	if s.o.Old != nil {
		return s.o.Old.Joints[i].Scale
	}
	return hardware.TicksPerRadian
}

// Sampling reports whether readings are wanted now.
func (s *Session) Sampling() bool {
	return s.stage >= pose && s.stage <= ranging
}

// IDs are the servos of the joints, in the joints' order.
func (s *Session) IDs() []int { return s.ids }

// Begin says what is going to happen.
func (s *Session) Begin() Out {
	var b strings.Builder
	fmt.Fprintf(&b, "Calibrating the robot %s, %s on a bus of %s.\n", gate.Escape(s.o.Model.Name), count(len(s.ids), "servo"), s.o.Driver)
	b.WriteString("Nothing moves by itself: torque is off the whole time, and you move the arm by hand. No opt-in is needed for that.\n")
	b.WriteString("Ctrl-C ends it at any time and leaves the file as it is.\n\n")
	return Out{Say: b.String(), Do: DoScan}
}

func (s *Session) end(say string, err error) Out {
	s.stage = ended
	return Out{Say: say, Do: DoEnd, Err: err}
}

// fail ends the walk, and says what state the servos' memory was left in.
func (s *Session) fail(err error) Out { return s.end(s.left(), err) }

// left says that the servos don't fit the old file any more, if they don't.
func (s *Session) left() string {
	if !s.written {
		return "Nothing was written.\n"
	}
	return "No file was written. The servos' memory has new offsets or limits: a file from before doesn't fit them and will be refused; calibrate again.\n"
}

// Interrupted is ctrl-C, or a terminal that went away.
func (s *Session) Interrupted() Out {
	return s.end("\n"+s.left(), robot.Errf(robot.CodeCancelled, "calibrate", "interrupted"))
}

// Scanned takes what a scan found.
func (s *Session) Scanned(found []Found, err error) Out {
	if err != nil {
		return s.fail(err)
	}
	if err := s.match(found); err != nil {
		return s.fail(err)
	}
	var b strings.Builder
	var on []string
	for i, f := range s.found {
		fmt.Fprintf(&b, "  %-16s ID %-3d %s", gate.Escape(s.names[i]), f.ID, gate.Escape(f.Model))
		if f.Firmware != "" {
			fmt.Fprintf(&b, ", firmware %s", gate.Escape(f.Firmware))
		}
		b.WriteByte('\n')
		if f.Powered {
			on = append(on, gate.Escape(s.names[i]))
		}
	}
	if n := len(found) - len(s.found); n > 0 {
		fmt.Fprintf(&b, "%s more on the bus, which no joint has; left alone.\n", count(n, "servo"))
	}
	b.WriteByte('\n')
	if len(on) == 0 {
		b.WriteString("No servo has torque: the arm is limp already. Hold it when you move it.\n\n")
		return s.toPose(b.String())
	}
	s.stage = power
	fmt.Fprintf(&b, "WITH TORQUE NOW: %s. It is switched off next, and THE ARM DROPS.\n", strings.Join(on, ", "))
	if s.o.Drop != "" {
		b.WriteString(s.o.Drop + "\n")
	}
	b.WriteString("Hold the arm, and type yes to switch the torque off: ")
	return Out{Say: b.String(), Asks: true}
}

// match holds what was found against the joints.
func (s *Session) match(found []Found) error {
	byID := map[int]Found{}
	var have []string
	for _, f := range found {
		if f.Clash {
			return robot.Errf(robot.CodeInvalidArgument, fmt.Sprintf("ID %d", f.ID),
				"more than one servo answers to it; connect one of them alone, give it another ID with the maker's tool, and begin again")
		}
		byID[f.ID] = f
		have = append(have, fmt.Sprint(f.ID))
	}
	var missing []string
	var trouble error
	s.found = nil
	for i, id := range s.ids {
		f, ok := byID[id]
		switch {
		case !ok:
			missing = append(missing, fmt.Sprintf("ID %d (%s)", id, s.names[i]))
		case f.Trouble != "" && trouble == nil:
			trouble = robot.Errf(robot.CodeNotSupported, s.names[i], "ID %d: %s", id, f.Trouble)
		}
		s.found = append(s.found, f)
	}
	switch {
	case len(found) == 0:
		return robot.Errf(robot.CodeDisconnected, "the bus", "no servo answers at %d bit/s: is the servos' own supply on, the cable in, the speed right? 'tau robot doctor' tries the other speeds", s.o.Baud)
	case len(missing) > 0:
		return robot.Errf(robot.CodeDisconnected, "the bus", "%s doesn't answer; there is ID %s. Check the cable from servo to servo at the first one that is missing, and its ID",
			strings.Join(missing, ", "), strings.Join(have, ", "))
	}
	return trouble // a file for it would be refused, after all the work
}

// PoweredOff takes what switching torque off came to.
func (s *Session) PoweredOff(err error) Out {
	if err != nil {
		return s.end("Hold the arm: the torque of some servos may be off now, and of others not. "+s.left(), err)
	}
	return s.toPose("Torque is off.\n\n")
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
