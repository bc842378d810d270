package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/sts"
	"github.com/tau-robot/tau/drivers/port"
)

// pinged says that a servo answers at the end of a link.
func pinged(t *testing.T, link string, id byte) {
	t.Helper()
	p, err := port.Open(t.Context(), port.Options{Path: link, Baud: 1_000_000})
	require.NoError(t, err)
	defer p.Close()
	codec := sts.New()
	ask, err := codec.Append(nil, bus.Instruction{Op: bus.Ping, ID: id})
	require.NoError(t, err)
	_, err = p.Write(ask)
	require.NoError(t, err)
	require.NoError(t, p.SetReadDeadline(time.Now().Add(time.Minute)))
	var heard []byte
	for {
		buf := make([]byte, 64)
		n, err := p.Read(buf)
		require.NoError(t, err)
		heard = append(heard, buf[:n]...)
		if s, _, err := codec.Parse(heard); err == nil {
			require.Equal(t, id, s.ID)
			return
		}
	}
}

// Other people's software gets an arm of its own beside a running bridge, and the link to it
// ends with the bridge.
func TestExposedArmEndsWithTheBridge(t *testing.T) {
	link := filepath.Join(t.TempDir(), "so101")
	p := start(t, nil, "robot", "sim", "--script", "-", "--data-dir", dataDir(t), "--expose", "feetech:"+link)
	p.stderr.await(t, link+" leads to ", 0)
	p.stderr.await(t, "robot so101", 0)
	pinged(t, link, 1)
	p.send(`{"tool":"robot_state"}`)
	p.stdout.await(t, "shoulder_pan", 0)
	pinged(t, link, 6)

	r := tau(t, "", "robot", "sim", "--script", "-", "--data-dir", dataDir(t), "--expose", "feetech:"+link)
	require.Equal(t, 2, r.status, r.stderr)
	require.Contains(t, r.stderr, "another bridge exposes an arm there")
	pinged(t, link, 2)

	require.NoError(t, p.stdin.Close())
	require.Equal(t, 0, p.wait().status)
	_, err := os.Lstat(link)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestExposeIsAUsageErrorWhereItCannotBe(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	for text, args := range map[string][]string{
		"want feetech:LINK or dynamixel:LINK": {"--expose", "mcu:" + link},
		"names no link":                       {"--expose", "feetech:"},
		"live by the wall clock":              {"--expose", "feetech:" + link, "--clock", "fast"},
		"bus servos turn":                     {"--expose", "feetech:" + link, "--robot", "gantry"},
		"--expose doesn't ask for":            {"--expose-config", link},
		"--expose-config: ":                   {"--expose", "feetech:" + link, "--expose-config", link},
	} {
		r := tau(t, "", append([]string{"robot", "sim", "--script", "-", "--data-dir", dataDir(t)}, args...)...)
		require.Equal(t, 2, r.status, "%s: %s", text, r.stderr)
		require.Contains(t, r.stderr, text)
		_, err := os.Lstat(link)
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	r := tau(t, "", "robot", "sim", "--help")
	require.Contains(t, strings.Join(strings.Fields(r.stdout), " "), "a simulated arm of their own")
}
