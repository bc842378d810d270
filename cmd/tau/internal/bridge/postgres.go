package bridge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
)

// requestStore is where a bridge keeps its requests, grants and routines.
type requestStore interface {
	gate.Requests
	gate.Grants
	gate.Routines
	Close() error
}

// maxSkew is how far this machine's clock may stand from the database's: well within
// what two readings of one clock are allowed to differ by.
const maxSkew = 2 * time.Second

// openStore opens the requests: those of the data folder, or a database that several
// bridges share.
func (h *Host) openStore() error {
	if h.setup.Store == "" {
		db, err := openRequests(h.dir.Join("bridge.db"), h.setup.Now)
		if err != nil {
			return err // not a nil *SQLite in an interface
		}
		h.asked = db
		return nil
	}
	home, err := homeID(h.dir.Join("bridge.id"))
	if err != nil {
		return err
	}
	boot, id := bootClock(), bootID()
	if boot == nil {
		id = ""
	}
	db, err := approval.OpenPostgres(context.Background(), h.setup.Store, approval.PostgresOptions{
		Options: approval.Options{Now: h.setup.Now, Boot: boot, BootID: id},
		Home:    home, Name: bridgeName(h.dir.Path()), MaxSkew: maxSkew, Log: h.Log,
	})
	if err != nil {
		return err
	}
	h.asked, h.share = db, newSharing(h, db)
	return nil
}

// bridgeName is what people at other bridges read.
func bridgeName(dir string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unnamed machine"
	}
	return host + ":" + dir
}

var isHome = regexp.MustCompile(`^[0-9a-f]{32}$`)

// homeID returns the id of the data folder by which a shared database knows its
// bridge, and makes it the first time. It is no secret.
func homeID(path string) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		var id [16]byte
		if _, err := rand.Read(id[:]); err != nil {
			return "", fmt.Errorf("bridge id: %w", err)
		}
		b = []byte(hex.EncodeToString(id[:]) + "\n")
		err = writeNew(path, b)
	}
	if err != nil {
		return "", fmt.Errorf("bridge id: %w", err)
	}
	id := strings.TrimSuffix(string(b), "\n")
	if !isHome.MatchString(id) {
		return "", fmt.Errorf("%s isn't the id of a bridge (32 hex digits); take it away to be another bridge, whose earlier requests in the shared database then stay unanswered", path)
	}
	return id, nil
}

// writeNew writes a file that isn't there yet, whole or not at all.
func writeNew(path string, b []byte) error {
	tmp := path + ".new"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
