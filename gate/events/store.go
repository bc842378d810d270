package events

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/tau-robot/tau/gate"
)

// Options are what a Store needs.
type Options struct {
	Dir     string    // the data folder; made if it isn't there
	KeyPath string    // "": events.key in Dir; made at first use
	Random  io.Reader // of a new key; nil: crypto/rand
	// Recovered, if set, is told of a log that had to be recovered when it was
	// opened. It is called while the session's first Emit waits, so it must not
	// call Emit for that session.
	Recovered func(session string, r Recovery)
}

// Store writes the event logs of all sessions of a data folder. It is a
// gate.Sink, safe for concurrent use; different sessions don't wait for each other
// once they are open.
type Store struct {
	options Options
	key     []byte

	mu     sync.RWMutex
	logs   map[string]*sessionLog
	closed bool
}

var _ gate.Sink = (*Store)(nil)

// Open makes a store. It opens no log yet.
func Open(o Options) (*Store, error) {
	if o.Dir == "" {
		return nil, errors.New("events: no data folder given")
	}
	if o.KeyPath == "" {
		o.KeyPath = KeyPath(o.Dir)
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	key, err := loadOrMakeKey(o.KeyPath, o.Random)
	if err != nil {
		return nil, err
	}
	return &Store{options: o, key: key, logs: map[string]*sessionLog{}}, nil
}

// KeyPath returns where the key of a data folder's logs is.
func KeyPath(dataDir string) string { return filepath.Join(dataDir, "events.key") }

// Path returns where the log of a session is. The name must be a valid one.
func Path(dataDir, session string) string {
	return filepath.Join(dataDir, "sessions", session, logName)
}

// KeyPathOf returns where the key of the log at path is, for a log that lies in
// its data folder.
func KeyPathOf(path string) string {
	return KeyPath(filepath.Dir(filepath.Dir(filepath.Dir(path))))
}

// ValidSession reports whether name is a session's name: [A-Za-z0-9_-]{1,64}.
func ValidSession(name string) bool {
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 64
}

// Session opens the log of a session, so that a damaged or busy one is known
// before anything needs it. Opening an open one again is fine and says nothing.
// The error is a *Damage, a *gate.Error (BUSY, INVALID_ARGUMENT) or an I/O error.
func (s *Store) Session(name string) (Recovery, error) {
	_, r, err := s.log(name)
	return r, err
}

// Emit appends e to the log of e.SessionID, which it opens if need be. It
// returns once the kernel has the line and its head. After an error the event
// may be in the log or not; the log stays whole, and the next Emit may succeed.
func (s *Store) Emit(e gate.Event) error {
	s.mu.RLock()
	l := s.logs[e.SessionID]
	s.mu.RUnlock()
	if l == nil {
		var err error
		if l, _, err = s.log(e.SessionID); err != nil {
			return err
		}
	}
	return l.emit(&e)
}

// Ready says, without writing an event, whether the next one of a session could
// be recorded: what a failed append left is repaired, and the disk has room.
func (s *Store) Ready(name string) error {
	l, _, err := s.log(name)
	if err != nil {
		return err
	}
	return l.ready()
}

func (s *Store) log(name string) (*sessionLog, Recovery, error) {
	if !ValidSession(name) {
		return nil, Recovery{}, gate.Errf(gate.CodeInvalidArgument, "session_id", "%q is not a session name ([A-Za-z0-9_-], 1 to 64 of them)", name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, Recovery{}, fmt.Errorf("events: %w", fs.ErrClosed)
	}
	if l := s.logs[name]; l != nil {
		return l, Recovery{Lines: l.count()}, nil
	}
	l, r, err := openLog(filepath.Dir(Path(s.options.Dir, name)), name, s.key)
	if err != nil {
		return nil, Recovery{}, err
	}
	s.logs[name] = l
	if !r.Clean() && s.options.Recovered != nil {
		s.options.Recovered(name, r)
	}
	return l, r, nil
}

// Sync waits until the disk has every event that was reported.
func (s *Store) Sync() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var errs []error
	for _, l := range s.logs {
		errs = append(errs, l.sync())
	}
	return errors.Join(errs...)
}

// Close syncs and closes all logs; a later Emit is an error. Closing twice is fine.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for _, l := range s.logs {
		errs = append(errs, l.close())
	}
	clear(s.logs)
	return errors.Join(errs...)
}
