package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// How long what a person permits for more than one call holds (G48, G14).
const (
	defaultPermitFor = 30 * time.Minute
	maxPermitFor     = 8 * time.Hour
	// maxAccess is how many values one request can name, and how many refused ones
	// are remembered for it.
	maxAccess = 16
	// maxReason bounds the one sentence of a reason, in bytes.
	maxReason = 300
)

// accessTool is request_access: it asks for values known only at run time, and moves
// nothing (G48).
type accessTool struct{ g *Gate }

var _ Tool = accessTool{}

func (accessTool) Spec() Spec {
	return Spec{
		Name: toolAccess, Tier: TierPhysical,
		Description: "Asks a person for permission that motions were refused for want of: to enter a guarded zone (zone:NAME, the names are in scene_describe) " +
			"or to move faster than the operator's cap (speed:SCALE). Without values it asks for what was refused in this turn. " +
			"It moves nothing, holds for this session and a limited time, and each motion is still approved by itself.",
		Effect: "Permits what is listed, in this session and for a limited time; nothing moves, and each motion is still asked by itself.",
		Input: Obj(
			Opt("values", Arr(Str(160).Desc("zone:NAME or speed:SCALE"), 0, maxAccess).Desc("What to ask for")),
			Req("reason", Str(maxReason).Desc("Why, in one sentence that the person reads")),
			forSeconds()),
		Output: Obj(Req("granted", Arr(Str(0), 0, 0)), Req("already_granted", Arr(Str(0), 0, 0)), Opt("until", Str(0).Desc("RFC 3339, UTC"))),
	}
}

func forSeconds() Property {
	return Opt("for_s", Num().In("s").Between(1, maxPermitFor.Seconds()).Desc("How long it is to hold, from the approval on").
		Def(fmt.Sprintf("%.0f", defaultPermitFor.Seconds())))
}

func permitFor(seconds *float64) time.Duration {
	if seconds == nil {
		return defaultPermitFor
	}
	return time.Duration(*seconds * float64(time.Second))
}

// access is one request for permission: what its card says and its snapshot holds.
type access struct {
	Version   int           `json:"version"`
	Call      string        `json:"call"`
	Session   Session       `json:"session"`
	Principal string        `json:"principal"`
	Asked     []accessValue `json:"asked"`
	Already   []string      `json:"already"` // granted before, so not asked for
	Reason    string        `json:"reason"`
	For       time.Duration `json:"for_ns"`
	Latest    time.Time     `json:"latest"` // it ends by then, whenever it is approved
}

type accessValue struct {
	Value   string `json:"value"`
	Permits string `json:"permits"` // one English sentence
}

// accessAction is immutable.
type accessAction struct {
	g *Gate
	access
}

var (
	_ Action  = (*accessAction)(nil)
	_ settled = (*accessAction)(nil)
)

// settled is an action of the gate's own that may need nobody's approval, because it
// does nothing: its answer is known already.
type settled interface {
	settled() (Result, bool)
}

const accessVersion = 1

func (t accessTool) Prepare(ctx context.Context, call Call) (Action, error) {
	var in struct {
		Values []string `json:"values"`
		Reason string   `json:"reason"`
		ForS   *float64 `json:"for_s"`
	}
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return nil, Errf(CodeInvalidArgument, "arguments", "%w", err)
	}
	if err := oneSentence(in.Reason); err != nil {
		return nil, err
	}
	values := in.Values
	if len(values) == 0 {
		if values = t.g.wanted.of(call.Session.Name, call.Principal, t.g.turnNameOf(call.ID), t.g.cfg.Now()); len(values) == 0 {
			return nil, Errf(CodeInvalidArgument, "values",
				`name what you need, as in {"values":["zone:NAME"],"reason":"…"} with a guarded zone of scene_describe, or "speed:SCALE"; nothing that could be asked for was refused in this turn`)
		}
	}
	granted, err := t.g.granted(ctx, call.Session, call.Principal)
	if err != nil {
		return nil, err
	}
	now := t.g.cfg.Now()
	x := &accessAction{t.g, access{
		Version: accessVersion, Call: call.ID, Session: call.Session, Principal: call.Principal, Reason: in.Reason,
		Asked: []accessValue{}, Already: []string{},
		For: permitFor(in.ForS), Latest: now.Add(t.g.cfg.RequestTTL).Add(permitFor(in.ForS)).UTC().Truncate(time.Second),
	}}
	for i, v := range values {
		permits, err := t.g.askable(call.Session, v)
		if err != nil {
			return nil, prefix(err, fmt.Sprintf("values[%d]", i))
		}
		switch {
		case slices.Contains(values[:i], v):
		case t.g.standing(call.Session, call.Principal, v), slices.ContainsFunc(granted, func(r Grant) bool { return Covers(r.Value, v) }):
			x.Already = append(x.Already, v)
		default:
			x.Asked = append(x.Asked, accessValue{v, permits})
		}
	}
	return x, nil
}

// oneSentence refuses what isn't one: no text, or several lines of it.
func oneSentence(s string) error {
	switch {
	case strings.TrimSpace(s) == "":
		return Errf(CodeInvalidArgument, "reason", "is empty; say in one sentence why")
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }):
		return Errf(CodeInvalidArgument, "reason", "has a control character or several lines; it is one sentence in one line")
	}
	return nil
}

func (g *Gate) askable(s Session, value string) (string, error) {
	permits, err := guard("access", func() (string, error) { return g.cfg.Access.Askable(s, value) })
	if err == nil && strings.TrimSpace(permits) == "" {
		err = Errf(CodeInternal, "access", "it isn't known what %q would permit, so nobody could be asked", clip(value, 160))
	}
	if err != nil {
		return "", asError(err, CodeInvalidArgument)
	}
	return permits, nil
}

// standing: what can't be looked up isn't permitted.
func (g *Gate) standing(s Session, principal, value string) bool {
	yes, err := guard("access", func() (bool, error) { return g.cfg.Access.Standing(s, principal, value), nil })
	return yes && err == nil
}

// Restore makes the request again as its card was. What it asks for is looked up
// again by Check.
func (t accessTool) Restore(_ context.Context, snapshot []byte) (Action, error) {
	x := &accessAction{g: t.g}
	if err := json.Unmarshal(snapshot, &x.access); err != nil {
		return nil, Errf(CodeInvalidArgument, "snapshot", "%w", err)
	}
	if x.Version != accessVersion || len(x.Asked) == 0 {
		return nil, Errf(CodeInvalidArgument, "snapshot", "is not one of a request for access of version %d", accessVersion)
	}
	return x, nil
}

func (x *accessAction) settled() (Result, bool) {
	if len(x.Asked) > 0 {
		return Result{}, false
	}
	res, err := jsonResult("already granted", accessResult{Granted: []string{}, Already: x.Already})
	return res, err == nil
}

func (x *accessAction) Card() Card {
	var facts []Fact
	for _, v := range x.Asked {
		facts = append(facts, Fact{"Permits", fmt.Sprintf("%q: %s", v.Value, v.Permits)})
	}
	if len(x.Already) > 0 {
		facts = append(facts, Fact{"Granted before", fmt.Sprintf("%q", x.Already)})
	}
	return Card{Facts: append(facts,
		Fact{"Reason given", `"` + x.Reason + `"`},
		Fact{"Holds", holds(x.For, x.Latest)},
		Fact{"Moves", "nothing; each motion is still asked by itself"})}
}

// holds says until when something holds that counts from its approval.
func holds(d time.Duration, latest time.Time) string {
	return fmt.Sprintf("for %v from your answer, until %s at the latest, in this session, or until it is revoked", d, latest.UTC().Format(time.RFC3339))
}

func (x *accessAction) Digest() [32]byte {
	d, err := digestOf("tau access 1", x.access)
	if err != nil { // strings, a duration and a time
		return [32]byte{}
	}
	return d
}

func (x *accessAction) Snapshot() ([]byte, error) { return json.Marshal(x.access) }
func (x *accessAction) Expiry() time.Time         { return time.Time{} }
func (x *accessAction) Resource() string          { return x.Session.Backend }

// Check looks up again what each value would permit: a scene that has changed since
// would make another card.
func (x *accessAction) Check(context.Context) error {
	for _, v := range x.Asked {
		permits, err := x.g.askable(x.Session, v.Value)
		if err != nil {
			return err
		}
		if permits != v.Permits {
			return Errf(CodeNotApproved, v.Value, "would permit something else now than the card said; ask again")
		}
	}
	if Expired(x.g.cfg.Now(), x.Latest) {
		return Errf(CodeRequestExpired, "for_s", "what was asked for ended at %s", x.Latest.Format(time.RFC3339))
	}
	return nil
}

type accessResult struct {
	Granted []string   `json:"granted"`
	Already []string   `json:"already_granted"`
	Until   *time.Time `json:"until,omitempty"`
}

// Run stores the grants, under the card that was approved.
func (x *accessAction) Run(ctx context.Context) (Result, error) {
	by, err := x.g.approvedBy(ctx, x.Call)
	if err != nil {
		return Result{}, err
	}
	now := x.g.cfg.Now()
	until := permitEnd(now, x.For, x.Latest)
	out := accessResult{Granted: []string{}, Already: x.Already, Until: &until}
	all := make([]Grant, len(x.Asked))
	for i, v := range x.Asked {
		id, err := newID(x.g.cfg.Rand)
		if err != nil {
			return Result{}, err
		}
		all[i] = Grant{
			ID: id, Principal: x.Principal, Session: x.Session, Value: v.Value, Reason: x.Reason,
			Card: x.Call, Decider: by, Granted: now, Expires: until,
		}
		out.Granted = append(out.Granted, v.Value)
	}
	if _, err := guard("grants", func() (struct{}, error) { return struct{}{}, x.g.cfg.Grants.AddGrants(ctx, all) }); err != nil {
		x.g.denied(toolAccess, x.Call) // should a part of it have got there
		return Result{}, notStored(err)
	}
	return jsonResult(fmt.Sprintf("Granted until %s: %s. Each motion is still approved by itself.",
		until.Format(time.RFC3339), strings.Join(out.Granted, ", ")), out)
}

// permitEnd is when something ends that counts from now on.
func permitEnd(now time.Time, d time.Duration, latest time.Time) time.Time {
	end := now.Add(d).Round(0).UTC()
	if end.After(latest) {
		return latest
	}
	return end
}

// notStored says of a permission that wasn't stored that nothing was permitted.
func notStored(err error) error {
	e := *asError(err, CodeInternal)
	if e.Code == CodeInternal { // whatever it was, it is known that nothing came of it
		e.Code = CodeNotApproved
	}
	e.Text = "nothing was permitted: " + e.Text
	return &e
}

// approvedBy returns who approved the request of a call that is running. A permission
// is made only out of a stored approval, whatever has called Run.
func (g *Gate) approvedBy(ctx context.Context, callID string) (string, error) {
	r, err := guard("requests", func() (Record, error) { return g.cfg.Requests.Get(ctx, callID) })
	if err != nil {
		return "", notStored(err)
	}
	if r.State != RequestStarted || r.Decision != Approved || r.Decider == "" {
		return "", Errf(CodeNotApproved, "call_id", "%s isn't an approved request that runs; nothing was permitted", callID)
	}
	return r.Decider, nil
}
