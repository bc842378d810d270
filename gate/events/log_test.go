package events

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tau-robot/tau/gate"
)

func requireProven(t *testing.T, dir string, lines int) {
	t.Helper()
	path := Path(dir, session)
	r, err := Verify(path, KeyPathOf(path))
	require.NoError(t, err)
	require.NoError(t, r.Err(), r.String())
	require.Empty(t, r.Notes)
	require.Equal(t, lines, r.Lines)
}

func TestG51_LogGoesOnAfterReopening(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		s := open(t, dir)
		r, err := s.Session(session)
		require.NoError(t, err)
		require.Equal(t, Recovery{Lines: uint64(i)}, r)
		require.NoError(t, s.Emit(event(i)))
		require.NoError(t, s.Sync())
		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
		require.ErrorIs(t, s.Emit(event(i)), fs.ErrClosed)
	}
	requireProven(t, dir, 5)
	for _, path := range []string{Path(dir, session), headPath(dir), KeyPath(dir)} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), path)
	}
}

func TestG51_SecondWriterIsRefused(t *testing.T) {
	dir := t.TempDir()
	first, second := open(t, dir), open(t, dir)
	require.NoError(t, first.Emit(event(0)))
	err := second.Emit(event(1))
	require.Equal(t, gate.CodeBusy, gate.CodeOf(err))
	require.ErrorContains(t, err, Path(dir, session))
	require.NoError(t, first.Emit(event(1)))
	require.NoError(t, first.Close())
	require.NoError(t, second.Emit(event(2)))
	requireProven(t, dir, 3)
}

func TestG51_SessionNamesAreSafe(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for _, name := range []string{"", ".", "..", "a/b", "../x", "a b", "é", "a\x00", "a.b", string(bytes.Repeat([]byte{'a'}, 65))} {
		err := s.Emit(gate.Event{Type: "error", SessionID: name})
		require.Equal(t, gate.CodeInvalidArgument, gate.CodeOf(err), "%q", name)
	}
	_, err := os.Stat(filepath.Join(dir, "sessions"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, s.Emit(gate.Event{SessionID: string(bytes.Repeat([]byte{'a'}, 64))}))
}

func TestG51_KeyOthersCanReadIsRefused(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, open(t, dir).Emit(event(0)))
	path := KeyPath(dir)
	key := read1(t, path)
	require.Len(t, key, keySize)
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o622, 0o601} {
		require.NoError(t, os.Chmod(path, mode))
		_, err := Open(Options{Dir: dir})
		require.ErrorContains(t, err, "chmod 600")
		_, err = Verify(Path(dir, session), path)
		require.ErrorContains(t, err, "chmod 600")
	}
	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, os.Rename(path, path+"2"))
	require.NoError(t, os.Symlink(path+"2", path))
	_, err := Open(Options{Dir: dir})
	require.Error(t, err)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, key[1:], 0o600))
	_, err = Open(Options{Dir: dir})
	require.ErrorContains(t, err, "31 bytes")
}

func TestG51_KeyIsMadeOnce(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	keys := make([][]byte, 16)
	for i := range keys {
		wg.Go(func() {
			s, err := Open(Options{Dir: dir})
			if err == nil {
				keys[i] = s.key
			}
		})
	}
	wg.Wait()
	for _, k := range keys {
		require.Equal(t, read1(t, KeyPath(dir)), k)
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1)
	_, err = Open(Options{Dir: t.TempDir(), Random: bytes.NewReader([]byte("short"))})
	require.ErrorContains(t, err, "no randomness")
}

func TestG51_TornLineIsSetAside(t *testing.T) {
	long, short := newSampleBoth(t, 6)
	line := long.log[len(short.log):]
	for _, n := range []int{1, 100, len(line) - 1} {
		dir := t.TempDir()
		torn := sample{log: long.log[:len(short.log)+n], head: short.head, key: short.key}
		torn.write(t, dir)
		before := filepath.Join(dir, "sessions", session, "events.torn-1")
		require.NoError(t, os.WriteFile(before, []byte("older"), 0o600))
		var told Recovery
		s, err := Open(Options{Dir: dir, Recovered: func(name string, r Recovery) {
			require.Equal(t, session, name)
			told = r
		}})
		require.NoError(t, err)
		require.NoError(t, s.Emit(event(5)))
		require.NoError(t, s.Close())
		require.Equal(t, Recovery{Lines: 5, Torn: filepath.Join(filepath.Dir(before), "events.torn-2"), TornLen: int64(n)}, told)
		require.Equal(t, line[:n], read1(t, told.Torn))
		require.Equal(t, "older", string(read1(t, before)))
		require.Equal(t, long.log, read1(t, Path(dir, session)))
		requireProven(t, dir, 6)
	}
}

func TestG51_WholeLineBeyondTheHeadIsKept(t *testing.T) {
	long, short := newSampleBoth(t, 6)
	tornHead := bytes.Clone(long.head)
	tornHead[5] ^= 0xff // the record of line 6 is at index 0
	for name, head := range map[string][]byte{"head not written": short.head, "head torn": tornHead} {
		dir := t.TempDir()
		(sample{log: long.log, head: head, key: long.key}).write(t, dir)
		s := open(t, dir)
		r, err := s.Session(session)
		require.NoError(t, err, name)
		require.Equal(t, Recovery{Lines: 6, Adopted: true}, r)
		require.Equal(t, long.head, read1(t, headPath(dir)))
		require.NoError(t, s.Emit(event(6)))
		requireProven(t, dir, 7)
	}
}

func TestG51_DamageIsRefusedByNameAndLeftAlone(t *testing.T) {
	s := newSample(t, 6)
	l := s.lines()
	flip := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at] ^= 1
		return b
	}
	tornHead := flip(s.head, 0)
	for name, c := range map[string]struct {
		s    sample
		want string
	}{
		"last line cut off":     {sample{log: join(l[:5]...), head: s.head}, "events.jsonl:6: the file ends at byte"},
		"newline cut off":       {sample{log: s.log[:len(s.log)-1], head: s.head}, "events.jsonl:6: the file ends at byte"},
		"emptied":               {sample{log: []byte{}, head: s.head}, "events.jsonl:6: the file ends at byte 0"},
		"last line edited":      {sample{log: flip(s.log, len(s.log)-300), head: s.head}, "events.jsonl:6: was changed"},
		"byte put in":           {sample{log: append([]byte{' '}, s.log...), head: s.head}, "events.jsonl:6: doesn't end where"},
		"line doubled":          {sample{log: join(s.log, l[5]), head: s.head}, "events.jsonl:7: doesn't follow"},
		"blank at the end":      {sample{log: join(s.log, []byte("\n")), head: s.head}, "events.jsonl:7: is empty"},
		"two lines at the end":  {sample{log: join(s.log, []byte("a\nb\n")), head: s.head}, "events.jsonl:8: was never written"},
		"head gone":             {sample{log: s.log}, "events.jsonl: its head"},
		"head empty":            {sample{log: s.log, head: []byte{}}, "it has 0 bytes"},
		"both records damaged":  {sample{log: s.log, head: flip(tornHead, recordSize)}, "neither of its records"},
		"torn head, line gone":  {sample{log: join(l[:5]...), head: tornHead}, "events.jsonl:6: was reported"},
		"torn head, line torn":  {sample{log: s.log[:len(s.log)-1], head: tornHead}, "events.jsonl:6: was reported"},
		"head of other session": {sample{log: []byte{}, head: newHead(head{hash: genesis("x")}, newSealer(s.key))}, "of another session"},
	} {
		c.s.key = s.key
		_, err := openIn(t, c.s)
		require.ErrorAs(t, err, new(*Damage), name)
		require.ErrorContains(t, err, c.want, name)
		require.ErrorContains(t, err, "nothing was changed", name)
	}
	other := s
	other.key = bytes.Repeat([]byte{7}, keySize)
	_, err := openIn(t, other)
	require.ErrorContains(t, err, "neither of its records is one of this key")
	other = sample{log: []byte{}, key: s.key} // a crash between the log's making and its head's
	_, err = openIn(t, other)
	require.NoError(t, err)
}

// flaky fails as it is told and is otherwise the file.
type flaky struct {
	file
	short    int // the next write writes so many bytes and fails; -1: none
	truncate error
	lies     bool // says that nothing was written, as os.File does of a write that failed half-way
}

func (f *flaky) WriteAt(p []byte, off int64) (int, error) {
	if f.short < 0 {
		return f.file.WriteAt(p, off)
	}
	n, err := f.file.WriteAt(p[:min(f.short, len(p))], off)
	if f.lies {
		n = 0
	}
	return n, errors.Join(err, syscall.ENOSPC)
}

func (f *flaky) Truncate(size int64) error {
	if f.truncate != nil {
		return f.truncate
	}
	return f.file.Truncate(size)
}

func TestG51_FullDiskLeavesTheChainWhole(t *testing.T) {
	for name, c := range map[string]struct {
		short    int
		truncate error
	}{
		"nothing written": {0, nil}, "a part written": {40, nil}, "all but the newline": {10_000, nil},
		"a part, and it can't be undone": {40, syscall.EIO},
	} {
		dir := t.TempDir()
		s := open(t, dir)
		require.NoError(t, s.Emit(event(0)))
		l := s.logs[session]
		f := &flaky{file: l.log, short: c.short, truncate: c.truncate}
		l.log = f
		require.ErrorIs(t, s.Emit(event(1)), syscall.ENOSPC, name)
		require.Error(t, s.Emit(event(1)), name)
		f.short, f.truncate = -1, nil
		// Shorter than what failed: nothing of that may stick out behind it.
		require.NoError(t, s.Emit(gate.Event{SessionID: session, Type: "stop"}), name)
		requireProven(t, dir, 2)
		require.NoError(t, s.Close())
	}
}

func TestG51_FailingHeadStopsTheLog(t *testing.T) {
	for _, short := range []int{0, 60} {
		dir := t.TempDir()
		s := open(t, dir)
		require.NoError(t, s.Emit(event(0)))
		l := s.logs[session]
		f := &flaky{file: l.heads, short: short}
		l.heads = f
		size := int64(0)
		for i := range 3 {
			require.ErrorIs(t, s.Emit(event(1)), syscall.ENOSPC)
			info, err := os.Stat(Path(dir, session))
			require.NoError(t, err)
			if i > 0 {
				require.Equal(t, size, info.Size(), "one line at most is beyond the head")
			}
			size = info.Size()
		}
		copied := t.TempDir() // what a crash now would leave
		(sample{log: read1(t, Path(dir, session)), head: read1(t, headPath(dir)), key: s.key}).write(t, copied)
		r, err := open(t, copied).Session(session)
		require.NoError(t, err)
		require.Equal(t, Recovery{Lines: 2, Adopted: true}, r)
		requireProven(t, copied, 2)

		f.short = -1
		require.NoError(t, s.Emit(event(2)))
		requireProven(t, dir, 3)
	}
}

func TestG51_ClosedFileIsAnError(t *testing.T) {
	s := open(t, t.TempDir())
	require.NoError(t, s.Emit(event(0)))
	l := s.logs[session]
	require.NoError(t, l.log.Close())
	require.ErrorIs(t, s.Emit(event(1)), fs.ErrClosed)
	require.ErrorIs(t, s.Emit(event(1)), fs.ErrClosed)
}

func TestG51_HugeEventIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	err := s.Emit(gate.Event{SessionID: session, Text: string(bytes.Repeat([]byte{'a'}, maxLine))})
	require.Equal(t, gate.CodeInvalidArgument, gate.CodeOf(err))
	require.NoError(t, s.Emit(gate.Event{SessionID: session, Text: string(bytes.Repeat([]byte{'a'}, maxLine/2))}))
	require.NoError(t, s.Emit(event(1)))
	requireProven(t, dir, 2)
}
