package lane_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/lane"
)

// A hold ends what runs, drops what waits, and lets nothing begin until it is
// released, with whatever epoch it comes.
func TestG6_NothingBeginsWhileTheLaneIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lane.New()
		ends := make(chan error, 2)
		running := make(chan struct{})
		go func() {
			ends <- l.Do(t.Context(), l.Epoch(), func(ctx context.Context) {
				close(running)
				<-ctx.Done()
				require.Equal(t, gate.CodeStopped, gate.CodeOf(context.Cause(ctx)))
			})
		}()
		<-running
		before := l.Epoch()
		go func() {
			ends <- l.Do(t.Context(), before, func(context.Context) { t.Error("it waited when the hold came") })
		}()
		synctest.Wait()

		release, second := l.Hold(), l.Hold()
		errs := []error{<-ends, <-ends}
		require.Contains(t, errs, error(nil), "what ran was ended and returned")
		for _, held := range []func(){func() {}, second, second} {
			held() // the second hold goes, and going twice doesn't take the first with it
			err := l.Do(t.Context(), l.Epoch(), func(context.Context) { t.Error("it began while the lane was held") })
			require.Equal(t, gate.CodeStopped, gate.CodeOf(err))
		}
		release()
		require.Equal(t, gate.CodeStopped, gate.CodeOf(l.Do(t.Context(), before, func(context.Context) { t.Error("prepared before") })))
		ran := false
		require.NoError(t, l.Do(t.Context(), l.Epoch(), func(context.Context) { ran = true }))
		require.True(t, ran)
		require.NoError(t, l.Close())
	})
}
