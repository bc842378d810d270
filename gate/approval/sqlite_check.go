package approval

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// present reports whether there is a database at path. A log without its database
// isn't an empty store: it is what is left of one.
func present(path string) (bool, error) {
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
			return false, damaged(errors.New("its -wal file is there and it isn't"))
		}
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !st.Mode().IsRegular() {
		return false, fmt.Errorf("%w: it is no regular file (%s)", ErrDamaged, st.Mode().Type())
	}
	return true, nil
}

// The head of an SQLite file (SQLite file format, section 1.3).
const (
	headSize       = 100
	headVersionAt  = 60
	headIdentityAt = 68
	headMagic      = "SQLite format 3\x00"
)

// checkCopy checks a database in whole, and returns its version. SQLite would replay
// a log, or write what it holds into the file when it is closed, before anybody could
// say that either isn't sound; so a copy is looked at, which is thrown away.
func checkCopy(ctx context.Context, path string) (version int, err error) {
	if err := checkHead(path); err != nil {
		return 0, err
	}
	dir := path + ".check"
	if err := os.RemoveAll(dir); err != nil { // of a check that was cut off
		return 0, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	twin := filepath.Join(dir, "copy.db")
	if err := copyFile(path, twin); err != nil {
		return 0, err
	}
	if err := copyFile(path+"-wal", twin+"-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	db, conn, err := connect(ctx, twin)
	if err != nil {
		return 0, unsound(err)
	}
	defer func() { err = errors.Join(err, conn.Close(), db.Close()) }()
	if version, err = checkForm(ctx, conn); err != nil {
		return 0, err
	}
	if version < schemaVersion { // it is looked at as what it will be
		if err := migrate(ctx, conn, version, [16]byte{}); err != nil {
			return 0, unsound(err)
		}
	} else if err := checkTally(ctx, conn, path); err != nil {
		return 0, err
	}
	return version, checkRows(ctx, conn)
}

// checkTally holds a database against the count of its changes that is kept apart.
func checkTally(ctx context.Context, conn *sql.Conn, path string) (err error) {
	id, n, err := tallied(ctx, conn)
	if err != nil {
		return unsound(err)
	}
	t, err := openTally(path, openTallyFile)
	if err != nil {
		return err
	}
	return errors.Join(t.check(id, n), t.close())
}

// checkHead looks at the file's first bytes: what isn't ours is never opened.
func checkHead(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	head := make([]byte, headSize)
	if _, err := io.ReadFull(f, head); err != nil {
		return damaged(fmt.Errorf("it is shorter than the head of a database: %w", err))
	}
	if !bytes.HasPrefix(head, []byte(headMagic)) {
		return damaged(errors.New("it is not an SQLite database"))
	}
	return marks(binary.BigEndian.Uint32(head[headIdentityAt:]), binary.BigEndian.Uint32(head[headVersionAt:]))
}

func marks(identity, version uint32) error {
	switch {
	case identity != applicationID:
		return damaged(fmt.Errorf("it is a database of another program (application id %#x)", identity))
	case version > schemaVersion:
		return fmt.Errorf("%w (schema %d, this program knows %d); nothing of it was changed: use the version that wrote it, "+
			"or move it and its -wal file away to begin without requests", ErrNewer, version, schemaVersion)
	case version < 1:
		return damaged(fmt.Errorf("it says that its schema is number %d", version))
	}
	return nil
}

// checkForm checks marks, schema, structure and constraints.
func checkForm(ctx context.Context, conn *sql.Conn) (version int, err error) {
	var identity, v uint32
	if err := conn.QueryRowContext(ctx, "PRAGMA application_id").Scan(&identity); err != nil {
		return 0, unsound(err)
	}
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v); err != nil {
		return 0, unsound(err)
	}
	if err := marks(identity, v); err != nil {
		return 0, err
	}
	var ok string
	if err := conn.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&ok); err != nil {
		return 0, unsound(err)
	}
	if ok != "ok" {
		return 0, damaged(errors.New(ok))
	}
	if err := checkSchema(ctx, conn, int(v)); err != nil {
		return 0, unsound(err)
	}
	return int(v), nil
}

// checkRows checks every row's sum.
func checkRows(ctx context.Context, conn *sql.Conn) error {
	rows, err := conn.QueryContext(ctx, sqlLight+`, answer, drawing, snapshot FROM requests`)
	if err != nil {
		return unsound(err)
	}
	defer func() { _ = rows.Close() }() // Err is looked at
	for rows.Next() {
		if _, err := scanFull(rows); err != nil {
			return unsound(err)
		}
	}
	if err := rows.Err(); err != nil {
		return unsound(err)
	}
	if err := checkPermits(ctx, conn); err != nil {
		return unsound(err)
	}
	return nil
}

func checkSchema(ctx context.Context, conn *sql.Conn, version int) error {
	want := schemaOf(version)
	rows, err := conn.QueryContext(ctx, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err is looked at
	i := 0
	for ; rows.Next(); i++ {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		if i >= len(want) || text != want[i] {
			return fmt.Errorf("its schema has something else at place %d than schema %d does", i+1, version)
		}
	}
	if i != len(want) && rows.Err() == nil {
		return fmt.Errorf("its schema has %d parts, schema %d has %d", i, version, len(want))
	}
	return rows.Err()
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
