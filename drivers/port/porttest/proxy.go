package porttest

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// overflow is how long bytes for a bridge that doesn't read wait for room in the
// kernel's buffer before they are lost, as an adapter loses them.
const overflow = 50 * time.Millisecond

// Options of a Proxy.
type Options struct {
	// Board is the path of a terminal that a board serves (the emulator's, the host
	// build's, a real one). "": the test plays the board through Proxy.Board.
	Board string
	Seed  uint64 // of what Garble does
}

// Proxy stands between a bridge and a board. Its methods may be called from any
// goroutine.
type Proxy struct {
	path  string
	near  *os.File // the test's end of the board's terminal, or nil
	board *os.File
	own   *Terminal // that board is the far end of, or nil
	start time.Time
	seed  uint64
	done  chan struct{}
	wg    sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change of what mu guards
	host    *Terminal     // nil while unplugged
	closed  bool
	frozen  [2]bool
	thaw    [2]time.Time // zero: on command
	lines   [2]line
	added   uint64
	log     []Event
	write   [2]sync.Mutex // one writer each
}

// Start starts a proxy that t's cleanup closes.
func Start(t testing.TB, o Options) *Proxy {
	t.Helper()
	p := &Proxy{
		path: filepath.Join(t.TempDir(), "port"), start: time.Now(), seed: o.Seed,
		done: make(chan struct{}), changed: make(chan struct{}),
	}
	if err := p.connect(o.Board); err != nil {
		t.Fatalf("fault proxy: %v", err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("fault proxy: %v", err)
		}
	})
	return p
}

func (p *Proxy) connect(board string) error {
	var err error
	if board == "" {
		if p.own, err = OpenTerminal(); err != nil {
			return err
		}
		p.board = p.own.Far
		p.near, err = openRaw(p.own.Path)
	} else {
		p.board, err = openRaw(board)
	}
	if err == nil {
		err = p.Replug()
	}
	if err != nil {
		return errors.Join(err, p.closeFiles())
	}
	p.wg.Go(func() { p.toBoard() })
	p.wg.Go(func() { p.toHost() })
	return nil
}

func openRaw(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	c, err := f.SyscallConn()
	if err == nil {
		var inner error
		err = c.Control(func(fd uintptr) { _, inner = term.MakeRaw(int(fd)) })
		err = errors.Join(err, inner)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Path is where the bridge finds its port: a link that comes and goes with the plug
// and stays the same path.
func (p *Proxy) Path() string { return p.path }

// Board is the board's end, for a test that plays the board; nil with Options.Board.
// The proxy closes it.
func (p *Proxy) Board() *os.File { return p.near }

// Add adds a fault; the channel is closed when it happens for the first time.
func (p *Proxy) Add(f Fault) (fired <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.added++
	return p.lines[f.Dir].add(f, rand.New(rand.NewPCG(p.seed, p.added))).fired
}

// Clear takes all faults away. What one of them held back is lost.
func (p *Proxy) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for d := range p.lines {
		p.lines[d].stages = nil
	}
}

// Inject sends bytes that nobody wrote, between two that somebody did.
func (p *Proxy) Inject(d Dir, b []byte) error {
	p.write[d].Lock()
	defer p.write[d].Unlock()
	if d == ToBoard {
		_, err := p.board.Write(b)
		return err
	}
	p.mu.Lock()
	host := p.host
	p.mu.Unlock()
	if host == nil {
		return io.ErrClosedPipe
	}
	_, err := host.Far.Write(b)
	return err
}

// Freeze has directions (none is both) stand still until Thaw: nothing is read, so
// that writers fill the kernel's buffers and block.
func (p *Proxy) Freeze(dirs ...Dir) { p.setFrozen(true, time.Time{}, dirs) }

// Thaw ends a Freeze; what was held passes.
func (p *Proxy) Thaw(dirs ...Dir) { p.setFrozen(false, time.Time{}, dirs) }

func (p *Proxy) setFrozen(frozen bool, until time.Time, dirs []Dir) {
	if len(dirs) == 0 {
		dirs = []Dir{ToBoard, ToHost}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	what := Thawed
	if frozen {
		what = Frozen
	}
	for _, d := range dirs {
		if p.frozen[d] != frozen {
			p.note(d, what, nil)
		}
		p.frozen[d], p.thaw[d] = frozen, until
	}
	p.change()
}

// Unplug takes the bridge's device away: who has it open is cut off, the path is gone.
// What the board sends meanwhile is lost.
func (p *Proxy) Unplug() error {
	p.mu.Lock()
	host := p.host
	p.host = nil
	if host != nil {
		p.note(ToBoard, Unplugged, nil)
		p.change()
	}
	p.mu.Unlock()
	if host == nil {
		return nil
	}
	// What is stuck on its way to a board that doesn't read is lost with the cable.
	return errors.Join(os.Remove(p.path), host.Close(), p.board.SetWriteDeadline(time.Unix(1, 0)))
}

// Replug brings the device back, as another one under the same path.
func (p *Proxy) Replug() error {
	// Whatever was being written when the plug was pulled has failed by now.
	p.write[ToBoard].Lock()
	defer p.write[ToBoard].Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.host != nil || p.closed {
		return nil
	}
	host, err := OpenTerminal()
	if err != nil {
		return err
	}
	if err := errors.Join(p.board.SetWriteDeadline(time.Time{}), os.Symlink(host.Path, p.path)); err != nil {
		return errors.Join(err, host.Close())
	}
	p.host = host
	p.note(ToBoard, Plugged, nil)
	p.change()
	return nil
}

// Close ends the proxy and waits for its goroutines.
func (p *Proxy) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		p.wg.Wait()
		return nil
	}
	p.closed = true
	close(p.done)
	p.change()
	p.mu.Unlock()
	err := errors.Join(p.Unplug(), p.closeFiles())
	p.wg.Wait()
	return err
}

func (p *Proxy) closeFiles() error {
	var err error
	if p.near != nil {
		err = p.near.Close()
	}
	if p.own != nil {
		return errors.Join(err, p.own.Close())
	}
	if p.board != nil {
		err = errors.Join(err, p.board.Close())
	}
	return err
}

// change wakes who waits; p.mu is held.
func (p *Proxy) change() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// until waits until ready, which is called with p.mu held, or the end; it reports
// whether it was ready. A time is when to look again at the latest.
func (p *Proxy) until(ctx context.Context, ready func() (bool, time.Time)) bool {
	for {
		p.mu.Lock()
		ok, at := ready()
		changed := p.changed
		p.mu.Unlock()
		if ok {
			return true
		}
		var timer <-chan time.Time
		if !at.IsZero() {
			timer = time.After(time.Until(at))
		}
		select {
		case <-changed:
		case <-timer:
		case <-ctx.Done():
			return false
		case <-p.done:
			return false
		}
	}
}
