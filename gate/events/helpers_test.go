package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tau-robot/tau/gate"
)

const session = "lab-1"

// event returns an event like those of a real session, i of them being different.
func event(i int) gate.Event {
	tier := i % 3
	e := gate.Event{
		Type: "tool_call", Time: time.Unix(1_700_000_000+int64(i), 123_456_789).UTC(), SessionID: session,
		Tool: "move_joints", Tier: &tier, Arguments: json.RawMessage(fmt.Sprintf(`{"positions":{"shoulder_pan":%d}}`, i)),
		Status: gate.StatusOK, Approval: gate.ApprovalApproved, DurationMS: 12.5, CallID: fmt.Sprintf("%032x", i),
		Origin: "prompt", Mode: gate.ModeSim, Backend: "sim",
	}
	if i%4 == 3 {
		e = gate.Event{Type: "approval", Time: e.Time, SessionID: session, Decision: "rejected", Reason: "eof",
			Card: &gate.Card{Facts: []gate.Fact{{Label: "Ends at", Text: "0.1, 0.2 m"}}, Assumed: []string{"jerk"}}}
	}
	return e
}

// sample is a log of n events with its head and key, made by a Store.
type sample struct {
	log, head, key []byte
}

func newSample(t testing.TB, n int) sample {
	dir := t.TempDir()
	s := open(t, dir)
	for i := range n {
		require.NoError(t, s.Emit(event(i)))
	}
	require.NoError(t, s.Close())
	return sample{log: read1(t, Path(dir, session)), head: read1(t, headPath(dir)), key: read1(t, KeyPath(dir))}
}

// write puts the sample into a data folder and returns the log's path.
func (s sample) write(t testing.TB, dir string) string {
	path := Path(dir, session)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	for name, data := range map[string][]byte{path: s.log, headPath(dir): s.head, KeyPath(dir): s.key} {
		if data != nil {
			require.NoError(t, os.WriteFile(name, data, 0o600))
		}
	}
	return path
}

// verify is Verify on bytes.
func (s sample) verify(log []byte) Report {
	r := Report{Path: logName, Tail: TailUnproven}
	v := &verifier{r: &r, log: bytes.NewReader(log), seal: newSealer(s.key)}
	if s.key != nil && s.head != nil {
		v.readHead = func() ([]byte, error) { return s.head, nil }
	}
	if err := v.run(); err != nil {
		r.fault(-1, "%v", err)
	}
	return r
}

func (s sample) lines() [][]byte {
	l := bytes.SplitAfter(s.log, []byte{'\n'})
	return l[:len(l)-1]
}

// firstDifference returns the first line, counted from 1, that isn't the same.
func firstDifference(a, b []byte) int {
	n := 1
	for i := range a {
		if i == len(b) || a[i] != b[i] {
			return n
		}
		if a[i] == '\n' {
			n++
		}
	}
	return n
}

func open(t testing.TB, dir string) *Store {
	s, err := Open(Options{Dir: dir})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func headPath(dir string) string { return filepath.Join(dir, "sessions", session, headName) }

func read1(t testing.TB, path string) []byte {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// with returns log with line i (from 0) replaced by more or fewer lines.
func with(lines [][]byte, i int, by ...[]byte) []byte {
	return join(join(lines[:i]...), join(by...), join(lines[i+1:]...))
}

// rehash returns the line with a right hash for what is in it, as anybody can
// make it, following prev ("" leaves that as it is).
func rehash(line []byte, prev string) (out []byte, hash string) {
	b := bytes.Clone(line)
	if prev != "" {
		at := bytes.Index(b, []byte(prevMark)) + len(prevMark)
		copy(b[at:], prev)
	}
	b = b[:len(b)-1-len(endMark)-hexSize-len(hashMark)+1]
	h := newSealer(nil)
	h.sum.Write(b)
	hash = fmt.Sprintf("%x", h.sum.Sum(nil))
	return append(append(append(append(b, hashMark[1:]...), hash...), endMark...), '\n'), hash
}
