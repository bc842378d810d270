package mount

import (
	"context"
	"errors"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// link is one connection. A server that has stopped reading blocks whoever writes to it,
// whatever the context of the call says, so what is done on a link is done beside, and a
// link on which something hangs is broken.
type link struct {
	session *sdk.ClientSession
	kill    func() // breaks the way to the server
	broken  atomic.Bool

	once   sync.Once
	closed error
}

const (
	// hangWait is how much longer than its context a call on a link may take: the
	// library tells the server of the cancel first.
	hangWait = 500 * time.Millisecond
	// closeWait is how long a link may take to end in an orderly way: longer than a
	// child that has to be told twice.
	closeWait = 3 * endWait
)

// within does something on a link and comes back soon after ctx has ended. Then the link
// is broken, which ends what hangs on it.
func within[T any](ctx context.Context, l *link, f func(context.Context) (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		v, err := f(ctx)
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
	}
	grace := time.NewTimer(hangWait)
	defer grace.Stop()
	select {
	case r := <-done:
		return r.v, r.err
	case <-grace.C:
	}
	l.broken.Store(true)
	l.kill()
	var none T
	return none, context.Cause(ctx)
}

// close ends a link, and breaks one that doesn't end. It comes back within closeWait and
// a little, and any number of times with the same.
func (l *link) close() error {
	l.once.Do(func() {
		done := make(chan error, 1)
		go func() { done <- l.session.Close() }()
		wait := closeWait
		if l.broken.Load() {
			wait = endWait
		}
		for range 2 {
			timer := time.NewTimer(wait)
			select {
			case l.closed = <-done:
				timer.Stop()
				var exit *exec.ExitError
				if errors.As(l.closed, &exit) || errors.Is(l.closed, exec.ErrWaitDelay) || l.broken.Load() { // it was told to end
					l.closed = nil
				}
				return
			case <-timer.C:
				l.broken.Store(true)
				l.kill()
				l.closed = errors.New("the mounted server's connection doesn't end")
			}
		}
	})
	return l.closed
}
