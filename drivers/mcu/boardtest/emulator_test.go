package boardtest

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// instruction is the time of a few instructions, by which an edge may be off.
const instruction = time.Microsecond

func TestPulsesHaveTheWidthThatTheProgramGaveThem(t *testing.T) {
	b, l := start(t, Options{})
	l.do("p", 0)
	b.Wait(0, "the second pulse", func(e Event) bool { return e.Is("servo", 1) })
	first, second := b.Trace().Pulses(0, 0), b.Trace().Pulses(1, 0)
	require.Len(t, first, 1)
	require.Len(t, second, 1)
	require.InDelta(t, 1500*time.Microsecond, first[0].Width, float64(instruction))
	require.InDelta(t, 600*time.Microsecond, second[0].Width, float64(instruction))
	require.InDelta(t, 600*time.Microsecond, second[0].At-first[0].At, float64(instruction))

	width, ok := b.Trace().PulseAt(0, second[0].At)
	require.True(t, ok)
	require.Equal(t, first[0].Width, width)
	_, ok = b.Trace().PulseAt(1, first[0].At)
	require.False(t, ok, "the second pulse hadn't ended when the first did")
}

func TestStepsAreCountedWithTheirDirectionAndOnlyUnderPower(t *testing.T) {
	b, l := start(t, Options{Edges: true})
	l.do("t", 0)
	b.Wait(0, "three steps without power", func(e Event) bool { return e.Is("unpowered", 2, 3) })
	require.Empty(t, b.Trace().Of(0, "steps"))

	l.do("f", 0)
	l.do("s", 0)
	forward := b.Wait(0, "100 steps", func(e Event) bool { return e.Is("steps", 2, 100) })
	require.Equal(t, int64(100), b.Trace().StepsAt(2, forward.At))
	edges := b.Trace().Of(0, "step", 2)
	require.Len(t, edges, 100)
	require.InDelta(t, 99*time.Millisecond, edges[99].At-edges[0].At, float64(100*time.Microsecond))
	require.True(t, b.Trace().Of(0, "enable")[0].Is("enable", 1))

	l.do("r", 0)
	l.do("s", 0)
	b.Wait(0, "as many back", func(e Event) bool { return e.At > forward.At && e.Is("steps", 2, 0) })
	require.Zero(t, b.Trace().StepsAt(2, b.Trace().Now()))
}

func TestStepsThatADriverWouldMissAreNamed(t *testing.T) {
	b, l := start(t, Options{})
	l.do("t", 0)
	e := b.Wait(0, "a short step", func(e Event) bool { return e.Kind == "marginal" })
	require.Equal(t, "high", e.Args[1])
	require.Less(t, e.Int(2), int64(1000))
	l.do("s", 0)
	b.Wait(0, "the steps", func(e Event) bool { return e.Is("steps", 2, -100) })
	require.Len(t, b.Trace().Of(0, "marginal"), 3, "those of two µs are long enough")
}

func TestOutputs(t *testing.T) {
	b, l := start(t, Options{})
	l.do("o", 0)
	on := b.Wait(0, "the output", func(e Event) bool { return e.Is("output", 0, 1) })
	l.do("o", 0)
	b.Wait(0, "its end", func(e Event) bool { return e.At > on.At && e.Is("output", 0, 0) })
	l.do("m", 0)
	b.Wait(0, "a quarter of full power", func(e Event) bool { return e.Is("output", 1, 64) })
	require.Equal(t, int64(64), b.Trace().OutputAt(1, b.Trace().Now()))
	b.Reset()
	require.Zero(t, b.Trace().OutputAt(1, b.Trace().Now()), "a reset ends every output")
}

func TestInputsFollowButtonSwitchAndServo(t *testing.T) {
	b, l := start(t, Options{SwitchAt: []SwitchAt{{Joint: 0, Position: 1000}}})
	const pressed, open = 1, 2 // of the report; the button's input is high when pressed
	require.Equal(t, string(rune(open)), l.do("i", 1))
	b.Button(true)
	require.Equal(t, string(rune(open|pressed)), l.do("i", 1))
	b.Switch(0, true)
	require.Equal(t, string(rune(pressed)), l.do("i", 1))
	b.Button(false)
	b.SwitchAuto(0)
	require.Equal(t, string(rune(open)), l.do("i", 1), "the servo is at 1500 µs")
	mark := b.Mark()
	b.Hand(0, 999)
	b.Wait(mark, "the switch", func(e Event) bool { return e.Is("switch", 0, 1) })
	require.Equal(t, string(rune(0)), l.do("i", 1))
	b.Reset()
	require.Equal(t, string(rune(0)), l.do("i", 1), "inputs outlast a reset")
}

func TestFeedbackFollowsTheServo(t *testing.T) {
	b, l := start(t, Options{})
	counts := func() int {
		p := l.do("a", 2)
		return int(p[0])<<8 | int(p[1])
	}
	require.Equal(t, 512, counts(), "1500 µs is the middle")
	b.Hand(0, 2000)
	require.Equal(t, 767, counts())
	for range 3 {
		l.do("p", 0)
	}
	b.Pass(100 * time.Millisecond)
	require.Less(t, counts(), 650, "pulses of 1500 µs pull it back")
	b.Stall(0, true)
	b.Hand(0, 2400)
	l.do("p", 0)
	b.Pass(50 * time.Millisecond)
	require.Equal(t, 972, counts(), "stalled")
	b.Raw(0, 1023)
	require.Equal(t, 1023, counts())
	b.Raw(0, 3)
	require.Equal(t, 3, counts())
	b.Feedback(0, true)
	require.Equal(t, 972, counts())
	b.Feedback(0, false)
	require.Zero(t, counts(), "a broken wire")
}

func TestBootsAndTheirCauses(t *testing.T) {
	b, l := start(t, Options{})
	const power, external, brownout, watchdog = "\x01", "\x02", "\x04", "\x08"
	require.Equal(t, power, l.do("c", 1))
	l.do("h", 0)
	b.Reset()
	require.Len(t, b.Trace().Pulses(0, 0), 1, "the reset cut the pulse short")
	require.Equal(t, external, l.do("c", 1))
	b.BrownOut()
	require.Equal(t, brownout, l.do("c", 1))
	mark := b.Mark()
	l.do("w", 0)
	b.Wait(mark, "the watchdog", func(e Event) bool { return e.Kind == "boot" && e.Text == "watchdog" })
	require.Equal(t, watchdog, l.do("c", 1))

	mark = b.Mark()
	l.do("w", 0)
	b.Hang()
	e := b.Wait(mark, "the watchdog", func(e Event) bool { return e.Kind == "boot" })
	require.Equal(t, "watchdog", e.Text)
	require.Equal(t, watchdog, l.do("c", 1), "and it runs again")
}

func TestAFrozenBoardHearsAndSaysNothingAndHoldsItsPins(t *testing.T) {
	b, l := start(t, Options{})
	l.do("h", 0)
	b.Freeze()
	frozen := b.Mark()
	l.write("o")
	b.Pass(200 * time.Millisecond)
	require.Empty(t, b.Trace().Of(frozen, "output"))
	require.Empty(t, b.Trace().Pulses(0, 0), "the pin has stayed high")
	b.Thaw()
	require.Equal(t, "\x01", l.do("c", 1), "what was sent to the frozen board is lost; it has not booted")
	require.Empty(t, b.Trace().Of(frozen, "boot"))
}

func TestAnUnpluggedLineEndsAndComesBackUnderItsName(t *testing.T) {
	b, l := start(t, Options{})
	l.do("o", 0)
	b.Unplug()
	_, err := l.f.Read(make([]byte, 1))
	require.Error(t, err)
	_, err = os.Stat(b.Path())
	require.ErrorIs(t, err, os.ErrNotExist)
	b.Plug()
	again := open(t, b.Path())
	again.do("o", 0)
	b.Wait(0, "the output's end", func(e Event) bool { return e.Is("output", 0, 0) })
	require.Len(t, b.Trace().Of(0, "boot"), 1, "the board stayed powered")
}

func TestWhatAHostLeftUnreadIsNotThereForTheNext(t *testing.T) {
	b, l := start(t, Options{Bytes: true})
	l.write("qo")
	b.Wait(0, "the answer", func(e Event) bool { return e.Is("output", 0, 1) })
	b.Pass(20 * time.Millisecond)
	require.NoError(t, l.f.Close())
	b.Pass(20 * time.Millisecond)
	next := open(t, b.Path())
	require.Equal(t, "\x01", next.do("c", 1))
}

func TestBytesTakeTheirTimeOnTheLine(t *testing.T) {
	b, l := start(t, Options{Bytes: true})
	l.do("q", 100)
	b.Pass(5 * time.Millisecond)
	begin := b.Trace().Of(0, "rx")[0].At
	sent := b.Trace().Of(0, "tx")
	// 101 bytes of 10 bits at 2 MHz / 17, and up to a ms of the trace's summary at
	// either end.
	require.InDelta(t, 101*10*17*time.Microsecond/2, sent[len(sent)-1].At-begin, float64(1200*time.Microsecond))
}

func TestOverrunsAreCountedAndNotHidden(t *testing.T) {
	b, l := start(t, Options{})
	l.write("x123456789abc")
	require.Equal(t, "x", l.read(1))
	e := b.Wait(0, "an overrun", func(e Event) bool { return e.Kind == "overrun" })
	b.Pass(10 * time.Millisecond)
	lost := b.Cycles().Counts["overruns"]
	require.GreaterOrEqual(t, lost, e.Int(0))
	// The program is deaf for ten bytes' time and the chip keeps three.
	require.InDelta(t, 7, lost, 1)
	require.Equal(t, 12-int(lost), len(l.read(12-int(lost))))
}

func TestSpansCountCycles(t *testing.T) {
	b, l := start(t, Options{})
	for range 5 {
		l.do("n", 0)
	}
	r := b.Cycles()
	require.Equal(t, map[int]Span{1: {Count: 5, Least: 1001, Mean: 1001, Most: 1001}}, r.Spans)
	require.Greater(t, r.Counts["asleep"], r.Counts["total"]/2, "the program sleeps between letters")
	require.Greater(t, r.Counts["free_ram"], int64(1500))
}

func TestBothBenchesCount(t *testing.T) {
	each(t, func(t *testing.T, kind Kind) {
		b := Start(t, Options{Map: "servo2", Kind: kind})
		talk(t, b)
		c := b.Cycles().Counts
		require.Positive(t, c["received"])
		require.Positive(t, c["sent"])
		require.Zero(t, c["overruns"])
	})
}

func TestCommandsCanBePutOff(t *testing.T) {
	b := Start(t, Options{Map: "test", Free: true})
	at := b.Do("note").At.Truncate(time.Millisecond) + 5*time.Second
	b.At(at, "button off")
	b.At(at-time.Second, "button on")
	off := b.Wait(0, "the later one", func(e Event) bool { return e.Is("button", 0) })
	on := b.Trace().Of(0, "button", 1)
	require.Len(t, on, 1)
	require.InDelta(t, at-time.Second, on[0].At, float64(instruction))
	require.InDelta(t, at, off.At, float64(instruction))
}

func TestAStalledAxisLosesStepsAndAHandMovesIt(t *testing.T) {
	b, l := start(t, Options{})
	l.do("f", 0)
	b.Stall(2, true)
	l.do("s", 0)
	b.Wait(0, "steps that move nothing", func(e Event) bool { return e.Is("steps", 2, 100) })
	for _, e := range b.Trace().Of(0, "axis") {
		require.Equal(t, int64(0), e.Int(1), "it stays where it was")
	}
	require.Len(t, b.Trace().Of(0, "axis"), 100)
	b.Stall(2, false)
	mark := b.Mark()
	b.Hand(2, 40)
	b.Wait(mark, "the axis by hand", func(e Event) bool { return e.Is("axis", 2, 40) })
	l.do("s", 0)
	b.Wait(mark, "as many steps", func(e Event) bool { return e.Is("steps", 2, 200) })
	require.Len(t, b.Trace().Of(mark, "axis"), 1, "it follows them again")
}

func TestABenchThatGotNoTimeSaysSo(t *testing.T) {
	b, _ := start(t, Options{})
	mark := b.Mark()
	require.NoError(t, b.cmd.Process.Signal(syscall.SIGSTOP))
	before := b.Trace().Now()
	time.Sleep(100 * time.Millisecond) // of the wall's clock, which nothing else here knows
	require.NoError(t, b.cmd.Process.Signal(syscall.SIGCONT))
	e := b.Wait(mark, "a slip", func(e Event) bool { return e.Kind == "slip" })
	require.GreaterOrEqual(t, e.Int(0), int64(20*time.Millisecond))
	require.Less(t, e.At-before, 60*time.Millisecond, "the board's clock didn't jump")
	require.GreaterOrEqual(t, b.Trace().Slipped(), 20*time.Millisecond)
}

func TestABenchStandsStillWithoutALease(t *testing.T) {
	each(t, func(t *testing.T, kind Kind) {
		b := Start(t, Options{Map: "servo2", Kind: kind})
		b.endLeases()
		b.leases.Wait()
		ran := b.Do("note").At
		time.Sleep(100 * time.Millisecond) // of the wall's clock, which nothing else here knows
		stood := b.Do("note").At
		require.LessOrEqual(t, stood-ran, 31*time.Millisecond)
	})
}
