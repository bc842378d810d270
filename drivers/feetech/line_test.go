package feetech_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// logged is a log that may be read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// What a bad line damages and loses is thrown away and asked for again, and told of: now
// and then, and with a count.
func TestWhatTheLineLosesIsCountedInTheLog(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		var log logged
		b.o.Log = slog.New(slog.NewTextHandler(&log, nil))
		r := b.open(t)
		time.Sleep(15 * time.Second)
		require.Empty(t, log.String(), "a clean line isn't spoken of")
		b.line.Garble(50)
		time.Sleep(15 * time.Second)
		b.line.Garble(0)
		_, err := r.State(t.Context())
		require.NoError(t, err, "it was made good")
		require.Equal(t, 2, strings.Count(log.String(), "the line isn't clean"), "now and then: %s", log.String())
		require.Contains(t, log.String(), "damaged_packets=1 ", "of the first at once")
		require.NotContains(t, log.String(), "asked_again=0")
	})
}
