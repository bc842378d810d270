// Package bench measures the program beside a baseline in the same run: a ratio
// says something on a machine that is busy with other things, a time alone
// doesn't. It imports everything that it measures; only cli imports it.
package bench

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Spread is what a number of runs of the same thing took.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// spread sorts a copy of v, which is not empty.
func spread(v []float64) Spread {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	return Spread{Min: s[0], Median: (s[(n-1)/2] + s[n/2]) / 2, Max: s[n-1]}
}

// Measure is one thing measured, in Unit.
type Measure struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	Spread
}

// Report is the result of a benchmark. Bound holds for the median of the first
// measure; Ratio is that median over the baseline's.
type Report struct {
	Benchmark string    `json:"benchmark"`
	What      string    `json:"what"`
	Runs      int       `json:"runs"`
	Measures  []Measure `json:"measures"` // the thing itself, then the baseline, then parts
	Ratio     float64   `json:"ratio"`
	Bound     float64   `json:"bound"`        // in the first measure's unit
	Within    bool      `json:"within_bound"` // Also counts too
	Also      []Bound   `json:"also,omitempty"`
	Machine   string    `json:"machine"`
	Notes     []string  `json:"notes,omitempty"`
}

// Bound is a figure besides the first measure that has a bound.
type Bound struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit,omitempty"`
	Value  float64 `json:"value"`
	Bound  float64 `json:"bound"`
	Within bool    `json:"within_bound"`
}

func below(name, unit string, value, bound float64) Bound {
	return Bound{name, unit, value, bound, value <= bound}
}

func newReport(name, what string, runs int, bound float64, measures ...Measure) Report {
	r := Report{
		Benchmark: name, What: what, Runs: runs, Measures: measures, Bound: bound,
		Machine: fmt.Sprintf("%s/%s, %d CPUs, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()),
	}
	r.Within = measures[0].Median <= bound
	if b := measures[1].Median; b > 0 {
		r.Ratio = math.Round(measures[0].Median/b*100) / 100
	}
	return r
}

// String is the report for people.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (%d runs, %s)\n", r.Benchmark, r.What, r.Runs, r.Machine)
	for _, m := range r.Measures {
		fmt.Fprintf(&b, "  %-44s min %10.3f  median %10.3f  max %10.3f %s\n", m.Name, m.Min, m.Median, m.Max, m.Unit)
	}
	fmt.Fprintf(&b, "  %-44s %.2f\n", "ratio to the baseline (medians)", r.Ratio)
	fmt.Fprintf(&b, "  %-44s %.3f %s: %s\n", "bound on the median", r.Bound, r.Measures[0].Unit, verdict(r.Measures[0].Median <= r.Bound))
	for _, x := range r.Also {
		fmt.Fprintf(&b, "  %-44s %s, bound %s: %s\n", x.Name, x.amount(x.Value), x.amount(x.Bound), verdict(x.Within))
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "  %s\n", n)
	}
	return b.String()
}

func verdict(within bool) string {
	if within {
		return "within"
	}
	return "BEYOND"
}

// since returns the time since start in units of d.
func since(start time.Time, d time.Duration) float64 { return float64(time.Since(start)) / float64(d) }

func (x Bound) amount(v float64) string { return strings.TrimSpace(fmt.Sprintf("%.3f %s", v, x.Unit)) }
