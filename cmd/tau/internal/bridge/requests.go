package bridge

import (
	"context"
	"strings"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/words"
)

// openRequests opens the requests of the data folder. One that is damaged or newer is
// refused by name, and the bridge doesn't start on it.
func openRequests(path string, now func() time.Time) (*approval.SQLite, error) {
	boot, id := bootClock(), bootID()
	if boot == nil {
		id = ""
	}
	return approval.OpenSQLite(context.Background(), path, approval.Options{Now: now, Boot: boot, BootID: id})
}

// patient is the approver of a prompt that isn't there yet: what is asked before,
// because an earlier process had asked it, waits for it.
type patient struct {
	gate.Approver
	begun <-chan struct{}
}

// Decide waits for the prompt and asks there.
func (p patient) Decide(ctx context.Context, req gate.Request) (gate.Word, error) {
	select {
	case <-p.begun:
	case <-ctx.Done(): // the approver takes its leave in its own words
	}
	return p.Approver.Decide(ctx, req)
}

// Notice passes a notice on.
func (p patient) Notice(callID string, n gate.Notice) {
	if to, ok := p.Approver.(gate.Noticer); ok {
		to.Notice(callID, n)
	}
}

// leftNotice tells a person what an earlier process left; empty where it left nothing.
func leftNotice(l words.Lang, left gate.Recovery) string {
	var b strings.Builder
	for _, r := range left.Unknown {
		b.WriteString("⚠️  " + l.LeftUnknown(gate.Escape(r.Request.Tool), gate.Escape(r.Request.CallID)) + "\n")
	}
	others := 0
	for _, r := range left.Open {
		if r.Owner != "" {
			others++
		}
	}
	if n := len(left.Open) - others; n > 0 {
		b.WriteString(l.LeftOpen(n) + "\n")
	}
	if others > 0 {
		b.WriteString(l.LeftAtOthers(others) + "\n")
	}
	for _, r := range left.Elsewhere {
		b.WriteString(l.LeftElsewhere(gate.Escape(r.Request.Tool), gate.Escape(r.Request.CallID), gate.Escape(r.Request.Session.Name)) + "\n")
	}
	return b.String()
}
