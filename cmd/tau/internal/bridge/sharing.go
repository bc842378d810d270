package bridge

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/approver/desk"
	"github.com/tau-robot/tau/gate/approver/signed"
)

// sharing is a bridge's part in a database that it shares with others. It says in there
// which question is open on its desk, hands answers to the desk that another bridge has
// posted, and knows what is open elsewhere, so that a person here can answer that.
//
// A yes that is posted is a signed statement, and the bridge that owns the request
// checks it itself, with a nonce of its own and the keys that it trusts: who can write
// to the database can post nothing that counts. A no needs no key, as at the control
// socket.
type sharing struct {
	h     *Host
	store *approval.Postgres

	cancel context.CancelFunc
	ended  chan struct{}

	looking sync.Mutex // held by the one look at what is open elsewhere

	said map[string]asking // by call: what the database says of the questions here; of serve alone

	mu      sync.Mutex
	ready   map[string]checked // by call: an answer that was checked here, to what is being taken up
	there   []approval.Share   // what is open elsewhere, whole, oldest first
	offered gate.Stamp         // under which that is shown here: a stop has it shown anew
	changed chan struct{}      // closed and made anew with there and offered
}

// asking is a question as the database has it.
type asking struct {
	asking  string // the desk's
	expires time.Time
}

// checked is an answer that counts, until its time is over.
type checked struct {
	digest [32]byte
	word   gate.Word
	until  time.Time
	stamp  gate.Stamp // of the moment at which it was asked for: a stop since then ends it
}

// proof is a signed statement on its way from one bridge to another.
type proof struct {
	Statement []byte `json:"statement"`
	Signature []byte `json:"signature"`
}

const (
	// postWait is how long a person waits here until another bridge has taken the answer.
	postWait = approval.PostLife + time.Second
	// backWait is how long a bridge that seems to have ended may take to be back, before
	// what it asks is taken up here.
	backWait = 3 * time.Second
	// lookEvery is between two looks while somebody waits.
	lookEvery = 50 * time.Millisecond
	// refuseWait bounds the end of a call that another bridge has refused.
	refuseWait = 5 * time.Second
)

func newSharing(h *Host, store *approval.Postgres) *sharing {
	return &sharing{
		h: h, store: store, ended: make(chan struct{}), changed: make(chan struct{}),
		said: map[string]asking{}, ready: map[string]checked{},
	}
}

// begin serves the database until end. Both are without effect on nil.
func (s *sharing) begin() {
	if s == nil {
		return
	}
	s.offered = s.h.Gate.Stamp()
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(s.ended)
		s.serve(ctx)
	}()
}

// end waits until the database isn't served any more.
func (s *sharing) end() {
	if s != nil && s.cancel != nil {
		s.cancel()
		<-s.ended
	}
}

func (s *sharing) desk() *desk.Desk { return s.h.operator.desk }

// serve looks at the database whenever that, or the desk, may have changed, and every
// two seconds in any case.
func (s *sharing) serve(ctx context.Context) {
	for {
		var changed <-chan struct{}
		if d := s.desk(); d != nil {
			changed = d.Changed() // before the look, so that no change is missed
		}
		if s.store.Alive() {
			s.publish(ctx)
			s.deliver(ctx)
		}
		s.look(ctx)
		select {
		case <-s.store.News():
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (s *sharing) open() []desk.Question {
	if d := s.desk(); d != nil {
		return d.Open()
	}
	return nil
}

func (s *sharing) question(id string) (desk.Question, bool) {
	for _, q := range s.open() {
		if q.Request.CallID == id {
			return q, true
		}
	}
	return desk.Question{}, false
}

// publish says which question is open here, with a nonce for whoever is to sign the
// answer elsewhere; a nonce that won't hold much longer gets a successor.
func (s *sharing) publish(ctx context.Context) {
	if !s.h.answerable() {
		return
	}
	now := s.h.setup.Now()
	open := map[string]asking{}
	for _, q := range s.open() {
		id := q.Request.CallID
		if was, ok := s.said[id]; ok && was.asking == q.Nonce && was.expires.Sub(now) > signed.NonceLife/2 {
			open[id] = was
			continue
		}
		nonce, expires, err := s.h.operator.nonces.Issue(signed.AboutRequest(signed.Approve, q.Request, q.Nonce), now)
		if err == nil {
			err = s.store.Asks(ctx, id, nonce, expires)
		}
		if err != nil {
			s.complain(ctx, "an open question could not be told to other bridges", id, err)
			continue
		}
		open[id] = asking{q.Nonce, expires}
	}
	s.said = open
}

// complain logs what failed, unless it is the end.
func (s *sharing) complain(ctx context.Context, what, id string, err error) {
	if ctx.Err() == nil {
		s.h.Log.Error(what, "call_id", id, "err", err)
	}
}

// deliver hands answers to the desk: those that others have posted, and those that
// were checked here to what has been taken up.
func (s *sharing) deliver(ctx context.Context) {
	ids, says, err := s.store.Posted(ctx)
	if err != nil {
		s.complain(ctx, "what other bridges have posted could not be read", "", err)
		return
	}
	for i, id := range ids {
		if _, open := s.question(id); !open && says[i] == gate.Approved {
			continue // its turn may come in time
		}
		p, ok, err := s.store.Take(ctx, id)
		if err == nil && ok {
			err = s.accept(ctx, p)
		}
		if err == nil {
			continue
		}
		s.complain(ctx, "an answer that another bridge has posted wasn't taken", id, err)
		if err := s.store.Says(ctx, id, err.Error()); err != nil {
			s.complain(ctx, "that an answer wasn't taken could not be told", id, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.h.setup.Now()
	for id, c := range s.ready {
		q, open := s.question(id)
		late := gate.Expired(now, c.until)
		stopped := s.h.Gate.Stamp() != c.stamp
		if !open && !late && !stopped {
			continue
		}
		delete(s.ready, id)
		if stopped {
			continue // and so is the request
		}
		if late {
			s.h.Log.Warn("what was taken up from another bridge wasn't asked in time; it is asked now", "call_id", id)
			continue
		}
		if err := s.desk().Answer(desk.Answer{ID: id, Digest: c.digest, Nonce: q.Nonce, Word: c.word}); err != nil {
			s.complain(ctx, "an answer to what was taken up wasn't taken", id, err)
		}
	}
}

// accept checks a posted answer and hands it in.
func (s *sharing) accept(ctx context.Context, p approval.Posting) error {
	if p.Decision == gate.Rejected {
		ctx, cancel := context.WithTimeout(ctx, refuseWait)
		defer cancel()
		return s.h.Gate.Refuse(ctx, p.ID, p.By, p.Reason)
	}
	var m proof
	if err := json.Unmarshal(p.Proof, &m); err != nil {
		return gate.Errf(gate.CodeNotApproved, "proof", "is no signed statement: %w", err)
	}
	a, err := s.h.check(signed.Message{Statement: m.Statement, Signature: m.Signature}, "another bridge", signed.Approve)
	if err != nil {
		return err
	}
	if a.Statement.ID != p.ID {
		return gate.Errf(gate.CodeNotApproved, "proof", "is about another request")
	}
	return s.h.answer(a, "another bridge")
}

// look reads what is open elsewhere, and tells whoever watches where that has changed.
func (s *sharing) look(ctx context.Context) {
	s.looking.Lock()
	defer s.looking.Unlock()
	list, err := s.store.Shares(ctx, s.h.setup.Now())
	if err != nil {
		s.complain(ctx, "what other bridges ask could not be read", "", err)
		return
	}
	s.mu.Lock()
	before := s.there
	s.mu.Unlock()
	var there []approval.Share
	changed := len(list) != len(before)
	for i, x := range list {
		k := slices.IndexFunc(before, func(b approval.Share) bool {
			return b.Record.Request.CallID == x.Record.Request.CallID && b.Record.Request.Digest == x.Record.Request.Digest
		})
		if k >= 0 { // what a card says never changes; all else may
			whole := before[k]
			changed = changed || k != i || whole.Lives != x.Lives || (whole.Nonce == "") != (x.Nonce == "")
			x.Record.Request = whole.Record.Request
			there = append(there, x)
			continue
		}
		changed = true
		if x, err = s.store.Share(ctx, x.Record.Request.CallID); err == nil && x.Record.Owner != "" && x.Record.State == gate.RequestPending {
			there = append(there, x)
		}
	}
	stamp := s.h.Gate.Stamp()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.there = there
	if changed || s.offered != stamp {
		s.tell(stamp)
	}
}

// watch returns what is open elsewhere, and a channel that closes when that changes.
func (s *sharing) watch() ([]approval.Share, <-chan struct{}) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.there), s.changed
}

// questions are those that are open elsewhere, and can be answered here.
func (s *sharing) questions() []desk.Question {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []desk.Question
	for _, x := range s.there {
		if x.Nonce != "" || !x.Lives {
			out = append(out, desk.Question{Request: x.Record.Request.Clone(), Nonce: offeredAs(s.offered) + x.Record.Owner})
		}
	}
	return out
}

// find returns a request that another bridge has, as it is now.
func (s *sharing) find(ctx context.Context, id string) (approval.Share, bool, error) {
	if s == nil {
		return approval.Share{}, false, nil
	}
	if _, mine := s.question(id); mine {
		return approval.Share{}, false, nil
	}
	x, err := s.store.Share(ctx, id)
	if gate.CodeOf(err) == gate.CodeInvalidArgument { // there is none
		return approval.Share{}, false, nil
	}
	return x, err == nil && x.Record.Owner != "" && x.Record.State == gate.RequestPending, err
}

// challenge is the nonce that a statement about another bridge's request is made with:
// that bridge's own, or, where it has ended, one of this bridge, which then takes the
// request up. ok: there is such a request.
func (s *sharing) challenge(ctx context.Context, id string) (c *control.Challenge, ok bool, err error) {
	x, ok, err := s.find(ctx, id)
	if err != nil || !ok {
		return nil, ok, err
	}
	s.mu.Lock()
	stamp := s.offered
	s.mu.Unlock()
	if s.h.Gate.Stamp() != stamp { // the card is about to go
		return nil, true, errStopCame()
	}
	i := control.ItemOf(x.Record.Request)
	i.Open = true
	c = &control.Challenge{Nonce: x.Nonce, Expires: x.Until, Request: &i}
	switch {
	case !x.Lives:
		c.Nonce, c.Expires, err = s.h.operator.nonces.Issue(signed.AboutRequest(signed.Approve, x.Record.Request, takenUp(stamp)), s.h.setup.Now())
	case x.Nonce == "":
		err = gate.Errf(gate.CodeInProgress, "call_id", "it isn't open at bridge %s: it waits for its turn there, or no operator's key is trusted there", x.Record.Owner)
	}
	return c, true, err
}

// approve does with a signed approval what has to be done where it is about another
// bridge's request: posts it, or takes the request up. ok: it is.
func (s *sharing) approve(ctx context.Context, m control.Signed) (text string, ok bool, err error) {
	if s == nil {
		return "", false, nil
	}
	id := ""
	if st, err := signed.ParseStatement(m.Statement); err == nil { // else whoever checks it says so
		id = st.ID
	}
	x, ok, err := s.find(ctx, id)
	if err != nil || !ok {
		return "", ok, err
	}
	if !x.Lives {
		a, err := s.h.check(signed.Message{Statement: m.Statement, Signature: m.Signature}, "control", signed.Approve)
		if err != nil {
			return "", true, err
		}
		return "approved", true, s.takeUp(ctx, a, x.Record.Owner)
	}
	b, err := json.Marshal(proof(m))
	if err != nil {
		return "", true, gate.Errf(gate.CodeInternal, "proof", "%w", err)
	}
	return "approved", true, s.post(ctx, x, approval.Posting{ID: id, Digest: x.Record.Request.Digest, Decision: gate.Approved, By: "control", Proof: b})
}

// reject posts a no to a bridge that lives. ok: the request is such a one's.
func (s *sharing) reject(ctx context.Context, id string, by string, why gate.Reason) (ok bool, err error) {
	x, ok, err := s.find(ctx, id)
	if err != nil || !ok || !x.Lives {
		return false, err
	}
	return true, s.post(ctx, x, approval.Posting{ID: id, Digest: x.Record.Request.Digest, Decision: gate.Rejected, By: by, Reason: why})
}

// post leaves an answer for another bridge and waits until that has taken it.
func (s *sharing) post(ctx context.Context, x approval.Share, p approval.Posting) error {
	if err := s.store.Post(ctx, p); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, postWait)
	defer cancel()
	for {
		now, err := s.store.Share(ctx, p.ID)
		switch {
		case ctx.Err() != nil:
			return gate.Errf(gate.CodeDisconnected, "call_id", "bridge %s hasn't taken the answer in time; look at the request again", x.Record.Owner)
		case err != nil:
			return err
		case now.Said != "":
			return gate.Errf(gate.CodeNotApproved, "call_id", "bridge %s: %s", x.Record.Owner, now.Said)
		case decidedAs(now.Record, p.Decision):
			s.look(ctx) // so that it isn't shown here any more
			return nil
		case now.Record.State != gate.RequestPending:
			return gate.Errf(gate.CodeInProgress, "call_id", "it has ended otherwise: it is %s", now.Record.State)
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
		}
	}
}

// decidedAs reports that a request isn't open any more because of such a decision.
func decidedAs(r gate.Record, d gate.Decision) bool {
	return r.State != gate.RequestPending && r.Decision == d
}

// takeUp asks here what another bridge left, and answers it with what has been signed.
func (s *sharing) takeUp(ctx context.Context, a signed.Accepted, owner string) error {
	if s.desk() == nil {
		return gate.Errf(gate.CodeNotSupported, "call_id", "this bridge takes no answers from outside")
	}
	stamp, ok := stampOf(a.Asking)
	if !ok {
		return gate.Errf(gate.CodeInProgress, "call_id", "its bridge has ended since this was signed; look at the request again")
	}
	id := a.Statement.ID
	if err := s.h.sink.Emit(s.h.note("request " + id + " of bridge " + owner + ", which has ended, was approved here and is being taken up")); err != nil {
		return err
	}
	// A database that restarts cuts all bridges off for a moment.
	for deadline := time.Now().Add(backWait); time.Now().Before(deadline); {
		x, err := s.store.Share(ctx, id)
		switch {
		case err != nil:
			return err
		case s.h.Gate.Stamp() != stamp:
			return errStopCame()
		case x.Lives:
			return gate.Errf(gate.CodeInProgress, "call_id", "bridge %s lives; look at the request again", x.Record.Owner)
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return gate.Errf(gate.CodeCancelled, "call_id", "%w", context.Cause(ctx))
		}
	}
	now := s.h.setup.Now()
	s.mu.Lock()
	s.ready[id] = checked{
		digest: a.Statement.Digest, stamp: stamp, until: now.Add(approval.PostLife),
		word: gate.Word{Decision: gate.Approved, Reason: "signed, over attach, taken up from another bridge", By: decider(a.Key, s.h.operator.ring.Root())},
	}
	s.mu.Unlock()
	err := s.h.Gate.TakeUp(ctx, id, stamp, func(ctx context.Context) error { return s.store.Adopt(ctx, id) })
	if err != nil {
		s.mu.Lock()
		delete(s.ready, id)
		s.mu.Unlock()
		return err
	}
	s.h.Log.Warn("a request of another bridge, which has ended, was taken up", "call_id", id, "bridge", owner)
	return nil
}

// outcome is how a request of another bridge ended, as far as the database says.
func (s *sharing) outcome(ctx context.Context, id string) outcome {
	if s == nil {
		return outcome{}
	}
	x, err := s.store.Share(ctx, id)
	if err != nil || x.Record.Owner == "" {
		return outcome{}
	}
	switch r := x.Record; {
	case r.State == gate.RequestPending:
		return outcome{}
	case r.Decision == gate.Approved:
		return outcome{"approved", r.Decider}
	case r.State == gate.RequestExpired:
		return outcome{how: "timeout"}
	default:
		return outcome{string(r.State), r.Decider}
	}
}
