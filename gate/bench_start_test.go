package gate_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/events"
	"github.com/tau-robot/tau/gate/lane"
)

// instant says yes at once and notes when.
type instant struct{ at time.Time }

func (*instant) Name() string { return "instant" }
func (i *instant) Decide(context.Context, gate.Request) (gate.Word, error) {
	i.at = time.Now()
	return gate.Word{Decision: gate.Approved, Reason: "answered"}, nil
}

// BenchmarkDecideToActuation is the whole way from a person's yes to the action's
// first instruction: the event, the claim, the lane, the checks and `started`, with
// the event log and the requests on a real disk, beside the bare fsync of that disk.
func BenchmarkDecideToActuation(b *testing.B) {
	dir := b.TempDir()
	db, err := approval.OpenSQLite(b.Context(), filepath.Join(dir, "bridge.db"), approval.Options{})
	require.NoError(b, err)
	log, err := events.Open(events.Options{Dir: dir})
	require.NoError(b, err)
	_, err = log.Session("s")
	require.NoError(b, err)
	l := lane.New()
	a, yes := newArm(), &instant{}
	var began time.Time
	a.run = func(context.Context) (gate.Result, error) { began = time.Now(); return gate.Result{}, nil }
	cat := gate.NewCatalog()
	require.NoError(b, cat.Register(a))
	g, err := gate.New(gate.Config{
		Catalog: cat, Lane: l, Requests: db, Sink: log, Approver: yes,
		Sessions: &sessions{list: map[string]gate.Session{"s": {Name: "s", Mode: gate.ModeSim, Backend: "sim"}}, err: map[string]error{}},
		Rates:    gate.RateLimits{Session: &gate.Rate{PerSecond: 1e9, Burst: 1e9}},
	})
	require.NoError(b, err)
	f, err := os.Create(filepath.Join(dir, "bare"))
	require.NoError(b, err)
	page := make([]byte, 4096)
	var way, disk []time.Duration
	for b.Loop() {
		begin := time.Now()
		_, err := f.WriteAt(page, int64(len(disk)%1000)*4096)
		require.NoError(b, err)
		require.NoError(b, f.Sync())
		disk = append(disk, time.Since(begin))
		if got := g.Call(b.Context(), inv("move", `{"to":1}`)); got.Status != gate.StatusOK {
			b.Fatal(got.Text)
		}
		way = append(way, began.Sub(yes.at))
	}
	for _, q := range []float64{0.5, 0.99} {
		at := func(d []time.Duration) float64 {
			d = slices.Sorted(slices.Values(d))
			return float64(d[int(q*float64(len(d)-1))].Microseconds())
		}
		b.ReportMetric(at(way), fmt.Sprintf("p%g-µs", 100*q))
		b.ReportMetric(at(disk), fmt.Sprintf("fsync-p%g-µs", 100*q))
		b.ReportMetric(at(way)/at(disk), fmt.Sprintf("p%g/fsync", 100*q))
	}
	require.NoError(b, g.Close(b.Context()))
	require.NoError(b, l.Close())
	require.NoError(b, f.Close())
	require.NoError(b, log.Close())
	require.NoError(b, db.Close())
}
