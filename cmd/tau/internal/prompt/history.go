package prompt

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode"
)

const maxHistory = 500 // lines that are remembered

// history is the lines that were typed, for the editor's arrows; with a file,
// those of earlier runs too. Used by the editor's goroutine alone.
type history struct {
	lines []string
	file  *os.File    // nil: in memory only
	off   func() bool // while it's true, nothing is remembered or offered; nil: never
}

// openHistory reads and opens the file of a history; "" gives one without a file.
func openHistory(path string) (*history, error) {
	h := &history{}
	if path == "" {
		return h, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("prompt: history: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = f.Chmod(0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prompt: history: %w", err), f.Close())
	}
	h.file = f
	s := bufio.NewScanner(f)
	for s.Scan() { // a line beyond the scanner's bound ends it: what is older is enough
		if line := s.Text(); plainLine(line) {
			h.remember(line)
		}
	}
	return h, nil
}

// plainLine reports whether a line can go back to the screen.
func plainLine(line string) bool {
	return line != "" && strings.IndexFunc(line, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }) < 0
}

func (h *history) remember(line string) {
	if n := len(h.lines); n > 0 && h.lines[n-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if extra := len(h.lines) - maxHistory; extra > 0 {
		h.lines = append(h.lines[:0], h.lines[extra:]...)
	}
}

// Add implements term.History. A line that can't be written is only remembered.
func (h *history) Add(line string) {
	line = strings.TrimSpace(line)
	if !plainLine(line) || h.off != nil && h.off() {
		return
	}
	h.remember(line)
	if h.file != nil {
		_, _ = h.file.WriteString(line + "\n")
	}
}

// Len implements term.History.
func (h *history) Len() int {
	if h.off != nil && h.off() {
		return 0
	}
	return len(h.lines)
}

// At implements term.History: 0 is the newest.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }

func (h *history) close() error {
	if h.file == nil {
		return nil
	}
	return h.file.Close()
}
