package boardtest

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A line is the host's end of a board's serial line.
type line struct {
	t testing.TB
	f *os.File
}

func open(t testing.TB, path string) *line {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return &line{t, f}
}

func (l *line) write(s string) {
	l.t.Helper()
	_, err := l.f.WriteString(s)
	require.NoError(l.t, err)
}

// read blocks until n bytes have come.
func (l *line) read(n int) string {
	l.t.Helper()
	require.NoError(l.t, l.f.SetReadDeadline(time.Now().Add(waitLimit)))
	p := make([]byte, n)
	for got := 0; got < n; {
		m, err := l.f.Read(p[got:])
		require.NoError(l.t, err, "after %q", p[:got])
		got += m
	}
	return string(p)
}

// do sends a letter to the test program and waits until it is done; more are the bytes
// that come before its echo.
func (l *line) do(letter string, more int) string {
	l.t.Helper()
	l.write(letter)
	answer := l.read(more + 1)
	require.Equal(l.t, letter, answer[more:])
	return answer[:more]
}

// start starts the bench with its test program.
func start(t *testing.T, o Options) (*Board, *line) {
	t.Helper()
	o.Map = "test"
	b := Start(t, o)
	return b, open(t, b.Path())
}
