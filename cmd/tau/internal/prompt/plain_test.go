package prompt

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
	"github.com/tau-robot/tau/gate/words"
)

// plain runs a prompt on a pipe and returns the pipe's other end, what Run
// returns and what it wrote.
func plain(t *testing.T, o Options) (in *os.File, p *Prompt, end func() (error, string)) {
	in0, in1, err := os.Pipe()
	require.NoError(t, err)
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	o.In, o.Out = in0, out
	p, err = New(o)
	require.NoError(t, err)
	require.False(t, p.Interactive())
	result := make(chan error, 1)
	go func() { result <- p.Run(t.Context()) }()
	return in1, p, func() (error, string) { //nolint:staticcheck // the error is the result under test
		err := <-result
		b, err2 := os.ReadFile(out.Name())
		require.NoError(t, errors.Join(err2, in0.Close(), out.Close()))
		return err, string(b)
	}
}

func TestPlain_LinesRunToTheEnd(t *testing.T) {
	var got []string
	in, p, end := plain(t, Options{Handle: func(_ context.Context, line string, _ uint64) { got = append(got, line) }})
	var want []string
	text := "\x1b[A literally\r\n\n"
	want = append(want, "\x1b[A literally")
	for range 3000 { // more than wait at once
		text += "one\n"
		want = append(want, "one")
	}
	text += strings.Repeat("x", maxPlainLine+1) + "\nlast"
	want = append(want, "last")
	_, err := in.WriteString(text)
	require.NoError(t, err)
	p.Print("printed")
	require.NoError(t, in.Close())
	err, out := end()
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Contains(t, out, "printed\n")
	require.Contains(t, out, "it was not run\n")
	require.NotContains(t, out, "\x1b")
}

func TestCase58_NobodyIsAskedWithoutATerminal(t *testing.T) {
	in, p, end := plain(t, Options{Handle: func(context.Context, string, uint64) {}})
	_, err := in.WriteString("y\ny\n")
	require.NoError(t, err)
	w, err := terminal.New(p, words.English).Decide(t.Context(), gate.Request{})
	d, reason := w.Decision, w.Reason
	require.NoError(t, err)
	require.Equal(t, gate.Void, d)
	require.Equal(t, terminal.ReasonNotInteractive, reason)
	_, err = p.OpenCard(t.Context(), "x\n", "y")
	require.Error(t, err)
	require.NoError(t, in.Close())
	err, out := end()
	require.NoError(t, err)
	require.Empty(t, out)
}

func TestG6_PlainStopActsWhenItIsRead(t *testing.T) {
	running, stopped := make(chan struct{}), make(chan struct{})
	in, p, end := plain(t, Options{
		Act: func(_ context.Context, line string) (func(), bool) {
			return func() { close(stopped) }, line == "stop"
		},
		Handle: func(ctx context.Context, line string, _ uint64) {
			if line == "move" {
				close(running)
				<-ctx.Done()
			}
		},
	})
	_, err := in.WriteString("move\nhome\n")
	require.NoError(t, err)
	<-running
	_, err = in.WriteString("stop\n")
	require.NoError(t, err)
	<-stopped
	require.NoError(t, p.Close()) // ends the move's context
	require.NoError(t, in.Close())
	err, out := end()
	require.NoError(t, err)
	require.Equal(t, "1 waiting line was dropped\n", out)
	_, err = New(Options{})
	require.Error(t, err)
	require.False(t, bytes.Contains([]byte(out), []byte("home")))
}
