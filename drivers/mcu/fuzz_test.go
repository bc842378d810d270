package mcu_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
)

// FuzzWhatABoardSays: nothing that comes over the line, in frames or not, makes the
// driver panic, hang or send what moves; and its robot stays one that closes.
func FuzzWhatABoardSays(f *testing.F) {
	seed := func(ms ...said) {
		var b []byte
		for n, m := range ms {
			b, _ = m.Append(b, byte(n))
		}
		f.Add(b)
	}
	seed(wire.Status{State: wire.Moving, Flags: 0x3F, Fault: wire.FaultInternal, FaultChannel: 1, Stops: 9, Motion: 1, Accepted: 200, Setpoints: []int32{1, 2}})
	seed(wire.Status{FaultChannel: wire.NoChannel, Setpoints: []int32{1, 2, 3, 4, 5, 6, 7, 8}}, wire.Feedbacks{Values: []int32{wire.NoValue}})
	seed(wire.Feedbacks{BoardMS: 4294967295, Values: []int32{wire.NoValue, -5}}, wire.Feedbacks{Values: []int32{5, 5000}})
	seed(wire.HelloReply{Version: wire.Version, Nonce: 1, Boot: 8, Joints: 8, Queue: 60, StatusMS: 5}, wire.Positions{Joints: make([]wire.Position, 8)})
	seed(wire.Ack{Code: wire.CodeNoHello}, wire.Ack{Type: wire.TypeSegment, Code: wire.CodeLimit}, wire.Echo{HostMS: 5})
	seed(wire.Channel{Channel: 1, Kind: wire.KindServo, Switch: wire.NoSwitch})
	f.Add([]byte("\x00\x02\x01\x00\xff noise"))
	f.Fuzz(func(t *testing.T, data []byte) {
		synctest.Test(t, func(t *testing.T) {
			here, p := startPeer(t, board(nil, func(m *wire.Channel) {
				if m.Kind == wire.KindServo {
					m.Feedback = wire.FeedbackADC
				}
			}, nil))
			o := measured().options(t, "scripted")
			o.Dial = func(context.Context) (mcu.Port, error) { return here, nil }
			r, err := mcu.Open(context.Background(), o)
			require.NoError(t, err)
			_, _ = p.conn.Write(data)
			time.Sleep(100 * time.Millisecond)
			_, _ = r.State(context.Background())
			_, err = r.Execute(context.Background(), robot.Motion{Trajectory: robot.Hold(r.Info().Joints, []float64{0, 0}), StartTolerance: []float64{9, 9}, MaxDeviation: []float64{9, 9}}, nil)
			require.Error(t, err, "it isn't enabled")
			require.Zero(t, p.of(moving...))
			_ = r.Close()
		})
	})
}
