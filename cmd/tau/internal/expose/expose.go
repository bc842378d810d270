package expose

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/creack/pty"

	"github.com/tau-robot/tau/drivers/feetech/emulator"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
	"github.com/tau-robot/tau/sim"
)

// Spec is what to expose, and where.
type Spec struct {
	Driver string // hardware.DriverFeetech or DriverDynamixel
	Link   string // path of the symbolic link to the pseudo-terminal
}

// Parse reads "feetech:LINK" or "dynamixel:LINK".
func Parse(s string) (Spec, error) {
	driver, link, ok := strings.Cut(s, ":")
	switch {
	case !ok, driver != hardware.DriverFeetech && driver != hardware.DriverDynamixel:
		return Spec{}, robot.Errf(robot.CodeInvalidArgument, "expose", "%q: want %s:LINK or %s:LINK, LINK being the path that other programs open",
			s, hardware.DriverFeetech, hardware.DriverDynamixel)
	case link == "":
		return Spec{}, robot.Errf(robot.CodeInvalidArgument, "expose", "%q names no link: other programs need a path to open", s)
	}
	return Spec{Driver: driver, Link: link}, nil
}

// Options say what is exposed.
type Options struct {
	Spec  Spec
	Model *robot.Model
	Scene *robot.Scene
	// File is the robot's file, which says how the servos sit on the joints; nil: IDs from 1
	// by joint, each servo's middle at its joint's 0, at 1 Mbaud.
	File *hardware.File
	Seed uint64
}

// Exposed is a servo bus that other programs may open. It runs in goroutines of its own
// until Close.
type Exposed struct {
	link, device string
	ids          []byte
	baud         int
	arm          *arm
	bus          *emulator.Bus
	cancel       context.CancelFunc
	done         chan error
	once         sync.Once
	closed       error
}

const defaultBaud = 1_000_000

// Open makes the arm, its servos and the pseudo-terminal, and serves it. INVALID_ARGUMENT:
// the link's place is taken, or there can't be such servos. NOT_SUPPORTED: the robot isn't
// one of turning joints. After an error nothing is left.
func Open(o Options) (*Exposed, error) {
	x := &Exposed{link: o.Spec.Link, baud: defaultBaud, done: make(chan error, 1)}
	m := o.Model
	for i, name := range m.JointNames() {
		if t := m.Joints[m.Active[i]].Type; t != robot.Revolute && t != robot.Continuous {
			return nil, robot.Errf(robot.CodeNotSupported, name, "bus servos turn, and this joint slides: %s can't be exposed", m.Name)
		}
		id := i + 1
		if o.File != nil {
			id = o.File.Joints[i].Channel
		}
		if id < 0 || id > 252 {
			return nil, robot.LimitErr(robot.CodeInvalidArgument, name, float64(id), 252, "", "no servo has that ID")
		}
		x.ids = append(x.ids, byte(id))
	}
	if o.File != nil && o.File.Baud != 0 {
		x.baud = o.File.Baud
	}
	body, err := sim.NewArm(sim.ArmOptions{Model: m, Scene: o.Scene})
	if err != nil {
		return nil, err
	}
	x.arm = newArm(body, mounts(m, o.File))
	kind := emulator.STS3215
	if o.Spec.Driver == hardware.DriverDynamixel {
		kind = emulator.XL430
	}
	x.bus, err = emulator.New(emulator.Options{
		Kind: kind, IDs: x.ids, Arm: x.arm, Baud: x.baud, Seed: o.Seed,
	})
	if err != nil {
		return nil, err
	}
	if o.File != nil {
		for i, id := range x.ids {
			if err := x.bus.SetOffset(id, o.File.Joints[i].Offset); err != nil {
				return nil, err
			}
		}
	}
	if err := x.serve(); err != nil {
		return nil, err
	}
	return x, nil
}

// serve opens the pseudo-terminal, makes the link and serves the bus.
func (x *Exposed) serve() error {
	master, slave, err := terminal()
	if err != nil {
		return robot.Errf(robot.CodeNotSupported, "expose", "no pseudo-terminal: %w", err)
	}
	x.device = slave.Name()
	line := &line{File: master, gone: make(chan struct{})}
	err = os.Chmod(x.device, 0o600) // other users have no business on this line
	if err == nil {
		err = place(x.link, x.device)
	}
	if err != nil {
		return errors.Join(err, slave.Close(), line.Close())
	}
	// From here on the line is hung up while nobody has it open, as nothing of one
	// program's is to reach the next.
	if err := slave.Close(); err != nil {
		return errors.Join(err, line.Close(), os.Remove(x.link))
	}
	ctx, cancel := context.WithCancel(context.Background())
	x.cancel = cancel
	go func() { x.done <- x.bus.Serve(ctx, line, line.rate) }()
	return nil
}

// terminal opens a pseudo-terminal whose master can be closed while it is read from.
func terminal() (master, slave *os.File, err error) {
	blocking, slave, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	fd, err := syscall.Dup(int(blocking.Fd()))
	err = errors.Join(err, blocking.Close())
	if err != nil {
		return nil, nil, errors.Join(err, slave.Close())
	}
	syscall.CloseOnExec(fd)
	if err = syscall.SetNonblock(fd, true); err != nil {
		return nil, nil, errors.Join(err, syscall.Close(fd), slave.Close())
	}
	return os.NewFile(uintptr(fd), "ptmx"), slave, nil
}

// place makes the symbolic link. A link to a pseudo-terminal that is no more is one that a
// killed bridge left, and is replaced; nothing else is.
func place(link, device string) error {
	// Of two bridges that find the same left-over one after the other replaces it: else the
	// slower one would take away what the faster has just made. Where a folder can't be
	// locked it goes without.
	folder, err := os.Open(filepath.Dir(link))
	if err != nil {
		return wrap(link, err)
	}
	defer func() { _ = folder.Close() }() // which unlocks it
	_ = syscall.Flock(int(folder.Fd()), syscall.LOCK_EX)
	err = os.Symlink(device, link)
	if err == nil || !errors.Is(err, os.ErrExist) {
		return wrap(link, err)
	}
	target, is := os.Readlink(link)
	_, gone := os.Stat(target)
	switch {
	case is == nil && target == device:
		return nil // a left-over: the killed bridge's pseudo-terminal had the number that ours has now
	case is != nil:
		return robot.Errf(robot.CodeInvalidArgument, "expose", "%s is there and is no link: name another path, nothing is overwritten", link)
	case filepath.Dir(target) != filepath.Dir(device):
		return robot.Errf(robot.CodeInvalidArgument, "expose", "%s is a link to %s, which is no pseudo-terminal: name another path, nothing is overwritten", link, target)
	case !errors.Is(gone, os.ErrNotExist):
		return robot.Errf(robot.CodeInvalidArgument, "expose", "%s leads to %s, which is in use: another bridge exposes an arm there, or it is a left-over and you remove it", link, target)
	}
	if err := os.Remove(link); err != nil {
		return wrap(link, err)
	}
	return wrap(link, os.Symlink(device, link))
}

func wrap(link string, err error) error {
	if err == nil {
		return nil
	}
	return robot.Errf(robot.CodeInvalidArgument, "expose", "the link %s can't be made: %w", link, err)
}

// String says what is there, for whoever started it.
func (x *Exposed) String() string {
	ids := fmt.Sprint(x.ids[0])
	for _, id := range x.ids[1:] {
		ids += fmt.Sprint(", ", id)
	}
	return fmt.Sprintf("%s leads to %s: servos with the IDs %s at %d Bd, on a simulated arm of their own", x.link, x.device, ids, x.baud)
}

// Device is the pseudo-terminal's path.
func (x *Exposed) Device() string { return x.device }

// Close ends it: the link is removed where it is still ours, and whoever has the line open
// finds it hung up. A second one returns what the first did.
func (x *Exposed) Close() error {
	x.once.Do(func() {
		// The link first: once the pseudo-terminal is gone its name may be another bridge's,
		// and so may a link to it.
		if target, err := os.Readlink(x.link); err == nil && target == x.device {
			x.closed = os.Remove(x.link)
		}
		x.cancel()
		x.closed = errors.Join(x.closed, <-x.done)
	})
	return x.closed
}

// line is the master's side of the pseudo-terminal. While nobody has the other side open,
// reading waits, and what is written is for nobody.
type line struct {
	*os.File
	once sync.Once
	gone chan struct{} // closed by Close
}

// Read waits for somebody who has the line open and says something.
func (l *line) Read(b []byte) (int, error) {
	for {
		n, err := l.File.Read(b)
		if n > 0 || !errors.Is(err, syscall.EIO) {
			return n, err
		}
		if !l.pause() {
			return 0, os.ErrClosed
		}
	}
}

// Write drops what nobody is there for.
func (l *line) Write(b []byte) (int, error) {
	n, err := l.File.Write(b)
	if errors.Is(err, syscall.EIO) {
		return len(b), nil
	}
	return n, err
}

// Close ends a Read and a Write that wait.
func (l *line) Close() error {
	var err error
	l.once.Do(func() {
		close(l.gone)
		err = l.File.Close()
	})
	return err
}
