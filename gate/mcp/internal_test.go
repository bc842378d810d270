package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// slowTicket ends some time after it was made, or some time after Cancel.
type slowTicket struct {
	done     chan struct{}
	mu       sync.Mutex
	answer   gate.Answer
	stopping time.Duration
	reasons  []string
}

func newSlow(after, stopping time.Duration) *slowTicket {
	t := &slowTicket{done: make(chan struct{}), stopping: stopping,
		answer: gate.Answer{Status: gate.StatusPending, CallID: "c1"}}
	time.AfterFunc(after, func() { t.end(gate.StatusOK) })
	return t
}

func (t *slowTicket) end(s gate.Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.answer.Status == gate.StatusPending {
		t.answer.Status = s
		close(t.done)
	}
}

func (t *slowTicket) ID() string            { return "c1" }
func (t *slowTicket) Done() <-chan struct{} { return t.done }
func (t *slowTicket) Answer() gate.Answer {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.answer
}

func (t *slowTicket) Cancel(reason string) {
	t.mu.Lock()
	t.reasons = append(t.reasons, reason)
	t.mu.Unlock()
	time.AfterFunc(t.stopping, func() { t.end(gate.StatusCancelled) })
}

func TestWaiting(t *testing.T) {
	ended := errSessionEnded.Error()
	for _, c := range []struct {
		name           string
		ends, stopping time.Duration
		cancelAt       time.Duration
		drop           bool
		status         gate.Status
		took           time.Duration
		reason         string
	}{
		{"ends in time", 44 * time.Second, 0, 0, false, gate.StatusOK, 44 * time.Second, ""},
		{"pending after 45 s", time.Hour, 0, 0, false, gate.StatusPending, 45 * time.Second, ""},
		{"cancelled", time.Hour, time.Second, 10 * time.Second, false, gate.StatusCancelled, 11 * time.Second, ended},
		{"cancelled as the time runs out", time.Hour, time.Second, 45 * time.Second, false, gate.StatusCancelled, 46 * time.Second, ended},
		{"a stop that takes too long isn't waited for", time.Hour, time.Minute, 10 * time.Second, false, gate.StatusPending, 20 * time.Second, ended},
		{"a cancel after pending comes too late", time.Hour, 0, 50 * time.Second, false, gate.StatusPending, 45 * time.Second, ""},
		{"what moves nothing is never pending", time.Hour, 0, 0, true, gate.StatusCancelled, 45 * time.Second, "not ended within 45s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				tk := newSlow(c.ends, c.stopping)
				start := time.Now()
				if c.cancelAt != 0 {
					at := c.cancelAt
					if at == DefaultWait { // both at once: the client's word counts
						at -= time.Nanosecond
					}
					time.AfterFunc(at, func() { cancel(errSessionEnded) })
				}
				a := await(ctx, tk, DefaultWait, !c.drop)
				require.Equal(t, c.status, a.Status)
				require.Equal(t, c.took, time.Since(start).Round(time.Millisecond))
				time.Sleep(2 * time.Minute)
				var want []string
				if c.reason != "" {
					want = []string{c.reason}
				}
				require.Equal(t, want, tk.reasons)
			})
		})
	}
}

func TestProgressBeatsAndNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []*sdk.ProgressNotificationParams
		stuck := make(chan struct{})
		first := true
		p := startProgress(t.Context(), "tok", func(_ context.Context, n *sdk.ProgressNotificationParams) error {
			mu.Lock()
			got = append(got, n)
			hold := first
			first = false
			mu.Unlock()
			if hold {
				<-stuck // a client that doesn't read
			}
			return nil
		})
		p.begin("line 0")
		synctest.Wait()
		for i := range progressQueue + 5 {
			p.report(fmt.Sprintf("line %d", i+1)) // never blocks
		}
		close(stuck)
		synctest.Wait()
		mu.Lock()
		require.Len(t, got, 1+progressQueue)
		require.Equal(t, "line 1 (5 more lines were left out)", got[1].Message)
		require.Equal(t, "line 2", got[2].Message)
		got = nil
		mu.Unlock()

		time.Sleep(25 * time.Second)
		mu.Lock()
		require.Len(t, got, 2)
		require.Equal(t, "not ended yet after 20s", got[1].Message)
		require.Greater(t, got[1].Progress, got[0].Progress)
		mu.Unlock()

		p.report("the last word")
		p.close()
		require.Equal(t, "the last word", got[2].Message, "nothing is lost at the end")
		p.close()
		p.report("ignored")
	})
	for _, token := range []any{nil, true, []any{}, map[string]any{}} {
		require.Nil(t, startProgress(t.Context(), token, nil))
	}
	var none *progress
	none.begin("x")
	none.report("x")
	none.close()
}

// A call may report before Submit has returned its name; the name comes first all
// the same.
func TestProgressBeginsWithTheCall(t *testing.T) {
	var got []string
	p := startProgress(t.Context(), "tok", func(_ context.Context, n *sdk.ProgressNotificationParams) error {
		got = append(got, n.Message)
		return nil
	})
	p.report("early")
	p.begin("call 1")
	p.report("late")
	p.close()
	require.Equal(t, []string{"call 1", "early", "late"}, got)
}

// An answer that isn't ok or pending is an error, whatever it is; an empty one too.
func TestEveryStatusIsMapped(t *testing.T) {
	for status, isErr := range map[gate.Status]bool{
		gate.StatusOK: false, gate.StatusPending: false, gate.StatusRefused: true, gate.StatusError: true,
		gate.StatusCancelled: true, gate.StatusUnknown: true, "": true, "new": true,
	} {
		text, data, _, got := content(gate.Answer{Tool: "t", Status: status, Code: "X"})
		require.Equal(t, isErr, got, status)
		require.NotEmpty(t, text)
		require.True(t, json.Valid(data))
	}
	for _, bad := range []string{`{`, `[1]`, `null`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}", `{"a":NaN}`} {
		_, data, _, _ := content(gate.Answer{Tool: "t", Status: gate.StatusOK, Result: json.RawMessage(bad)})
		require.True(t, json.Valid(data), bad)
		require.NotContains(t, string(data), `"result"`)
	}
}

func TestSpecsThatCantBeServed(t *testing.T) {
	_, err := sdkTool(gate.Spec{Name: "x", Input: &gate.Schema{Kind: gate.KindObject}})
	require.ErrorContains(t, err, "tier")
	_, err = sdkTool(gate.Spec{Name: "x", Tier: gate.TierRead})
	require.ErrorContains(t, err, "input")
}
