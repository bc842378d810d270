package approval

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// tally is how many changes a database has had, kept in a file of its own. SQLite cuts
// a damaged log off after its last whole frame without an error, and begins without a
// log that isn't there; the count in the database is then behind this one, and what
// was decided in between is known to be lost.
//
// It is written after each change of the database that was synced, and so is never
// ahead of what a sound log holds: after kill -9 it is behind by one change at the
// most, after a loss of power by those since it was last synced itself. The file has
// two records in sectors of their own, written in turns, so that one that is cut off
// leaves the other.
type tally struct {
	f      tallyFile
	id     [16]byte // of the database
	n      uint64
	slot   int64 // that holds n; the other one is written next
	synced uint64
}

type tallyFile interface {
	io.ReaderAt
	io.WriterAt
	Sync() error
	Close() error
}

func openTallyFile(path string) (tallyFile, error) { return os.OpenFile(path, os.O_RDWR, 0) }

const (
	tallyMark = "tau-tally 1 "
	tallySize = len(tallyMark) + 32 + 1 + 20 + 1 + 32 + 1 // id, count, check sum
	tallySlot = 512
)

func tallyPath(db string) string { return db + "-tally" }

func tallyRecord(id [16]byte, n uint64) []byte {
	b := fmt.Appendf(nil, "%s%s %020d ", tallyMark, hex.EncodeToString(id[:]), n)
	sum := sha256.Sum256(b)
	return fmt.Appendf(b, "%s\n", hex.EncodeToString(sum[:16]))
}

func parseTally(b []byte) (id [16]byte, n uint64, ok bool) {
	var hexID string
	if _, err := fmt.Sscanf(string(b), tallyMark+"%32s %020d ", &hexID, &n); err != nil {
		return id, 0, false
	}
	raw, err := hex.DecodeString(hexID)
	if err != nil || len(raw) != len(id) {
		return id, 0, false
	}
	copy(id[:], raw)
	return id, n, bytes.Equal(b, tallyRecord(id, n))
}

// newTally makes the file for a database that has had no change yet, or whose changes
// haven't been counted yet. It takes the place of what is there.
func newTally(db string, id [16]byte) error {
	path := tallyPath(db)
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	both := make([]byte, 2*tallySlot)
	copy(both, tallyRecord(id, 0))
	_, err = f.Write(both)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// openTally reads the file of a database.
func openTally(db string, open func(path string) (tallyFile, error)) (*tally, error) {
	f, err := open(tallyPath(db))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, damaged(errors.New("its -tally file, which counts its changes, isn't there, so nobody can tell whether some are lost"))
	}
	if err != nil {
		return nil, err
	}
	t := &tally{f: f}
	if err := t.read(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return t, nil
}

func (t *tally) read() error {
	found := false
	for slot := range int64(2) {
		b := make([]byte, tallySize)
		if _, err := t.f.ReadAt(b, slot*tallySlot); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		id, n, ok := parseTally(b)
		if !ok {
			continue
		}
		if found && id != t.id {
			return damaged(errors.New("its -tally file is of two databases"))
		}
		if !found || n > t.n {
			t.id, t.n, t.slot = id, n, slot
		}
		found = true
	}
	if !found {
		return damaged(errors.New("its -tally file holds no count"))
	}
	t.synced = t.n
	return nil
}

// check compares the file with what its database says.
func (t *tally) check(id []byte, n uint64) error {
	switch {
	case !bytes.Equal(id, t.id[:]):
		return damaged(errors.New("its -tally file is another database's"))
	case n < t.n:
		return damaged(fmt.Errorf("the last %d of its %d changes are lost, as from a damaged or missing -wal file: "+
			"what was refused, stopped or done by them would be asked again", t.n-n, t.n))
	}
	return nil
}

// write records a count.
func (t *tally) write(n uint64) error {
	if n == t.n {
		return nil
	}
	if _, err := t.f.WriteAt(tallyRecord(t.id, n), (1-t.slot)*tallySlot); err != nil {
		return err
	}
	t.n, t.slot = n, 1-t.slot
	return nil
}

// sync makes what was written outlive a loss of power.
func (t *tally) sync() error {
	if t.synced == t.n {
		return nil
	}
	if err := t.f.Sync(); err != nil {
		return err
	}
	t.synced = t.n
	return nil
}

func (t *tally) close() error {
	if t == nil {
		return nil
	}
	return errors.Join(t.sync(), t.f.Close())
}

// counted are the triggers with which each change of a table's rows is counted.
func counted(table string) []string {
	var out []string
	for _, what := range []string{"INSERT", "UPDATE", "DELETE"} {
		out = append(out, fmt.Sprintf(
			"CREATE TRIGGER %s_%s AFTER %s ON %s BEGIN UPDATE tally SET changes = changes + 1; END", table, what, what, table))
	}
	return out
}

// tallied reads the count in a database.
func tallied(ctx context.Context, conn *sql.Conn) (id []byte, n uint64, err error) {
	err = conn.QueryRowContext(ctx, sqlTallied).Scan(&id, &n)
	return id, n, err
}
