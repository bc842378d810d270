package boardtest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/drivers/port"
)

// heartbeat is the period that PROTOCOL.md asks of a host.
const heartbeat = 50 * time.Millisecond

// A client is a host that speaks the protocol as far as these tests need it.
type client struct {
	t      testing.TB
	port   *port.Port
	frames chan wire.Frame
	end    chan struct{}
	once   sync.Once
	done   sync.WaitGroup

	mu  sync.Mutex // of the line's writing
	seq byte

	status wire.Status // the last
}

type message interface {
	Append(dst []byte, seq byte) ([]byte, error)
}

// A real board's boot loader takes its time, and hears nothing in it.
const (
	greetings = 15
	greetWait = time.Second
)

// talk opens the board's line and greets it until it answers.
func talk(t testing.TB, b *Board) (*client, wire.HelloReply) {
	t.Helper()
	p, err := port.Open(context.Background(), port.Options{Path: b.Path(), Baud: 115200, ResetOnOpen: b.Kind() == Real, WriteTimeout: waitLimit})
	require.NoError(t, err)
	c := &client{t: t, port: p, frames: make(chan wire.Frame, 4096), end: make(chan struct{})}
	c.done.Add(1)
	go c.receive()
	t.Cleanup(c.close)
	var reply wire.HelloReply
	for range greetings {
		_, err := c.port.Write([]byte{0})
		require.NoError(t, err)
		c.send(wire.Hello{Version: wire.Version, Nonce: 7})
		f, ok := c.wait(wire.TypeHelloReply, greetWait)
		if ok {
			require.NoError(t, reply.Parse(f.Payload))
			break
		}
	}
	require.Equal(t, byte(wire.Version), reply.Version, "no board of this protocol answers at %s", b.Path())
	c.done.Add(1)
	go c.beat()
	return c, reply
}

// close ends the host's side of the line.
func (c *client) close() {
	c.once.Do(func() {
		close(c.end)
		_ = c.port.Close()
		c.done.Wait()
	})
}

func (c *client) receive() {
	defer c.done.Done()
	var d wire.Decoder
	p := make([]byte, 256)
	for {
		n, err := c.port.Read(p)
		if err != nil {
			close(c.frames)
			return
		}
		for rest := p[:n]; len(rest) > 0; {
			m, f, ok := d.Next(rest)
			rest = rest[m:]
			if ok {
				f.Payload = slices.Clone(f.Payload)
				select {
				case c.frames <- f:
				case <-c.end:
					return
				}
			}
		}
	}
}

// beat sends heartbeats until the line ends.
func (c *client) beat() {
	defer c.done.Done()
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.put(wire.Heartbeat{})
		case <-c.end:
			return
		}
	}
}

func (c *client) put(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, hello := m.(wire.Hello); hello {
		c.seq = 0
	}
	p, err := m.Append(nil, c.seq)
	if err != nil {
		panic(err) // a test's own mistake
	}
	c.seq++
	if _, err := c.port.Write(p); err != nil {
		select {
		case <-c.end:
		default:
			c.t.Errorf("%T: %v", m, err)
		}
	}
}

func (c *client) send(m message) { c.put(m) }

// next returns the next frame of a type.
func (c *client) next(want wire.Type) wire.Frame {
	c.t.Helper()
	f, ok := c.wait(want, waitLimit)
	require.True(c.t, ok, "no %v came", want)
	return f
}

// wait returns the next frame of a type, unless it takes too long.
func (c *client) wait(want wire.Type, d time.Duration) (wire.Frame, bool) {
	c.t.Helper()
	limit := time.NewTimer(d)
	defer limit.Stop()
	for {
		select {
		case f, ok := <-c.frames:
			require.True(c.t, ok, "the line ended before %v", want)
			if f.Type == wire.TypeStatus {
				require.NoError(c.t, c.status.Parse(f.Payload))
			}
			if f.Type == want {
				return f, true
			}
		case <-limit.C:
			return wire.Frame{}, false
		}
	}
}

// do sends what is answered by an ACK, which has to say OK.
func (c *client) do(m message) {
	c.t.Helper()
	c.send(m)
	for {
		var a wire.Ack
		require.NoError(c.t, a.Parse(c.next(wire.TypeAck).Payload))
		if a.Type == wire.TypeSegment {
			continue // refused; a motion that goes wrong shows in STATUS
		}
		require.Equal(c.t, wire.CodeOK, a.Code, "%T", m)
		return
	}
}

// until waits for a STATUS that cond is true of.
func (c *client) until(what string, cond func(wire.Status) bool) wire.Status {
	c.t.Helper()
	limit := time.Now().Add(waitLimit)
	for {
		c.next(wire.TypeStatus)
		if cond(c.status) {
			s := c.status
			s.Setpoints = slices.Clone(s.Setpoints) // Parse uses them again
			return s
		}
		require.True(c.t, time.Now().Before(limit), "%s didn't come: %+v", what, c.status)
	}
}
