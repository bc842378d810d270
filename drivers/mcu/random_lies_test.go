package mcu_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
)

var lying = flag.Uint64("lies", 60, "how many boards that lie at random to use")

// lies says a frame that a board could say, with any content.
func lies(p *peer, random *rand.Rand, f wire.Frame, boot *uint32) {
	switch random.IntN(8) {
	case 0:
		p.try(wire.Ack{Seq: f.Seq, Type: f.Type, Code: wire.Code(random.IntN(21)), Stops: uint16(random.IntN(5))})
	case 1:
		s := wire.Status{
			BoardMS: random.Uint32(), State: wire.State(random.IntN(6)), Fault: wire.Fault(random.IntN(14)),
			FaultChannel: byte(random.IntN(256)), Flags: wire.StatusFlags(random.IntN(64)), Stops: uint16(random.IntN(4)),
			Motion: uint16(random.IntN(4)), MotionMS: random.Uint32N(3000), Free: uint16(random.IntN(500)), Accepted: byte(random.IntN(256)),
		}
		for range random.IntN(9) {
			s.Setpoints = append(s.Setpoints, int32(random.IntN(2*wire.MaxQ)-wire.MaxQ))
		}
		p.try(s)
	case 2:
		fb := wire.Feedbacks{BoardMS: random.Uint32()}
		for range random.IntN(9) {
			fb.Values = append(fb.Values, int32(random.IntN(2048)))
		}
		p.try(fb)
	case 3:
		at := wire.Positions{Report: uint16(random.IntN(4))}
		for range random.IntN(9) {
			at.Joints = append(at.Joints, wire.Position{Known: wire.Known(random.IntN(3)), Q: int32(random.IntN(1000000))})
		}
		p.try(at)
	case 4:
		p.try(wire.Ack{Seq: byte(random.IntN(256)), Type: wire.Type(random.IntN(16)), Code: wire.CodeNoHello})
	case 5:
		m := wire.HelloReply{
			Version: wire.Version, Nonce: random.Uint32(), Firmware: 1,
			Joints: byte(1 + random.IntN(8)), Outputs: byte(random.IntN(8)), Queue: uint16(random.IntN(500)), StatusMS: 5,
		}
		if f.Type == wire.TypeHello {
			var h wire.Hello
			_ = h.Parse(f.Payload)
			m.Nonce = h.Nonce
			*boot += random.Uint32N(2)
		}
		m.Boot = *boot
		p.try(m)
	case 6:
		p.try(wire.Echo{HostMS: random.Uint32N(100000), BoardMS: random.Uint32()})
	default:
		_ = p.conn.Close()
	}
}

// try says a message, unless there is no such frame.
func (p *peer) try(m said) {
	if b, err := m.Append(nil, p.seq); err == nil {
		p.seq++
		_, _ = p.conn.Write(b)
	}
}

// Whatever a board says in frames of ours, whoever calls what meanwhile: no panic, and
// everything ends in time.
func TestABoardThatLiesAtRandomHoldsNobodyUp(t *testing.T) {
	const longest = time.Minute
	for seed := range *lying {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			var begun atomic.Bool
			var one sync.Mutex // of the boards behind the old and the new line
			boot := uint32(7)
			l := &liar{honest: true}
			honest := l.answer()
			o := servos().options(t, "scripted")
			o.Dial = func(context.Context) (mcu.Port, error) {
				here, _ := startPeer(t, func(p *peer, f wire.Frame) {
					one.Lock()
					defer one.Unlock()
					if !begun.Load() || random.IntN(int(3+seed%30)) > 0 {
						honest(p, f)
						return
					}
					for range random.IntN(4) {
						lies(p, random, f, &boot)
					}
				})
				return here, nil
			}
			r, err := mcu.Open(context.Background(), o)
			require.NoError(t, err)
			begun.Store(true)
			var wg sync.WaitGroup
			for caller := range uint64(3) {
				wg.Go(func() {
					random := rand.New(rand.NewPCG(seed, 100+caller))
					for range 40 {
						began := time.Now()
						what := callAtRandom(r, random)
						if d := time.Since(began); d > longest {
							t.Errorf("seed %d: %s took %v", seed, what, d)
						}
						time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
					}
				})
			}
			wg.Wait()
			began := time.Now()
			_ = r.Close() // a board that lies may fail it
			require.Less(t, time.Since(began), longest, "seed %d", seed)
		})
	}
}

// callAtRandom calls one of the robot's methods and says which.
func callAtRandom(r *mcu.Robot, random *rand.Rand) string {
	ctx, end := context.WithTimeout(context.Background(), time.Duration(1+random.IntN(20000))*time.Millisecond)
	defer end()
	s, err := r.State(ctx)
	c := robot.Command{ID: "lied to", Epoch: s.StopEpoch}
	switch random.IntN(7) {
	case 0:
		r.Stop(ctx, robot.StopControlled)
		return "stop"
	case 1:
		if random.IntN(4) == 0 {
			r.Stop(ctx, robot.StopEmergency)
		}
		return "e-stop"
	case 2:
		c.Kind = robot.EStopReset
	case 3:
		c.Kind = robot.TorqueOn
	case 4:
		c.Kind, c.Name, c.Value = robot.SetActuator, "lamp", 1
	default:
		if err == nil {
			_, _ = r.Execute(ctx, robot.Motion{
				ID: c.ID, Epoch: c.Epoch, Trajectory: straight(r.Info(), s.Where(), []float64{0.2, 0.1}, 1),
				StartTolerance: []float64{0.02, 0.02}, MaxDeviation: []float64{0.2, 0.2},
			}, nil)
		}
		return "execute"
	}
	_, _ = r.Actuate(ctx, c)
	return string(c.Kind)
}
