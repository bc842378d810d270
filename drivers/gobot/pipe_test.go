package gobot

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// stub is a board of 20 pins in memory that answers what it is asked while it is connected,
// says whatever else it is told to, and keeps what it hears.
type stub struct {
	mu     sync.Mutex
	out    bytes.Buffer
	heard  [][]byte
	ready  chan struct{}
	closed chan struct{}
	once   sync.Once
	mute   bool
	major  byte // its version
}

func newStub() *stub {
	return &stub{major: 2, ready: make(chan struct{}, 1), closed: make(chan struct{})}
}

func (s *stub) Read(p []byte) (int, error) {
	for {
		s.mu.Lock()
		n, _ := s.out.Read(p)
		s.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		select {
		case <-s.ready:
		case <-s.closed:
			return 0, io.EOF
		}
	}
}

func (s *stub) Write(p []byte) (int, error) {
	s.mu.Lock()
	s.heard = append(s.heard, bytes.Clone(p))
	mute := s.mute
	s.mu.Unlock()
	if mute {
		return len(p), nil
	}
	switch {
	case bytes.Equal(p, helloFrame):
		s.say(0xF9, s.major, 5)
	case bytes.Equal(p, firmwareFrame):
		s.say(0xF0, 0x79, 2, 5, 'x', 0, 0xF7)
	case bytes.Equal(p, capabilitiesFrame):
		s.say(append(append([]byte{0xF0, 0x6C}, bytes.Repeat([]byte{0, 1, 1, 1, 4, 14, 0x7F}, 20)...), 0xF7)...)
	case bytes.Equal(p, mappingFrame):
		m := append([]byte{0xF0, 0x6A}, bytes.Repeat([]byte{0x7F}, 14)...)
		s.say(append(m, 0, 1, 2, 3, 4, 5, 0xF7)...)
	}
	return len(p), nil
}

func (s *stub) say(b ...byte) {
	s.mu.Lock()
	s.out.Write(b)
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

func (s *stub) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// since are the frames that were heard after the first n.
func (s *stub) since(n int) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard[n:]
}

// talk connects a board that answers; within a bubble.
func talk(t testing.TB, r *rules) (*board, *stub) {
	t.Helper()
	s := newStub()
	b := newBoard(s, r.judge, discard())
	require.NoError(t, b.connect(context.Background()))
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b, s
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
