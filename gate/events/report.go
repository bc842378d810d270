package events

import (
	"fmt"
	"strings"
)

// Tail says what is known of a log's end.
type Tail string

// The states of a tail.
const (
	TailProven   Tail = "proven"   // the head vouches for the last line
	TailUnproven Tail = "unproven" // no head or no key: lines may have been cut off the end
	TailBroken   Tail = "broken"   // the head and the log don't agree, or the last line is faulty
)

// maxFaults is how many faults a report lists; the rest is counted.
const maxFaults = 20

// Fault is one thing found. Line is the first line, counted by newlines from 1,
// whose bytes aren't those that were written; a line that is missing from the
// end has the number that it would have. 0: the head.
type Fault struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Report is what Verify found.
type Report struct {
	Path    string   `json:"path"`
	Session string   `json:"session"`
	Lines   int      `json:"lines"`
	Tail    Tail     `json:"tail"`
	Faults  []Fault  `json:"faults,omitempty"`
	More    int      `json:"more_faults,omitempty"` // beyond those listed
	Notes   []string `json:"notes,omitempty"`
}

// OK reports that no fault was found. The tail may still be unproven.
func (r *Report) OK() bool { return len(r.Faults) == 0 }

// Err returns nil if the whole log is proven, its tail included, else a *Damage
// that names the first fault, or says "tail unproven".
func (r *Report) Err() error {
	switch {
	case !r.OK():
		return &Damage{Path: r.Path, Line: r.Faults[0].Line, Text: r.Faults[0].Text}
	case r.Tail != TailProven:
		return &Damage{Path: r.Path, Text: "tail " + string(r.Tail)}
	}
	return nil
}

// String is the report for a person, without a newline at its end. Strings from
// the log aren't in it, but for the session's name, which is a valid one.
func (r *Report) String() string {
	var b strings.Builder
	for _, f := range r.Faults {
		if f.Line > 0 {
			fmt.Fprintf(&b, "line %d: %s\n", f.Line, f.Text)
		} else {
			fmt.Fprintf(&b, "head: %s\n", f.Text)
		}
	}
	if r.More > 0 {
		fmt.Fprintf(&b, "%d more faults\n", r.More)
	}
	for _, n := range r.Notes {
		b.WriteString(n + "\n")
	}
	chain := "chain whole"
	if !r.OK() {
		chain = "DAMAGED"
	}
	fmt.Fprintf(&b, "%d lines, %s, tail %s", r.Lines, chain, r.Tail)
	return b.String()
}

func (r *Report) fault(line int, format string, args ...any) {
	if len(r.Faults) == maxFaults {
		r.More++
		return
	}
	r.Faults = append(r.Faults, Fault{Line: line, Text: fmt.Sprintf(format, args...)})
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}
