package farend_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/cmd/tau/internal/bench/farend"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/drivers/port"
)

const baud = 9600

func open(t *testing.T, joints int) (*farend.Line, *port.Port) {
	t.Helper()
	l, err := farend.Open(joints, baud)
	require.NoError(t, err)
	p, err := port.Open(context.Background(), port.Options{Path: l.Path(), Baud: baud})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, p.Close())
		require.NoError(t, l.Close())
	})
	return l, p
}

func frame(t *testing.T, l *farend.Line) farend.Frame {
	t.Helper()
	select {
	case f := <-l.Frames():
		return f
	case <-time.After(time.Minute):
		t.Fatal("no frame came")
		return farend.Frame{}
	}
}

// Frames that were handed over together leave one behind the other.
func TestAByteLeavesWhenTheOnesBeforeItHave(t *testing.T) {
	l, p := open(t, 0)
	b, err := wire.Heartbeat{}.Append([]byte{0}, 0) // an empty frame before it
	require.NoError(t, err)
	b, err = wire.Stop{}.Append(b, 1)
	require.NoError(t, err)
	start := time.Now()
	_, err = p.Write(b)
	require.NoError(t, err)
	beat, stop := frame(t, l), frame(t, l)
	require.Equal(t, wire.TypeHeartbeat, beat.Type)
	require.Equal(t, wire.TypeStop, stop.Type)
	require.Equal(t, len(b), 1+beat.Len+stop.Len)
	require.False(t, beat.Left.Before(start.Add(l.WireTime(1))))
	require.GreaterOrEqual(t, stop.Left.Sub(beat.Left), l.WireTime(beat.Len))
	require.Equal(t, 10*time.Second/baud*1, l.WireTime(1))
}

// answer reads until a frame of that type.
func answer(t *testing.T, p *port.Port, want wire.Type) wire.Frame {
	t.Helper()
	require.NoError(t, p.SetReadDeadline(time.Now().Add(20*time.Second)))
	var d wire.Decoder
	buf := make([]byte, 1)
	for {
		_, err := p.Read(buf)
		require.NoError(t, err)
		if _, f, ok := d.Next(buf); ok && f.Type == want {
			return f
		}
	}
}

func TestTheBoardAnswersOnceAFrameIsWhole(t *testing.T) {
	_, p := open(t, 6)
	b, err := wire.Stop{}.Append(nil, 0) // nothing before HELLO
	require.NoError(t, err)
	b, err = wire.Hello{Version: wire.Version, Nonce: 7}.Append(b, 0)
	require.NoError(t, err)
	start := time.Now()
	_, err = p.Write(b)
	require.NoError(t, err)
	var reply wire.HelloReply
	require.NoError(t, reply.Parse(answer(t, p, wire.TypeHelloReply).Payload))
	require.GreaterOrEqual(t, time.Since(start), time.Duration(len(b))*10*time.Second/baud)
	require.Equal(t, uint32(7), reply.Nonce)
	require.Equal(t, byte(6), reply.Joints)

	b, err = wire.Stop{}.Append(nil, 1)
	require.NoError(t, err)
	_, err = p.Write(b)
	require.NoError(t, err)
	var ack wire.Ack
	require.NoError(t, ack.Parse(answer(t, p, wire.TypeAck).Payload))
	require.Equal(t, wire.Ack{Seq: 1, Type: wire.TypeStop, Stops: 1}, ack)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
