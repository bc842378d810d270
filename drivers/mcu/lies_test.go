package mcu_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
)

func noHello(f wire.Frame) wire.Ack {
	return wire.Ack{Seq: f.Seq + 100, Type: wire.TypeHeartbeat, Code: wire.CodeNoHello}
}

// A board that restarts while it is greeted, and says so between two answers: what is to
// be asked next isn't waited for beyond Open's deadline, and not for ever.
func TestARestartWhileTheBoardIsGreetedIsNoHang(t *testing.T) {
	for _, last := range []wire.Type{wire.TypeDescribe, wire.TypeConfigure} {
		answers := board(nil, nil, nil)
		refuses(t, servos(), 2*time.Second, func(p *peer, f wire.Frame) {
			if f.Type == last {
				p.sayBoth(answers, f, noHello(f))
				return
			}
			answers(p, f)
		}, robot.CodeDisconnected)
	}
}

// sayBoth lets a script answer and says another frame with the same write.
func (p *peer) sayBoth(answer func(*peer, wire.Frame), f wire.Frame, m said) {
	conn := p.conn
	c := &collect{Conn: conn}
	p.conn = c
	answer(p, f)
	p.say(m)
	p.conn = conn
	_, _ = conn.Write(c.all)
}

// A board that answers everything, and slowly, is refused in time as well.
func TestASlowBoardIsRefusedInTime(t *testing.T) {
	answers := board(func(m *wire.HelloReply) { m.Outputs = 6 }, nil, nil)
	refuses(t, servos(), time.Second, func(p *peer, f wire.Frame) {
		if f.Type != wire.TypeHello && f.Type != wire.TypeHeartbeat {
			time.Sleep(350 * time.Millisecond)
		}
		answers(p, f)
	}, robot.CodeLinkTimeout)
}

// A board that says it has another number of joints than before, in the same boot.
func TestABoardThatLosesAJointIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var loses atomic.Bool
		lost := false // of the board's goroutine
		answers := board(func(m *wire.HelloReply) {
			if lost {
				m.Joints = 1
			}
		}, nil, nil)
		here, _ := startPeer(t, func(p *peer, f wire.Frame) {
			if loses.Load() && !lost {
				lost = true
				p.say(wire.Ack{Seq: f.Seq, Type: f.Type, Code: wire.CodeNoHello})
			}
			answers(p, f)
			if lost && f.Type == wire.TypeHeartbeat {
				p.say(wire.Status{State: wire.Idle, FaultChannel: wire.NoChannel, Flags: wire.FlagReferenced | wire.FlagPowered, Free: 400, Setpoints: []int32{0}})
			}
		})
		o := servos().options(t, "scripted")
		o.Dial = func(context.Context) (mcu.Port, error) { return here, nil }
		r, err := mcu.Open(context.Background(), o)
		require.NoError(t, err)
		defer r.Close()
		loses.Store(true)
		time.Sleep(200 * time.Millisecond)
		_, err = r.State(context.Background())
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
	})
}

// liar is a board of two servos that takes a motion and then says what it likes.
type liar struct {
	status wire.Status
	lie    func(*wire.Status, wire.Frame)
	honest bool // plays the motion, without moving a setpoint
	ticks  uint32
}

func (l *liar) answer() func(*peer, wire.Frame) {
	answers := board(nil, nil, nil)
	l.status = wire.Status{State: wire.Idle, FaultChannel: wire.NoChannel, Flags: wire.FlagReferenced, Free: 400, Setpoints: []int32{1472 * 256, 1472 * 256}}
	return func(p *peer, f wire.Frame) {
		switch f.Type {
		case wire.TypeSegment:
			if l.honest {
				l.status.Accepted++
				l.ticks += uint32(f.Payload[1])
			}
			return
		case wire.TypeReport:
			p.say(wire.Positions{Report: 1, Joints: []wire.Position{{Known: wire.KnownSetpoint, Q: 1472 * 256}, {Known: wire.KnownSetpoint, Q: 1472 * 256}}})
			return
		case wire.TypeEnable:
			l.status.State, l.status.Flags = wire.Hold, l.status.Flags|wire.FlagPowered|wire.FlagEnabled
		case wire.TypeBegin:
			l.status.State, l.status.Motion = wire.Loaded, uint16(f.Payload[0])|uint16(f.Payload[1])<<8
			l.status.MotionMS, l.status.Accepted, l.ticks = 0, 0, 0
		case wire.TypeGo:
			if l.honest {
				l.status.State = wire.Moving
			}
		case wire.TypeStop:
			l.status.Stops++
			if l.honest && l.status.State == wire.Moving {
				l.status.State = wire.Hold
			}
			p.say(wire.Ack{Seq: f.Seq, Type: f.Type, Stops: l.status.Stops})
			return
		case wire.TypeHeartbeat:
		}
		if f.Type != wire.TypeHeartbeat {
			if f.Type == wire.TypeHello {
				answers(p, f)
				return
			}
			if f.Type == wire.TypeDescribe {
				answers(p, f)
				return
			}
			p.say(wire.Ack{Seq: f.Seq, Type: f.Type, Stops: l.status.Stops})
		}
		l.status.BoardMS += 50
		if l.honest && l.status.State == wire.Moving {
			if l.status.MotionMS = min(l.status.MotionMS+50, l.ticks); l.status.MotionMS == l.ticks {
				l.status.State = wire.Hold
			}
		}
		if l.lie != nil {
			l.lie(&l.status, f)
		}
		p.say(l.status)
	}
}

// A board that takes a motion and lies about it ends it as a fault, in time.
func TestALyingBoardEndsItsMotion(t *testing.T) {
	for name, lie := range map[string]func(*wire.Status, wire.Frame){
		"takes no pieces": func(s *wire.Status, f wire.Frame) { s.Free = 0 },
		"accepted ahead":  func(s *wire.Status, f wire.Frame) { s.Accepted = 200 },
		"never starts":    func(s *wire.Status, f wire.Frame) { s.Accepted = 0 },
		"moves for ever": func(s *wire.Status, f wire.Frame) {
			if f.Type == wire.TypeGo {
				s.State = wire.Moving
			}
			if s.State == wire.Moving {
				s.MotionMS += 50
			}
		},
		"stands still in motion": func(s *wire.Status, f wire.Frame) {
			if f.Type == wire.TypeGo {
				s.State = wire.Moving
			}
		},
		"far away setpoints": func(s *wire.Status, f wire.Frame) {
			if f.Type == wire.TypeGo {
				s.State = wire.Moving
				s.Setpoints = []int32{-wire.MaxQ, wire.MaxQ}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &liar{}
				here, _ := startPeer(t, l.answer())
				o := servos().options(t, "scripted")
				o.At = nil
				o.Dial = func(context.Context) (mcu.Port, error) { return here, nil }
				r, err := mcu.Open(context.Background(), o)
				require.NoError(t, err)
				defer r.Close()
				actuate(t, r, robot.TorqueOn)
				l.lie = lie
				began := time.Now()
				out, err := r.Execute(context.Background(), moveTo(t, r, []float64{0.2, 0.1}, 1), nil)
				t.Log(time.Since(began), out.Status, err)
				require.Error(t, err)
				require.Less(t, time.Since(began), 45*time.Second)
			})
		})
	}
}

// collect keeps what is written.
type collect struct {
	net.Conn
	all []byte
}

func (c *collect) Write(p []byte) (int, error) {
	c.all = append(c.all, p...)
	return len(p), nil
}

// An e-stop of a robot at rest and its reset at once: the reset takes away what the stop
// latched on the board, which its reports from before don't show yet.
func TestAResetRightAfterAnEStopIsOne(t *testing.T) {
	inBubble(t, func(t *testing.T, bin string) {
		ctx := context.Background()
		r := servos().newBench(t, bin).open(t)
		for range 20 {
			require.Equal(t, robot.Yes, r.Stop(ctx, robot.StopEmergency).Acknowledged)
			actuate(t, r, robot.EStopReset)
			before, err := r.State(ctx)
			require.NoError(t, err)
			time.Sleep(100 * time.Millisecond)
			after, err := r.State(ctx)
			require.NoError(t, err)
			require.Empty(t, after.Faults)
			require.False(t, after.EStopped)
			require.Equal(t, before.StopEpoch, after.StopEpoch)
			time.Sleep(7 * time.Millisecond)
		}
	})
}
