package cli

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/cmd/tau/internal/datadir"
)

// A stop that was sent and not answered may have acted: it isn't "no".
func TestCase37_AStopWithoutAVerdictIsUnknown(t *testing.T) {
	dir := t.TempDir()
	path := datadir.Socket(dir)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(c).ReadBytes('\n')
			_ = c.Close()
		}
	}()
	for _, args := range [][]string{nil, {"--json"}} {
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		require.NoError(t, err)
		errs, err := os.Create(filepath.Join(t.TempDir(), "err"))
		require.NoError(t, err)
		status := Main(append([]string{"robot", "stop", "--data-dir", dir}, args...), os.Stdin, out, errs)
		require.Equal(t, 3, status)
		text, err := os.ReadFile(errs.Name())
		require.NoError(t, err)
		require.Contains(t, string(text), "commanded unknown")
		if args != nil {
			text, err = os.ReadFile(out.Name())
			require.NoError(t, err)
			require.Contains(t, string(text), `"commanded":"unknown"`)
		}
		require.NoError(t, out.Close())
		require.NoError(t, errs.Close())
	}
	require.NoError(t, l.Close())
	<-served
}
