package expose

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/emulator"
	"github.com/tau-robot/tau/drivers/feetech/sts"
	"github.com/tau-robot/tau/drivers/port"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/hardware"
	"github.com/tau-robot/tau/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// long is how long a test waits for what has to come.
const long = time.Minute

const position, torque, goal = 56, 40, 42 // addresses (the maker's table)

func so101(t testing.TB) *robot.Model {
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	return m
}

func exposed(t *testing.T, o Options) *Exposed {
	t.Helper()
	if o.Spec.Link == "" {
		o.Spec = Spec{Driver: hardware.DriverFeetech, Link: filepath.Join(t.TempDir(), "arm")}
	}
	o.Model = so101(t)
	x, err := Open(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	return x
}

// client is a program that has the link open as a serial port.
type client struct {
	*port.Port
	codec *sts.Codec
	rest  []byte
}

func open(t *testing.T, x *Exposed, baud int) *client {
	t.Helper()
	p, err := port.Open(t.Context(), port.Options{Path: x.link, Baud: baud})
	require.NoError(t, err)
	return &client{Port: p, codec: sts.New()}
}

func (c *client) send(t *testing.T, i bus.Instruction) {
	t.Helper()
	b, err := c.codec.Append(nil, i)
	require.NoError(t, err)
	_, err = c.Write(b)
	require.NoError(t, err)
}

// hear returns the next packet, and whether there was one within a time.
func (c *client) hear(t *testing.T, within time.Duration) (bus.Status, bool) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(within)))
	buf := make([]byte, 64)
	for {
		s, n, err := c.codec.Parse(c.rest)
		c.rest = c.rest[n:]
		if err == nil {
			return s, true
		}
		if !errors.Is(err, bus.ErrMore) {
			continue
		}
		k, err := c.Read(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return bus.Status{}, false
		}
		require.NoError(t, err)
		c.rest = append(c.rest, buf[:k]...)
	}
}

func (c *client) read(t *testing.T, id byte, addr uint16) int {
	t.Helper()
	c.send(t, bus.Instruction{Op: bus.Read, ID: id, Addr: addr, Count: 2})
	s, ok := c.hear(t, long)
	require.True(t, ok)
	require.Equal(t, id, s.ID)
	require.Len(t, s.Params, 2)
	return int(s.Params[0]) | int(s.Params[1])<<8
}

func TestOtherProgramsMoveTheArm(t *testing.T) {
	x := exposed(t, Options{})
	require.Contains(t, x.String(), "servos with the IDs 1, 2, 3, 4, 5, 6 at 1000000 Bd")
	st, err := os.Stat(x.Device())
	require.NoError(t, err)
	require.Zero(t, st.Mode().Perm()&0o077, "for this user alone")

	c := open(t, x, 1_000_000)
	for _, id := range []byte{1, 2, 3, 4, 5, 6} {
		c.send(t, bus.Instruction{Op: bus.Ping, ID: id})
		s, ok := c.hear(t, long)
		require.True(t, ok)
		require.Equal(t, id, s.ID)
	}
	from := c.read(t, 1, position)
	to := from + 300
	c.send(t, bus.Instruction{Op: bus.SyncWrite, ID: bus.Broadcast, Addr: goal, Count: 2, IDs: []byte{1}, Data: []byte{byte(to), byte(to >> 8)}})
	c.send(t, bus.Instruction{Op: bus.Write, ID: 1, Addr: torque, Count: 1, Data: []byte{1}})
	_, ok := c.hear(t, long)
	require.True(t, ok)
	end := time.Now().Add(long)
	for {
		at := c.read(t, 1, position)
		if math.Abs(float64(at-to)) <= 2 {
			break
		}
		require.Less(t, time.Now(), end, "it is at %d", at)
	}
	require.InDelta(t, float64(to-middle)/ticksPerRad, x.bus.Shaft(1), 0.01)
	require.NoError(t, c.Close())

	// The next program finds the arm as it is, and nothing of the one before.
	c = open(t, x, 1_000_000)
	require.InDelta(t, to, c.read(t, 1, position), 3)
	require.NoError(t, c.Close())

	c = open(t, x, 115_200)
	c.send(t, bus.Instruction{Op: bus.Ping, ID: 1})
	_, ok = c.hear(t, 300*time.Millisecond)
	require.False(t, ok, "at another rate nobody understands")
	require.NoError(t, c.Close())
}

func TestWhoeverHasItOpenSeesItsEnd(t *testing.T) {
	x := exposed(t, Options{})
	c := open(t, x, 1_000_000)
	defer c.Close()
	require.NoError(t, x.Close())
	_, err := os.Lstat(x.link)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeDisconnected))
}

// A program that asks and never reads holds nothing up: neither the bus nor its end.
func TestAProgramThatNeverReads(t *testing.T) {
	x := exposed(t, Options{})
	c := open(t, x, 1_000_000)
	defer c.Close()
	ask, err := c.codec.Append(nil, bus.Instruction{Op: bus.Read, ID: 1, Addr: 0, Count: 80})
	require.NoError(t, err)
	end := time.Now().Add(long)
	for x.bus.Lost() == 0 {
		require.Less(t, time.Now(), end)
		_, err := c.Write(ask)
		require.NoError(t, err)
		time.Sleep(time.Millisecond) // the time of the answer on the wire
	}
	require.NoError(t, x.Close())
}

func TestTheLinkOverwritesNothing(t *testing.T) {
	dir := t.TempDir()
	refused := func(link string) {
		t.Helper()
		_, err := Open(Options{Spec: Spec{Driver: hardware.DriverFeetech, Link: link}, Model: so101(t)})
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	}
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("mine"), 0o600))
	refused(file)
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "mine", string(got))

	elsewhere := filepath.Join(dir, "elsewhere")
	require.NoError(t, os.Symlink(filepath.Join(dir, "nothing"), elsewhere))
	refused(elsewhere)
	refused(filepath.Join(dir, "no", "such", "folder"))

	link := filepath.Join(dir, "arm")
	x := exposed(t, Options{Spec: Spec{Driver: hardware.DriverFeetech, Link: link}})
	refused(link)
	require.NoError(t, x.Close())

	// What a killed bridge left.
	require.NoError(t, os.Symlink(filepath.Join(filepath.Dir(x.Device()), "999999"), link))
	x = exposed(t, Options{Spec: Spec{Driver: hardware.DriverFeetech, Link: link}})
	// And what somebody else put in its place isn't removed.
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.WriteFile(link, []byte("mine"), 0o600))
	require.NoError(t, x.Close())
	got, err = os.ReadFile(link)
	require.NoError(t, err)
	require.Equal(t, "mine", string(got))
}

func TestWhatCannotBeExposed(t *testing.T) {
	for _, s := range []string{"", "feetech", "feetech:", "mcu:x", ":x", "/dev/x"} {
		_, err := Parse(s)
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), s)
	}
	spec, err := Parse("dynamixel:a:b")
	require.NoError(t, err)
	require.Equal(t, Spec{Driver: hardware.DriverDynamixel, Link: "a:b"}, spec)
	spec.Link = filepath.Join(t.TempDir(), "arm")
	for name, code := range map[string]robot.Code{"gantry": robot.CodeNotSupported, "rover": robot.CodeNotSupported} {
		m, err := builtin.Load(name)
		require.NoError(t, err)
		_, err = Open(Options{Spec: spec, Model: m})
		require.ErrorIs(t, err, robot.ErrCode(code), name)
		_, err = os.Lstat(spec.Link)
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

// With the robot's file the servos sit as it says: what they report is what the file makes
// of the joints' positions.
func TestServosSitAsTheFileSays(t *testing.T) {
	m := so101(t)
	f := &hardware.File{Baud: 500_000, Joints: make([]hardware.Joint, len(m.Active))}
	for i := range f.Joints {
		f.Joints[i] = hardware.Joint{
			Channel: 11 + i, Direction: float64(1 - i%2*2), Zero: 2000 + 10*float64(i), Scale: ticksPerRad * (1 + 0.1*float64(i)), Offset: 100 * (i - 2),
		}
	}
	for driver, addr := range map[string]int{hardware.DriverFeetech: position, hardware.DriverDynamixel: 132} {
		if driver == hardware.DriverDynamixel {
			f.Baud = 57600
		}
		x := exposed(t, Options{File: f, Spec: Spec{Driver: driver, Link: filepath.Join(t.TempDir(), driver)}})
		for i := range f.Joints {
			j := &f.Joints[i]
			require.NoError(t, x.bus.Hold(byte(j.Channel), true))
			require.NoError(t, x.bus.ByHand(byte(j.Channel), x.arm.mounts[i].shaft(m.Home[i])))
			v, err := x.bus.Register(byte(j.Channel), addr)
			require.NoError(t, err)
			require.InDelta(t, j.Units(m.Home[i]), int32(v), 1, "%s %s", driver, m.JointNames()[i])
		}
		require.NoError(t, x.Close())
	}
}

// The adapter turns with the joint: signs, speeds and loads of a servo that sits the other
// way round are the other way round.
func TestAServoThatSitsTheOtherWayRound(t *testing.T) {
	body, err := sim.NewArm(sim.ArmOptions{Model: so101(t)})
	require.NoError(t, err)
	a := newArm(body, []mount{{at: 0.5, per: -2}, {per: 1}, {per: 1}, {per: 1}, {per: 1}, {per: 1}})
	require.InDelta(t, 0.5-2*0.3, a.mounts[0].shaft(0.3), 1e-12)
	require.InDelta(t, 0.3, a.mounts[0].joint(a.mounts[0].shaft(0.3)), 1e-12)
	in, out := make([]emulator.Drive, 6), make([]emulator.Sense, 6)
	for i := range in {
		in[i] = emulator.Drive{Powered: true, Torque: 1, Goal: a.mounts[i].shaft(0)}
	}
	for range 1500 {
		a.Step(0.001, in, out)
	}
	in[0].Goal = a.mounts[0].shaft(1)
	for range 100 {
		a.Step(0.001, in, out)
	}
	require.Less(t, out[0].Velocity, -0.5, "the shaft turns back where the joint turns forth")
	require.Greater(t, a.v[0], 0.25)
	require.Equal(t, -a.load[0], out[0].Load)
	require.NotZero(t, out[0].Load)
}
