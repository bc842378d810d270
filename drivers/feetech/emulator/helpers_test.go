package emulator

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/dxl"
	"github.com/tau-robot/tau/drivers/feetech/sts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test's host waits for an answer that may not come.
const hostPatience = 20 * time.Millisecond

// host speaks with a bus, one exchange at a time.
type hostEnd struct {
	t     *testing.T
	b     *Bus
	l     *Link
	codec bus.Codec
	rec   *Recorder
	free  *Free
	rest  []byte
}

// onBus runs a test in a bubble with six servos on a Free arm.
func onBus(t *testing.T, k Kind, f func(t *testing.T, h *hostEnd)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &hostEnd{t: t, rec: &Recorder{}, free: NewFree(make([]float64, 6)...)}
		var err error
		h.b, err = New(Options{Kind: k, IDs: []byte{1, 2, 3, 4, 5, 6}, Arm: h.free, Seed: 1, Trace: h.rec.Add})
		require.NoError(t, err)
		h.codec = bus.Codec(sts.New())
		if k == XL430 {
			h.codec = dxl.New()
		}
		h.dial()
		f(t, h)
		require.NoError(t, h.l.Close())
	})
}

func (h *hostEnd) dial() {
	h.t.Helper()
	var err error
	h.l, err = h.b.Dial()
	require.NoError(h.t, err)
}

// send sends an instruction and waits for nothing.
func (h *hostEnd) send(i bus.Instruction) {
	h.t.Helper()
	b, err := h.codec.Append(nil, i)
	require.NoError(h.t, err)
	n, err := h.l.Write(b)
	require.NoError(h.t, err)
	require.Equal(h.t, len(b), n)
}

// heard returns the next n packets of servos, fewer where nothing more comes, and how many
// damaged ones there were.
func (h *hostEnd) heard(n int) (out []bus.Status, damaged int) {
	h.t.Helper()
	require.NoError(h.t, h.l.SetReadDeadline(time.Now().Add(hostPatience)))
	buf := make([]byte, 64)
	for len(out) < n {
		s, used, err := h.codec.Parse(h.rest)
		s.Params = append([]byte(nil), s.Params...)
		h.rest = h.rest[used:]
		switch {
		case err == nil:
			out = append(out, s)
			continue
		case !errors.Is(err, bus.ErrMore):
			damaged++
			continue
		}
		k, err := h.l.Read(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			h.rest = nil
			return out, damaged
		}
		require.NoError(h.t, err)
		h.rest = append(h.rest, buf[:k]...)
	}
	return out, damaged
}

// ask is an exchange with one servo that has to answer.
func (h *hostEnd) ask(i bus.Instruction) bus.Status {
	h.t.Helper()
	h.send(i)
	out, damaged := h.heard(1)
	require.Zero(h.t, damaged)
	require.Len(h.t, out, 1, "%s to %d", i.Op, i.ID)
	require.Equal(h.t, i.ID, out[0].ID)
	return out[0]
}

// silent is an exchange that nobody answers.
func (h *hostEnd) silent(i bus.Instruction) {
	h.t.Helper()
	h.send(i)
	out, damaged := h.heard(1)
	require.Empty(h.t, out)
	require.Zero(h.t, damaged)
}

func (h *hostEnd) read(id byte, addr, size int) uint32 {
	h.t.Helper()
	s := h.ask(bus.Instruction{Op: bus.Read, ID: id, Addr: uint16(addr), Count: size})
	require.Len(h.t, s.Params, size)
	return get(s.Params, 0, size)
}

func (h *hostEnd) write(id byte, addr, size int, v uint32) byte {
	h.t.Helper()
	return h.ask(write(id, addr, size, v)).Error
}

func write(id byte, addr, size int, v uint32) bus.Instruction {
	data := make([]byte, size)
	put(data, 0, size, v)
	return bus.Instruction{Op: bus.Write, ID: id, Addr: uint16(addr), Count: size, Data: data}
}

func syncRead(addr, size int, ids ...byte) bus.Instruction {
	return bus.Instruction{Op: bus.SyncRead, ID: bus.Broadcast, Addr: uint16(addr), Count: size, IDs: ids}
}

func syncWrite(addr, size int, v uint32, ids ...byte) bus.Instruction {
	i := bus.Instruction{Op: bus.SyncWrite, ID: bus.Broadcast, Addr: uint16(addr), Count: size, IDs: ids}
	for range ids {
		data := make([]byte, size)
		put(data, 0, size, v)
		i.Data = append(i.Data, data...)
	}
	return i
}

func all() []byte { return []byte{1, 2, 3, 4, 5, 6} }
