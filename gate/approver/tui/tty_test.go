package tui

import (
	"bytes"
	"io"
	"sync"
	"time"

	"github.com/tau-robot/tau/gate/approver/tui/tuitest"
)

// fakeTTY is a terminal in memory.
type fakeTTY struct {
	*tuitest.Screen
	now func() time.Time

	mu      sync.Mutex
	chunks  [][]byte // each is one read
	ended   error    // what reading gives once they are read
	wake    chan struct{}
	taken   bool
	writes  int
	stuck   chan struct{} // non-nil: writes wait until it is closed
	broken  chan struct{}
	once    sync.Once
	changes chan Change
	early   func() // called before a write is laid out
}

func newFake(w, h int) *fakeTTY {
	return &fakeTTY{Screen: tuitest.New(w, h), now: time.Now, wake: make(chan struct{}), broken: make(chan struct{}), changes: make(chan Change, 8)}
}

var _ Terminal = (*fakeTTY)(nil)

func (f *fakeTTY) Enter() error { f.mu.Lock(); f.taken = true; f.mu.Unlock(); return nil }
func (f *fakeTTY) Leave() error { f.mu.Lock(); f.taken = false; f.mu.Unlock(); return nil }

func (f *fakeTTY) isTaken() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.taken }

// typed puts keys in, which are one read.
func (f *fakeTTY) typed(keys string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.chunks = append(f.chunks, []byte(keys))
	close(f.wake)
	f.wake = make(chan struct{})
}

// end ends the input.
func (f *fakeTTY) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = err
	close(f.wake)
	f.wake = make(chan struct{})
}

func (f *fakeTTY) Ready() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.chunks) > 0 || f.ended != nil
}

func (f *fakeTTY) Wait(d time.Duration) (bool, error) {
	var late <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		late = t.C
	}
	for {
		f.mu.Lock()
		wake := f.wake
		f.mu.Unlock()
		if f.Ready() {
			return true, nil
		}
		select {
		case <-wake:
		case <-late:
			return false, nil
		case <-f.broken:
			return false, ErrBroken
		}
	}
}

func (f *fakeTTY) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.chunks) == 0 {
		if f.ended == nil {
			return 0, nil
		}
		return 0, f.ended
	}
	n := copy(p, f.chunks[0])
	if f.chunks[0] = f.chunks[0][n:]; len(f.chunks[0]) == 0 {
		f.chunks = f.chunks[1:]
	}
	return n, nil
}

func (f *fakeTTY) Write(p []byte) (int, error) {
	f.mu.Lock()
	stuck, early := f.stuck, f.early
	f.writes++
	f.mu.Unlock()
	if early != nil {
		early()
	}
	if stuck != nil {
		select {
		case <-stuck:
		case <-f.broken:
			return 0, ErrBroken
		}
	}
	select {
	case <-f.broken:
		return 0, ErrBroken
	default:
	}
	// As the line discipline does.
	_, _ = f.Screen.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n")))
	return len(p), nil
}

func (f *fakeTTY) Size() (int, int, error) { w, h := f.Screen.Size(); return w, h, nil }
func (f *fakeTTY) Changes() <-chan Change  { return f.changes }
func (f *fakeTTY) Break()                  { f.once.Do(func() { close(f.broken) }) }

func (f *fakeTTY) resize(w, h int) {
	f.Screen.Resize(w, h)
	f.changes <- Resized
}

var errGone = io.ErrUnexpectedEOF
