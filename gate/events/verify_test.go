package events

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestG51_WholeLogIsProven(t *testing.T) {
	s := newSample(t, 30)
	path := s.write(t, t.TempDir())
	r, err := Verify(path, KeyPathOf(path))
	require.NoError(t, err)
	require.NoError(t, r.Err())
	require.Equal(t, Report{Path: path, Session: session, Lines: 30, Tail: TailProven}, r)
	require.Equal(t, "30 lines, chain whole, tail proven", r.String())
}

// Every single byte of a log of 30 events is changed, taken out, and has another
// byte put before it (every fifth is also doubled, changed in its case, and has a
// newline put before it); the report names the line, and only it.
func TestG51_EveryByteCounts(t *testing.T) {
	n := 30
	if raceEnabled {
		n = 6 // the same kinds of bytes, fewer times
	}
	s := newSample(t, n)
	keyless := sample{log: s.log}
	check := func(s sample, kind string, at int, log []byte) {
		t.Helper()
		want := firstDifference(s.log, log)
		most := 1
		if strings.HasPrefix(kind, "newline") {
			most = 2 // both halves of a line
		}
		if r := s.verify(log); r.OK() || len(r.Faults) > most || r.Faults[0].Line != want {
			t.Fatalf("%s at byte %d, line %d: %s", kind, at, want, r.String())
		}
	}
	log := make([]byte, 0, len(s.log)+1)
	for i, c := range s.log {
		a, b := s.log[:i], s.log[i:]
		for kind, by := range map[string]string{
			"flip": string([]byte{c ^ 1}), "case": string([]byte{c ^ 0x20}), "delete": "",
			"insert": "x" + string(c), "double": string([]byte{c, c}), "newline": "\n" + string(c),
		} {
			log = append(append(append(log[:0], a...), by...), b[1:]...)
			if bytes.Equal(log, s.log) || i%5 != 0 && kind != "flip" && kind != "delete" && kind != "insert" {
				continue
			}
			check(s, kind, i, log)
			if i%7 == 0 {
				check(keyless, kind+" without the key", i, log)
			}
		}
	}
	check(s, "append", len(s.log), join(s.log, []byte{'x'}))
	check(s, "append", len(s.log), join(s.log, []byte{'\n'}))
}

func TestG51_EveryByteOfTheHeadCounts(t *testing.T) {
	s := newSample(t, 5)
	for i := range s.head {
		bad := s
		bad.head = bytes.Clone(s.head)
		bad.head[i] ^= 1
		r := bad.verify(s.log)
		if i >= recordSize { // of the newest record: a crash could have left it so, and nothing is lost
			require.True(t, r.OK(), i)
			require.Contains(t, r.Notes[0], "line 5 is whole and ours but not in the head yet", i)
			cut := bad.verify(s.log[:len(s.log)-len(s.lines()[4])]) // but then the line must be there
			require.Equal(t, TailBroken, cut.Tail)
			continue
		}
		require.False(t, r.OK(), i)
		require.Equal(t, TailBroken, r.Tail)
		if i%20 == 0 {
			_, err := openIn(t, bad)
			require.ErrorAs(t, err, new(*Damage), i)
		}
	}
	for name, head := range map[string][]byte{
		"empty": {}, "short": s.head[1:], "long": append(bytes.Clone(s.head), '\n'),
		"swapped": join(s.head[recordSize:], s.head[:recordSize]), "older gone": join(make([]byte, recordSize), s.head[recordSize:]),
	} {
		bad := s
		bad.head = head
		r := bad.verify(s.log)
		require.Equal(t, TailBroken, r.Tail, name)
		require.Equal(t, 0, r.Faults[0].Line, name)
	}
}

func openIn(t *testing.T, s sample) (Recovery, error) {
	dir := t.TempDir()
	s.write(t, dir)
	before := read1(t, Path(dir, session))
	st, err := Open(Options{Dir: dir})
	require.NoError(t, err)
	defer func() { require.NoError(t, st.Close()) }()
	r, err := st.Session(session)
	if err != nil { // a refusal changes nothing
		require.Equal(t, before, read1(t, Path(dir, session)))
		if s.head != nil {
			require.Equal(t, s.head, read1(t, headPath(dir)))
		}
	}
	return r, err
}

func TestG51_LinesDroppedDoubledMoved(t *testing.T) {
	const n = 12
	s := newSample(t, n)
	l := s.lines()
	for i := range n {
		for kind, log := range map[string][]byte{
			"dropped": with(l, i),
			"doubled": with(l, i, l[i], l[i]),
			"blank":   with(l, i, []byte{'\n'}, l[i]),
			"CRLF":    with(l, i, l[i][:len(l[i])-1], []byte("\r\n")),
			"swapped": with(l, i, l[(i+1)%n], l[i]),
			"foreign": with(l, i, newSample(t, 1).log),
			"cut":     join(l[:i]...),
			"garbage": with(l, i, []byte("{}\n")),
		} {
			r := s.verify(log)
			require.False(t, r.OK(), "%s %d", kind, i)
			require.Equal(t, firstDifference(s.log, log), r.Faults[0].Line, "%s %d: %s", kind, i, r.String())
		}
	}
	crlf := bytes.ReplaceAll(s.log, []byte("\n"), []byte("\r\n"))
	r := s.verify(crlf)
	require.Len(t, r.Faults, n)
	require.Equal(t, 1, r.Faults[0].Line)
}

// Somebody without the key edits a line and makes the hashes right again.
func TestG51_HashedAgain(t *testing.T) {
	const n, i = 12, 4
	s := newSample(t, n)
	l := s.lines()
	edited := bytes.Replace(l[i], []byte(`"shoulder_pan":4`), []byte(`"shoulder_pan":5`), 1)
	require.NotEqual(t, l[i], edited)
	one, hash := rehash(edited, "")
	r := s.verify(with(l, i, one))
	require.Equal(t, []Fault{{Line: i + 1, Text: "was rewritten: its MAC isn't one of this key"}}, r.Faults)

	keyless := sample{log: s.log}
	r = keyless.verify(with(l, i, one))
	require.Equal(t, []Fault{{Line: i + 1, Text: fmt.Sprintf("isn't the line that line %d was written after", i+2)}}, r.Faults)

	all := [][]byte{one}
	for _, line := range l[i+1:] {
		var next []byte
		next, hash = rehash(line, hash)
		all = append(all, next)
	}
	log := join(join(l[:i]...), join(all...))
	r = s.verify(log)
	require.Equal(t, i+1, r.Faults[0].Line, r.String())
	require.Len(t, r.Faults, n-i)
	r = keyless.verify(log) // the chain alone can't know: the tail is unproven
	require.True(t, r.OK())
	require.Equal(t, TailUnproven, r.Tail)
	require.ErrorContains(t, r.Err(), "tail unproven")

	// A forged line beyond the head isn't taken for one that a crash left there.
	last := bytes.Replace(l[n-1], []byte(fmt.Sprintf(`{"seq":%d`, n)), []byte(fmt.Sprintf(`{"seq":%d`, n+1)), 1)
	forged, _ := rehash(last, string(l[n-1][len(l[n-1])-1-len(endMark)-hexSize:len(l[n-1])-1-len(endMark)]))
	bad := s
	bad.log = join(s.log, forged)
	r = s.verify(bad.log)
	require.Equal(t, n+1, r.Faults[0].Line, r.String())
	_, err := openIn(t, bad)
	require.ErrorContains(t, err, fmt.Sprintf(":%d: was rewritten", n+1))
}

// A genuine line of another past, which a restored copy of the folder wrote, isn't
// the one that was reported here.
func TestG51_ALineOfAnotherPast(t *testing.T) {
	past := newSample(t, 2)
	goOn := func(i int) sample {
		dir := t.TempDir()
		past.write(t, dir)
		s := open(t, dir)
		require.NoError(t, s.Emit(event(i)))
		require.NoError(t, s.Close())
		return sample{log: read1(t, Path(dir, session)), head: read1(t, headPath(dir)), key: past.key}
	}
	here, there := goOn(4), goOn(5)
	r := there.verify(there.log)
	require.True(t, r.OK(), r.String())
	r = here.verify(there.log)
	require.Equal(t, []Fault{{Line: 3, Text: "isn't the line that the head knows"}}, r.Faults)
	require.Equal(t, TailBroken, r.Tail)
}

// Line 1 follows its session's name and nothing else.
func TestG51_ALogBeginsWithItsSession(t *testing.T) {
	s := newSample(t, 1)
	line, _ := rehash(s.lines()[0], strings.Repeat("0", hexSize))
	r := sample{log: line}.verify(line)
	require.Equal(t, []Fault{{Line: 1, Text: "doesn't begin a log of this session"}}, r.Faults)
}

func TestG51_WithoutHeadOrKeyTheTailIsUnproven(t *testing.T) {
	s := newSample(t, 5)
	for name, drop := range map[string]func(dir string) string{
		"head": headPath, "key": KeyPath,
	} {
		dir := t.TempDir()
		path := s.write(t, dir)
		require.NoError(t, os.Remove(drop(dir)))
		r, err := Verify(path, KeyPathOf(path))
		require.NoError(t, err)
		require.True(t, r.OK(), name)
		require.Contains(t, r.String(), "tail unproven", name)
		require.Error(t, r.Err())
	}
	_, err := Verify(Path(t.TempDir(), session), "")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// What a crash leaves is told from what somebody did.
func TestG51_VerifyAfterACrash(t *testing.T) {
	long, short := newSampleBoth(t, 6)
	r := short.verify(long.log) // line written, head not
	require.True(t, r.OK(), r.String())
	require.Equal(t, TailProven, r.Tail)
	require.Contains(t, r.Notes[0], "line 6 is whole and ours but not in the head yet")

	r = short.verify(long.log[:len(long.log)-9]) // half a line
	require.Equal(t, 6, r.Faults[0].Line)
	require.Contains(t, r.Faults[0].Text, "the next start sets them aside")
}

// A writer that has lost the processor in the middle of a line, or of its head, is at
// work and no damage; what stays half is damage all the same.
func TestG51_AWriterThatIsHalfWayIsNoDamage(t *testing.T) {
	long, short := newSampleBoth(t, 6)
	halfHead := bytes.Join([][]byte{long.head[:40], short.head[40:]}, nil) // the record of line 6 stands first
	for name, keyed := range map[string]bool{"with its head": true, "without a key": false} {
		look := func(goesOn bool) (r Report, pauses int) {
			log, head := long.log[:len(long.log)-9], short.head
			r = Report{Path: logName, Tail: TailUnproven}
			v := &verifier{r: &r, log: readerAt(func() []byte { return log }), seal: newSealer(nil)}
			if keyed {
				v.seal, v.readHead = newSealer(long.key), func() ([]byte, error) { return head, nil }
			}
			v.pause = func() {
				pauses++
				switch {
				case goesOn && pauses == 3:
					log = long.log[:len(long.log)-1]
				case goesOn && pauses == stillRounds:
					log, head = long.log, halfHead
				case goesOn && pauses == stillRounds+3:
					head = long.head
				}
			}
			require.NoError(t, v.run(), name)
			return r, pauses
		}
		r, pauses := look(false)
		require.Equal(t, 6, r.Faults[0].Line, name)
		require.Contains(t, r.Faults[0].Text, "newline", name)
		require.Equal(t, stillRounds, pauses, name)
		r, _ = look(true)
		require.True(t, r.OK(), "%s: %s", name, r.String())
		require.Equal(t, 6, r.Lines, name)
		require.Equal(t, keyed, r.Tail == TailProven, name)
		require.Empty(t, r.Notes, name)
	}
}

// readerAt reads what the function returns at that moment.
type readerAt func() []byte

func (f readerAt) ReadAt(p []byte, at int64) (int, error) { return bytes.NewReader(f()).ReadAt(p, at) }

// newSampleBoth returns a log of n events and the same log one event before.
func newSampleBoth(t testing.TB, n int) (long, short sample) {
	dir := t.TempDir()
	s := open(t, dir)
	for i := range n {
		if i == n-1 {
			short = sample{log: read1(t, Path(dir, session)), head: read1(t, headPath(dir)), key: read1(t, KeyPath(dir))}
		}
		require.NoError(t, s.Emit(event(i)))
	}
	require.NoError(t, s.Close())
	long = sample{log: read1(t, Path(dir, session)), head: read1(t, headPath(dir)), key: short.key}
	return long, short
}

func FuzzVerify(f *testing.F) {
	s := newSample(f, 3)
	f.Add(s.log)
	f.Add(s.log[:len(s.log)-1])
	f.Add(append(bytes.Clone(s.log), s.log...))
	f.Add([]byte("\n\n{}\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, log []byte) {
		same := bytes.Equal(log, s.log)
		r := s.verify(log)
		if (r.Err() == nil) != same {
			t.Fatalf("same: %v, but %s", same, r.String())
		}
		if !same && r.Faults[0].Line > firstDifference(s.log, log) {
			t.Fatalf("the first difference is in line %d, but %s", firstDifference(s.log, log), r.String())
		}
		lines := 0
		for e, err := range read(bytes.NewReader(log), logName) {
			lines++
			if e.Line != lines || err != nil && e.Seq != 0 {
				t.Fatalf("entry %d: %+v, %v", lines, e, err)
			}
		}
		if lines != r.Lines {
			t.Fatalf("%d lines read, %d verified", lines, r.Lines)
		}
	})
}
