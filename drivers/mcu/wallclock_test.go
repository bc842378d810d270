package mcu_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu"
	"github.com/tau-robot/tau/drivers/mcu/boardtest"
	"github.com/tau-robot/tau/robot"
)

// On the wall clock, over a pseudo-terminal and drivers/port. A machine that is too busy
// trips the board's watchdog, rightly; what isn't about time is held here.

// insist does something until it isn't the machine that failed.
func insist(t *testing.T, r *mcu.Robot, what string, do func() error) {
	t.Helper()
	const tries = 20
	for try := 1; ; try++ {
		err := do()
		if err == nil {
			return
		}
		code := robot.CodeOf(err)
		if try == tries || code != robot.CodeLinkTimeout && code != robot.CodeStaleState && code != robot.CodeNotEnabled {
			require.NoError(t, err, what)
		}
		s, err := r.State(context.Background())
		if err != nil {
			continue
		}
		if len(s.Faults) > 0 || s.EStopped {
			_, _ = r.Actuate(context.Background(), robot.Command{Kind: robot.EStopReset, Epoch: s.StopEpoch})
		}
		if !s.Enabled {
			_, _ = r.Actuate(context.Background(), robot.Command{Kind: robot.TorqueOn, Epoch: s.StopEpoch})
		}
	}
}

func onTheWallClock(t *testing.T, g rig, kind boardtest.Kind) {
	g.board.Kind = kind
	b := g.start(t)
	r := g.open(t, b.Path())
	ctx := context.Background()
	to := g.target(g.options(t, "").Model)
	insist(t, r, "a motion", func() error {
		s, err := r.State(ctx)
		if err != nil || !s.Enabled {
			return errors.Join(err, robot.ErrCode(robot.CodeNotEnabled))
		}
		out, err := r.Execute(ctx, moveTo(t, r, to, 1), nil)
		if err == nil {
			require.Equal(t, robot.OutcomeDone, out.Status)
			require.InDeltaSlice(t, to, out.Final.Where(), 0.012)
		}
		return err
	})

	// A second bridge is refused by name.
	_, err := mcu.Open(ctx, g.options(t, b.Path()))
	require.Equal(t, robot.CodeBusy, robot.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, strconv.Itoa(os.Getpid()))

	v := r.Stop(ctx, robot.StopControlled)
	require.Equal(t, robot.Yes, v.Commanded, v.Text)

	b.Unplug()
	require.Eventually(t, func() bool {
		_, err := r.State(ctx)
		return robot.CodeOf(err) == robot.CodeDisconnected
	}, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, robot.No, r.Stop(ctx, robot.StopControlled).Commanded)
	b.Plug()
	require.Eventually(t, func() bool {
		s, err := r.State(ctx)
		return err == nil && len(s.Faults) > 0 && !s.Enabled
	}, 20*time.Second, 10*time.Millisecond)
	insist(t, r, "a motion after the link came back", func() error {
		s, err := r.State(ctx)
		if err != nil || !s.Enabled {
			return errors.Join(err, robot.ErrCode(robot.CodeNotEnabled))
		}
		_, err = r.Execute(ctx, moveTo(t, r, make([]float64, len(to)), 1), nil)
		return err
	})
	require.NoError(t, r.Close())
	again := g.open(t, b.Path())
	require.NoError(t, again.Close())
}

func TestOnTheWallClock(t *testing.T) { onTheWallClock(t, measured(), boardtest.Host) }

// The emulated board: the firmware's own machine code.
func TestOnTheEmulatedBoard(t *testing.T) { onTheWallClock(t, measured(), boardtest.Emulated) }
