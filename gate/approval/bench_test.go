package approval_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
)

// bare is a file whose every write is synced, as the log of a database is.
func bare(b *testing.B, dir string) func() time.Duration {
	f, err := os.OpenFile(filepath.Join(dir, "bare"), os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, f.Close()) })
	page, at := make([]byte, 4096), int64(0)
	return func() time.Duration {
		begin := time.Now()
		_, err := f.WriteAt(page, at)
		if err == nil {
			err = f.Sync()
		}
		took := time.Since(begin)
		require.NoError(b, err)
		at = (at + int64(len(page))) % (4 << 20) // as a log that is begun anew at four megabytes
		return took
	}
}

func quantile(d []time.Duration, q float64) float64 {
	d = slices.Sorted(slices.Values(d))
	return float64(d[int(q*float64(len(d)-1))].Microseconds())
}

// eachStore runs a benchmark on SQLite and on PostgreSQL, each syncing what it reports
// to the same disk.
func eachStore(b *testing.B, f func(*testing.B, gate.Requests)) {
	b.Run("sqlite", func(b *testing.B) { f(b, openDB(b, dbIn(b.TempDir()))) })
	b.Run("postgres", func(b *testing.B) {
		s, err := approval.OpenPostgres(b.Context(), pgSynced.URL(b), approval.PostgresOptions{Home: "bench", Schema: pgSynced.Name()})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, s.Close()) })
		f(b, s)
	})
}

// BenchmarkDecideToStart is what stands between a yes and the first actuation: the
// claim and `started`, each synced, beside the bare fsync of the same disk, taken in
// turns.
func BenchmarkDecideToStart(b *testing.B) {
	eachStore(b, func(b *testing.B, s gate.Requests) { decideToStart(b, s, bare(b, b.TempDir())) })
}

func decideToStart(b *testing.B, s gate.Requests, sync func() time.Duration) {
	var store, disk []time.Duration
	for n := 0; b.Loop(); n++ {
		c := ask(b, s, fmt.Sprint(n))
		disk = append(disk, sync())
		begin := time.Now()
		c.Now = begin
		l, err := s.Claim(b.Context(), c)
		if err == nil {
			err = s.Start(b.Context(), l, time.Now())
		}
		store = append(store, time.Since(begin))
		require.NoError(b, err)
		require.NoError(b, s.Finish(b.Context(), c.ID, gate.Ending{State: gate.RequestDone, Answer: []byte(`{"status":"ok"}`)}))
	}
	for _, q := range []float64{0.5, 0.99} {
		b.ReportMetric(quantile(store, q), fmt.Sprintf("p%g-µs", 100*q))
		b.ReportMetric(quantile(disk, q), fmt.Sprintf("fsync-p%g-µs", 100*q))
		b.ReportMetric(quantile(store, q)/quantile(disk, q), fmt.Sprintf("p%g/fsync", 100*q))
	}
}

// BenchmarkHundredClickers has a hundred people click on one request at once.
func BenchmarkHundredClickers(b *testing.B) { eachStore(b, hundredClickers) }

func hundredClickers(b *testing.B, s gate.Requests) {
	for n := 0; b.Loop(); n++ {
		c := ask(b, s, fmt.Sprint(n))
		var won atomic.Int32
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if _, err := s.Claim(b.Context(), c); err == nil {
					won.Add(1)
				}
			})
		}
		wg.Wait()
		require.EqualValues(b, 1, won.Load())
	}
}

// BenchmarkListThousand lists a thousand pending requests, each with a drawing and
// a snapshot of the size that a motion of five seconds has.
func BenchmarkListThousand(b *testing.B) { eachStore(b, listThousand) }

func listThousand(b *testing.B, s gate.Requests) {
	now := time.Now()
	for n := range 1000 {
		_, err := s.Open(b.Context(), gate.Request{
			CallID: fmt.Sprintf("%032x", n), Tool: "move_joints", Tier: gate.TierPhysical, Args: []byte(`{"positions":{"shoulder_pan":0.5}}`),
			Effect: "Moves the named joints of the arm.", Session: gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim"},
			Principal: "p", Digest: [32]byte{1}, Asked: now, Expiry: now.Add(time.Hour),
			Card: gate.Card{Facts: slices.Repeat([]gate.Fact{{Label: "Top speed", Text: "shoulder_pan 0.150 of 3.000 rad/s, tool 0.033 m/s"}}, 8), Data: make([]byte, 20_000)},
		}, make([]byte, 40_000))
		require.NoError(b, err)
	}
	for b.Loop() {
		list, err := s.Pending(b.Context(), time.Now())
		require.NoError(b, err)
		require.Len(b, list, 1000)
	}
}
