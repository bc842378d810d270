package port_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/port"
	"github.com/tau-robot/tau/robot"
)

func TestReadArrivedTakesWhatIsThereAndNeverWaits(t *testing.T) {
	pt := terminal(t)
	p := opened(t, port.Options{Path: pt.Path})
	b := make([]byte, 64)
	n, err := p.ReadArrived(b)
	require.NoError(t, err)
	require.Zero(t, n)
	// A deadline that has passed is no matter to it.
	require.NoError(t, p.SetReadDeadline(time.Unix(1, 0)))
	_, err = p.Read(b)
	require.True(t, errors.Is(err, os.ErrDeadlineExceeded), "%v", err)
	_, err = pt.Far.Write([]byte{1, 0, 255, 17, 19})
	require.NoError(t, err)
	var got []byte
	require.Eventually(t, func() bool {
		n, err := p.ReadArrived(b)
		require.NoError(t, err)
		got = append(got, b[:n]...)
		return len(got) >= 5
	}, 30*time.Second, time.Millisecond)
	require.Equal(t, []byte{1, 0, 255, 17, 19}, got)
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = p.ReadArrived(b) }))
	n, err = p.ReadArrived(nil)
	require.NoError(t, err)
	require.Zero(t, n)

	require.NoError(t, p.Close())
	_, err = p.ReadArrived(b)
	require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
}

func TestReadArrivedSaysThatTheDeviceIsLost(t *testing.T) {
	pt := terminal(t)
	p := opened(t, port.Options{Path: pt.Path})
	require.NoError(t, pt.Close())
	b := make([]byte, 8)
	require.Eventually(t, func() bool {
		_, err := p.ReadArrived(b)
		return robot.CodeOf(err) == robot.CodeDisconnected
	}, 30*time.Second, time.Millisecond)
	// Lost is lost for everything.
	_, err := p.Write(b)
	require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
}
