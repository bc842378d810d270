package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/tau-robot/tau/cmd/tau/internal/fdio"
	"github.com/tau-robot/tau/gate/approver/signed"
)

// ErrNoTerminal says that a passphrase can't be typed here. It is never read from
// anything but a terminal.
var ErrNoTerminal = errors.New("the passphrase is typed at a terminal, and standard input is none")

// ErrInterrupted says that ctrl-C was pressed instead.
var ErrInterrupted = errors.New("interrupted")

// ReadPassphrase asks for a passphrase at the terminal in and reads it without an
// echo; what was typed before the question is dropped. The question goes to out. The
// caller wipes what it gets. Whatever the way out (ctrl-C, ctrl-D, SIGINT, SIGTERM,
// SIGHUP, the end of ctx), the terminal is as it was.
func ReadPassphrase(ctx context.Context, in, out *os.File, question string) ([]byte, error) {
	fd := int(in.Fd())
	if !term.IsTerminal(fd) {
		return nil, ErrNoTerminal
	}
	sigs := make(chan os.Signal, 1)
	signal.Notify(sigs, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(sigs)
	r, err := fdio.NewReader(in)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	was, err := term.MakeRaw(fd) // no echo, and no signals from keys
	if err != nil {
		return nil, err
	}
	defer func() { _ = term.Restore(fd, was) }()
	if err := unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH); err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	if _, err := io.WriteString(out, question); err != nil {
		return nil, err
	}
	defer func() { _, _ = io.WriteString(out, "\r\n") }()

	ended := make(chan struct{})
	over := make(chan error, 1)
	go func() {
		var cause error
		select {
		case <-ended:
			over <- nil
			return
		case <-sigs:
			cause = ErrInterrupted
		case <-ctx.Done():
			cause = context.Cause(ctx)
		}
		_ = r.Close() // ends the read
		over <- cause
	}()
	typed, err := readSecret(r)
	close(ended)
	if cause := <-over; cause != nil {
		clear(typed)
		return nil, cause
	}
	if err != nil {
		clear(typed)
		return nil, err
	}
	return typed, nil
}

// readSecret reads a line of raw keys.
func readSecret(r io.Reader) ([]byte, error) {
	line := make([]byte, 0, signed.MaxPassphrase+1) // never grows, so that no copy is left behind
	var key [1]byte
	defer clear(key[:])
	for {
		if _, err := io.ReadFull(r, key[:]); err != nil {
			return line, err
		}
		switch c := key[0]; c {
		case '\r', '\n':
			return line, nil
		case 0x03:
			return line, ErrInterrupted
		case 0x04: // ctrl-D
			return line, io.EOF
		case 0x7f, 0x08:
			line = backspace(line)
		case 0x15: // ctrl-U
			clear(line)
			line = line[:0]
		default:
			switch {
			case c < 0x20: // other keys do nothing
			case len(line) == cap(line):
				return line, fmt.Errorf("a passphrase has at most %d bytes", signed.MaxPassphrase)
			default:
				line = append(line, c)
			}
		}
	}
}

// backspace takes the last character away, all of its bytes.
func backspace(line []byte) []byte {
	if len(line) == 0 {
		return line
	}
	n := len(line) - 1
	for n > 0 && line[n]&0xc0 == 0x80 {
		n--
	}
	clear(line[n:])
	return line[:n]
}
