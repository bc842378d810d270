package telegramtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// call is what the methods take, all in one.
type call struct {
	Offset   int64    `json:"offset"`
	Limit    int      `json:"limit"`
	Timeout  int      `json:"timeout"`
	Kinds    []string `json:"allowed_updates"`
	Chat     int64    `json:"chat_id"`
	Message  int64    `json:"message_id"`
	Text     string   `json:"text"`
	Entities []struct {
		Type   string `json:"type"`
		Offset int    `json:"offset"`
		Length int    `json:"length"`
	} `json:"entities"`
	Parse   string `json:"parse_mode"`
	Preview struct {
		Disabled bool `json:"is_disabled"`
	} `json:"link_preview_options"`
	Reply struct {
		Message int64 `json:"message_id"`
		Anyway  bool  `json:"allow_sending_without_reply"`
	} `json:"reply_parameters"`
	Keyboard struct {
		Rows [][]struct {
			Text string `json:"text"`
			Data string `json:"callback_data"`
		} `json:"inline_keyboard"`
	} `json:"reply_markup"`
	Press string `json:"callback_query_id"`
	Alert bool   `json:"show_alert"`
}

func (a *API) do(r *http.Request, method string, body []byte, f Fault) (any, *refusal) {
	var c call
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return nil, &refusal{400, "Bad Request: " + err.Error()}
	}
	switch method {
	case "getMe":
		return map[string]any{"id": Bot, "is_bot": true, "first_name": "B", "username": "tau_test_bot"}, nil
	case "getUpdates":
		return a.getUpdates(r.Context(), c)
	case "sendMessage":
		return a.send(c, f)
	case "editMessageText", "editMessageReplyMarkup":
		return a.edit(c, method == "editMessageText")
	case "answerCallbackQuery":
		return a.answer(c)
	}
	return nil, &refusal{404, "Not Found: method not found"}
}

func (a *API) getUpdates(ctx context.Context, c call) (any, *refusal) {
	a.mu.Lock()
	if a.poll != nil {
		close(a.poll)
	}
	mine := make(chan struct{})
	a.poll = mine
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.poll == mine {
			a.poll = nil
		}
	}()
	t := time.NewTimer(time.Duration(c.Timeout) * time.Second)
	defer t.Stop()
	for {
		a.mu.Lock()
		changed := a.changed
		ups := a.after(c.Offset, c.Limit)
		a.mu.Unlock()
		if len(ups) > 0 || c.Timeout == 0 {
			return ups, nil
		}
		select {
		case <-changed:
		case <-mine:
			return nil, &refusal{409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"}
		case <-ctx.Done():
			return nil, &refusal{500, "gone"}
		case <-t.C:
			return []json.RawMessage{}, nil
		}
	}
}

// after forgets what lies before an offset and returns what comes then. A negative
// offset counts from the end.
func (a *API) after(offset int64, limit int) []json.RawMessage {
	from := 0
	if offset < 0 {
		from = max(0, len(a.ids)+int(offset))
	} else {
		for from < len(a.ids) && a.ids[from] < offset {
			from++
		}
	}
	a.updates, a.ids = a.updates[from:], a.ids[from:]
	if limit <= 0 {
		limit = 100
	}
	return append([]json.RawMessage{}, a.updates[:min(limit, len(a.updates))]...)
}

func (a *API) check(c call) *refusal {
	switch {
	case c.Parse != "":
		return &refusal{400, "Bad Request: the stand-in knows no parse_mode"}
	case strings.TrimSpace(c.Text) == "":
		return &refusal{400, "Bad Request: message text is empty"}
	case units(c.Text) > 4096:
		return &refusal{400, "Bad Request: message is too long"}
	}
	for _, row := range c.Keyboard.Rows {
		for _, b := range row {
			if b.Data == "" || len(b.Data) > 64 {
				return &refusal{400, "Bad Request: BUTTON_DATA_INVALID"}
			}
		}
	}
	for _, e := range c.Entities {
		if e.Type != "pre" || e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > units(c.Text) {
			return &refusal{400, "Bad Request: ENTITY_BOUNDS_INVALID"}
		}
	}
	return nil
}

func (c call) fill(m *Message) {
	m.Buttons, m.Code, m.Preview = map[string]string{}, 0, !c.Preview.Disabled
	for _, row := range c.Keyboard.Rows {
		for _, b := range row {
			m.Buttons[b.Text] = b.Data
		}
	}
	for _, e := range c.Entities {
		m.Code += e.Length
	}
}

func (a *API) send(c call, f Fault) (any, *refusal) {
	if bad := a.check(c); bad != nil {
		return nil, bad
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.tell()
	m := Message{ID: a.nextMsg, Chat: c.Chat, Text: strings.TrimSpace(c.Text), ReplyTo: c.Reply.Message}
	if f.Rewrite != nil {
		m.Text = f.Rewrite(m.Text)
	}
	a.nextMsg++
	c.fill(&m)
	a.messages = append(a.messages, m)
	a.sent[m.ID] = m
	return asMessage(m), nil
}

func asMessage(m Message) any {
	return map[string]any{
		"message_id": m.ID, "date": 1700000000, "chat": map[string]any{"id": m.Chat}, "text": m.Text,
		"from": map[string]any{"id": Bot, "is_bot": true, "first_name": "B"},
	}
}

func (a *API) edit(c call, text bool) (any, *refusal) {
	if text {
		if bad := a.check(c); bad != nil {
			return nil, bad
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.tell()
	for i := range a.messages {
		m := &a.messages[i]
		if m.ID != c.Message || m.Chat != c.Chat {
			continue
		}
		if (!text || m.Text == strings.TrimSpace(c.Text)) && len(m.Buttons) == len(c.Keyboard.Rows) {
			return nil, &refusal{400, "Bad Request: message is not modified"}
		}
		if text {
			m.Text = strings.TrimSpace(c.Text)
		}
		c.fill(m)
		m.Edits++
		return asMessage(*m), nil
	}
	return nil, &refusal{400, "Bad Request: message to edit not found"}
}

func (a *API) answer(c call) (any, *refusal) {
	if len([]rune(c.Text)) > 200 {
		return nil, &refusal{400, "Bad Request: MESSAGE_TOO_LONG"}
	}
	var n int
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.tell()
	if _, err := fmt.Sscanf(c.Press, "press-%d", &n); err != nil || n < 1 || n > a.presses {
		return nil, &refusal{400, "Bad Request: query is too old and response timeout expired or query ID is invalid"}
	}
	a.replies = append(a.replies, Reply{ID: c.Press, Text: c.Text, Alert: c.Alert})
	return true, nil
}

// memory carries requests to the stand-in without a network, so that a test in a
// bubble of testing/synctest can use it.
type memory struct{ api *API }

// Transport returns a way to the stand-in that needs no network.
func (a *API) Transport() http.RoundTripper { return memory{a} }

// RoundTrip serves a request in a goroutine of its own.
func (m memory) RoundTrip(req *http.Request) (*http.Response, error) {
	in := httptest.NewRequestWithContext(req.Context(), req.Method, req.URL.String(), req.Body)
	in.Header = req.Header.Clone()
	done := make(chan *http.Response, 1)
	go func() {
		var resp *http.Response
		defer func() {
			if recover() != nil {
				resp = nil // the connection was cut
			}
			done <- resp
		}()
		rec := httptest.NewRecorder()
		m.api.ServeHTTP(rec, in)
		resp = rec.Result()
	}()
	select {
	case resp := <-done:
		if resp == nil {
			return nil, io.ErrUnexpectedEOF
		}
		return resp, nil
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}
