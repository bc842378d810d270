package mcp

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// sameOrigin reports whether an Origin header names the host that was asked. Unlike
// http.CrossOriginProtection it is asked for GET as well: a GET here opens a stream.
func sameOrigin(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return false
		}
	}
	return true
}

// bearer returns the token of a request that carries exactly one.
func bearer(r *http.Request) (string, bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	return token, ok && strings.EqualFold(scheme, "bearer") && token != ""
}

// bodyError is a body that couldn't be read, with the status to answer.
type bodyError struct {
	status int
	text   string
}

func (e *bodyError) Error() string { return e.text }

// readBody reads the whole body within the limits of size and time. On an error it
// returns what had come: a stop in there still stops.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	rc := http.NewResponseController(w)
	// Without a deadline a half-sent body would hold its goroutine for ever. Writers
	// of tests have none; nothing depends on it there.
	_ = rc.SetReadDeadline(time.Now().Add(s.bodyTimeout))
	b, err := io.ReadAll(io.LimitReader(r.Body, s.maxBody))
	if err == nil && int64(len(b)) == s.maxBody {
		var more [1]byte
		var n int
		if n, err = io.ReadFull(r.Body, more[:]); n > 0 {
			return append(b, more[0]), &bodyError{http.StatusRequestEntityTooLarge, "the body is larger than the limit"}
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	switch {
	case err == nil:
		// The deadline must not end the response. After an error it stays: net/http
		// reads on for a while before it closes, and that has to end as well.
		_ = rc.SetReadDeadline(time.Time{})
		return b, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return b, &bodyError{http.StatusRequestTimeout, "the body took too long"}
	default:
		return b, &bodyError{http.StatusBadRequest, "the body could not be read"}
	}
}

// readRest looks for a stop in what is behind the limit, and keeps none of it. It
// ends with the body, or with the time that the body may take.
func (in *intake) readRest(r io.Reader) {
	part := make([]byte, 32<<10)
	for in.scan != nil {
		n, err := r.Read(part)
		in.feed(part[:n])
		if err != nil {
			return
		}
	}
}

// deadlineWriter gives each write a deadline of its own, so that a client that has
// stopped reading ends its own connection and holds nothing else. The deadline is
// left in place: it also covers what net/http flushes when the handler returns, and
// net/http clears it before the connection's next request.
type deadlineWriter struct {
	http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
}

func (w *deadlineWriter) Write(b []byte) (int, error) {
	_ = w.rc.SetWriteDeadline(time.Now().Add(w.timeout))
	return w.ResponseWriter.Write(b)
}

// FlushError is what http.ResponseController looks for.
func (w *deadlineWriter) FlushError() error {
	_ = w.rc.SetWriteDeadline(time.Now().Add(w.timeout))
	return w.rc.Flush()
}

// Unwrap lets http.ResponseController reach the writer below.
func (w *deadlineWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
