package bridge

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
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
func leftNotice(left gate.Recovery) string {
	var b strings.Builder
	for _, r := range left.Unknown {
		fmt.Fprintf(&b, "⚠️  %s (call %s) ran when the bridge ended: what it did can't be known, and it is not run again. Look at the robot before you go on.\n",
			gate.Escape(r.Request.Tool), gate.Escape(r.Request.CallID))
	}
	others := 0
	for _, r := range left.Open {
		if r.Owner != "" {
			others++
		}
	}
	switch n := len(left.Open) - others; {
	case n == 1:
		b.WriteString("1 request waits for an answer from before\n")
	case n > 1:
		fmt.Fprintf(&b, "%d requests wait for an answer from before\n", n)
	}
	if others > 0 {
		fmt.Fprintf(&b, "%d requests wait at other bridges of the database; 'tau robot approvals list' lists them\n", others)
	}
	for _, r := range left.Elsewhere {
		fmt.Fprintf(&b, "%s (call %s) is one of session %s, which isn't open here: it is left to wait there\n",
			gate.Escape(r.Request.Tool), gate.Escape(r.Request.CallID), gate.Escape(r.Request.Session.Name))
	}
	return b.String()
}
