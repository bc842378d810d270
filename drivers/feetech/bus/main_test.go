package bus_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/bus/bustest"
	"github.com/tau-robot/tau/drivers/feetech/dxl"
	"github.com/tau-robot/tau/drivers/feetech/sts"
	"github.com/tau-robot/tau/robot"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const baud = 1_000_000

// rig is a bus with six servos on a line in memory.
type rig struct {
	t      *testing.T
	line   *bustest.Line
	servos *bustest.Bus
	bus    *bus.Bus
}

// six returns a bus with the servos 1 to 6, each of whose registers differs from every other one's.
func six(t *testing.T, c func() bus.Codec, o bus.Options) *rig {
	t.Helper()
	r := &rig{t: t, line: bustest.NewLine(baud), servos: &bustest.Bus{Codec: c()}}
	for id := byte(1); id <= 6; id++ {
		s := &bustest.Servo{ID: id, Delay: 100 * time.Microsecond, Ping: make([]byte, c().PingParams())}
		for a := range s.Memory {
			s.Memory[a] = byte(a)*7 + id*31
		}
		r.servos.Servos = append(r.servos.Servos, s)
	}
	r.line.Answer = r.servos.Answer
	r.open(c, o)
	return r
}

func (r *rig) open(c func() bus.Codec, o bus.Options) {
	r.t.Helper()
	if o.Baud == 0 {
		o.Baud = baud
	}
	b, err := bus.New(r.line, c(), o)
	require.NoError(r.t, err)
	r.bus = b
}

// servo returns the one with that ID.
func (r *rig) servo(id byte) *bustest.Servo { return r.servos.Servos[id-1] }

// reads checks that a register of a servo is read as it is.
func (r *rig) reads(id byte, addr uint16, n int) {
	r.t.Helper()
	b := make([]byte, n)
	_, err := r.bus.Read(id, addr, b)
	require.NoError(r.t, err)
	require.Equal(r.t, r.servo(id).Memory[addr:int(addr)+n], b)
}

// mayRead checks that a register of a servo is read as it is, or not at all.
func (r *rig) mayRead(id byte, addr uint16, n int) (err error) {
	r.t.Helper()
	b := make([]byte, n)
	_, err = r.bus.Read(id, addr, b)
	if err != nil {
		require.Equal(r.t, robot.CodeStaleState, robot.CodeOf(err), "%v", err)
		require.Equal(r.t, make([]byte, n), b)
		return err
	}
	require.Equal(r.t, r.servo(id).Memory[addr:int(addr)+n], b)
	return nil
}

var ids = []byte{1, 2, 3, 4, 5, 6}

// all is a SyncRead of two bytes of each servo.
type all struct {
	data   [12]byte
	status [6]byte
	errs   [6]error
}

func (a *all) read(r *rig, addr uint16) int {
	r.t.Helper()
	for k := range a.data {
		a.data[k] = 0xEE // not what any servo has
	}
	n, err := r.bus.SyncRead(addr, 2, ids, a.data[:], a.status[:], a.errs[:])
	require.NoError(r.t, err)
	return n
}

// holds checks that each servo's bytes are its own, or untouched with an error.
func (a *all) holds(r *rig, addr uint16) {
	r.t.Helper()
	for k, id := range ids {
		want := r.servo(id).Memory[addr : addr+2]
		if a.errs[k] != nil {
			want = []byte{0xEE, 0xEE}
		}
		require.Equal(r.t, want, a.data[2*k:2*k+2], "servo %d: %v", id, a.errs[k])
	}
}

func feetech() bus.Codec   { return sts.New() }
func dynamixel() bus.Codec { return dxl.New() }

// both runs a test in a bubble with each codec.
func both(t *testing.T, test func(t *testing.T, c func() bus.Codec)) {
	t.Helper()
	for _, c := range []func() bus.Codec{feetech, dynamixel} {
		t.Run(c().Name(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, c) })
		})
	}
}
