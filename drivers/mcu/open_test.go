package mcu_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
)

// peer is a scripted device on a line in memory: it answers frames with what answer
// says, and keeps what it was given.
type peer struct {
	frames
	conn net.Conn
	seq  byte
	wg   sync.WaitGroup
}

type said interface {
	Append(dst []byte, seq byte) ([]byte, error)
}

// startPeer serves a line; it ends with it.
func startPeer(t *testing.T, answer func(p *peer, f wire.Frame)) (mcu.Port, *peer) {
	here, there := pipe()
	p := &peer{conn: there}
	p.wg.Go(func() {
		buf := make([]byte, 256)
		for {
			n, err := there.Read(buf)
			before := len(p.all)
			p.take(buf[:n])
			for _, f := range p.all[before:] {
				answer(p, f)
			}
			if err != nil {
				return
			}
		}
	})
	t.Cleanup(func() {
		_ = there.Close()
		p.wg.Wait()
	})
	return here, p
}

// say sends a message of the board.
func (p *peer) say(m said) {
	b, err := m.Append(nil, p.seq)
	if err != nil {
		panic(err) // the script is wrong
	}
	p.seq++
	_, _ = p.conn.Write(b)
}

// board answers as a board of two servos would, up to where a test makes it otherwise.
func board(change func(*wire.HelloReply), channel func(*wire.Channel), ack func(wire.Frame) wire.Code) func(*peer, wire.Frame) {
	return func(p *peer, f wire.Frame) {
		switch f.Type {
		case wire.TypeHello:
			var h wire.Hello
			_ = h.Parse(f.Payload)
			m := wire.HelloReply{Version: wire.Version, Nonce: h.Nonce, Boot: 7, Firmware: 1, Joints: 2, Outputs: 3, Queue: 400, StatusMS: 20}
			if change != nil {
				change(&m)
			}
			p.seq = 0
			if m.Version != wire.Version { // no such frame can be made by ours
				body := append([]byte("tau"), m.Version, byte(m.Nonce), byte(m.Nonce>>8), byte(m.Nonce>>16), byte(m.Nonce>>24))
				_, _ = p.conn.Write(wire.Append(nil, wire.Frame{Type: wire.TypeHelloReply, Seq: 0, Payload: append(body, make([]byte, 12)...)}))
				return
			}
			p.say(m)
			p.say(wire.Status{State: wire.Idle, FaultChannel: wire.NoChannel, Flags: wire.FlagReferenced, Free: 400, Setpoints: []int32{0, 0}})
		case wire.TypeDescribe:
			m := wire.Channel{Channel: f.Payload[0], Kind: wire.KindServo, Switch: wire.NoSwitch, Lower: 500 * 256, Upper: 2500 * 256}
			if m.Channel >= 2 {
				m = wire.Channel{Channel: m.Channel, Kind: wire.KindPWM, Switch: wire.NoSwitch, Upper: 255}
			}
			if channel != nil {
				channel(&m)
			}
			p.say(m)
		case wire.TypeReport:
			p.say(wire.Positions{Report: 1, Joints: make([]wire.Position, 2)})
		case wire.TypeHeartbeat:
		default:
			code := wire.CodeOK
			if ack != nil {
				code = ack(f)
			}
			p.say(wire.Ack{Seq: f.Seq, Type: f.Type, Code: code})
		}
	}
}

// refuses opens a robot on a scripted board, which has to be refused in time, with
// nothing on the wire that moves.
func refuses(t *testing.T, g rig, within time.Duration, answer func(*peer, wire.Frame), code robot.Code, words ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		here, p := startPeer(t, answer)
		o := g.options(t, "scripted")
		o.Dial = func(context.Context) (mcu.Port, error) { return here, nil }
		o.Within = within
		began := time.Now()
		_, err := mcu.Open(context.Background(), o)
		require.Error(t, err)
		require.Equal(t, code, robot.CodeOf(err), "%v", err)
		for _, w := range words {
			require.ErrorContains(t, err, w)
		}
		require.LessOrEqual(t, time.Since(began), within+500*time.Millisecond)
		require.Zero(t, p.of(moving...), "nothing that moves was sent")
		require.Zero(t, p.of(wire.TypeOutput, wire.TypeStop))
	})
}

func TestAWrongBoardIsRefused(t *testing.T) {
	const soon = 2 * time.Second
	silent := func(*peer, wire.Frame) {}
	noise := func(p *peer, _ wire.Frame) { _, _ = p.conn.Write([]byte("Marlin 2.1 ready\r\n\x00ok\x00")) }
	for name, c := range map[string]struct {
		g      rig
		answer func(*peer, wire.Frame)
		code   robot.Code
		words  []string
	}{
		"silent":             {servos(), silent, robot.CodeLinkTimeout, []string{"no board", "scripted"}},
		"something else":     {servos(), noise, robot.CodeLinkTimeout, []string{"no frames", "115200"}},
		"another version":    {servos(), board(func(m *wire.HelloReply) { m.Version = 2 }, nil, nil), robot.CodeNotSupported, []string{"version 2", "version 1", "flash"}},
		"moving for another": {servos(), func(p *peer, f wire.Frame) { p.say(wire.Ack{Seq: f.Seq, Type: f.Type, Code: wire.CodeBusy}) }, robot.CodeBusy, []string{"somebody else"}},
		"too few joints":     {servos(), board(func(m *wire.HelloReply) { m.Joints, m.Outputs = 1, 4 }, nil, nil), robot.CodeInvalidArgument, []string{"tilt", "1 joints"}},
		"steppers":           {servos(), board(nil, func(m *wire.Channel) { m.Kind = kindOf(m, wire.KindStepper) }, nil), robot.CodeInvalidArgument, []string{"pan", "servo", "stepper"}},
		"no feedback":        {measured(), board(nil, nil, nil), robot.CodeInvalidArgument, []string{"pan", "feedback", "adc", "none"}},
		"a smaller range":    {servos(), board(nil, func(m *wire.Channel) { m.Upper = min(m.Upper, 2000*256) }, nil), robot.CodeInvalidArgument, []string{"pan", "upper", "limit"}},
		"no such output":     {servos(), board(func(m *wire.HelloReply) { m.Outputs = 2 }, nil, nil), robot.CodeInvalidArgument, []string{"lamp"}},
		"a coarser output":   {servos(), board(nil, func(m *wire.Channel) { m.Upper = upperOf(m, 100) }, nil), robot.CodeInvalidArgument, []string{"lamp", "scale"}},
		"narrower since its boot": {servos(), board(nil, nil, func(f wire.Frame) wire.Code {
			if f.Type == wire.TypeConfigure {
				return wire.CodeLooser
			}
			return wire.CodeOK
		}), robot.CodeInvalidArgument, []string{"pan", "reset the board", "LOOSER"}},
	} {
		t.Run(name, func(t *testing.T) { refuses(t, c.g, soon, c.answer, c.code, c.words...) })
	}
}

func kindOf(m *wire.Channel, k wire.Kind) wire.Kind {
	if m.Kind.Joint() {
		return k
	}
	return m.Kind
}

func upperOf(m *wire.Channel, upper int32) int32 {
	if m.Kind.Joint() {
		return m.Upper
	}
	return upper
}

// Whatever a device says that isn't ours: no panic, no hang, nothing that moves.
func TestRandomBytesOpenNothing(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		refuses(t, servos(), time.Second, func(p *peer, f wire.Frame) {
			b := make([]byte, random.IntN(100))
			for i := range b {
				b[i] = byte(random.IntN(256))
			}
			if random.IntN(2) == 0 { // in frames of ours
				b = wire.Append(nil, wire.Frame{Type: wire.Type(0x80 + random.IntN(10)), Seq: byte(random.IntN(4)), Payload: b[:min(len(b), 64)]})
			}
			_, _ = p.conn.Write(b)
		}, robot.CodeLinkTimeout)
	}
}

// What the file and the options have to say before anything is opened.
func TestOptionsAreRefusedBeforeAnythingIsOpened(t *testing.T) {
	opened := false
	dial := func(context.Context) (mcu.Port, error) { opened = true; return nil, io.ErrClosedPipe }
	for name, c := range map[string]struct {
		spoil func(*mcu.Options)
		code  robot.Code
		words string
	}{
		"no model":      {func(o *mcu.Options) { o.Model = nil }, robot.CodeInvalidArgument, "model"},
		"no file":       {func(o *mcu.Options) { o.Hardware = nil }, robot.CodeInvalidArgument, "file"},
		"another robot": {func(o *mcu.Options) { o.Model, _ = steppers().parts(t) }, robot.CodeInvalidArgument, "another robot"},
		"a place more":  {func(o *mcu.Options) { o.At = []float64{0, 0, 0} }, robot.CodeInvalidArgument, "3 positions"},
		"a speed below": {func(o *mcu.Options) { o.Baud = -1 }, robot.CodeInvalidArgument, "-1"},
	} {
		o := servos().options(t, "none")
		o.Dial = dial
		c.spoil(&o)
		_, err := mcu.Open(context.Background(), o)
		require.Equal(t, c.code, robot.CodeOf(err), "%s: %v", name, err)
		require.True(t, strings.Contains(err.Error(), c.words), "%s: %v", name, err)
	}
	require.False(t, opened)
}
