package events

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"
)

// maxRounds bounds how often Verify catches up with a writer at work.
const maxRounds = 50

// A writer may lose the processor with half a line or half a head written. Before such a
// half counts as damage it is looked at stillRounds times, stillPause apart, in case it
// grows.
const (
	stillRounds = 20
	stillPause  = 5 * time.Millisecond
)

// Verify reads the whole log at path and finds every byte that was changed, taken
// out or put in, and every line that was dropped, doubled or moved; with the head
// beside it and the key, also at its end, and the very line where an edit and all
// behind it were hashed again. Without one of them the tail is unproven (keyPath
// "": no key). The log may be in use: then it is proven up to the line that the
// head had last. An end that isn't whole is looked at for a tenth of a second, in case
// it is being written. The error is for files that can't be read; what is found is in
// the report.
func Verify(path, keyPath string) (Report, error) {
	r := Report{Path: path, Tail: TailUnproven}
	key, err := keyIfThere(keyPath)
	if err != nil {
		return r, err
	}
	if key == nil {
		r.note("the key isn't there: MACs aren't checked")
	}
	f, err := os.Open(path)
	if err != nil {
		return r, fmt.Errorf("events: %w", err)
	}
	defer func() { _ = f.Close() }() // read only
	v := &verifier{r: &r, log: f, seal: newSealer(key), pause: func() { time.Sleep(stillPause) }}
	if key != nil {
		headPath := filepath.Join(filepath.Dir(path), headName)
		v.readHead = func() ([]byte, error) { return os.ReadFile(headPath) }
	}
	return r, v.run()
}

func keyIfThere(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	key, err := LoadKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return key, err
}

// verifier goes through a log once.
type verifier struct {
	r        *Report
	log      io.ReaderAt
	seal     *sealer
	readHead func() ([]byte, error) // nil: no key, so no head
	pause    func()                 // lets a writer go on; nil: nobody writes

	offset   int64  // of what isn't read yet
	seq      uint64 // of the last line that has one
	hash     digest // of that line
	before   digest // what that line follows
	followed bool   // hash is what the next line must follow
	faulty   bool   // the last line read has a fault
	left     int    // bytes at the end without a newline

	want   head // compared when its line is passed
	passed bool
}

// run scans, and asks the head until log and head stand still.
func (v *verifier) run() error {
	if v.readHead == nil {
		return v.finishWithoutHead("")
	}
	var last head
	lastOffset, lastLeft := int64(-1), 0
	for round, still := 0, 0; ; round++ {
		h, torn, wrong, err := v.head()
		if errors.Is(err, fs.ErrNotExist) {
			return v.finishWithoutHead("the head isn't there")
		}
		if err != nil {
			return fmt.Errorf("events: head: %w", err)
		}
		v.want = h
		if err := v.scan(); err != nil {
			return err
		}
		if wrong != nil {
			v.finishWithBadHead(wrong)
			return nil
		}
		if h != last || v.offset != lastOffset || v.left != lastLeft {
			still = -1
		}
		still++
		atHead := v.left == 0 && v.seq == h.count && !torn
		half := torn || v.left > 0 && v.seq >= h.count // what a writer at work may leave for a moment
		stands := still > 0 && (!half || v.pause == nil || still > stillRounds)
		if atHead || !v.r.OK() || round == maxRounds || stands {
			v.judge(h, torn, round == maxRounds)
			return nil
		}
		if half && still > 0 {
			v.pause()
		}
		last, lastOffset, lastLeft = h, v.offset, v.left
	}
}

// head reads the head, and again if it doesn't look whole: a writer may have been
// at it. wrong says what is the matter with one that stays so.
func (v *verifier) head() (h head, torn bool, wrong, err error) {
	for range 10 {
		data, err := v.readHead()
		if err != nil {
			return h, false, nil, err
		}
		if h, torn, wrong = parseHead(data, v.seal); wrong == nil && !torn {
			break
		}
	}
	return h, torn, wrong, nil
}

// scan reads all whole lines from offset on.
func (v *verifier) scan() error {
	lines := newLines(io.NewSectionReader(v.log, v.offset, math.MaxInt64-v.offset))
	for {
		line, whole, err := lines.next()
		switch {
		case errors.Is(err, errTooLong):
			v.r.Lines++
			v.broken("is longer than a line can be")
			if !whole {
				return nil
			}
			continue // what offset is then doesn't matter: a faulty log is read once
		case err != nil:
			return fmt.Errorf("events: %s: %w", v.r.Path, err)
		case !whole:
			v.left = len(line)
			return nil
		}
		v.r.Lines++
		v.line(line)
		v.offset += int64(len(line)) + 1
		if v.seq == v.want.count && !v.faulty {
			v.passed = v.passed || v.hash == v.want.hash
		}
	}
}

// broken notes a line whose place and hash can't be believed.
func (v *verifier) broken(text string) {
	v.r.fault(v.r.Lines, "%s", text)
	v.faulty, v.followed = true, false
}

// line checks one line against the one before.
func (v *verifier) line(line []byte) {
	n := v.r.Lines
	f, wrong := v.seal.open(line)
	if wrong == "" && v.r.Session == "" {
		wrong = v.first(line)
	}
	if wrong == "" && f.seq == 1 && f.prev != genesis(v.r.Session) {
		wrong = "doesn't begin a log of this session"
	}
	switch {
	case wrong != "":
		v.broken(wrong)
		return
	case v.faulty && !v.followed && f.seq > v.seq: // the line before is named already
	case f.seq == v.seq+1:
		if f.seq > 1 && v.followed && f.prev != v.hash {
			// Both lines are whole, so the one before stands in another's place.
			v.r.fault(n-1, "isn't the line that line %d was written after", n)
		}
	case f.seq > v.seq:
		v.r.fault(n, "line %d is missing here; this is line %d", v.seq+1, f.seq)
		v.take(f, true)
		return
	default:
		v.broken(fmt.Sprintf("is out of its place or here twice: this is line %d, after line %d", f.seq, v.seq))
		return
	}
	v.take(f, false)
}

func (v *verifier) take(f frame, faulty bool) {
	v.seq, v.hash, v.before = f.seq, f.hash, f.prev
	v.followed, v.faulty = true, faulty
}

// first reads the session's name from line 1.
func (v *verifier) first(line []byte) (wrong string) {
	e, err := decode(line, 1)
	if err != nil {
		return "isn't an event"
	}
	if !ValidSession(e.Event.SessionID) {
		return "names no session"
	}
	v.r.Session = e.Event.SessionID
	return ""
}

func (v *verifier) finishWithoutHead(why string) error {
	if err := v.scan(); err != nil {
		return err
	}
	for n := 0; n < stillRounds && v.left > 0 && v.r.OK() && v.pause != nil; n++ {
		v.pause()
		if err := v.scan(); err != nil {
			return err
		}
	}
	if v.left > 0 {
		v.r.fault(v.r.Lines+1, "%d bytes follow the last newline", v.left)
	}
	if why != "" {
		v.r.note("%s", why)
	}
	return nil
}

func (v *verifier) finishWithBadHead(err error) {
	v.r.Tail = TailBroken
	v.r.fault(0, "%s was changed: %v", headName, err)
	if v.left > 0 {
		v.r.fault(v.r.Lines+1, "%d bytes follow the last newline", v.left)
	}
}

// judge compares the end of the log with the head.
func (v *verifier) judge(h head, torn, moving bool) {
	end := v.r.Lines + 1
	v.r.Tail = TailBroken
	switch {
	case v.left > 0 && v.seq < h.count:
		v.r.fault(end, "was changed: it doesn't end in a newline")
	case v.left > 0 && moving:
		v.tail(h, "the log was written to while it was read")
	case v.left > 0:
		v.r.fault(end, "%d bytes without a newline follow the last line that was reported; if a crash left them, the next start sets them aside", v.left)
	case v.faulty: // its own fault is in the report
	case v.seq < h.count:
		v.r.fault(end, "is missing: %d lines were reported, the last here is line %d", h.count, v.seq)
	case v.seq == h.count && torn:
		v.r.fault(0, "%s was changed: the record beside that of line %d is damaged", headName, h.count)
	case v.seq == h.count && h.count == 0:
		v.r.Tail = TailProven
	case v.seq == h.count && v.hash != h.hash:
		v.r.fault(end-1, "isn't the line that the head knows")
	case v.seq == h.count:
		v.r.Tail = TailProven
	case v.seq == h.count+1 && v.before == h.hash:
		v.tail(h, fmt.Sprintf("line %d is whole and ours but not in the head yet: the writer is at work, or a crash came in between and the next start takes it over", end-1))
	case moving && v.passed:
		v.tail(h, "the log was written to while it was read")
	default:
		v.r.fault(v.r.Lines-int(v.seq-h.count)+1, "was never written here: the head knows %d lines", h.count)
	}
}

// tail notes a proven end that isn't the end of the file.
func (v *verifier) tail(h head, why string) {
	v.r.Tail = TailProven
	v.r.note("%s; proven up to line %d of the session", why, h.count)
}
