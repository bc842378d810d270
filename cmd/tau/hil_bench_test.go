package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu/boardtest"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/hardware"
)

// The tests named TestHIL are the whole way: a person at a terminal, the program, the
// line, the firmware's own machine code in an emulated chip, and its pins. All times in
// them are the board's.

// bench is a cell of which the pins and the line are looked at. Of servos on a bus, which
// are in this process, board is nil; see busBench.
type bench struct {
	*cell
	robot, driver, port string
	hw                  *hardware.File
	model               *robot.Model
	args                []string // of each bridge at it, beside what names the robot
}

// shows is the end of what its bridge has on its screen, for the log of a failure.
func (b *bench) shows() string { return b.out.String()[max(0, b.at-2000):] }

// onBench runs a test with a bench, and again with another one where it says that the
// machine was too busy; see undisturbed.
func onBench[B interface{ shows() string }](t *testing.T, start func(t *testing.T) B, try func(t *testing.T, b B) bool) {
	t.Helper()
	t.Parallel()
	oneCell <- struct{}{}
	defer func() { <-oneCell }()
	done, skipped := false, false
	for i := range 10 {
		t.Run("try "+strconv.Itoa(i+1), func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			b := start(t)
			defer func() {
				if t.Failed() {
					t.Logf("the screen:\n%s", b.shows())
				}
			}()
			if done = try(t, b); !done {
				t.Logf("the machine was too busy:\n%s", b.shows())
			}
		})
		if skipped {
			t.Skip("skipped as its board was")
		}
		if done || t.Failed() {
			return
		}
	}
	t.Fatal("the machine was too busy for ten tries")
}

// servos is the pan and tilt of the example on an emulated board, its bridge running.
func servos(t *testing.T) *bench {
	t.Helper()
	return newBench(t, "pantilt", "pantilt-servo2.toml", boardtest.Options{Map: "servo2", Bytes: true}, "--at", "home")
}

func newBench(t *testing.T, name, file string, o boardtest.Options, args ...string) *bench {
	t.Helper()
	b := benchOf(t, name, file, args...)
	b.board = boardtest.Start(t, o)
	b.port = b.board.Path()
	b.begins(t)
	return b
}

// benchOf is a bench with the robot that an example's file is of, and with nothing yet at
// its port.
func benchOf(t *testing.T, name, file string, args ...string) *bench {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../testdata/hardware", file))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), file)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	m, err := builtin.Load(name)
	require.NoError(t, err)
	hw, err := hardware.Parse(path, data, m, time.Now())
	require.NoError(t, err)
	m, err = hw.Tightened(m)
	require.NoError(t, err)
	return &bench{cell: &cell{dir: dataDir(t), file: path}, robot: name, driver: hw.Driver, hw: hw, model: m, args: args}
}

// begins starts a bridge at the bench and waits for its prompt, or for what it has to say
// before that.
func (b *bench) begins(t *testing.T, before ...string) {
	t.Helper()
	b.launches(t)
	b.await(b.opened())
	for _, text := range before {
		b.await(text)
	}
	b.await("tau> ")
}

// launches starts a bridge at the bench.
func (b *bench) launches(t *testing.T) {
	t.Helper()
	args := append([]string{
		"robot", "real", "--data-dir", b.dir, "--session", "cell", "--robot", b.robot,
		"--driver", b.driver, "--port", b.port, "--config", b.file, "--mcp", "off",
	}, b.args...)
	b.screen = seatAt(t, pty.Winsize{Rows: 60, Cols: 240}, args...)
}

// opened is what a bridge says that has its robot.
func (b *bench) opened() string { return "REAL robot " + b.robot + " on " + b.driver + " " + b.port }

// busy is an answer that a busy machine gives, also to a command that came just behind a
// watchdog's bite; see undisturbed.
var busy = regexp.MustCompile(`✗ \w+: (STALE_STATE|LINK_TIMEOUT)|\? (move_joints|reference|torque_on|estop_reset): outcome unknown` +
	`|the board's fault WATCHDOG\)(?s:.*)✗ \w+: NOT_ENABLED` +
	`|none of the \d+ servos answers any more`)

// sees waits for a text, and returns false if the machine was too busy meanwhile.
func (b *bench) sees(text string) bool {
	b.t.Helper()
	seen := false
	eventually(b.t, func() bool {
		got := b.out.String()[b.at:]
		i, no := strings.Index(got, text), busy.FindStringIndex(got)
		if no != nil && (i < 0 || no[0] < i) {
			return true
		}
		if seen = i >= 0; seen {
			b.at += i + len(text)
		}
		return seen
	}, text)
	return seen
}

// again reports whether a command may be typed again, because there was nothing but an old
// report of the board, and goes on behind that.
func (b *bench) again() bool {
	b.t.Helper()
	at := busy.FindStringIndex(b.out.String()[b.at:])
	if at == nil || !strings.HasSuffix(b.out.String()[b.at:b.at+at[1]], "STALE_STATE") {
		return false
	}
	b.at += at[1]
	if b.board == nil || b.board.Kind() == boardtest.Real {
		time.Sleep(2 * period)
	} else {
		b.board.Pass(2 * period)
	}
	return true
}

// carded types a command until its card is there: a busy machine may have nothing but an
// old report of the board.
func (b *bench) carded(line string) bool {
	b.t.Helper()
	for range 50 {
		b.typed(line + "\r")
		if b.sees("Approve? [y/N]") {
			return true
		}
		if !b.again() {
			return false
		}
	}
	return false
}

// approved types a command, approves it and waits for a text, again where a busy machine
// has nothing but an old report of the board.
func (b *bench) approved(line, text string) bool {
	b.t.Helper()
	for range 20 {
		if !b.carded(line) {
			return false
		}
		b.answers("y")
		if b.sees(text) {
			return true
		}
		if !b.again() {
			return false
		}
	}
	return false
}

// awaits waits for texts in whichever order.
func (b *bench) awaits(texts ...string) {
	b.t.Helper()
	from := b.at
	for _, text := range texts {
		b.at = max(b.at, b.out.await(b.t, text, from))
	}
}

// unknown waits for the answer that nobody knows what became of a motion, and for another
// text in whichever order. It returns false if a busy machine had ended the motion before.
func (b *bench) unknown(texts ...string) bool {
	b.t.Helper()
	const want, other = "? move_joints: outcome unknown", "✗ move_joints"
	ended := false
	eventually(b.t, func() bool {
		got := b.out.String()[b.at:]
		ended = strings.Contains(got, other)
		return ended || strings.Contains(got, want)
	}, want)
	if ended {
		return false
	}
	b.awaits(append(texts, want)...)
	return true
}

// begun waits until a motion shows in the trace, and returns false if the machine was too
// busy for it.
func (b *bench) begun(shows func() bool) bool {
	b.t.Helper()
	moving := false
	eventually(b.t, func() bool {
		moving = shows()
		return moving || busy.MatchString(b.out.String()[b.at:])
	}, "a motion")
	return moving && !busy.MatchString(b.out.String()[b.at:])
}

// powers has torque_on approved, and waits for the first pulse.
func (b *bench) powers() bool {
	b.t.Helper()
	mark := b.board.Mark()
	if !b.approved("torque_on", "✓ torque_on") {
		return false
	}
	b.board.Wait(mark, "a pulse", func(e boardtest.Event) bool { return e.Is("servo", 0) })
	return true
}

// asked types a command and returns the motion of its card as it was stored for approval,
// or false if the machine was too busy.
func (b *bench) asked(line string) (robot.Motion, bool) {
	b.t.Helper()
	if !b.carded(line) {
		return robot.Motion{}, false
	}
	var s struct {
		Motion []byte `json:"motion"`
	}
	require.NoError(b.t, json.Unmarshal(b.stored().Snapshot, &s))
	m, err := robot.DecodeMotion(s.Motion)
	require.NoError(b.t, err)
	return m, true
}

// stored is the record of the request of the last card.
func (b *bench) stored() (rec gate.Record) {
	b.t.Helper()
	id := callLine.FindStringSubmatch(b.shown())[1]
	var err error
	eventually(b.t, func() bool {
		rec, err = b.fetch(id)
		return err == nil
	}, "a record of what was shown")
	return rec
}

// fetch reads a request from a copy of the bridge's store, which stays the bridge's own.
func (b *bench) fetch(id string) (rec gate.Record, err error) {
	look := b.t.TempDir()
	for _, f := range []string{"bridge.db", "bridge.db-wal", "bridge.db-tally"} {
		data, err := os.ReadFile(filepath.Join(b.dir, f))
		if err == nil {
			err = os.WriteFile(filepath.Join(look, f), data, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return rec, err
		}
	}
	s, err := approval.OpenSQLite(context.Background(), filepath.Join(look, "bridge.db"), approval.Options{})
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Get(context.Background(), id)
}

// A passed is a frame that went over the line, and when its last byte did, to the ms.
type passed struct {
	at   time.Duration
	kind wire.Type
	data []byte
}

// line is what the board received ("rx") or sent ("tx") from a time on.
func (b *bench) line(way string, from time.Duration) []passed {
	b.t.Helper()
	var d wire.Decoder
	var out []passed
	for _, e := range b.board.Trace().Of(0, way) {
		data, err := hex.DecodeString(e.Args[0])
		require.NoError(b.t, err)
		for len(data) > 0 {
			n, f, ok := d.Next(data)
			data = data[n:]
			if ok && e.At >= from {
				out = append(out, passed{e.At, f.Type, slices.Clone(f.Payload)})
			}
		}
	}
	return out
}

// first is when the first frame of a kind was received from a time on.
func (b *bench) first(kind wire.Type, from time.Duration) time.Duration {
	b.t.Helper()
	for _, f := range b.line("rx", from) {
		if f.kind == kind {
			return f.at
		}
	}
	b.t.Fatalf("the board got no %v after %v:\n%s", kind, from, b.out.String()[max(0, b.at-3000):])
	return 0
}

// quiet requires that no frame which could move, power or release anything was received
// since a time.
func (b *bench) quiet(from time.Duration) {
	b.t.Helper()
	for _, f := range b.line("rx", from) {
		switch f.kind {
		case wire.TypeEnable, wire.TypeBegin, wire.TypeSegment, wire.TypeGo, wire.TypeReference, wire.TypeClear:
			b.t.Fatalf("nobody approved %v % x", f.kind, f.data)
		case wire.TypeOutput: // off is said at the start
			require.Equal(b.t, []byte{0, 0}, f.data[1:], "nobody approved an output")
		}
	}
}

// now is the board's present time.
func (b *bench) now() time.Duration {
	b.t.Helper()
	return b.board.Do("note").At
}

// passes waits until the board's clock shows a time.
func (b *bench) passes(until time.Duration) {
	b.t.Helper()
	if d := until - b.now(); d > 0 {
		b.board.Pass(d)
	}
}

// pulses of a joint of the description that began from one time to another.
func (b *bench) pulses(joint int, from, to time.Duration) []boardtest.Pulse {
	b.t.Helper()
	all := b.board.Trace().Pulses(b.hw.Joints[joint].Channel, 0)
	return slices.DeleteFunc(all, func(p boardtest.Pulse) bool { return p.At-p.Width < from || p.At-p.Width > to })
}

const (
	period = 20 * time.Millisecond // of a servo's pulses
	// late is by how much pulses may be behind what was approved, within of the range.
	late   = 25 * time.Millisecond
	within = 0.01
)

// follows requires that the pulses from a GO on are those of an approved trajectory.
func (b *bench) follows(m robot.Motion, start time.Duration) {
	b.t.Helper()
	traj := m.Trajectory
	end := start + seconds(traj.Duration()) + 10*period
	b.passes(end + period)
	n := len(traj.Joints)
	q, v, a := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range b.hw.Joints {
		j := &b.hw.Joints[i]
		units := func(at time.Duration) float64 {
			traj.Sample(min(max((at-start).Seconds(), 0), traj.Duration()), q, v, a)
			return j.Units(q[i])
		}
		l := b.model.Limits[i]
		tolerance := within * (l.Upper - l.Lower) * j.Scale
		worst := 0.0
		pulses := b.pulses(i, start-5*period, end)
		require.Greater(b.t, len(pulses), int(traj.Duration()*45), "%s has a pulse every 20 ms", j.Name)
		for k, p := range pulses {
			at := p.At - p.Width
			if k > 0 {
				require.InDelta(b.t, period, p.At-p.Width-pulses[k-1].At+pulses[k-1].Width, float64(time.Millisecond), "%s has a pulse every 20 ms", j.Name)
			}
			near := math.Inf(1)
			for back := time.Duration(0); back <= late; back += time.Millisecond {
				near = min(near, math.Abs(us(p.Width)-units(at-back)))
			}
			require.LessOrEqual(b.t, near, tolerance, "%s, %v after the start: %v, approved were %.1f µs", j.Name, at-start, p.Width, units(at))
			worst = max(worst, math.Abs(us(p.Width)-units(at)))
		}
		last := pulses[len(pulses)-1]
		require.InDelta(b.t, j.Units(traj.End()[i]), us(last.Width), 1, "%s ends where it was approved to", j.Name)
		b.t.Logf("%s: worst pulse of %d off by %.2f µs at its own time (%.0f are allowed, within %v)", j.Name, len(pulses), worst, tolerance, late)
	}
}

// midway has a motion of the pan to its other side approved, and returns it and when it
// was started once the pulses change.
func (b *bench) midway() (m robot.Motion, start time.Duration, ok bool) {
	b.t.Helper()
	to := 1.3
	if b.pulse() > zeroPulse {
		to = -to
	}
	first, from, mark := b.pulse(), b.now(), b.board.Mark()
	if m, ok = b.asked("move_joints speed_scale=0.3 pan=" + strconv.FormatFloat(to, 'g', -1, 64)); !ok {
		return m, 0, false
	}
	b.answers("y")
	if !b.begun(func() bool {
		return slices.ContainsFunc(b.board.Trace().Pulses(0, mark), func(p boardtest.Pulse) bool { return abs(us(p.Width)-first) > 20 })
	}) {
		return m, 0, false
	}
	return m, b.first(wire.TypeGo, from), true
}

// What the pan may take and do in a brake from the speed of midway: its velocity over its
// acceleration, the time in which that builds up, and two pulses.
const braking = 200 * time.Millisecond

// brakes requires that the pan followed the approved motion until something happened, from
// there or after at most wait came to rest within its limits without turning round, and then
// held, or was without pulses. It returns false if the motion had ended before.
func (b *bench) brakes(m robot.Motion, start, happened, wait time.Duration, holds bool) bool {
	b.t.Helper()
	j, l := &b.hw.Joints[0], b.model.Limits[0]
	rest := happened + wait + braking
	b.passes(rest + 10*period)
	pulses := b.pulses(0, start, rest)
	require.NotEmpty(b.t, pulses)
	last := us(pulses[len(pulses)-1].Width)
	end := j.Units(m.Trajectory.End()[0])
	if abs(last-end) < 20 {
		return false
	}
	n := len(m.Trajectory.Joints)
	q, v, a := make([]float64, n), make([]float64, n), make([]float64, n)
	most := l.Acceleration*j.Scale + 4*0.6/(period.Seconds()*period.Seconds()) // four edges, each off by at most 0.6 µs
	for k, p := range pulses {
		if at := p.At - p.Width; at < happened {
			m.Trajectory.Sample(max((at-start).Seconds(), 0), q, v, a)
			require.InDelta(b.t, j.Units(q[0]), us(p.Width), within*(l.Upper-l.Lower)*j.Scale, "on its way")
		}
		if k == 0 {
			continue
		}
		way := us(p.Width) - us(pulses[k-1].Width)
		require.GreaterOrEqual(b.t, way*math.Copysign(1, end-us(pulses[0].Width)), -1.0, "it turned round")
		if k > 1 {
			before := us(pulses[k-1].Width) - us(pulses[k-2].Width)
			require.LessOrEqual(b.t, abs(way-before)/(period.Seconds()*period.Seconds()), most, "%v after the event", p.At-happened)
		}
	}
	if holds {
		b.unchanged(rest)
	} else {
		b.silent(rest)
	}
	return true
}

// silent requires that no pulse has begun since a time.
func (b *bench) silent(from time.Duration) {
	b.t.Helper()
	b.passes(from + 10*period)
	for i := range b.hw.Joints {
		require.Empty(b.t, b.pulses(i, from, b.now()), "%s is powered", b.hw.Joints[i].Name)
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// unchanged requires that each joint has had pulses since a time, of one width but for their edges' own jitter.
func (b *bench) unchanged(from time.Duration) {
	b.t.Helper()
	for i := range b.hw.Joints {
		pulses := b.pulses(i, from, b.now())
		require.NotEmpty(b.t, pulses, "%s is powered", b.hw.Joints[i].Name)
		for _, p := range pulses {
			require.InDelta(b.t, us(pulses[0].Width), us(p.Width), 1, "%s moved", b.hw.Joints[i].Name)
		}
	}
}
