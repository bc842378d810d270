package expose

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/robot/hardware"
)

// Of many bridges that find the same left-over at once one has the link, and the others are
// told so.
func TestOneOfManyReplacesALeftOver(t *testing.T) {
	const bridges = 8
	devices := make([]string, bridges)
	for i := range devices {
		master, slave, err := pty.Open()
		require.NoError(t, err)
		defer func() { _, _ = master.Close(), slave.Close() }()
		devices[i] = slave.Name()
	}
	gone := filepath.Join(filepath.Dir(devices[0]), "999999")
	link := filepath.Join(t.TempDir(), "arm")
	for range 300 {
		require.NoError(t, os.Symlink(gone, link))
		var all sync.WaitGroup
		has := make(chan string, bridges)
		begin := make(chan struct{})
		for _, d := range devices {
			all.Go(func() {
				<-begin
				if place(link, d) == nil {
					has <- d
				}
			})
		}
		close(begin)
		all.Wait()
		require.Len(t, has, 1)
		target, err := os.Readlink(link)
		require.NoError(t, err)
		require.Equal(t, <-has, target)
		require.NoError(t, os.Remove(link))
	}
}

// Started again at once a bridge is given the very pseudo-terminal that the killed one had:
// the left-over link leads to its own.
func TestALeftOverThatLeadsToItsOwnIsNoOtherBridge(t *testing.T) {
	link := filepath.Join(t.TempDir(), "arm")
	master, slave, err := pty.Open()
	require.NoError(t, err)
	defer func() { _, _ = master.Close(), slave.Close() }()
	require.NoError(t, os.Symlink(slave.Name(), link))
	require.NoError(t, place(link, slave.Name()))
	target, err := os.Readlink(link)
	require.NoError(t, err)
	require.Equal(t, slave.Name(), target)
	// To somebody else's it does lead elsewhere.
	require.Error(t, place(link, slave.Name()+"9"))
}

// The link is gone before the pseudo-terminal is, whose name may be somebody else's at once.
func TestTheLinkGoesFirst(t *testing.T) {
	link := filepath.Join(t.TempDir(), "arm")
	for range 20 {
		x := exposed(t, Options{Spec: Spec{Driver: hardware.DriverFeetech, Link: link}})
		c := open(t, x, 1_000_000)
		gone := make(chan error, 1)
		go func() {
			_, _ = c.Read(make([]byte, 1)) // until it is hung up
			_, err := os.Lstat(link)
			gone <- err
		}()
		require.NoError(t, x.Close())
		require.ErrorIs(t, <-gone, os.ErrNotExist)
		require.NoError(t, c.Close())
	}
}

// A program that floods the line with what is no packet, and hangs up in the middle of one,
// leaves a bus that the next program can use.
func TestAFloodEndsWithItsProgram(t *testing.T) {
	x := exposed(t, Options{})
	c := open(t, x, 1_000_000)
	junk := make([]byte, 4096)
	for i := range junk {
		junk[i] = byte(i*7 + 0xFF*(i%3))
	}
	for range 32 {
		if _, err := c.Write(junk); err != nil {
			break // it was faster than a line of this rate
		}
	}
	_, _ = c.Write([]byte{0xFF, 0xFF, 1, 4})
	require.NoError(t, c.Close())

	ask, err := c.codec.Append(nil, bus.Instruction{Op: bus.Ping, ID: 1})
	require.NoError(t, err)
	end := time.Now().Add(long)
	for answered := false; !answered; {
		require.Less(t, time.Now(), end, "what was flooded is still on the line")
		c := open(t, x, 1_000_000)
		if _, err := c.Write(ask); err == nil { // else the line is still full
			var s bus.Status
			s, answered = c.hear(t, time.Second)
			require.True(t, !answered || s.ID == 1)
		}
		require.NoError(t, c.Close())
	}
}
