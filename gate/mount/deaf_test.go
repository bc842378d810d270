package mount

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// deaf is the reading end of a real pipe, of 64 KiB, as a child's standard input is. Once
// it has gone deaf it doesn't read any more.
type deaf struct {
	r    *os.File
	gone atomic.Bool
	end  chan struct{}
}

func (d *deaf) Read(p []byte) (int, error) {
	if d.gone.Load() {
		<-d.end
		return 0, io.EOF
	}
	return d.r.Read(p)
}

func (d *deaf) Close() error { return d.r.Close() }

// pipes is a transport that Kill breaks, as the death of a child does.
type pipes struct {
	*sdk.IOTransport
	kill func()
}

func (p pipes) Kill() { p.kill() }

// A server that has stopped reading ends nothing but its own calls: what was sent is
// unknown within the time-out or at once with a stop, the lane is free, the stop's own
// tool comes back, and so does Close.
func TestG6_ADeafServerHoldsNothingUp(t *testing.T) {
	inR, inW, err := os.Pipe()
	require.NoError(t, err)
	outR, outW, err := os.Pipe()
	require.NoError(t, err)
	d := &deaf{r: inR, end: make(chan struct{})}
	far := sdk.NewServer(&sdk.Implementation{Name: "x", Version: "1"}, nil)
	far.AddTool(&sdk.Tool{Name: "go", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{}, nil
		})
	var served sync.WaitGroup
	served.Go(func() { _ = far.Run(context.Background(), &sdk.IOTransport{Reader: d, Writer: outW}) })
	var once sync.Once
	kill := func() {
		once.Do(func() { close(d.end); _ = inR.Close(); _ = outW.Close() })
	}
	s, err := Open(t.Context(), Manifest{
		Name: "far", Command: []string{"x"}, TimeoutS: 0.2,
		Tools: map[string]Rule{"go": {Tier: tier(2), Kind: KindShell, Description: "Goes."}},
		Stop:  &StopRule{Tool: "go"},
	}, Options{Transport: func() (sdk.Transport, error) {
		return pipes{&sdk.IOTransport{Reader: outR, Writer: inW}, kill}, nil
	}})
	require.NoError(t, err)
	a, err := s.Tools()[0].Prepare(t.Context(), call(`{"text":"`+strings.Repeat("x", 60_000)+strings.Repeat("y", 60_000)+`"}`))
	require.NoError(t, err)
	d.gone.Store(true)
	begin := time.Now()
	res, err := a.Run(t.Context())
	require.ErrorIs(t, err, gate.ErrCode(gate.CodeLinkTimeout))
	require.Equal(t, gate.StatusUnknown, res.Status)
	stop, _ := s.Stopper()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.NotEqual(t, "yes", stop.Stop(ctx, gate.StopControlled).Acknowledged)
	require.NoError(t, s.Close())
	require.Less(t, time.Since(begin), 10*time.Second, "whatever hangs, there is an end")
	served.Wait()
}
