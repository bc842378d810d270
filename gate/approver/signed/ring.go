package signed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tau-robot/tau/gate"
)

// Folder is the name of the ring's folder in the data folder.
const Folder = "devices"

// maxKeys bounds a ring.
const maxKeys = 256

// Ring is the enrolled keys: a folder with a file for each, read anew at each look.
// It trusts one key, the operator's, that it was told of when it was opened, and the
// entries that this key has signed; what else lies in the folder counts for nothing and
// is told by Problems. A key that was seen revoked stays so for this process, whatever
// the file says later. Any goroutine may call the methods; they block for the disk only.
type Ring struct {
	dir  string
	root string // the operator's key; "": none is trusted

	mu      sync.Mutex
	revoked map[string]time.Time
}

var _ Keys = (*Ring)(nil)

// OpenRing returns the ring of a data folder that trusts the operator's key root, an
// id; "" trusts none. Nothing is read yet.
func OpenRing(dataDir, root string) *Ring {
	return &Ring{dir: filepath.Join(dataDir, Folder), root: root, revoked: map[string]time.Time{}}
}

// Root returns the id of the operator's key; "": none is trusted.
func (r *Ring) Root() string { return r.root }

// Enrolled reports whether somebody could sign now: the operator's key is there, is
// the one that is trusted, and isn't revoked.
func (r *Ring) Enrolled() bool {
	_, err := r.Find(r.root)
	return err == nil
}

// Find returns the entry of a key that may sign now, or a *Refusal.
func (r *Ring) Find(id string) (Entry, error) {
	deny := func(reason gate.Reason, format string, args ...any) (Entry, error) {
		no := refuse(reason, format, args...)
		no.Key = id
		return Entry{}, no
	}
	if r.root == "" {
		return deny(ReasonRing, "this bridge has been told of no operator's key: start it with --operator-key")
	}
	if !hexKey.MatchString(id) {
		return deny(ReasonUnknown, "%q is no key's id", id)
	}
	if err := checkFolder(r.dir); err != nil {
		return deny(ReasonRing, "%s", err)
	}
	root, err := r.read(r.root)
	switch {
	case err != nil:
		return deny(ReasonRing, "the operator's key %s can't be read: %s", r.root, err)
	case root.Kind != KindOperator:
		return deny(ReasonRing, "the key %s is no operator's", r.root)
	case !root.Revoked.IsZero():
		return deny(ReasonRevoked, "the operator's key %s was revoked at %s, and with it all that it has signed", r.root, root.Revoked.UTC().Format(time.RFC3339))
	case id == r.root:
		return root, nil
	}
	e, err := r.read(id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return deny(ReasonUnknown, "the key %s isn't enrolled", id)
	case err != nil:
		return deny(ReasonUnknown, "%s", err)
	case !e.Revoked.IsZero():
		return deny(ReasonRevoked, "the key %s was revoked at %s", id, e.Revoked.UTC().Format(time.RFC3339))
	}
	return e, nil
}

// read reads one entry and checks that the operator's key has signed it.
func (r *Ring) read(id string) (Entry, error) {
	path := r.path(id)
	e, err := readEntry(path)
	if err != nil {
		return Entry{}, err
	}
	if e.ID != id {
		return Entry{}, distrust(path, "holds the key %s", e.ID)
	}
	public := e.Public
	if id != r.root {
		root, err := readEntry(r.path(r.root))
		if err != nil {
			return Entry{}, err
		}
		public = root.Public // whose hash is the id that is trusted; readEntry has compared
		if root.ID != r.root {
			return Entry{}, distrust(r.path(r.root), "holds the key %s", root.ID)
		}
	}
	if !verify(public, e.entryBytes(), e.Signature) {
		return Entry{}, distrust(path, "isn't signed by the operator's key %s", r.root)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.revoked[id]; ok {
		e.Revoked = at
	} else if !e.Revoked.IsZero() {
		r.revoked[id] = e.Revoked
	}
	return e, nil
}

func (r *Ring) path(id string) string { return filepath.Join(r.dir, id+".json") }

// List returns the entries that count, revoked ones too, oldest first, and for each
// thing in the folder that doesn't count an error that names it.
func (r *Ring) List() ([]Entry, []error) {
	if err := checkFolder(r.dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, []error{err}
	}
	names, err := os.ReadDir(r.dir)
	if err != nil {
		return nil, []error{distrust(r.dir, "can't be read: %w", err)}
	}
	var out []Entry
	var problems []error
	for _, n := range names {
		id, ok := strings.CutSuffix(n.Name(), ".json")
		switch {
		case strings.HasPrefix(n.Name(), ".new-"): // one that is being written, or was when the power went
		case !ok || !hexKey.MatchString(id):
			problems = append(problems, distrust(filepath.Join(r.dir, n.Name()), "is no key's file"))
		case len(out) >= maxKeys:
			problems = append(problems, distrust(r.dir, "holds more than %d keys", maxKeys))
			return out, problems
		default:
			e, err := r.read(id)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b Entry) int { return a.Created.Compare(b.Created) })
	return out, problems
}

// Add enrols a key whose entry the operator's key has signed. One that is there, or
// that was revoked, is an *gate.Error.
func (r *Ring) Add(e Entry) error {
	if err := e.check(); err != nil {
		return err
	}
	root, err := r.Find(r.root)
	if err != nil {
		return err
	}
	if !verify(root.Public, e.entryBytes(), e.Signature) {
		return refuse(ReasonSignature, "the entry of %s isn't signed by the operator's key %s", e.ID, r.root)
	}
	e.Revoked = time.Time{}
	return writeJSON(r.path(e.ID), e.file(), true)
}

// Revoke takes a key's power away, from now on; revoking it again changes nothing.
// The operator's own key can be revoked too, and with it all others. It is revoked for
// this process even where an error says that the file couldn't be written.
func (r *Ring) Revoke(id string, now time.Time) error {
	if !hexKey.MatchString(id) {
		return bad("key", "%q is no key's id", id)
	}
	e, err := r.read(id)
	if errors.Is(err, fs.ErrNotExist) {
		return bad("key", "the key %s isn't enrolled", id)
	}
	r.mu.Lock()
	if _, again := r.revoked[id]; !again {
		r.revoked[id] = now.UTC().Truncate(time.Second)
	}
	e.Revoked = r.revoked[id]
	r.mu.Unlock()
	if err != nil {
		return fmt.Errorf("the key is revoked in this process; its file can't be: %w", err)
	}
	return writeJSON(r.path(id), e.file(), false)
}

// InitRing makes the folder where it is missing, and puts the operator's own entry in.
func InitRing(dataDir string, own Entry) error {
	dir := filepath.Join(dataDir, Folder)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return gate.Errf(gate.CodeInternal, dir, "%w", err)
	}
	if err := checkFolder(dir); err != nil {
		return err
	}
	if err := own.check(); err != nil {
		return err
	}
	if own.Kind != KindOperator || !verify(own.Public, own.entryBytes(), own.Signature) {
		return bad("entry", "isn't an operator's, signed by itself")
	}
	return writeJSON(filepath.Join(dir, own.ID+".json"), own.file(), true)
}
