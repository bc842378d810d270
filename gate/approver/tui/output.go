package tui

import (
	"sync"
	"time"
)

// output is what bubbletea's renderer writes to. It counts the writes, so that the
// screen can learn when something that it has laid out had been written.
//
// The renderer holds its lock from when it takes the latest frame until that is
// written. A write that begins after a frame was handed to it is therefore that frame
// or a later one.
type output struct {
	tty Terminal
	// settle reads what had been typed until now, and says when that was.
	settle func() time.Time
	// written says that write n is done, at a time. It must not block.
	written func(n uint64, at time.Time)

	mu    sync.Mutex
	begun uint64
	want  uint64 // the first write that somebody waits for; 0: nobody does
	err   error
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	o.begun++
	n := o.begun
	o.mu.Unlock()
	k, err := o.tty.Write(p)
	o.mu.Lock()
	if err != nil {
		o.err = err
		o.mu.Unlock()
		return k, err
	}
	wanted := o.want != 0 && n >= o.want
	if wanted {
		o.want = 0
	}
	o.mu.Unlock()
	if wanted {
		o.written(n, o.settle())
	}
	return k, nil
}

// await asks for word of the next write that begins from now on, and returns its number.
func (o *output) await() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.want = o.begun + 1
	return o.want
}
