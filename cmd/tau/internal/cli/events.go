package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/events"
)

func (a *app) events() *cobra.Command {
	return group("events", "The event log of a session", a.eventsVerify(), a.eventsShow())
}

// eventsVerify exits with 0 only when the whole log is proven, its tail included.
func (a *app) eventsVerify() *cobra.Command {
	var asJSON bool
	var key string
	c := leaf("verify FILE", "Finds any edit, cut or insertion in an events.jsonl and names the line", 1, func(_ *cobra.Command, args []string) error {
		if key == "" {
			key = events.KeyPathOf(args[0])
		}
		report, err := events.Verify(args[0], key)
		if err != nil {
			return exit.Callsf("%w", err)
		}
		if asJSON {
			b, err := json.Marshal(report)
			if err != nil {
				return exit.Bridgef("%w", err)
			}
			if err := write(a.out, string(b)+"\n"); err != nil {
				return err
			}
		} else if err := write(a.out, report.String()+"\n"); err != nil {
			return err
		}
		if report.Err() != nil {
			return exit.Silent(exit.Calls) // the report has said it
		}
		return nil
	})
	c.Flags().BoolVar(&asJSON, "json", false, "the report as one JSON document")
	c.Flags().StringVar(&key, "key", "", "the log's key (default: events.key in the data folder that the log lies in)")
	return c
}

// eventsShow prints what can be read, and says what can't.
func (a *app) eventsShow() *cobra.Command {
	var asJSON bool
	c := leaf("show FILE", "Prints an events.jsonl, one event a line (it proves nothing: that is verify)", 1, func(_ *cobra.Command, args []string) error {
		w := bufio.NewWriter(a.out)
		bad, err := a.showEvents(w, args[0], asJSON)
		if ferr := w.Flush(); err == nil && ferr != nil {
			err = exit.Bridgef("%w", ferr)
		}
		if err == nil && bad > 0 {
			err = exit.Callsf("%s: %s can't be read", args[0], plural(bad, "line"))
		}
		return err
	})
	c.Flags().BoolVar(&asJSON, "json", false, "the events as JSON lines")
	return c
}

// shownEvent is one line of show --json: the event's fields with its place.
type shownEvent struct {
	Line int    `json:"line"`
	Seq  uint64 `json:"seq"`
	Prev string `json:"prev"`
	Hash string `json:"hash"`
	gate.Event
}

func (a *app) showEvents(w io.Writer, path string, asJSON bool) (bad int, err error) {
	if _, err := os.Stat(path); err != nil {
		return 0, exit.Callsf("%w", err)
	}
	for entry, err := range events.Read(path) {
		if err != nil {
			bad++
			fmt.Fprintf(a.err, "tau: %s\n", gate.Escape(err.Error()))
			continue
		}
		text := eventLine(entry.Event)
		if asJSON {
			b, err := json.Marshal(shownEvent{entry.Line, entry.Seq, entry.Prev, entry.Hash, entry.Event})
			if err != nil {
				return bad, exit.Bridgef("%w", err)
			}
			text = string(b)
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return bad, exit.Bridgef("%w", err)
		}
	}
	return bad, nil
}

// eventLine is one event for a person. Everything in it came from somewhere else
// and is escaped.
func eventLine(e gate.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %-9s", e.Time.UTC().Format(time.RFC3339Nano), gate.Escape(e.Type))
	word := func(label, s string) {
		if s != "" {
			b.WriteString(" " + label + gate.Escape(s))
		}
	}
	word("", e.Tool)
	if len(e.Arguments) > 0 {
		b.WriteString(" " + gate.EscapeJSON(e.Arguments))
	}
	word("status=", string(e.Status))
	word("code=", string(e.Code))
	word("approval=", string(e.Approval))
	word("decision=", e.Decision)
	word("by=", e.Decider)
	word("reason=", e.Reason)
	word("where=", e.Where)
	word("", e.Text)
	word("", e.ResultSummary)
	if e.DurationMS > 0 {
		fmt.Fprintf(&b, " (%.1f ms)", e.DurationMS)
	}
	return b.String()
}
