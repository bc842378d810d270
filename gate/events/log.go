package events

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"github.com/tau-robot/tau/gate"
)

// The names of a session's files.
const (
	logName  = "events.jsonl"
	headName = "events.head"
	tornName = "events.torn-"
)

// Damage is a log that isn't as it was left. Nothing was changed.
type Damage struct {
	Path string
	Line int // counted from 1; 0: the head or the whole file
	Text string
}

func (d *Damage) Error() string {
	where := d.Path
	if d.Line > 0 {
		where += ":" + strconv.Itoa(d.Line)
	}
	return fmt.Sprintf("events: %s: %s; nothing was changed: look with `tau robot events verify %s`, then move the folder %s away and keep it, or use another session name",
		where, d.Text, d.Path, filepath.Dir(d.Path))
}

// Recovery says what opening a log found after an unclean end.
type Recovery struct {
	Lines   uint64 // now in the log
	Adopted bool   // the last of them was whole but not in the head yet
	Torn    string // the file that a torn last line was set aside in; "": none
	TornLen int64  // its bytes
}

// Clean reports that there was nothing to recover.
func (r Recovery) Clean() bool { return !r.Adopted && r.Torn == "" }

// file is what a log needs of its files.
type file interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// sessionLog is one open log. Safe for concurrent use.
type sessionLog struct {
	mu      sync.Mutex
	path    string
	log     file // holds the lock on the file while it's open
	heads   file
	seal    *sealer
	at      head   // of the last line written
	behind  bool   // the head file doesn't have at yet
	ragged  bool   // bytes of a failed write may lie beyond at.end
	buf     []byte // of the line
	headBuf []byte
	closed  bool
}

// openLog opens or makes the log of a session in dir and recovers it.
func openLog(dir, session string, key []byte) (*sessionLog, Recovery, error) {
	path := filepath.Join(dir, logName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, Recovery{}, fmt.Errorf("events: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, Recovery{}, fmt.Errorf("events: %w", err)
	}
	l := &sessionLog{path: path, log: f, seal: newSealer(key)}
	r, err := l.recover(f, filepath.Join(dir, headName), session)
	if err != nil {
		_ = l.close() // the reason is err
		return nil, Recovery{}, err
	}
	return l, r, nil
}

// recover takes the lock and brings log and head together.
func (l *sessionLog) recover(f *os.File, headPath, session string) (r Recovery, err error) {
	info, err := f.Stat()
	if err != nil {
		return r, fmt.Errorf("events: %w", err)
	}
	if !info.Mode().IsRegular() {
		return r, l.damage(0, "is not a regular file")
	}
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return r, gate.Errf(gate.CodeBusy, l.path, "another bridge is writing this session's events")
	case err != nil:
		return r, fmt.Errorf("events: lock %s: %w", l.path, err)
	}
	if info, err = f.Stat(); err != nil { // again: a writer may have ended in between
		return r, fmt.Errorf("events: %w", err)
	}
	torn, err := l.openHead(headPath, session, info.Size())
	if err != nil {
		return r, err
	}
	if err := l.checkLast(info.Size()); err != nil {
		return r, err
	}
	r.Lines = l.at.count
	return r, l.recoverTail(info.Size(), torn, &r)
}

// readRegular reads a whole file of at most maxLine bytes; a link or a FIFO in its
// place, on which reading would block, is an error.
func readRegular(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return io.ReadAll(io.LimitReader(f, maxLine))
}

// openHead reads the head, or makes it for an empty log.
func (l *sessionLog) openHead(path, session string, size int64) (torn bool, err error) {
	first := head{hash: genesis(session)}
	data, err := readRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		if size > 0 {
			return false, l.damage(0, "its head "+path+" is gone, so where the log ended can't be proven")
		}
		data = newHead(first, l.seal)
		err = writeWhole(path, data)
	}
	if err != nil {
		return false, fmt.Errorf("events: head: %w", err)
	}
	l.at, torn, err = parseHead(data, l.seal)
	if err != nil {
		return false, l.damage(0, "its head "+path+" was changed: "+err.Error())
	}
	if l.at.count == 0 && l.at != first {
		return false, l.damage(0, "its head "+path+" is of another session")
	}
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false, fmt.Errorf("events: head: %w", err)
	}
	l.heads = f
	return torn, nil
}

// checkLast compares the last line that the head knows with the file.
func (l *sessionLog) checkLast(size int64) error {
	at := l.at
	if size < at.end {
		return l.damage(int(at.count), fmt.Sprintf("the file ends at byte %d, but %d lines of %d bytes were reported", size, at.count, at.end))
	}
	if at.count == 0 {
		return nil
	}
	if at.end-at.start > maxLine {
		return l.damage(int(at.count), "is longer than a line can be")
	}
	line := make([]byte, at.end-at.start)
	if _, err := l.log.ReadAt(line, at.start); err != nil {
		return fmt.Errorf("events: %s: %w", l.path, err)
	}
	body, ok := bytes.CutSuffix(line, []byte{'\n'})
	if !ok {
		return l.damage(int(at.count), "doesn't end where the head says")
	}
	if f, wrong := l.seal.open(body); wrong != "" {
		return l.damage(int(at.count), wrong)
	} else if f.seq != at.count || f.hash != at.hash {
		return l.damage(int(at.count), "isn't the line that the head knows")
	}
	return nil
}

// recoverTail deals with what lies beyond the head's end.
func (l *sessionLog) recoverTail(size int64, torn bool, r *Recovery) error {
	next := int(l.at.count) + 1
	n := size - l.at.end
	if n == 0 {
		if torn {
			return l.damage(next, "was reported, or was about to be, and is missing")
		}
		return nil
	}
	if n > maxLine {
		return l.damage(next, fmt.Sprintf("%d bytes lie beyond the last line that was reported", n))
	}
	tail := make([]byte, n)
	if _, err := l.log.ReadAt(tail, l.at.end); err != nil {
		return fmt.Errorf("events: %s: %w", l.path, err)
	}
	end := bytes.IndexByte(tail, '\n')
	switch {
	case end < 0 && torn:
		return l.damage(next, "was reported, or was about to be, and isn't whole")
	case end < 0:
		return l.setAside(tail, r)
	case end < len(tail)-1:
		return l.damage(next+1, "was never written here: one line at most can follow the head")
	}
	f, wrong := l.seal.open(tail[:end])
	if wrong == "" && (f.seq != l.at.count+1 || f.prev != l.at.hash) {
		wrong = "doesn't follow the line before"
	}
	if wrong != "" {
		return l.damage(next, wrong)
	}
	l.at = head{count: f.seq, start: l.at.end, end: size, hash: f.hash}
	r.Lines, r.Adopted = f.seq, true
	return l.writeHead()
}

// setAside saves a torn line beside the log and then cuts it off.
func (l *sessionLog) setAside(tail []byte, r *Recovery) error {
	for n := 1; ; n++ {
		path := filepath.Join(filepath.Dir(l.path), tornName+strconv.Itoa(n))
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("events: a torn line can't be set aside: %w", err)
		}
		_, err = f.Write(tail)
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return fmt.Errorf("events: a torn line can't be set aside: %w", err)
		}
		if err := l.log.Truncate(l.at.end); err != nil {
			return fmt.Errorf("events: %s: %w", l.path, err)
		}
		r.Torn, r.TornLen = path, int64(len(tail))
		return nil
	}
}

// emit appends one event. After an error the event may be in the log (if only
// its head couldn't be written) or not; the chain is whole either way.
func (l *sessionLog) emit(e *gate.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.mend(); err != nil {
		return err
	}
	line, hash := l.seal.seal(appendBody(l.buf[:0], l.at.count+1, &l.at.hash, e))
	if cap(line) <= 1<<16 { // one large event doesn't hold its memory for ever
		l.buf = line
	}
	if len(line) > maxLine {
		return gate.Errf(gate.CodeInvalidArgument, "event", "the event has %d bytes as a line, the limit is %d", len(line), maxLine)
	}
	if _, err := l.log.WriteAt(line, l.at.end); err != nil {
		// Cut whatever was written: the count that WriteAt gives beside an error
		// leaves out the bytes of the write that failed.
		if l.log.Truncate(l.at.end) != nil {
			l.ragged = true
		}
		return fmt.Errorf("events: %s: %w", l.path, err)
	}
	l.at = head{count: l.at.count + 1, start: l.at.end, end: l.at.end + int64(len(line)), hash: hash}
	return l.writeHead()
}

// mend undoes what a failed append left. The caller holds mu.
func (l *sessionLog) mend() error {
	if l.closed {
		return fmt.Errorf("events: %s: %w", l.path, fs.ErrClosed)
	}
	if l.behind {
		if err := l.writeHead(); err != nil {
			return err
		}
	}
	if l.ragged {
		if err := l.log.Truncate(l.at.end); err != nil {
			return fmt.Errorf("events: %s: a failed write can't be undone: %w", l.path, err)
		}
		l.ragged = false
	}
	return nil
}

// ready mends the log and asks whether the largest line would still fit.
func (l *sessionLog) ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.mend(); err != nil {
		return err
	}
	free, err := freeBytes(filepath.Dir(l.path))
	if err == nil && free < maxLine {
		err = fmt.Errorf("%d bytes are free on its disk, %d are needed: %w", free, maxLine, syscall.ENOSPC)
	}
	if err != nil {
		return fmt.Errorf("events: %s: %w", l.path, err)
	}
	return nil
}

// freeBytes says how much this user may still write to the disk that dir is on.
func freeBytes(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("its disk can't be asked for room: %w", err)
	}
	return s.Bavail * uint64(s.Bsize), nil
}

// writeHead writes the record for l.at. If it fails, nothing else is appended
// until it succeeds, so that one line at most is ever beyond the head.
func (l *sessionLog) writeHead() error {
	l.behind = true
	l.headBuf = l.at.append(l.headBuf[:0], l.seal)
	if _, err := l.heads.WriteAt(l.headBuf, l.at.offset()); err != nil {
		return fmt.Errorf("events: %s: the head of line %d: %w", l.path, l.at.count, err)
	}
	l.behind = false
	return nil
}

// count returns how many lines the log has.
func (l *sessionLog) count() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at.count
}

// sync waits until the disk has everything: the log before its head.
func (l *sessionLog) sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	return errors.Join(l.log.Sync(), l.heads.Sync())
}

// close syncs and closes. Closing twice is fine.
func (l *sessionLog) close() error {
	err := func() error {
		if l.heads == nil {
			return nil
		}
		return l.sync()
	}()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.heads != nil {
		err = errors.Join(err, l.heads.Close())
	}
	return errors.Join(err, l.log.Close()) // the lock goes last
}

func (l *sessionLog) damage(line int, text string) error {
	return &Damage{Path: l.path, Line: line, Text: text}
}

// writeWhole makes a file that is there either whole or not at all.
func writeWhole(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
