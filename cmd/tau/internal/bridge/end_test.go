package bridge

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/cmd/tau/internal/datadir"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// wedged is a backend whose Execute doesn't come back by itself.
type wedged struct {
	robot.Backend
	began   chan struct{} // closed when Execute has been called
	release chan struct{} // lets Execute return
	once    sync.Once
	obeys   bool // Execute returns when its context ends
	frees   bool // Close lets Execute return
	stuck   bool // Close doesn't come back either
}

func (w *wedged) around(b robot.Backend) robot.Backend { w.Backend = b; return w }

func (w *wedged) Execute(ctx context.Context, _ robot.Motion, _ func(robot.Progress)) (robot.Outcome, error) {
	close(w.began)
	var over <-chan struct{}
	if w.obeys {
		over = ctx.Done()
	}
	select {
	case <-w.release:
	case <-over:
	}
	st, err := w.State(context.Background())
	return robot.Outcome{Status: robot.OutcomeCancelled, Final: st}, err
}

func (w *wedged) free() { w.once.Do(func() { close(w.release) }) }

func (w *wedged) Close() error {
	if w.frees {
		w.free()
	}
	if w.stuck {
		<-w.release
	}
	return w.Backend.Close()
}

// A motion that never ends keeps the bridge from ending only so long, and is named.
func TestTheEndIsBoundedWhateverABackendDoes(t *testing.T) {
	for name, c := range map[string]struct {
		w    *wedged
		want []string
		not  []string
	}{
		"a close that unblocks it":  {&wedged{frees: true}, []string{"what runs didn't end"}, []string{"with its backend closed", "the lane"}},
		"a close that doesn't":      {&wedged{}, []string{"what runs didn't end", "with its backend closed, didn't end", "the lane didn't end"}, []string{"robot's backend"}},
		"a close that hangs itself": {&wedged{stuck: true}, []string{"the robot's backend didn't end", "the lane didn't end"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c.w.began, c.w.release = make(chan struct{}), make(chan struct{})
			s := setup(t)
			s.wrap, s.endWait = c.w.around, 50*time.Millisecond
			h, err := Start(s)
			require.NoError(t, err)
			ticket := h.Gate.Submit(gate.Invocation{
				Tool: "move_joints", Args: []byte(`{"positions":{"shoulder_pan":0.5}}`), Session: "sim", Principal: Operator, Origin: "test",
			})
			<-c.w.began
			ended := make(chan error, 1)
			go func() { ended <- h.Close() }()
			select {
			case err = <-ended:
			case <-time.After(time.Minute):
				t.Fatal("the end hangs")
			}
			require.ErrorIs(t, err, ErrNotEnded)
			for _, text := range c.want {
				require.ErrorContains(t, err, text)
			}
			for _, text := range c.not {
				require.NotContains(t, err.Error(), text)
			}
			// What can be ended was: the next bridge can have the folder, and the log says
			// what went wrong.
			es := eventsOf(t, h)
			require.Contains(t, es[len(es)-1].Text, "what runs didn't end")
			d, err := datadir.Open(s.DataDir, "x", time.Unix(1, 0))
			require.NoError(t, err)
			require.NoError(t, d.Close())
			c.w.free()
			<-ticket.Done() // goleak holds us to the rest
			_ = h.lane.Close()
		})
	}
}

// The process ends with status 3 and says why.
func TestABridgeThatDoesNotEndCleanlyIsStatus3(t *testing.T) {
	w := &wedged{began: make(chan struct{}), release: make(chan struct{})}
	s := setup(t)
	s.wrap, s.endWait = w.around, 50*time.Millisecond
	h, err := Start(s)
	require.NoError(t, err)
	ticket := h.Gate.Submit(gate.Invocation{
		Tool: "move_joints", Args: []byte(`{"positions":{"shoulder_pan":0.5}}`), Session: "sim", Principal: Operator, Origin: "test",
	})
	<-w.began
	r := &run{Front: Front{Err: os.Stderr}, host: h}
	err = r.end(nil, nil)
	var e *exit.Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, exit.Bridge, e.Status)
	require.ErrorContains(t, err, "what runs didn't end")
	w.free()
	<-ticket.Done()
	_ = h.lane.Close()
}

// Leaving the prompt ends the bridge in bounded time too, whatever its own call does.
func TestLeavingThePromptIsBoundedWhateverABackendDoes(t *testing.T) {
	for _, how := range []string{"\x04", "quit\r", "\x03\x03"} {
		w := &wedged{began: make(chan struct{}), release: make(chan struct{})}
		s := setup(t)
		s.wrap, s.endWait = w.around, 50*time.Millisecond
		ptm, tts, err := pty.Open()
		require.NoError(t, err)
		defer func() { require.NoError(t, errors.Join(ptm.Close(), tts.Close())) }()
		ended := make(chan error, 1)
		go func() { ended <- Run(s, Front{In: tts, Out: tts, Err: os.Stderr}) }()
		// The terminal has room for the line and for what is written meanwhile.
		_, err = ptm.WriteString("move_joints shoulder_pan=0.5\r")
		require.NoError(t, err)
		<-w.began
		_, err = ptm.WriteString(how)
		require.NoError(t, err)
		select {
		case err = <-ended:
		case <-time.After(time.Minute):
			t.Fatal("the end hangs")
		}
		var e *exit.Error
		require.True(t, errors.As(err, &e), "%v", err)
		require.Equal(t, exit.Bridge, e.Status)
		require.ErrorContains(t, err, "what runs didn't end")
		w.free()
	}
}

// Between the stop and the suspension nothing can begin, whatever was approved.
func TestG6_WhileTheBridgeIsHeldNothingBegins(t *testing.T) {
	h, err := Start(setup(t))
	require.NoError(t, err)
	release := h.Hold("suspended")
	a := call(h, "move_joints", `{"positions":{"shoulder_pan":0.1}}`)
	require.Equal(t, gate.CodeStopped, a.Code, a.Text)
	release()
	require.Equal(t, gate.StatusOK, call(h, "move_joints", `{"positions":{"shoulder_pan":0.1}}`).Status)
	require.NoError(t, h.Close())
}
