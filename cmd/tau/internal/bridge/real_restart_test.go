package bridge

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/sim"
)

// In the environment it turns the test binary into a bridge with a real robot, which
// asks for one thing and waits to be killed.
const realDirVar = "TAU_BRIDGE_TEST_REAL"

// silent never answers, and tells what it was asked.
type silent struct{}

func (silent) Name() string { return "silent" }

func (silent) Decide(ctx context.Context, req gate.Request) (gate.Word, error) {
	told("shown", req.CallID)
	<-ctx.Done()
	return gate.Word{}, ctx.Err()
}

func realDay(dir string) error {
	s, _, err := realSetup(dir, sim.Fast)
	if err != nil {
		return err
	}
	s.Open = func(string) (gate.Approver, Watcher, error) { return silent{}, nil, nil }
	h, err := Start(s)
	if err != nil {
		return err
	}
	a := callIn(h, "cell", "torque_on", "{}")
	told("answered", string(a.Status)+" "+a.Text)
	return nil
}

// killedWhileAsking runs such a bridge until it has asked, and kills it.
func killedWhileAsking(t *testing.T, dir string) (call string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), realDirVar+"="+dir)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	what, call, _ := strings.Cut(strings.TrimSpace(line), " ")
	require.Equal(t, "shown", what, line)
	require.NoError(t, c.Process.Kill())
	require.Error(t, c.Wait())
	return call
}

// A real session's request outlives its bridge; its opt-in doesn't. It is asked again
// after a new opt-in of the same name, person and configuration, and after no other.
func TestG47_ARealRequestWaitsForANewOptIn(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *Setup)
		steps  []gatetest.Step
		after  func(t *testing.T, h *Host, call string)
		state  gate.RequestState
	}{
		"the same again": {func(*Setup) {}, []gatetest.Step{gatetest.Approve()}, nil, gate.RequestDone},
		"a no this time": {func(*Setup) {}, []gatetest.Step{gatetest.Reject()}, nil, gate.RequestRejected},
		"another port":   {func(s *Setup) { s.Real.Port = "/dev/ttyTEST1" }, nil, nil, gate.RequestExpired},
		"another calibration": {func(s *Setup) {
			f := *s.Real.File
			f.Joints = append(f.Joints[:0:0], f.Joints...)
			f.Joints[0].Zero++
			s.Real.File = &f
		}, nil, nil, gate.RequestExpired},
		"simulated": {func(s *Setup) { s.Real = nil }, nil, nil, gate.RequestPending},
		"another session, then this one": {
			func(s *Setup) { s.Session = "other" }, []gatetest.Step{gatetest.Approve()},
			func(t *testing.T, h *Host, call string) {
				rec, err := h.Gate.Stored(t.Context(), call)
				require.NoError(t, err)
				require.Equal(t, gate.RequestPending, rec.State)
				_, err = h.store.Session("cell")
				require.NoError(t, err)
				_, err = h.all.New("cell")
				require.NoError(t, err)
				h.Gate.SessionsChanged()
				require.Never(t, func() bool { return h.taken(call) }, 300*time.Millisecond, 20*time.Millisecond, "a simulated session doesn't take it up")
				_, err = h.optIns.grant("cell", Operator, originControl, time.Hour)
				require.NoError(t, err)
				h.Gate.SessionsChanged()
			}, gate.RequestDone,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			call := killedWhileAsking(t, dir)
			s, d, err := realSetup(dir, sim.Fast)
			require.NoError(t, err)
			script := gatetest.Script(t, c.steps...)
			s.Open = func(string) (gate.Approver, Watcher, error) { return script, nil, nil }
			c.change(&s)
			if s.Real != nil { // the driver moves by whatever file it is given
				hash := s.Real.File.Hash()
				s.Real.Open = reopened(s.Real.Open, d, func(i *robot.Info) { i.Calibration = hash })
			}
			h, err := Start(s)
			require.NoError(t, err)
			defer func() { require.NoError(t, h.Close()) }()
			if c.after != nil {
				c.after(t, h, call)
			}
			want := func() bool {
				rec, err := h.Gate.Stored(context.Background(), call)
				return err == nil && rec.State == c.state
			}
			require.Eventually(t, want, time.Minute, 10*time.Millisecond)
			require.Len(t, script.Requests(), len(c.steps))
			if s.Real != nil {
				st, err := d.State(t.Context())
				require.NoError(t, err)
				require.Equal(t, c.state == gate.RequestDone, st.Enabled)
			}
		})
	}
}

// taken reports whether a stored request isn't merely waiting any more.
func (h *Host) taken(call string) bool {
	rec, err := h.Gate.Stored(context.Background(), call)
	return err != nil || rec.State != gate.RequestPending
}
