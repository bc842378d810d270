// Package control is the bridge's control socket: a Unix socket of mode 0600 in
// the data folder, over which the same user's other processes can stop the robot
// while everything else is busy, see what waits, and take power away: reject and
// revoke. What gives power (approve, opt in, enrol, open a session) is carried here
// too, but only as a statement signed with an enrolled key, which an Operator checks;
// this package knows no key and can't tell a good signature from a bad one (G34).
//
// One connection carries one line with a Request, or the bare word stop or estop, and
// one line with a Reply, or several from the verbs that go on (verbs.go). A stop acts
// before anything else is looked at, malformed or not. It imports gate for its data
// types and must never import a package that can approve.
package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/tau-robot/tau/gate"
)

const (
	maxLine     = 16 << 10        // bytes of a request; a signed statement fits
	maxReply    = 32 << 20        // bytes of a reply
	maxDrain    = 1 << 16         // bytes read and dropped after the reply
	lineTimeout = 2 * time.Second // a peer that connects and says nothing
	maxPeers    = 64              // connections at once; for one more, the oldest without a whole line goes
	maxReason   = 256             // bytes of a reason
)

// Stop stops every backend of the bridge and says what is known of it.
type Stop func(ctx context.Context, kind gate.StopKind, reason string) []gate.StopVerdict

// Server serves the socket.
type Server struct {
	stop   Stop
	op     Operator
	wait   time.Duration // for a peer's line
	l      *net.UnixListener
	path   string
	dir    *os.File // the folder, kept open where the path is too long for a socket
	uid    int
	cancel context.CancelFunc
	ctx    context.Context
	wg     sync.WaitGroup
	peers  peers
	spare  spares
}

// Listen makes the socket and serves it until Close. The caller holds the data
// folder's lock, so that a socket which lies there is a dead bridge's and is
// replaced. Peers of another user are refused; root is let through, since it may
// do anything anyway. op may be nil: then there is nothing but stop and estop.
func Listen(path string, stop Stop, op Operator) (*Server, error) {
	return listen(path, stop, op, lineTimeout)
}

// listen is Listen with the time that a peer has for its line.
func listen(path string, stop Stop, op Operator, wait time.Duration) (*Server, error) {
	if st, err := os.Lstat(path); err == nil {
		if st.Mode().Type() != os.ModeSocket {
			return nil, fmt.Errorf("control socket: %s is there and is not a socket", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("control socket: %w", err)
		}
	}
	addr, dir, err := address(path)
	if err != nil {
		return nil, err
	}
	l, err := listen0600(addr)
	if err != nil {
		if dir != nil {
			_ = dir.Close()
		}
		return nil, fmt.Errorf("control socket: %w", err)
	}
	l.SetUnlinkOnClose(false) // the address may be a /proc name
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{
		stop: stop, op: op, wait: wait, l: l, path: path, dir: dir, uid: os.Geteuid(),
		ctx: ctx, cancel: cancel,
	}
	s.spare.fill()
	s.wg.Add(1)
	go s.accept()
	return s, nil
}

// Close ends the service, removes the socket and waits for what is being
// answered. A stop that was begun goes on in the backend.
func (s *Server) Close() error {
	s.cancel()
	err := s.l.Close()
	s.wg.Wait()
	s.spare.close()
	if rerr := os.Remove(s.path); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	if s.dir != nil {
		err = errors.Join(err, s.dir.Close())
	}
	return err
}

func (s *Server) accept() {
	defer s.wg.Done()
	for {
		c, err := s.l.AcceptUnix()
		scarce := outOfDescriptors(err)
		if scarce {
			c, err = s.acceptSpare()
		}
		if err != nil {
			if s.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			s.spare.fill()
			select { // try again, not in a spin
			case <-s.ctx.Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
			continue
		}
		if !s.peers.admit(c) {
			_ = c.Close()
			continue
		}
		s.wg.Add(1)
		go func() {
			defer s.wg.Done()
			defer s.spare.fill() // after c is closed
			defer s.peers.leave(c)
			s.serve(c, scarce)
		}()
	}
}

// serve answers one peer; where descriptors are scarce, only a stop.
func (s *Server) serve(c *net.UnixConn, scarce bool) {
	defer func() { _ = c.Close() }()
	unblock := context.AfterFunc(s.ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
	defer unblock()
	if !s.answer(c, scarce) {
		return
	}
	// Closing with bytes unread resets the connection, and the peer might lose
	// the reply with it.
	_ = c.CloseWrite()
	if s.ctx.Err() == nil {
		s.readWithin(c, lineTimeout)
		_, _ = io.CopyN(io.Discard, c, maxDrain)
	}
}

// readWithin gives a peer's bytes so long to come, or no time once the server closes.
func (s *Server) readWithin(c *net.UnixConn, d time.Duration) {
	_ = c.SetReadDeadline(time.Now().Add(d))
	if s.ctx.Err() != nil { // closing has set one that must stay
		_ = c.SetReadDeadline(time.Unix(1, 0))
	}
}

// send writes one reply; false: the peer is gone or takes nothing.
func send(c *net.UnixConn, r Reply) bool {
	b, err := json.Marshal(r)
	if err != nil {
		return false
	}
	_ = c.SetWriteDeadline(time.Now().Add(lineTimeout))
	_, err = c.Write(append(b, '\n'))
	return err == nil
}

func refusal(format string, args ...any) Reply {
	return Reply{Code: gate.CodeInvalidArgument, Text: fmt.Sprintf(format, args...)}
}

// answer reads the peer's request and answers it; false: there is nobody to answer.
func (s *Server) answer(c *net.UnixConn, scarce bool) bool {
	uid, err := peerUID(c)
	if err != nil {
		return send(c, refusal("who asks can't be known: %s", err))
	}
	if !mayUse(uid, s.uid) {
		return send(c, refusal("user %d may not use the bridge of user %d", uid, s.uid))
	}
	s.readWithin(c, s.wait)
	line, err := bufio.NewReaderSize(io.LimitReader(c, maxLine), maxLine).ReadSlice('\n')
	req, err := read(line, err)
	if err != nil {
		if s.ctx.Err() != nil {
			return false // the bridge ends, and the peer is no worse than that
		}
		return send(c, refusal("%s", err))
	}
	if !req.stops() {
		if scarce {
			return send(c, failed(gate.Errf(gate.CodeInternal, req.Verb, "the bridge is out of file descriptors, and what is left is for stops")))
		}
		return s.serveVerb(c, req)
	}
	s.peers.act(c)
	defer s.peers.acted(c)
	kind := gate.StopControlled
	if req.Verb == string(gate.StopEmergency) {
		kind = gate.StopEmergency
	}
	// Not the server's context: closing the server must not end a stop.
	return send(c, Reply{OK: true, Verdicts: s.stop(context.WithoutCancel(s.ctx), kind, req.Reason)})
}

// read makes a request of a peer's line, which may have ended in an error. A stop that
// isn't a proper request is a stop all the same (G6).
func read(line []byte, err error) (Request, error) {
	var req Request
	if err == nil || errors.Is(err, io.EOF) {
		req, err = parse(line)
	} else {
		err = fmt.Errorf("no line of at most %d bytes within %s: %w", maxLine, lineTimeout, err)
	}
	if err == nil {
		return req, nil
	}
	verb := looseVerb(line)
	if verb == "" {
		return Request{}, err
	}
	return Request{Verb: verb, Reason: clip("malformed: " + strings.ToValidUTF8(err.Error(), "\uFFFD"))}, nil
}

// mayUse reports whether a user may use the bridge of another: its own, and root.
func mayUse(peer, owner int) bool { return peer == owner || peer == 0 }

// loose finds a stop's verb in a line that isn't a proper request: a bare word at
// its beginning, or the member "verb" anywhere, however that is spelled.
var loose = regexp.MustCompile(`(?:^\s*|(?i:"verb")\s*:\s*")(e?stop)\b`)

// looseVerb returns the verb of a malformed stop, an estop's before a stop's, or "".
func looseVerb(line []byte) (verb string) {
	for _, m := range loose.FindAllSubmatch(line, -1) {
		if verb == "" || string(m[1]) == string(gate.StopEmergency) {
			verb = string(m[1])
		}
	}
	return verb
}

// clip bounds a peer's text: a reason too long must not keep a stop from working.
func clip(s string) string { return gate.Clip(s, maxReason) }

// maxSocketPath is one less than the smallest sun_path in use (104 on macOS).
const maxSocketPath = 103

// address returns a name short enough for a socket at path, and the folder that
// has to stay open while the name is used.
func address(path string) (string, *os.File, error) {
	if len(path) <= maxSocketPath {
		return path, nil, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, fmt.Errorf("control socket: %w", err)
	}
	short := fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))
	if _, err := os.Stat(filepath.Dir(short)); err != nil {
		return "", nil, errors.Join(fmt.Errorf("control socket: the path %s has %d bytes, at most %d can be used here", path, len(path), maxSocketPath), dir.Close())
	}
	return short, dir, nil
}
