package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// ErrNoBridge says that no bridge serves the socket.
var ErrNoBridge = errors.New("no bridge runs there")

// Send sends a request to the bridge at path and waits for its one reply.
func Send(ctx context.Context, path string, req Request) (Reply, error) {
	var last Reply
	got := false
	err := Follow(ctx, path, req, func(r Reply) error {
		last, got = r, true
		return nil
	})
	if err == nil && !got {
		err = fmt.Errorf("control socket: %q was sent, no answer came back: %w", req.Verb, io.ErrUnexpectedEOF)
	}
	return last, err
}

// Follow sends a request to the bridge at path and hands each line of what it replies
// to take, until the bridge has said all, take returns an error, or ctx ends. take is
// called by this goroutine.
func Follow(ctx context.Context, path string, req Request, take func(Reply) error) error {
	addr, dir, err := address(path)
	if err != nil {
		return err
	}
	if dir != nil {
		defer func() { _ = dir.Close() }()
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", addr)
	if err != nil {
		return fmt.Errorf("%w (%s): %w", ErrNoBridge, path, err)
	}
	defer func() { _ = c.Close() }()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	req.Reason = clip(req.Reason)
	b, err := json.Marshal(req)
	if err != nil {
		return fmt.Errorf("control socket: %w", err)
	}
	if _, err := c.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("control socket: %w", err)
	}
	lines := bufio.NewReader(c)
	for {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return fmt.Errorf("control socket: %q was sent, no answer came back: %w", req.Verb, err)
		}
		var r Reply
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("control socket: %w", err)
		}
		if err := take(r); err != nil {
			return err
		}
	}
}

// readLine reads a line of at most maxReply bytes.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxReply:
			return nil, fmt.Errorf("a line of more than %d bytes", maxReply)
		case err == nil || !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}
