package gobot_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/gobot"
)

// What a bad line makes of the board's messages is thrown away, and told of with a count.
func TestWhatTheLineGarblesIsCountedInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := servos()
		u := g.board(t)
		var log bytes.Buffer // the engine's loop alone writes it, and is waited for
		o := g.options(t, u)
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		r, err := gobot.Open(context.Background(), o)
		require.NoError(t, err)
		for range 40 {
			time.Sleep(100 * time.Millisecond)
			u.do(func() { u.say(0x55) })
		}
		time.Sleep(time.Second)
		_, err = r.State(context.Background())
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.Equal(t, 6, strings.Count(log.String(), "the line isn't clean"), "1, 2, 4, 8, 16 and 32: %s", log.String())
		require.Contains(t, log.String(), "bytes_of_no_message=32")
	})
}
