package telegram

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/tau-robot/tau/gate"
)

const (
	maxBody     = 4 << 20          // bytes of an answer
	callTimeout = 10 * time.Second // of a call that isn't a poll
	maxShown    = 300              // bytes of Telegram's own words in an error
)

// api calls the Bot API. Nothing that it returns holds the token.
type api struct {
	base  string
	token Token
	http  *http.Client
}

// newTransport is what is used where none is handed in.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   callTimeout,
		MaxIdleConnsPerHost:   4,
		IdleConnTimeout:       90 * time.Second,
		ForceAttemptHTTP2:     true,
		ExpectContinueTimeout: time.Second,
	}
}

func newAPI(base string, token Token, transport http.RoundTripper) *api {
	return &api{base: base, token: token, http: &http.Client{
		Transport: transport,
		// A redirect would carry the token somewhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// apiError is a call that failed.
type apiError struct {
	method string
	code   int           // Telegram's error code, or the status of HTTP; 0: no answer came
	retry  time.Duration // that Telegram wants waited
	moved  int64         // the chat's new id
	big    bool          // the answer was larger than the limit
	text   string
	err    error
}

func (e *apiError) Error() string {
	s := "telegram: " + e.method + ": " + e.text
	if e.code != 0 {
		s += fmt.Sprintf(" (%d)", e.code)
	}
	return s
}

func (e *apiError) Unwrap() error { return e.err }

// forGood reports an answer that a repetition wouldn't change.
func (e *apiError) forGood() bool {
	return e.code >= 400 && e.code < 500 && e.code != http.StatusTooManyRequests && e.code != http.StatusConflict && e.code != http.StatusRequestTimeout
}

// noToken reports that Telegram doesn't know the token.
func noToken(err error) bool {
	var e *apiError
	return errors.As(err, &e) && (e.code == http.StatusUnauthorized || e.code == http.StatusNotFound)
}

// call calls a method and reads its result into out, unless that is nil. It blocks
// until the answer is in, ctx ends, or limit has passed.
func (a *api) call(ctx context.Context, limit time.Duration, method string, in, out any) error {
	fail := func(e apiError) error {
		e.method = method
		e.text = gate.Escape(gate.Clip(a.token.redact(e.text), maxShown))
		return &e
	}
	body, err := jsonv2.Marshal(in)
	if err != nil {
		return fail(apiError{text: "the request can't be written: " + err.Error(), err: err})
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+"/bot"+a.token.secret+"/"+method, bytes.NewReader(body))
	if err != nil {
		return fail(apiError{text: "the request can't be made"}) // the error holds the address
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.http.Do(req)
	if err != nil {
		err = addressless(err)
		return fail(apiError{text: "no answer: " + err.Error(), err: hidden(err)})
	}
	defer func() { _ = resp.Body.Close() }() // what was read is what counts
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		err = addressless(err)
		return fail(apiError{text: "the answer was cut: " + err.Error(), err: hidden(err)})
	case len(b) > maxBody:
		return fail(apiError{text: fmt.Sprintf("the answer is larger than %d bytes", maxBody), big: true})
	}
	var env envelope
	if err := unmarshalLoosely(b, &env); err != nil {
		if resp.StatusCode != http.StatusOK {
			return fail(apiError{code: resp.StatusCode, text: "refused without a reason that can be read"})
		}
		return fail(apiError{text: "the answer isn't what the Bot API gives"})
	}
	switch {
	case !env.OK && env.ErrorCode != 0:
		return fail(apiError{code: env.ErrorCode, text: env.Description, moved: env.Parameters.Migrate, retry: seconds(env.Parameters.RetryAfter)})
	case !env.OK || resp.StatusCode != http.StatusOK:
		return fail(apiError{code: resp.StatusCode, text: env.Description})
	case out == nil:
		return nil
	}
	if err := unmarshalLoosely(env.Result, out); err != nil {
		return fail(apiError{text: "the result isn't what the Bot API gives"})
	}
	return nil
}

// addressless takes the address, and with it the token, off an error of net/http.
func addressless(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		return ue.Err
	}
	return err
}

// hidden keeps of an error only whether it was the end of a context: whoever unwraps
// it further finds nothing that could hold an address.
func hidden(err error) error {
	for _, known := range []error{context.DeadlineExceeded, context.Canceled, io.ErrUnexpectedEOF} {
		if errors.Is(err, known) {
			return known
		}
	}
	return nil
}

const maxRetryAfter = time.Hour

func seconds(n int64) time.Duration {
	return min(max(0, time.Duration(min(n, int64(maxRetryAfter/time.Second)))*time.Second), maxRetryAfter)
}
