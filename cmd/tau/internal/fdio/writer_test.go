package fdio_test

import (
	"bytes"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/cmd/tau/internal/fdio"
)

func writer(t *testing.T) (*fdio.Writer, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	out, err := fdio.NewWriter(w)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = out.Close()
		_ = w.Close()
		_ = r.Close()
	})
	return out, r
}

func TestWriterWritesMoreThanAPipeHolds(t *testing.T) {
	w, r := writer(t)
	want := bytes.Repeat([]byte("0123456789abcde\n"), 1<<14)
	got := make(chan []byte)
	go func() {
		b := make([]byte, len(want))
		_, _ = io.ReadFull(r, b)
		got <- b
	}()
	n, err := w.Write(want)
	require.NoError(t, err)
	require.Equal(t, len(want), n)
	require.True(t, bytes.Equal(want, <-got))
}

func TestWriterCloseEndsAWriteThatNobodyReads(t *testing.T) {
	w, r := writer(t)
	ended := make(chan error)
	go func() { _, err := w.Write(make([]byte, 1<<20)); ended <- err }()
	_, err := io.ReadFull(r, make([]byte, 100)) // it has begun
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.ErrorIs(t, <-ended, fdio.ErrClosed)
	_, err = w.Write([]byte("x"))
	require.ErrorIs(t, err, fdio.ErrClosed)
	require.NoError(t, w.Close())
}

func TestWriterSaysThatNobodyReads(t *testing.T) {
	w, r := writer(t)
	require.NoError(t, r.Close())
	_, err := w.Write([]byte("x"))
	require.ErrorIs(t, err, syscall.EPIPE)
}
