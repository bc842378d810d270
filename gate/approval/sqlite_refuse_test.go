package approval_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
)

func openDB(t testing.TB, path string) *approval.SQLite {
	t.Helper()
	s, err := approval.OpenSQLite(t.Context(), path, approval.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func ask(t testing.TB, s gate.Requests, id string) gate.Claim {
	t.Helper()
	now := time.Now()
	req := gate.Request{
		CallID: id, Tool: "move", Tier: gate.TierPhysical, Args: []byte(`{"to":1}`), Effect: "Moves.",
		Session: gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim"}, Principal: "p", Digest: [32]byte{4, 2},
		Card:  gate.Card{Facts: []gate.Fact{{Label: "Duration", Text: "2 s"}}, Data: []byte(`{"a":1}`)},
		Asked: now, Expiry: now.Add(10 * time.Minute),
	}
	secret, err := s.Open(t.Context(), req, []byte("the snapshot of "+id))
	require.NoError(t, err)
	return gate.Claim{ID: id, Digest: req.Digest, Secret: secret, Worker: "w", Decider: "d", Now: now}
}

// filled makes a database with a request in each of several states; live also
// returns its files while it is open, with everything still in the log.
func filled(t *testing.T) (closed, live image, want map[string]gate.Record) {
	t.Helper()
	path := dbIn(t.TempDir())
	s, err := approval.OpenSQLite(t.Context(), path, approval.Options{})
	require.NoError(t, err)
	want = map[string]gate.Record{}
	for i := range 12 {
		id := fmt.Sprintf("request-%d", i)
		c := ask(t, s, id)
		if i%3 > 0 {
			l, err := s.Claim(t.Context(), c)
			require.NoError(t, err)
			require.NoError(t, s.Start(t.Context(), l, time.Now()))
		}
		if i%3 > 1 {
			require.NoError(t, s.Finish(t.Context(), id, gate.Ending{State: gate.RequestDone, Answer: []byte(`{"status":"ok"}`)}))
		}
		want[id], err = s.Get(t.Context(), id)
		require.NoError(t, err)
	}
	live = imageOf(t, path)
	require.NoError(t, s.Close())
	closed = imageOf(t, path)
	require.Nil(t, closed.wal)
	return closed, live, want
}

func TestARefusedDatabaseIsNamedAndLeftAsItIs(t *testing.T) {
	closed, live, _ := filled(t)
	edit := func(statements ...string) image {
		path := dbIn(t.TempDir())
		closed.write(t, path)
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		for _, q := range statements {
			_, err = db.Exec(q)
			require.NoError(t, err, q)
		}
		require.NoError(t, db.Close())
		return imageOf(t, path)
	}
	for name, c := range map[string]struct {
		files image
		is    error
		says  string
	}{
		"newer":              {edit("PRAGMA user_version = 3"), approval.ErrNewer, "schema 3, this program knows 2"},
		"newer in the log":   {image{live.db, newerLog(t, closed), live.tally}, approval.ErrNewer, "schema 7"},
		"older than any":     {edit("PRAGMA user_version = 0"), approval.ErrDamaged, "schema is number 0"},
		"another program's":  {edit("PRAGMA application_id = 7"), approval.ErrDamaged, "another program"},
		"text":               {image{db: bytes.Repeat([]byte("precious notes "), 20)}, approval.ErrDamaged, "not an SQLite database"},
		"empty":              {image{db: []byte{}}, approval.ErrDamaged, "shorter than the head"},
		"empty with a log":   {image{db: []byte{}, wal: live.wal}, approval.ErrDamaged, "shorter than the head"},
		"a log alone":        {image{wal: live.wal}, approval.ErrDamaged, "-wal file is there and it isn't"},
		"cut":                {image{db: closed.db[:len(closed.db)/2]}, approval.ErrDamaged, ""},
		"another schema":     {edit("CREATE TABLE more (a INT) STRICT"), approval.ErrDamaged, "its schema has "},
		"a schema with less": {edit("DROP INDEX requests_by_state"), approval.ErrDamaged, "its schema has something else at place 2"},
		"a column more":      {edit("ALTER TABLE requests ADD COLUMN more INT"), approval.ErrDamaged, "its schema has something else at place 1"},
		"a request changed":  {edit("UPDATE requests SET args = CAST('{\"to\":9}' AS BLOB) WHERE id = 'request-3'"), approval.ErrDamaged, `request "request-3": its check sum is wrong`},
		"an expiry changed":  {edit("UPDATE requests SET expiry = expiry + 1 WHERE id = 'request-3'"), approval.ErrDamaged, `request "request-3": its check sum is wrong`},
		"a snapshot changed": {edit("UPDATE requests SET snapshot = x'00' WHERE id = 'request-4'"), approval.ErrDamaged, `request "request-4": the check sum of its snapshot is wrong`},
		"a yes from nowhere": {edit("PRAGMA ignore_check_constraints = ON", "UPDATE requests SET state = 'claimed' WHERE id = 'request-0'"), approval.ErrDamaged, "CHECK constraint failed"},
		"a state of its own": {edit("PRAGMA ignore_check_constraints = ON", "UPDATE requests SET state = 'open' WHERE id = 'request-0'"), approval.ErrDamaged, "CHECK constraint failed"},
	} {
		t.Run(name, func(t *testing.T) {
			path := dbIn(t.TempDir())
			c.files.write(t, path)
			for range 2 { // the second time it is refused just the same
				s, err := approval.OpenSQLite(t.Context(), path, approval.Options{})
				require.Nil(t, s)
				require.ErrorIs(t, err, c.is)
				require.ErrorIs(t, err, gate.ErrCode(gate.CodeInternal))
				require.ErrorContains(t, err, c.says)
				require.ErrorContains(t, err, path)
				require.ErrorContains(t, err, "nothing of it was changed")
				require.Equal(t, c.files, imageOf(t, path))
			}
			left, err := filepath.Glob(path + "*")
			require.NoError(t, err)
			for _, f := range left {
				require.Contains(t, []string{path, path + "-wal", path + "-tally"}, f, "nothing is left behind")
			}
		})
	}
}

// newerLog is a log in which a newer version has begun.
func newerLog(t *testing.T, closed image) []byte {
	path := dbIn(t.TempDir())
	closed.write(t, path)
	db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(WAL)&_pragma=wal_autocheckpoint(0)")
	require.NoError(t, err)
	_, err = db.Exec("PRAGMA user_version = 7")
	require.NoError(t, err)
	wal := imageOf(t, path).wal
	require.NotEmpty(t, wal)
	require.NoError(t, db.Close())
	return wal
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	path := dbIn(t.TempDir())
	require.NoError(t, os.Mkdir(path, 0o700))
	_, err := approval.OpenSQLite(t.Context(), path, approval.Options{})
	require.ErrorIs(t, err, approval.ErrDamaged)
	path = dbIn(t.TempDir())
	target := filepath.Join(t.TempDir(), "precious")
	require.NoError(t, os.WriteFile(target, []byte("keep"), 0o600))
	require.NoError(t, os.Symlink(target, path))
	_, err = approval.OpenSQLite(t.Context(), path, approval.Options{})
	require.ErrorIs(t, err, approval.ErrDamaged)
	b, err := os.ReadFile(target)
	require.NoError(t, err)
	require.Equal(t, "keep", string(b))
	_, err = approval.OpenSQLite(t.Context(), dbIn(filepath.Join(t.TempDir(), "nowhere")), approval.Options{})
	require.Error(t, err)
}

// One flipped bit anywhere in the file: it is refused, or nothing that is read
// from it is another.
func TestAFlippedBitIsRefusedOrChangesNothing(t *testing.T) {
	closed, _, want := filled(t)
	random := rand.New(rand.NewPCG(5, 6))
	path := dbIn(fastDir(t))
	refused := 0
	flips := rounds(300)
	for range flips {
		at, bit := random.IntN(len(closed.db)), byte(1)<<random.IntN(8)
		files := image{db: append([]byte(nil), closed.db...), tally: closed.tally}
		files.db[at] ^= bit
		files.write(t, path)
		s, err := approval.OpenSQLite(t.Context(), path, approval.Options{})
		if err != nil {
			require.True(t, errors.Is(err, approval.ErrDamaged) || errors.Is(err, approval.ErrNewer), "byte %d: %v", at, err)
			require.Equal(t, files, imageOf(t, path), "byte %d", at)
			refused++
			continue
		}
		for id, w := range want {
			got, err := s.Get(t.Context(), id)
			require.NoError(t, err, "byte %d", at)
			require.Equal(t, w.Request, got.Request, "byte %d", at)
			require.Equal(t, w.Snapshot, got.Snapshot, "byte %d", at)
			require.Equal(t, w.State, got.State, "byte %d", at)
		}
		require.NoError(t, s.Close())
	}
	require.NotZero(t, refused)
	t.Logf("%d of %d refused", refused, flips)
}

func TestTwoProcessesDontShareAFile(t *testing.T) {
	path := dbIn(t.TempDir())
	s := openDB(t, path)
	ask(t, s, "a")
	_, err := approval.OpenSQLite(t.Context(), path, approval.Options{})
	require.ErrorIs(t, err, approval.ErrInUse)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "twice")
	_, err = s.Get(t.Context(), "a")
	require.ErrorIs(t, err, approval.ErrClosed)
	_, err = openDB(t, path).Get(t.Context(), "a")
	require.NoError(t, err)
}

// A start that was cut off leaves no database, or a whole one, and what it left
// behind isn't in the next one's way.
func TestAnInterruptedCreationIsNoDatabase(t *testing.T) {
	path := dbIn(t.TempDir())
	for _, f := range []string{".new", ".new-wal", ".new-journal"} {
		require.NoError(t, os.WriteFile(path+f, []byte("half of something"), 0o600))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(path+".check", "copy.db"), 0o700))
	s := openDB(t, path)
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode().Perm())
	ask(t, s, "a")
	require.NoError(t, s.Close())
	openDB(t, path)
	left, err := filepath.Glob(path + ".*")
	require.NoError(t, err)
	require.Empty(t, left)
}
