package lane_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/lane"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB) *lane.Lane {
	l := lane.New()
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// Randomised schedules: many callers, each taking an epoch, "preparing", and
// running; stops and cancels from the side. Held throughout: no two actions
// overlap, nothing that took its epoch before a stop starts or runs on after it but
// with a context that has ended, Stop never waits for an action, and each Do ends.
func TestG6_G12_LaneSchedules(t *testing.T) {
	for seed := range uint64(12) {
		l := lane.New()
		var inside, ran, stopped, cancelled atomic.Int64
		// lastStop is raised after Stop has returned: an action that starts later
		// with an older epoch and a live context is a violation.
		var lastStop atomic.Uint64
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(w)))
				for range 120 {
					ctx, cancel := context.WithCancel(t.Context())
					epoch := l.Epoch()
					for range rng.IntN(4) {
						runtime.Gosched()
					}
					if rng.IntN(8) == 0 {
						go cancel()
					}
					spin := rng.IntN(6)
					err := l.Do(ctx, epoch, func(actx context.Context) {
						held := func() bool {
							seen := lastStop.Load()
							if seen > epoch && actx.Err() == nil {
								t.Errorf("seed %d: prepared at epoch %d, runs after stop %d", seed, epoch, seen)
								return false
							}
							return true
						}
						held()
						defer held()
						if inside.Add(1) != 1 {
							t.Errorf("seed %d: two actions at once", seed)
						}
						for range spin {
							runtime.Gosched()
							held()
						}
						if spin == 5 { // runs until it is told to end
							if rng.IntN(2) == 0 {
								for actx.Err() == nil && held() {
									runtime.Gosched()
								}
							}
						}
						inside.Add(-1)
						ran.Add(1)
					})
					switch gate.CodeOf(err) {
					case "":
						require.NoError(t, err)
					case gate.CodeStopped:
						stopped.Add(1)
					case gate.CodeCancelled:
						cancelled.Add(1)
					default:
						t.Errorf("seed %d: %v", seed, err)
					}
					cancel()
				}
			})
		}
		done := make(chan struct{})
		var stopper sync.WaitGroup
		stopper.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 99))
			for {
				select {
				case <-done:
					return
				default:
				}
				e := l.Stop()
				lastStop.Store(e)
				for range rng.IntN(200) {
					runtime.Gosched()
				}
			}
		})
		wg.Wait()
		close(done)
		stopper.Wait()
		require.NoError(t, l.Close())
		require.Equal(t, int64(8*120), ran.Load()+stopped.Load()+cancelled.Load())
		require.Positive(t, ran.Load())
		require.Positive(t, stopped.Load())
	}
}

func TestG6_StopWaitsBehindNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lane.New()
		started, release := make(chan struct{}), make(chan struct{})
		var cause error
		first, second := make(chan error, 1), make(chan error, 1)
		go func() {
			first <- l.Do(context.Background(), 0, func(ctx context.Context) {
				close(started)
				<-ctx.Done()
				cause = context.Cause(ctx)
				<-release // slow to come to rest
			})
		}()
		<-started
		go func() {
			second <- l.Do(context.Background(), 0, func(context.Context) { t.Error("ran after a stop") })
		}()
		synctest.Wait()
		require.Equal(t, 1, l.Len())

		before := time.Now()
		require.EqualValues(t, 1, l.Stop())
		require.EqualValues(t, 2, l.Stop())
		require.Zero(t, time.Since(before))
		require.ErrorIs(t, <-second, gate.ErrCode(gate.CodeStopped))
		select {
		case <-first:
			t.Fatal("Do returned before its action had")
		default:
		}
		close(release)
		require.NoError(t, <-first)
		require.ErrorIs(t, cause, gate.ErrCode(gate.CodeStopped))
		require.ErrorIs(t, l.Do(t.Context(), 0, func(context.Context) { t.Error("ran with an old epoch") }), gate.ErrCode(gate.CodeStopped))
		require.ErrorIs(t, l.Do(t.Context(), 7, func(context.Context) { t.Error("ran with an epoch from nowhere") }), gate.ErrCode(gate.CodeStopped))
		ran := false
		require.NoError(t, l.Do(t.Context(), 2, func(context.Context) { ran = true }))
		require.True(t, ran)
		require.NoError(t, l.Close())
	})
}

func TestLaneCancelWhileQueuedAndWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lane.New()
		reason := gate.Errf(gate.CodeCancelled, "", "the caller cancelled")
		ctx1, cancel1 := context.WithCancelCause(context.Background())
		ctx2, cancel2 := context.WithCancelCause(context.Background())
		var got error
		first, second := make(chan error, 1), make(chan error, 1)
		go func() {
			first <- l.Do(ctx1, 0, func(ctx context.Context) {
				<-ctx.Done()
				time.Sleep(time.Second) // of the bubble: it comes to rest
				got = context.Cause(ctx)
			})
		}()
		synctest.Wait()
		go func() { second <- l.Do(ctx2, 0, func(context.Context) { t.Error("ran though cancelled") }) }()
		synctest.Wait()
		cancel2(errors.New("gone"))
		require.ErrorIs(t, <-second, gate.ErrCode(gate.CodeCancelled))
		cancel1(reason)
		before := time.Now()
		require.NoError(t, <-first)
		require.Equal(t, time.Second, time.Since(before), "Do returned before its action had")
		require.ErrorIs(t, got, reason)
		require.NoError(t, l.Close())
	})
}

func TestLanePanicAndGoexit(t *testing.T) {
	l := open(t)
	require.ErrorIs(t, l.Do(t.Context(), 0, func(context.Context) { panic("x") }), gate.ErrCode(gate.CodeUnknownOutcome))
	require.NoError(t, l.Do(t.Context(), 0, func(context.Context) {}))
	require.ErrorIs(t, l.Do(t.Context(), 0, nil), gate.ErrCode(gate.CodeInvalidArgument))
	require.ErrorIs(t, l.Do(t.Context(), 0, func(context.Context) { runtime.Goexit() }), gate.ErrCode(gate.CodeUnknownOutcome))
	// A lane that lost its goroutine runs nothing more and lets nobody hang.
	require.Error(t, l.Do(t.Context(), l.Epoch(), func(context.Context) { t.Error("ran") }))
}

func TestLaneCloseEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lane.New()
		rest := false
		first, second := make(chan error, 1), make(chan error, 1)
		go func() {
			first <- l.Do(context.Background(), 0, func(ctx context.Context) { <-ctx.Done(); rest = true })
		}()
		synctest.Wait()
		go func() { second <- l.Do(context.Background(), 0, func(context.Context) { t.Error("ran") }) }()
		synctest.Wait()
		require.NoError(t, l.Close())
		require.True(t, rest, "Close returned before the action was at rest")
		require.NoError(t, <-first)
		require.ErrorIs(t, <-second, gate.ErrCode(gate.CodeCancelled))
		require.ErrorIs(t, l.Do(context.Background(), l.Epoch(), func(context.Context) { t.Error("ran") }), gate.ErrCode(gate.CodeCancelled))
		require.NoError(t, l.Close())
		l.Stop()
	})
}

// What ended a running action must not claim that it was not run.
func TestG6_TheCauseOfARunningActionsEnd(t *testing.T) {
	l := lane.New()
	defer func() { require.NoError(t, l.Close()) }()
	began, cause := make(chan struct{}), make(chan error, 1)
	done := make(chan error, 1)
	go func() {
		done <- l.Do(t.Context(), l.Epoch(), func(ctx context.Context) {
			close(began)
			<-ctx.Done()
			cause <- context.Cause(ctx)
		})
	}()
	<-began
	l.Stop()
	err := <-cause
	require.Equal(t, gate.CodeStopped, gate.CodeOf(err))
	require.NotContains(t, err.Error(), "not run")
	require.NoError(t, <-done)
}
