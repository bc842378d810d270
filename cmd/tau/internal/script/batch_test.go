package script

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/cmd/tau/internal/fdio"
	"github.com/tau-robot/tau/gate"
)

// together is a gate that lets no call of a batch end before all of them are there.
type together struct {
	*fake
	all  chan struct{}
	once sync.Once // the last two may both see that all are there
}

func (g *together) Call(ctx context.Context, inv gate.Invocation) gate.Answer {
	a := g.fake.Call(ctx, inv)
	if inv.Batch.Size > 0 {
		g.mu.Lock()
		n := 0
		for _, c := range g.calls {
			if c.Batch.ID == inv.Batch.ID {
				n++
			}
		}
		g.mu.Unlock()
		if n == inv.Batch.Size {
			g.once.Do(func() { close(g.all) })
		}
		<-g.all
	}
	return a
}

func TestG23_AnArrayLineIsOneBatch(t *testing.T) {
	f, out := newFake(), &bytes.Buffer{}
	close(f.release)
	c := f.config(out)
	c.Caller = &together{fake: f, all: make(chan struct{})}
	sum, err := Run(t.Context(), text(`{"tool":"state","id":"0"}
[{"tool":"move","id":"a"},{"tool":"state","id":"b","arguments":{"x":1}}, {"tool":"nonesuch","id":"c"}]
[{"tool":"state","id":"alone"}]`), c)
	require.NoError(t, err)
	require.Equal(t, Summary{Calls: 5}, sum)
	var ids []string
	for _, a := range answers(t, out.Bytes()) {
		ids = append(ids, a.ID)
		require.Equal(t, a.Tool == "move", a.Approval == gate.ApprovalExempt, "each with its own answer")
	}
	require.Equal(t, []string{"0", "a", "b", "c", "alone"}, ids, "one line a call, in the order of the calls")
	got := map[string]gate.Batch{}
	for _, inv := range f.calls {
		got[inv.ToolUseID] = inv.Batch
		require.Equal(t, "script", inv.Turn)
	}
	require.Equal(t, map[string]gate.Batch{
		"0": {}, "alone": {},
		"a": {ID: "line 2", Size: 3, Place: 1}, "b": {ID: "line 2", Size: 3, Place: 2}, "c": {ID: "line 2", Size: 3, Place: 3},
	}, got)
}

// The stops of a batch act when it is read; they aren't part of what the gate waits for.
func TestG6_AStopInABatchActsAndIsNoPartOfIt(t *testing.T) {
	f, out := newFake(), &bytes.Buffer{}
	close(f.release)
	c := f.config(out)
	c.Caller = &together{fake: f, all: make(chan struct{})}
	sum, err := Run(t.Context(), text(`[{"tool":"stop","id":"s"},{"tool":"state","id":"a"},{"tool":"estop","id":"e"},{"tool":"state","id":"b"}]`), c)
	require.NoError(t, err)
	require.Equal(t, Summary{Calls: 4}, sum)
	require.Equal(t, "estop", f.calls[0].Tool, "the stronger one first")
	require.Equal(t, "stop", f.calls[1].Tool)
	for _, inv := range f.calls[2:] {
		require.Equal(t, 2, inv.Batch.Size)
		require.Equal(t, gate.Stamp(1), inv.Taken, "it was read before the stop in its line acted")
	}
	as := answers(t, out.Bytes())
	require.Equal(t, []string{"s", "a", "e", "b"}, []string{as[0].ID, as[1].ID, as[2].ID, as[3].ID})
}

// A stop that is read later ends the physical calls of a batch that runs, and those of
// one that waits are not begun. What only reads is answered.
func TestG6_AStopEndsABatch(t *testing.T) {
	f, out := newFake(), &bytes.Buffer{}
	r, w, err := os.Pipe()
	require.NoError(t, err)
	in, err := fdio.NewReader(r)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := Run(t.Context(), in, f.config(out))
		done <- err
	}()
	_, err = io.WriteString(w, `[{"tool":"move","id":"1"},{"tool":"move","id":"2"}]`+"\n"+`[{"tool":"move","id":"3"},{"tool":"state","id":"4"}]`+"\n")
	require.NoError(t, err)
	require.Equal(t, []string{"move", "move"}, []string{<-f.began, <-f.began})
	_, err = io.WriteString(w, "stop\n")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, <-done)
	as := answers(t, out.Bytes())
	require.Len(t, as, 5)
	for _, a := range as[:3] {
		require.Equal(t, gate.CodeStopped, a.Code, a.ID)
	}
	require.Equal(t, gate.StatusOK, as[3].Status)
	moves := 0
	for _, c := range f.calls {
		if c.Tool == "move" {
			moves++
		}
	}
	require.Equal(t, 2, moves)
	require.NoError(t, r.Close())
}

func TestABatchWhoseAnswerCantBeWrittenIsGivenUp(t *testing.T) {
	f := newFake() // its moves run until they are given up
	_, err := Run(t.Context(), text(`[{"tool":"state"},{"tool":"move"}]`), f.config(broken{}))
	require.ErrorContains(t, err, "nobody reads")
	require.Len(t, f.calls, 2, "and Run has waited for both")
}

func TestPlainTextOfABatch(t *testing.T) {
	f, out := newFake(), &bytes.Buffer{}
	c := f.config(out)
	c.JSON = false
	_, err := Run(t.Context(), text(`[{"tool":"state"},{"tool":"other"}]`), c)
	require.NoError(t, err)
	require.Equal(t, "✓ state: done\n✓ other: done\n", out.String())
	var none Answer
	require.Error(t, json.Unmarshal(out.Bytes(), &none))
}
