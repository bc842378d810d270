package events

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tau-robot/tau/gate"
	"pgregory.net/rapid"
)

// full returns an event with every field set, whatever fields there are.
func full(t *testing.T) gate.Event {
	tier := 2
	e := gate.Event{Time: time.Unix(1_700_000_000, 5).UTC(), Tier: &tier, DurationMS: 1.25, Restored: true,
		Arguments: json.RawMessage(`{"a":[1,"x"]}`), Data: json.RawMessage(`{"b":null}`),
		Card: &gate.Card{Facts: []gate.Fact{{Label: "l", Text: "t"}, {Label: "m"}}, Assumed: []string{"a", "b"}, Data: json.RawMessage(`[1]`)}}
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.String {
			f.SetString("v" + v.Type().Field(i).Name)
		}
		require.False(t, v.Field(i).IsZero(), "%s isn't set by this test", v.Type().Field(i).Name)
	}
	e.SessionID = session
	return e
}

func entries(t *testing.T, path string) []Entry {
	var all []Entry
	for e, err := range Read(path) {
		require.NoError(t, err)
		all = append(all, e)
	}
	return all
}

func TestG50_LineHoldsEveryField(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	want := full(t)
	require.NoError(t, s.Emit(want))
	require.NoError(t, s.Emit(gate.Event{SessionID: session, Type: "session"}))
	got := entries(t, Path(dir, session))
	require.Len(t, got, 2)
	require.Equal(t, want, got[0].Event)
	require.Equal(t, uint64(1), got[0].Seq)
	require.Equal(t, got[0].Hash, got[1].Prev)

	// The same fields, in the same order, as encoding/json writes.
	line := read1(t, Path(dir, session))
	std, err := json.Marshal(want)
	require.NoError(t, err)
	require.Contains(t, string(line), strings.TrimSuffix(strings.TrimPrefix(string(std), "{"), "}"))
	std, err = json.Marshal(gate.Event{SessionID: session, Type: "session"})
	require.NoError(t, err)
	require.Contains(t, string(line), `",`+strings.TrimSuffix(strings.TrimPrefix(string(std), "{"), "}")+`,"mac":`)
}

func TestG50_OddEventsStayOneLine(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Just("a\r\n\x00\u2028\xff\"\\"))
		raw := rapid.OneOf(
			rapid.SampledFrom([]string{"", "{", "{\n\"a\": 1\r\n}", `{"a":1,"a":2}`, "\n", `"\ud800"`, "nul", "\xff", `{"x":"a\nb"}`}),
			rapid.String())
		e := gate.Event{SessionID: session, Type: text.Draw(t, "type"), Text: text.Draw(t, "text"),
			Arguments: json.RawMessage(raw.Draw(t, "args")), DurationMS: rapid.Float64().Draw(t, "ms"),
			Card: &gate.Card{Data: json.RawMessage(raw.Draw(t, "card")), Assumed: []string{text.Draw(t, "assumed")}},
			Time: time.Unix(rapid.Int64().Draw(t, "time"), 0)}
		if err := s.Emit(e); err != nil {
			t.Fatal(err)
		}
	})
	for _, raw := range []string{"{\n}", "{\r}", "[1,\n2]"} { // each line break by itself
		require.NoError(t, s.Emit(gate.Event{SessionID: session, Arguments: json.RawMessage(raw)}))
	}
	require.NoError(t, s.Emit(gate.Event{SessionID: session, DurationMS: math.NaN()}))
	require.NoError(t, s.Emit(gate.Event{SessionID: session, DurationMS: math.Inf(-1)}))
	path := Path(dir, session)
	n := len(entries(t, path))
	requireProven(t, dir, n)
	for _, line := range strings.Split(strings.TrimSuffix(string(read1(t, path)), "\n"), "\n") {
		require.True(t, json.Valid([]byte(line)), line)
	}
}

func TestG50_ManyWritersOneChain(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	var wg sync.WaitGroup
	const writers, each = 8, 100
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				e := event(i)
				if w%4 == 3 {
					e.SessionID = fmt.Sprintf("other-%d", w)
				}
				if err := s.Emit(e); err != nil {
					panic(err)
				}
			}
		})
	}
	path := Path(dir, session)
	require.Eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, time.Minute, time.Millisecond)
	for range 30 { // what is being written is never taken for damage
		r, err := Verify(path, KeyPath(dir))
		require.NoError(t, err)
		if r.Session == "" && !r.OK() {
			continue // the head isn't made yet
		}
		require.True(t, r.OK(), r.String())
	}
	wg.Wait()
	requireProven(t, dir, 6*each)
	r, err := Verify(Path(dir, "other-7"), KeyPath(dir))
	require.NoError(t, err)
	require.NoError(t, r.Err())
	require.Equal(t, "other-7", r.Session)
}

func TestRead_SkipsWhatIsNoEvent(t *testing.T) {
	s := newSample(t, 4)
	l := s.lines()
	path := filepath.Join(t.TempDir(), logName)
	long := append([]byte(`{"text":"`+strings.Repeat("a", maxLine)), "\"}\n"...)
	require.NoError(t, os.WriteFile(path, join(l[0], []byte("nonsense\n"), long, l[1], []byte("\n"), l[2], l[3][:50]), 0o600))
	var seqs []uint64
	var bad []int
	for e, err := range Read(path) {
		if err != nil {
			var le *LineError
			require.ErrorAs(t, err, &le)
			require.Equal(t, e.Line, le.Line)
			bad = append(bad, le.Line)
			continue
		}
		seqs = append(seqs, e.Seq)
	}
	require.Equal(t, []uint64{1, 2, 3}, seqs)
	require.Equal(t, []int{2, 3, 5}, bad)
	for _, err := range Read(filepath.Join(t.TempDir(), "none")) {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

// BenchmarkEmit stands beside a bare write of as many bytes.
func BenchmarkEmit(b *testing.B) {
	e := event(0)
	b.Run("emit", func(b *testing.B) {
		s := open(b, b.TempDir())
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Emit(e); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bare write", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "x"))
		require.NoError(b, err)
		line := make([]byte, len(newSample(b, 1).log))
		b.ReportAllocs()
		for at := int64(0); b.Loop(); at += int64(len(line)) {
			if _, err := f.WriteAt(line, at); err != nil {
				b.Fatal(err)
			}
		}
		require.NoError(b, f.Close())
	})
}
