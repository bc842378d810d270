package fdio

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

func TestCloseEndsABlockedRead(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()); require.NoError(t, w.Close()) }()
	in, err := NewReader(r)
	require.NoError(t, err)
	_, err = w.WriteString("abc")
	require.NoError(t, err)
	buf := make([]byte, 8)
	n, err := in.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "abc", string(buf[:n]))
	got := make(chan error, 1)
	go func() { _, err := in.Read(buf); got <- err }()
	require.NoError(t, in.Close())
	select {
	case err := <-got:
		require.ErrorIs(t, err, ErrClosed)
	case <-time.After(patience):
		t.Fatal("Read still blocks after Close")
	}
	require.NoError(t, in.Close())
}

func TestReadSeesTheEndOfAPipeAndAFile(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, w.Close())
	in, err := NewReader(r)
	require.NoError(t, err)
	_, err = in.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, in.Close())
	require.NoError(t, r.Close())

	name := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(name, []byte("xyz"), 0o600))
	f, err := os.Open(name)
	require.NoError(t, err)
	in, err = NewReader(f)
	require.NoError(t, err)
	b, err := io.ReadAll(in)
	require.NoError(t, err)
	require.Equal(t, "xyz", string(b))
	require.NoError(t, in.Close())
	require.NoError(t, f.Close())
}

func TestWatchTellsThatThePipesReaderWentAway(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	gone, done, err := Watch(w)
	require.NoError(t, err)
	defer done()
	select {
	case <-gone:
		t.Fatal("gone while the reader is there")
	default:
	}
	require.NoError(t, r.Close())
	select {
	case <-gone:
	case <-time.After(patience):
		t.Fatal("the reader went away unnoticed")
	}
	require.NoError(t, w.Close())
}

func TestWatchTellsThatTheTerminalHungUp(t *testing.T) {
	p, tty, err := pty.Open()
	require.NoError(t, err)
	gone, done, err := Watch(tty)
	require.NoError(t, err)
	defer done()
	require.NoError(t, p.Close())
	select {
	case <-gone:
	case <-time.After(patience):
		t.Fatal("the terminal hung up unnoticed")
	}
	require.NoError(t, tty.Close())
}

func TestWatchEndsWhenAskedTo(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	_, done, err := Watch(w)
	require.NoError(t, err)
	done() // goleak sees a goroutine that stayed
	require.NoError(t, r.Close())
	require.NoError(t, w.Close())
}
