package wire

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// vector is one line of a file of testdata/wire.
type vector struct {
	at    string // file:line
	words []string
}

func vectors(t *testing.T, file string) []vector {
	t.Helper()
	path := filepath.Join("..", "..", "..", "testdata", "wire", file)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var out []vector
	for i, line := range strings.Split(string(data), "\n") {
		line, _, _ = strings.Cut(line, "#")
		if w := strings.Fields(line); len(w) > 0 {
			out = append(out, vector{fmt.Sprintf("%s:%d", file, i+1), w})
		}
	}
	require.NotEmpty(t, out)
	return out
}

func unhex(t *testing.T, at, s string) []byte {
	t.Helper()
	if s == "-" {
		return []byte{}
	}
	b, err := hex.DecodeString(s)
	require.NoError(t, err, at)
	return b
}

func number(t *testing.T, at, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	require.NoError(t, err, at)
	return n
}

func numbers(t *testing.T, v vector) []int64 {
	t.Helper()
	var out []int64
	for _, w := range v.words[1:] {
		out = append(out, number(t, v.at, w))
	}
	return out
}

func TestVectorsFrames(t *testing.T) {
	seen := map[string]int{}
	for _, v := range vectors(t, "frames.txt") {
		seen[v.words[0]]++
		var d Decoder
		switch v.words[0] {
		case "frame", "noise":
			body, line := unhex(t, v.at, v.words[1]), unhex(t, v.at, v.words[2])
			want := Frame{Type: Type(body[0]), Seq: body[1], Payload: body[2 : len(body)-2]}
			if v.words[0] == "frame" {
				require.Equal(t, line, Append(nil, want), v.at)
			}
			for _, step := range []int{1, 7, len(line)} {
				require.Equal(t, []Frame{want}, frames(&d, line, step), v.at)
			}
		case "drop":
			require.Empty(t, frames(&d, unhex(t, v.at, v.words[2]), 1), v.at)
			want := map[string]Dropped{"short": {Short: 1}, "long": {Long: 1}, "coding": {Coding: 1}, "check": {Check: 1}}
			require.Equal(t, want[v.words[1]], d.Dropped(), v.at)
		default:
			t.Fatalf("%s: no kind of vector: %s", v.at, v.words[0])
		}
	}
	require.Len(t, seen, 3)
}

func TestVectorsMessages(t *testing.T) {
	good := map[Type]bool{}
	for _, v := range vectors(t, "messages.txt") {
		kind, payload := Type(unhex(t, v.at, v.words[1])[0]), unhex(t, v.at, v.words[2])
		m, err := parse(kind, payload)
		if v.words[0] == "good" {
			require.NoError(t, err, v.at)
			require.Equal(t, strings.Join(v.words[3:], " "), text(m), v.at)
			line, err := m.Append([]byte{9}, 5)
			require.NoError(t, err, v.at)
			require.Equal(t, Append([]byte{9}, Frame{Type: kind, Seq: 5, Payload: payload}), line, v.at)
			good[kind] = true
			continue
		}
		require.Equal(t, "bad", v.words[0], v.at)
		require.Error(t, err, v.at)
		where := kind.String()
		if v.words[4] != "-" {
			where += "." + v.words[4]
		}
		require.True(t, strings.Contains(err.Error(), where), "%s: %v doesn't name %s", v.at, err, where)
		if v.words[3] == "BAD_LENGTH" {
			require.ErrorContains(t, err, "the payload has", v.at)
		} else if m != nil && v.words[4] != "-" {
			// What isn't taken isn't sent, where the struct can say it at all.
			line, err := m.Append([]byte{9}, 5)
			if err != nil {
				require.ErrorContains(t, err, where, v.at)
				require.Equal(t, []byte{9}, line, v.at)
			}
			require.NotEqual(t, Append([]byte{9}, Frame{Type: kind, Seq: 5, Payload: payload}), line, v.at)
		}
	}
	for kind := range 256 {
		if kind := Type(kind); !strings.HasPrefix(kind.String(), "type ") {
			require.True(t, good[kind], "no vector of %s", kind)
		}
	}
}

func TestVectorsPieces(t *testing.T) {
	for _, v := range vectors(t, "pieces.txt") {
		n := numbers(t, v)
		p := Piece{int32(n[0]), int32(n[1]), int32(n[2]), int32(n[3]), int(n[4])}
		require.Len(t, n, 5+p.Ticks, v.at)
		require.Equal(t, p.Q0, p.At(0))
		for i, q := range n[5:] {
			require.EqualValues(t, q, p.At(i+1), "%s: tick %d", v.at, i+1)
		}
		require.Equal(t, p.Q1, p.At(p.Ticks+1))
	}
}

func TestVectorsBrakes(t *testing.T) {
	all := vectors(t, "brakes.txt")
	for len(all) > 0 {
		head := numbers(t, all[0])
		joints := all[1 : 1+head[0]]
		var now []Point
		var limits []Limits
		for _, v := range joints {
			n := numbers(t, v)
			now = append(now, Point{Q: float64(n[0]), V: float64(n[1]) / 256, A: float64(n[2]) / 65536})
			limits = append(limits, Limits{V: MaxV, A: uint32(n[3]), Ramp: uint16(n[4])})
		}
		b, err := NewBrake(now, limits)
		require.NoError(t, err, all[0].at)
		require.Equal(t, head[1:], []int64{int64(b.Ra), int64(b.C), int64(b.Rb)}, all[0].at)
		for j, v := range joints {
			n := numbers(t, v)
			for i, at := range []int{b.Ra, b.Ra + b.C, b.Ticks()} {
				require.InDelta(t, float64(n[5+i]), b.At(j, float64(at)).Q, 0.51, "%s: after stretch %d", v.at, i+1)
			}
			require.Zero(t, b.At(j, float64(b.Ticks())).V, v.at)
		}
		all = all[1+len(joints):]
	}
}

// TestVectorsSessions holds what a session sends and expects to the messages: each
// frame is one, or is answered by the refusal that it deserves. What a board does is
// the C core's test.
func TestVectorsSessions(t *testing.T) {
	var lastType Type
	var lastErr error
	sessions, frames := 0, 0
	for _, v := range vectors(t, "sessions.txt") {
		switch v.words[0] {
		case "session":
			sessions++
		case ">":
			frames++
			lastType = Type(unhex(t, v.at, v.words[1])[0])
			_, lastErr = parse(lastType, unhex(t, v.at, v.words[3]))
		case "<":
			kind := Type(unhex(t, v.at, v.words[1])[0])
			// Any byte is tried as one that is right, and as a queue that has room.
			m, err := parse(kind, unhex(t, v.at, strings.ReplaceAll(v.words[2], "?", "0")))
			if kind == TypeHelloReply {
				m, err = parse(kind, unhex(t, v.at, strings.ReplaceAll(v.words[2], "?", "3")))
			}
			require.NoError(t, err, v.at)
			ack, ok := m.(*Ack)
			if !ok {
				require.NoError(t, lastErr, v.at)
				continue
			}
			require.Equal(t, lastType, ack.Type, v.at)
			if ack.Code == CodeOK && ack.Type != TypeStop {
				require.NoError(t, lastErr, "%s: what Go can't read is accepted", v.at)
			}
			if ack.Code == CodeBadLength {
				require.Truef(t, lastErr != nil || lastType == TypeEnable, "%s: Go takes it", v.at)
			}
		}
	}
	require.Greater(t, sessions, 30)
	require.Greater(t, frames, 300)
}

func TestTheDocumentsVectorsAreItsOwn(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "firmware", "PROTOCOL.md"))
	require.NoError(t, err)
	// The document's tables name what the enums are, with the same numbers.
	for i, name := range states {
		require.True(t, bytes.Contains(doc, fmt.Appendf(nil, "| %d %s |", i, name)), name)
	}
	for i, name := range faults {
		require.True(t, bytes.Contains(doc, fmt.Appendf(nil, "| %d | %s |", i, name)), name)
	}
	for i, name := range codes {
		require.True(t, bytes.Contains(doc, fmt.Appendf(nil, "| %d | %s |", i, name)), name)
	}
	n := 0
	for kind := range 256 {
		if name := Type(kind).String(); !strings.HasPrefix(name, "type ") {
			require.True(t, bytes.Contains(doc, fmt.Appendf(nil, "| %02X | %s |", kind, name)), name)
			n++
		}
	}
	require.Equal(t, 22, n)
}

// TestTheVectorsAreWhatTheScriptWrites: nobody edited one by hand.
func TestTheVectorsAreWhatTheScriptWrites(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3, which made the vectors, isn't installed")
	}
	cmd := exec.CommandContext(t.Context(), python, "vectors.py", "--check")
	cmd.Dir = filepath.Join("..", "..", "..", "testdata", "wire")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
