package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tau-robot/tau/cmd/tau/internal/bridge"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/sim"
)

const (
	yesRounds     = 200 // motions that are asked for and approved
	clickRounds   = 20
	clickers      = 100
	waiting       = 1000 // requests in a list
	listRounds    = 9
	listBoundMS   = 50
	fsyncShare    = 3    // of the fsync that a yes may take to the first actuation, p99,
	fsyncMoreUS   = 1000 // and this on top
	cardBytes     = 20_000
	snapshotBytes = 40_000
)

// approvals adds to a report what a person's yes has to wait for, on a real bridge with its files
// on the disk that TMPDIR names, beside the bare fsync of that disk in turns; a hundred
// people who click on one request at once; and the list of a thousand open requests.
func approvals(ctx context.Context, r *Report) (err error) {
	dir, err := os.MkdirTemp("", "tau-bench-approval-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	yes, disk, err := yesToActuation(ctx, dir)
	if err != nil {
		return err
	}
	p99, bare := quantile(yes, 0.99), quantile(disk, 0.99)
	s, err := approval.OpenSQLite(ctx, filepath.Join(dir, "store.db"), approval.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	clicks, err := hundredClicks(ctx, s)
	if err != nil {
		return err
	}
	list, err := thousandListed(ctx, s)
	if err != nil {
		return err
	}
	r.Measures = append(r.Measures,
		Measure{fmt.Sprintf("yes to first actuation (%d motions)", yesRounds), "µs", spread(yes)},
		Measure{"beside it: fsync of one page", "µs", spread(disk)},
		Measure{fmt.Sprintf("%d clickers on one request, one winner", clickers), "ms", spread(clicks)},
		Measure{fmt.Sprintf("list of %d pending requests", waiting), "ms", spread(list)})
	r.Also = append(r.Also,
		below(fmt.Sprintf("yes p99; %d x fsync p99 + %d µs", fsyncShare, fsyncMoreUS), "µs", p99, fsyncShare*bare+fsyncMoreUS),
		below("list, median", "ms", spread(list).Median, listBoundMS))
	for _, b := range r.Also {
		r.Within = r.Within && b.Within
	}
	r.Notes = append(r.Notes, fmt.Sprintf("yes to first actuation: p50 %.0f µs, p99 %.0f µs; fsync p50 %.0f µs, p99 %.0f µs", quantile(yes, 0.5), p99, quantile(disk, 0.5), bare))
	return nil
}

func quantile(v []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[int(q*float64(len(s)-1))]
}

// clock notes when a person said yes and when the motion began after that.
type clock struct {
	mu        sync.Mutex
	yes, move time.Time
}

func (*clock) Name() string { return "bench" }

func (c *clock) Decide(context.Context, gate.Request) (gate.Word, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.yes = time.Now()
	return gate.Word{Decision: gate.Approved, Reason: "answered"}, nil
}

func (*clock) Event(gate.Event) {}

func (c *clock) Motion(_ gate.Running, t, _ float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t == 0 {
		c.move = time.Now()
	}
}

func (c *clock) between() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return float64(c.move.Sub(c.yes)) / float64(time.Microsecond)
}

// yesToActuation returns both in µs, taken in turns.
func yesToActuation(ctx context.Context, dir string) (yes, disk []float64, err error) {
	model, err := builtin.Load("so101")
	if err != nil {
		return nil, nil, err
	}
	c := &clock{}
	h, err := bridge.Start(bridge.Setup{
		Model: model, Clock: sim.Fast, Session: gateSession, DataDir: filepath.Join(dir, "data"), Version: "bench", Now: time.Now,
		Open: func(string) (gate.Approver, bridge.Watcher, error) { return c, c, nil },
	})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	f, err := os.Create(filepath.Join(dir, "bare"))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	page := make([]byte, 4096)
	for n := range yesRounds {
		begin := time.Now()
		_, err := f.WriteAt(page, int64(n)*int64(len(page)))
		if err == nil {
			err = f.Sync()
		}
		if err != nil {
			return nil, nil, err
		}
		disk = append(disk, since(begin, time.Microsecond))
		a := h.Gate.Call(ctx, gate.Invocation{
			Tool: "move_joints", Args: fmt.Appendf(nil, `{"positions":{"shoulder_pan":%g}}`, 0.05*float64(n%2)),
			Session: gateSession, Principal: bridge.Operator, Origin: "bench",
		})
		if a.Status != gate.StatusOK {
			return nil, nil, fmt.Errorf("move_joints: %s", a.Text)
		}
		yes = append(yes, c.between())
	}
	return yes, disk, nil
}

func pending(ctx context.Context, s *approval.SQLite, id string, card, snapshot int) (gate.Secret, error) {
	now := time.Now()
	return s.Open(ctx, gate.Request{
		CallID: id, Tool: "move_joints", Tier: gate.TierPhysical, Args: []byte(`{"positions":{"shoulder_pan":0.5}}`),
		Effect: "Moves the named joints of the arm.", Session: gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim"},
		Principal: "p", Digest: [32]byte{1}, Asked: now, Expiry: now.Add(time.Hour),
		Card: gate.Card{Data: make([]byte, card)},
	}, make([]byte, snapshot))
}

// hundredClicks returns how long it takes until all of a hundred have their answer, ms.
func hundredClicks(ctx context.Context, s *approval.SQLite) ([]float64, error) {
	var out []float64
	for n := range clickRounds {
		id := fmt.Sprintf("click %d", n)
		secret, err := pending(ctx, s, id, 0, 1)
		if err != nil {
			return nil, err
		}
		errs := make(chan error, clickers)
		begin := time.Now()
		for range clickers {
			go func() {
				_, err := s.Claim(ctx, gate.Claim{ID: id, Digest: [32]byte{1}, Secret: secret, Worker: "w", Decider: "d", Now: time.Now()})
				errs <- err
			}()
		}
		won := 0
		for range clickers {
			switch err := <-errs; {
			case err == nil:
				won++
			case gate.CodeOf(err) != gate.CodeInProgress:
				return nil, err
			}
		}
		if won != 1 {
			return nil, fmt.Errorf("%d of %d clickers won", won, clickers)
		}
		out = append(out, since(begin, time.Millisecond))
		if err := s.Finish(ctx, id, gate.Ending{State: gate.RequestWithdrawn}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// thousandListed returns how long the list takes, ms.
func thousandListed(ctx context.Context, s *approval.SQLite) ([]float64, error) {
	for n := range waiting {
		if _, err := pending(ctx, s, fmt.Sprintf("%032x", n), cardBytes, snapshotBytes); err != nil {
			return nil, err
		}
	}
	var out []float64
	for range listRounds {
		begin := time.Now()
		list, err := s.Pending(ctx, time.Now())
		if err != nil {
			return nil, err
		}
		if len(list) != waiting {
			return nil, fmt.Errorf("%d of %d requests are listed", len(list), waiting)
		}
		out = append(out, since(begin, time.Millisecond))
	}
	return out, nil
}
