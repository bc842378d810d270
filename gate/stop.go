package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// StopReport says what is known of a stop.
type StopReport struct {
	Kind      StopKind      `json:"kind"`
	Epoch     uint64        `json:"epoch"` // the bridge's stop epoch since then
	Verdicts  []StopVerdict `json:"verdicts"`
	Withdrawn int           `json:"withdrawn"` // physical calls that it ended: queued, asked, approved or running
	Reason    string        `json:"reason,omitempty"`
	Note      string        `json:"note,omitempty"`
	DurationS float64       `json:"duration_s"`
}

func stopKindOf(tool string) (StopKind, bool) {
	switch tool {
	case string(StopControlled):
		return StopControlled, true
	case string(StopEmergency):
		return StopEmergency, true
	}
	return "", false
}

// stopRun is a stop that has been commanded and whose verdicts come in.
type stopRun struct {
	g      *Gate
	kind   StopKind
	start  time.Time
	report StopReport
	got    chan int // index of a stopper that has answered
	mu     sync.Mutex
	end    func()
}

// Stop acts on every backend of the bridge at once and returns what is known of
// it (G6). First the lane's epoch is raised, which drops everything queued and
// ends what runs; then each Stopper is called in a goroutine of its own; then
// every open call ends STOPPED; and only when the verdicts are in, or StopWait
// has passed, is it logged. Nothing is waited for but the verdicts: no lock that
// is held while anything else runs, no approver, no event, no request. ctx ending
// changes nothing. A kind that is neither stop nor estop counts as estop.
//
// A backend whose Stop panics or doesn't answer has the verdict unknown, and holds
// up no other. Any number of stops may run at once.
func (g *Gate) Stop(_ context.Context, kind StopKind, reason, origin, principal string) StopReport {
	r := g.beginStop(kind)
	report := r.wait(reason, "")
	g.logStop(report, Event{Origin: origin, Principal: principal, Time: r.start}, nil)
	return report
}

func (g *Gate) beginStop(kind StopKind) *stopRun {
	if kind != StopControlled {
		kind = StopEmergency
	}
	r := &stopRun{g: g, kind: kind}
	epoch, err := guard("lane", func() (uint64, error) { return g.cfg.Lane.Stop(), nil })
	r.start = g.cfg.Now()
	r.report = StopReport{Kind: kind, Epoch: epoch}
	if err != nil {
		r.report.Note = "the lane failed: " + err.Error()
	}
	n := len(g.cfg.Stoppers)
	r.got = make(chan int, n)
	r.report.Verdicts = make([]StopVerdict, n)
	ctx, cancel := context.WithTimeout(context.Background(), g.cfg.StopWait)
	r.end = cancel
	for i, s := range g.cfg.Stoppers {
		g.running.add()
		go func() {
			defer g.running.done()
			v := stopOne(ctx, s, kind)
			r.mu.Lock()
			r.report.Verdicts[i] = v
			r.mu.Unlock()
			r.got <- i
		}()
	}
	stopped := Errf(CodeStopped, "", "ended by a stop (%s)", kind)
	r.report.Withdrawn = g.book.cancelAll(stopped)
	g.batches.endAll(stopped)
	return r
}

// stopOne stops one backend; whatever it does wrong, its verdict says no more than is known.
func stopOne(ctx context.Context, s Stopper, kind StopKind) StopVerdict {
	v, err := guard("stopper", func() (StopVerdict, error) { return s.Stop(ctx, kind), nil })
	if err != nil {
		v = StopVerdict{Text: "the backend failed inside while stopping"}
	}
	if v.Backend == "" {
		v.Backend = stopperName(s)
	}
	for _, f := range []*string{&v.Commanded, &v.Acknowledged, &v.Stationary} {
		if *f != "yes" && *f != "no" {
			*f = "unknown"
		}
	}
	return v
}

func stopperName(s Stopper) string {
	name, err := guard("stopper", func() (string, error) { return s.Name(), nil })
	if err != nil || name == "" {
		return "unnamed"
	}
	return name
}

// wait collects the verdicts until all are in or StopWait has passed.
func (r *stopRun) wait(reason, note string) StopReport {
	defer r.end()
	timer := time.NewTimer(r.g.cfg.StopWait + stopGrace)
	defer timer.Stop()
	in := make([]bool, len(r.g.cfg.Stoppers))
	for range r.g.cfg.Stoppers {
		select {
		case i := <-r.got:
			in[i] = true
			continue
		case <-timer.C:
		}
		break
	}
	r.mu.Lock()
	report := r.report
	report.Verdicts = append([]StopVerdict{}, r.report.Verdicts...)
	r.mu.Unlock()
	for i, ok := range in {
		if !ok && report.Verdicts[i].Commanded == "" {
			report.Verdicts[i] = StopVerdict{
				Backend: stopperName(r.g.cfg.Stoppers[i]), Commanded: "unknown", Acknowledged: "unknown", Stationary: "unknown",
				Text: fmt.Sprintf("no answer within %v", r.g.cfg.StopWait),
			}
		}
	}
	report.Reason = reason
	report.Note = strings.TrimPrefix(report.Note+"; "+note, "; ")
	report.Note = strings.TrimSuffix(report.Note, "; ")
	report.DurationS = r.g.cfg.Now().Sub(r.start).Seconds()
	return report
}

// outcome is what the verdicts say together. A stop is ok only where every
// backend was commanded, said so and was measured at rest (cases 29, 37).
func (r StopReport) outcome() (Status, Code, string) {
	status, code := StatusOK, Code("")
	var parts []string
	for _, v := range r.Verdicts {
		part := fmt.Sprintf("%s: commanded %s, acknowledged %s, stationary %s", v.Backend, v.Commanded, v.Acknowledged, v.Stationary)
		if v.Text != "" {
			part += " (" + v.Text + ")"
		}
		parts = append(parts, part)
		switch {
		case v.Commanded == "no" || v.Acknowledged == "no" || v.Stationary == "no":
			status, code = StatusError, CodeDisconnected
		case status == StatusOK && (v.Commanded != "yes" || v.Acknowledged != "yes" || !v.AtRest()):
			status, code = StatusUnknown, CodeUnknownOutcome
		}
	}
	if len(parts) == 0 {
		return StatusError, CodeDisconnected, "There is no backend that could be stopped; everything that waited was dropped."
	}
	text := fmt.Sprintf("%s on every backend. %s.", map[StopKind]string{StopControlled: "Stop", StopEmergency: "Emergency stop"}[r.Kind], strings.Join(parts, "; "))
	if r.Note != "" {
		text += " " + r.Note + "."
	}
	return status, code, text
}

// callStop is a stop that came as a call. Its arguments are looked at after it has acted.
func (g *Gate) callStop(kind StopKind, inv Invocation) Answer {
	return g.endStop(g.beginStop(kind), inv)
}

func (g *Gate) submitStop(kind StopKind, inv Invocation) Ticket {
	r := g.beginStop(kind)
	t := &stopTicket{tool: inv.Tool, done: make(chan struct{}), id: stopID(g, inv)}
	inv.CallID = t.id
	g.running.add()
	go func() {
		defer g.running.done()
		t.answer = g.endStop(r, inv)
		close(t.done)
	}()
	return t
}

func stopID(g *Gate, inv Invocation) string {
	if isCallID(inv.CallID) {
		return inv.CallID
	}
	id, err := newID(g.cfg.Rand)
	if err != nil { // a stop doesn't need an id
		return ""
	}
	return id
}

func (g *Gate) endStop(r *stopRun, inv Invocation) Answer {
	reason, note := stopReason(inv.Args)
	report := r.wait(reason, note)
	data, err := json.Marshal(report)
	if err != nil {
		data = nil
	}
	a := Answer{
		CallID: stopID(g, inv), Tool: inv.Tool, Result: data, Approval: ApprovalNone,
		Duration: g.cfg.Now().Sub(r.start), Session: inv.Session,
	}
	a.Status, a.Code, a.Text = report.outcome()
	tier := TierWrite.Number()
	e := Event{
		Time: r.start, SessionID: inv.Session, Tool: inv.Tool, Tier: &tier, Arguments: rawOrCanonical(inv.Args),
		ToolUseID: inv.ToolUseID, CallID: a.CallID, Origin: inv.Origin, Principal: inv.Principal,
	}
	g.logStop(report, e, &a)
	return a
}

// stopReason reads a stop's arguments for the log; whatever they are, it has stopped.
func stopReason(raw []byte) (reason, note string) {
	args, err := DecodeStrict(stopSchema(), raw)
	if err != nil {
		return "", "The arguments were malformed and ignored"
	}
	var v struct {
		Reason string `json:"reason"`
	}
	if err := json.Unmarshal(args, &v); err != nil {
		return "", "The arguments were malformed and ignored"
	}
	return v.Reason, ""
}

func stopSchema() *Schema {
	return Obj(Opt("reason", Str(500).Desc("Why, for the log")))
}

func rawOrCanonical(raw []byte) json.RawMessage {
	if args, err := DecodeStrict(stopSchema(), raw); err == nil {
		return args
	}
	return rawArgs(raw)
}

// logStop records a stop that has acted. A log that can't be written, or hangs,
// holds nothing up for longer than logWait.
func (g *Gate) logStop(report StopReport, e Event, a *Answer) {
	written := make(chan struct{})
	g.running.add()
	go func() {
		defer g.running.done()
		defer close(written)
		_, _ = guard("log", func() (struct{}, error) {
			g.writeStop(report, e, a)
			return struct{}{}, nil
		})
	}()
	timer := time.NewTimer(logWait)
	defer timer.Stop()
	select {
	case <-written:
	case <-timer.C:
	}
}

func (g *Gate) writeStop(report StopReport, e Event, a *Answer) {
	status, code, text := report.outcome()
	g.cfg.Log.LogAttrs(context.Background(), slog.LevelInfo, "stopped", slog.String("kind", string(report.Kind)),
		slog.String("origin", e.Origin), slog.String("principal", e.Principal), slog.String("reason", report.Reason),
		slog.String("status", string(status)), slog.Int("withdrawn", report.Withdrawn), slog.String("verdicts", text))
	stop := e
	stop.Type, stop.Status, stop.Code = string(report.Kind), status, code
	stop.Reason, stop.Text, stop.DurationMS = report.Reason, text, report.DurationS*1000
	if data, err := json.Marshal(report); err == nil {
		stop.Data = data
	}
	_ = g.emit(stop)
	if a != nil {
		e.Type, e.Status, e.Code, e.Approval = "tool_call", a.Status, a.Code, a.Approval
		e.ResultSummary, e.DurationMS = clip(a.Text, maxSummary), milliseconds(a.Duration)
		_ = g.emit(e)
	}
}

// stopTicket is a stop in flight; there is nothing to cancel.
type stopTicket struct {
	tool   string
	id     string
	done   chan struct{}
	answer Answer // valid once done is closed
}

func (t *stopTicket) ID() string            { return t.id }
func (t *stopTicket) Done() <-chan struct{} { return t.done }
func (t *stopTicket) Cancel(string)         {}
func (t *stopTicket) Answer() Answer {
	select {
	case <-t.done:
		return t.answer
	default:
		return Answer{CallID: t.id, Tool: t.tool, Status: StatusPending, Approval: ApprovalNone, Text: "Stopping."}
	}
}
