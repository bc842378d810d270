package telegramtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"
)

// Token is the token that the stand-in knows.
const Token = "7001:test_token-0123456789abcdefghij"

// Bot is the id of the bot that Token stands for.
const Bot = 7001

// Fault is something that goes wrong with one call of a method.
type Fault struct {
	Status     int           // answers with this status and error code
	RetryAfter int           // s, of a 429
	Delay      time.Duration // before anything else
	Body       string        // is the answer, in the place of Telegram's
	Act        bool          // what was asked for is done all the same
	Cut        bool          // the connection is cut in the place of an answer
	Late       time.Duration // between the act and its answer
	Rewrite    func(text string) string
}

// Message is a message as it stands in a chat.
type Message struct {
	ID      int64
	Chat    int64
	Text    string
	Code    int               // units of the text that are marked as code
	Buttons map[string]string // label to data
	ReplyTo int64
	Edits   int
	Preview bool // addresses in it are fetched
}

// Data returns the data of the button whose label holds a word; "": there is none.
func (m Message) Data(label string) string {
	for l, d := range m.Buttons {
		if strings.Contains(l, label) {
			return d
		}
	}
	return ""
}

// Reply is an answer to a press.
type Reply struct {
	ID    string
	Text  string
	Alert bool
}

// API is the stand-in. Its methods may be called from any goroutine.
type API struct {
	// Patience is how long Wait waits; it may be changed before the stand-in is used.
	Patience time.Duration

	tb testing.TB

	mu       sync.Mutex
	changed  chan struct{}
	updates  []json.RawMessage
	ids      []int64
	nextID   int64
	messages []Message
	sent     map[int64]Message // as they were sent
	nextMsg  int64
	replies  []Reply
	presses  int
	faults   map[string][]Fault
	calls    map[string]int
	poll     chan struct{} // of the poll that is open; closed to end it with 409
	paths    []string
}

// New makes a stand-in whose next update has the id 1000.
func New(tb testing.TB) *API {
	tb.Helper()
	return &API{Patience: 30 * time.Second, tb: tb, changed: make(chan struct{}), nextID: 1000, nextMsg: 50, faults: map[string][]Fault{}, calls: map[string]int{}, sent: map[int64]Message{}}
}

// Serve serves it on loopback and returns its address.
func (a *API) Serve() string {
	s := httptest.NewServer(a)
	a.tb.Cleanup(s.Close)
	a.tb.Cleanup(s.CloseClientConnections)
	return s.URL
}

func (a *API) tell() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// Fault has the next calls of a method go wrong, each as one fault says.
func (a *API) Fault(method string, f ...Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults[method] = append(a.faults[method], f...)
}

// Calls returns how often a method was called.
func (a *API) Calls(method string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls[method]
}

// Push queues an update: its members but the id, as JSON.
func (a *API) Push(members string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.push(members)
}

func (a *API) push(members string) {
	a.raw(a.nextID, fmt.Sprintf(`{"update_id":%d,%s}`, a.nextID, members))
	a.nextID++
}

// Raw queues an update as it is, under an id that needn't be the next.
func (a *API) Raw(id int64, update string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.raw(id, update)
}

func (a *API) raw(id int64, update string) {
	a.updates, a.ids = append(a.updates, json.RawMessage(update)), append(a.ids, id)
	a.tell()
}

// Say sends a message to the bot.
func (a *API) Say(chat, user int64, text string) {
	b, _ := json.Marshal(text)
	a.Push(fmt.Sprintf(`"message":{"message_id":1,"date":1700000000,"from":{"id":%d,"first_name":"P"},"chat":{"id":%d},"text":%s}`, user, chat, b))
}

// Press presses a button of a message as a user, in that message's chat.
func (a *API) Press(user int64, m Message, label string) string {
	return a.PressAs(user, m, m.Data(label))
}

// PressAs is Press with any data and any message.
func (a *API) PressAs(user int64, m Message, data string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.presses++
	id := fmt.Sprintf("press-%d", a.presses)
	text, _ := json.Marshal(m.Text)
	d, _ := json.Marshal(data)
	a.push(fmt.Sprintf(`"callback_query":{"id":%q,"from":{"id":%d,"first_name":"P"},"message":{"message_id":%d,"date":1700000000,"from":{"id":%d,"is_bot":true,"first_name":"B"},"chat":{"id":%d},"text":%s},"data":%s}`,
		id, user, m.ID, Bot, m.Chat, text, d))
	return id
}

// Messages returns every message that the bot has sent, as it stands now.
func (a *API) Messages() []Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.messages)
}

// Sent returns a message as it was sent.
func (a *API) Sent(id int64) Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sent[id]
}

// Adopt takes over the chats of another stand-in, whose bot has ended.
func (a *API) Adopt(from *API) {
	from.mu.Lock()
	defer from.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.messages, a.nextMsg, a.presses = append(slices.Clone(from.messages), a.messages...), from.nextMsg+int64(len(a.messages)), from.presses
	for id, m := range from.sent {
		a.sent[id] = m
	}
}

// Open returns the messages that have buttons.
func (a *API) Open() []Message {
	return slices.DeleteFunc(a.Messages(), func(m Message) bool { return len(m.Buttons) == 0 })
}

// Replies returns the answers to presses.
func (a *API) Replies() []Reply {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.replies)
}

// Paths returns the paths that were asked for, without the token.
func (a *API) Paths() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.paths)
}

// Wait waits until something holds, and fails the test after a while.
func (a *API) Wait(what string, holds func() bool) {
	a.tb.Helper()
	limit := time.NewTimer(a.Patience)
	defer limit.Stop()
	for {
		a.mu.Lock()
		changed := a.changed
		a.mu.Unlock()
		if holds() {
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			a.tb.Fatalf("the Bot API's stand-in never saw: %s; messages %+v; replies %+v", what, a.Messages(), a.Replies())
		}
	}
}

// Card waits for a message with buttons in a chat, and returns the newest.
func (a *API) Card(chat int64) Message {
	a.tb.Helper()
	var got Message
	a.Wait(fmt.Sprintf("a card in chat %d", chat), func() bool {
		for _, m := range a.Open() {
			if m.Chat == chat {
				got = m
			}
		}
		return got.ID != 0
	})
	return got
}

// Reply waits for the answer to a press.
func (a *API) Reply(id string) string {
	a.tb.Helper()
	var text string
	a.Wait("the answer to "+id, func() bool {
		i := slices.IndexFunc(a.Replies(), func(r Reply) bool { return r.ID == id })
		if i >= 0 {
			text = a.Replies()[i].Text
		}
		return i >= 0
	})
	return text
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }

// ServeHTTP is the Bot API.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, "/bot")
	token, method, found := strings.Cut(rest, "/")
	if !ok || !found || token != Token {
		refuse(w, 401, "Unauthorized", 0)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		refuse(w, 400, "Bad Request: not a call", 0)
		return
	}
	f, faulty := a.count(method)
	if f.Delay > 0 {
		t := time.NewTimer(f.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
			return
		}
	}
	var result any
	var bad *refusal
	if !faulty || f.Act || f.Rewrite != nil || f.Status == 0 && f.Body == "" && !f.Cut {
		result, bad = a.do(r, method, body, f)
	}
	if f.Late > 0 {
		t := time.NewTimer(f.Late)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
			return
		}
	}
	switch {
	case f.Cut:
		panic(http.ErrAbortHandler)
	case f.Body != "":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, f.Body)
	case f.Status != 0:
		refuse(w, f.Status, http.StatusText(f.Status), f.RetryAfter)
	case bad != nil:
		refuse(w, bad.code, bad.text, 0)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result})
	}
}

type refusal struct {
	code int
	text string
}

func refuse(w http.ResponseWriter, code int, text string, retry int) {
	v := map[string]any{"ok": false, "error_code": code, "description": text}
	if retry > 0 {
		v["parameters"] = map[string]any{"retry_after": retry}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

// count notes a call and takes its fault.
func (a *API) count(method string) (f Fault, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.tell()
	a.calls[method]++
	a.paths = append(a.paths, method)
	if q := a.faults[method]; len(q) > 0 {
		a.faults[method] = q[1:]
		return q[0], true
	}
	return Fault{}, false
}
