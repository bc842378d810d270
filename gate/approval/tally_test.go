package approval_test

import (
	"bytes"
	"database/sql"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
)

// refusedNo is a database, as kill -9 leaves it, whose last change is a no.
func refusedNo(t *testing.T) (path string, files image) {
	t.Helper()
	path = dbIn(t.TempDir())
	s := openDB(t, path)
	ask(t, s, "a")
	ask(t, s, "b")
	require.NoError(t, s.Finish(t.Context(), "a", gate.Ending{State: gate.RequestRejected, Decider: "ann"}))
	files = imageOf(t, path)
	require.NotEmpty(t, files.wal)
	return dbIn(t.TempDir()), files
}

// SQLite takes a log that is cut off, damaged or gone for one that says less, without
// a word: a no would be asked again, and what was begun as well. It is refused by
// name, and nothing is touched.
func TestG44_ALogThatHasLostADecisionIsRefused(t *testing.T) {
	path, files := refusedNo(t)
	for name, change := range map[string]func(*image){
		"gone":                  func(f *image) { f.wal = nil },
		"empty":                 func(f *image) { f.wal = []byte{} },
		"its last page is gone": func(f *image) { f.wal = f.wal[:len(f.wal)-4096] },
		"a bit of the last page": func(f *image) {
			f.wal = bytes.Clone(f.wal)
			f.wal[len(f.wal)-100] ^= 4
		},
		"a bit of its head": func(f *image) {
			f.wal = bytes.Clone(f.wal)
			f.wal[17] ^= 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := files
			change(&f)
			f.write(t, path)
			for range 2 {
				_, err := approval.OpenSQLite(t.Context(), path, approval.Options{})
				require.ErrorIs(t, err, approval.ErrDamaged)
				require.ErrorContains(t, err, "changes are lost")
				require.ErrorContains(t, err, "move it and its -wal file away")
				require.Equal(t, f, imageOf(t, path))
			}
		})
	}
	// As it was it is taken, with its no.
	files.write(t, path)
	got, err := openDB(t, path).Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, gate.RequestRejected, got.State)
}

// Wherever a log is cut off: what is opened has lost nothing that was reported.
func TestG44_ACutLogIsRefusedOrHasLostNothing(t *testing.T) {
	path, files := refusedNo(t)
	opened := 0
	for left := 0; left <= len(files.wal); left += 1024 {
		f := files
		cut := len(files.wal) - left
		f.wal = files.wal[:cut]
		f.write(t, path)
		s, err := approval.OpenSQLite(t.Context(), path, approval.Options{})
		if err != nil {
			require.ErrorIs(t, err, approval.ErrDamaged)
			continue
		}
		opened++
		got, err := s.Get(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, gate.RequestRejected, got.State, "cut at %d of %d", cut, len(files.wal))
		require.NoError(t, s.Close())
	}
	require.NotZero(t, opened, "the whole one is taken")
}

// The count itself may be cut off as it is written: one of its two records is whole.
func TestG44_ATornCountIsNone(t *testing.T) {
	path, files := refusedNo(t)
	for slot := range 2 {
		f := files
		f.tally = bytes.Clone(files.tally)
		clear(f.tally[slot*512 : slot*512+40])
		f.write(t, path)
		s, err := approval.OpenSQLite(t.Context(), path, approval.Options{})
		require.NoError(t, err, "record %d", slot)
		require.NoError(t, s.Close())
	}
	for name, c := range map[string]struct {
		tally []byte
		says  string
	}{
		"none":          {nil, "isn't there"},
		"empty":         {[]byte{}, "holds no count"},
		"not a count":   {bytes.Repeat([]byte("x"), 1024), "holds no count"},
		"another's":     {otherTally(t), "another database's"},
		"of two":        {append(bytes.Clone(files.tally[:512]), otherTally(t)[:512]...), "of two databases"},
		"a bit is less": {flipped(files.tally), "holds no count"},
	} {
		f := files
		f.tally = c.tally
		f.write(t, path)
		_, err := approval.OpenSQLite(t.Context(), path, approval.Options{})
		require.ErrorIs(t, err, approval.ErrDamaged, name)
		require.ErrorContains(t, err, c.says, name)
		require.Equal(t, f, imageOf(t, path), name)
	}
}

func otherTally(t *testing.T) []byte {
	path := dbIn(t.TempDir())
	openDB(t, path)
	return imageOf(t, path).tally
}

// flipped has a bit of both counts changed.
func flipped(tally []byte) []byte {
	b := bytes.Clone(tally)
	b[60] ^= 1
	b[512+60] ^= 1
	return b
}

// A database of the first version is brought up to this one, with what it holds.
func TestADatabaseOfTheFirstVersionIsTakenOver(t *testing.T) {
	path, files := refusedNo(t)
	files.write(t, path)
	s := openDB(t, path)
	require.NoError(t, s.Close())
	db, err := sql.Open("sqlite", path+"?_pragma=foreign_keys(ON)")
	require.NoError(t, err)
	rows, err := db.Query("SELECT type, name FROM sqlite_schema WHERE name NOT IN ('requests', 'requests_by_state') AND name NOT LIKE 'sqlite_%' AND type IN ('table', 'trigger', 'index') ORDER BY type DESC")
	require.NoError(t, err)
	var drop []string
	for rows.Next() {
		var kind, name string
		require.NoError(t, rows.Scan(&kind, &name))
		if kind != "index" {
			drop = append(drop, "DROP "+kind+" "+name)
		}
	}
	require.NoError(t, rows.Err())
	require.NotEmpty(t, drop)
	for _, q := range append(drop, "PRAGMA user_version = 1") {
		_, err = db.Exec(q)
		require.NoError(t, err, q)
	}
	require.NoError(t, db.Close())
	require.NoError(t, os.Remove(path+"-tally"))
	for range 2 {
		s := openDB(t, path)
		got, err := s.Get(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, gate.RequestRejected, got.State)
		require.Equal(t, "ann", got.Decider)
		require.NoError(t, s.Close())
	}
	s = openDB(t, path)
	c := ask(t, s, "c")
	l, err := s.Claim(t.Context(), c)
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context(), l, time.Now()))
	got, err := s.Get(t.Context(), "b")
	require.NoError(t, err)
	require.True(t, got.GoneOn)
}
