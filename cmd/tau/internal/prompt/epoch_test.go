package prompt

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A line counts from its Enter: a stop that comes before the editor has got to it
// drops it, and a stop typed in front of it doesn't.
func TestG6_ALineCountsFromItsEnter(t *testing.T) {
	for name, c := range map[string]struct {
		typed     string
		elsewhere uint64 // stops that come before the editor goes on
		want      string // "": it is dropped
	}{
		"in front of a stop from elsewhere":               {"move\r", 1, ""},
		"in front of a ctrl-C":                            {"move\r\x03", 0, ""},
		"behind a stop":                                   {"stop\rlater\r", 0, "later@1"},
		"behind two":                                      {"stop\rstop\rlater\r", 0, "later@2"},
		"behind a stop, in front of another's":            {"stop\rlater\r", 1, ""},
		"behind two stops, in front of another's":         {"stop\rstop\rlater\r", 1, ""},
		"behind a stop and, pasted, in front of a ctrl-C": {"stop\r\x1b[200~later\r\x1b[201~\x03", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var epoch atomic.Uint64
			held, free, interrupted := make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)
			r := newRig(t, func(r *rig, o *Options) {
				o.Epoch = epoch.Load
				o.Complete = func(string, int) (int, []string) { // the editor asks, and waits
					close(held)
					<-free
					return 0, nil
				}
				o.Act = func(_ context.Context, line string) (func(), bool) {
					if line != "stop" {
						return nil, false
					}
					epoch.Add(1)
					return func() {}, true
				}
				o.OnInterrupt = func(context.Context, bool) bool {
					epoch.Add(1)
					interrupted <- struct{}{}
					return false
				}
				o.Handle = func(_ context.Context, line string, epoch uint64) { r.lines <- fmt.Sprintf("%s@%d", line, epoch) }
			})
			r.typeIn("\t")
			<-held
			r.typeIn(c.typed)
			_, err := r.barrier(t.Context())
			require.NoError(t, err)
			if c.typed[len(c.typed)-1] == 3 {
				<-interrupted
			}
			epoch.Add(c.elsewhere)
			close(free)
			if c.want == "" {
				r.expect("1 waiting line was dropped")
				r.typeIn("last\r")
				c.want = fmt.Sprintf("last@%d", epoch.Load())
			}
			require.Equal(t, c.want, r.line())
			r.noLine()
		})
	}
}
