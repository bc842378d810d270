package approval_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// sector is what a disk writes in one piece.
const sector = 512

// image is what the files of a database hold; a missing one is nil.
type image struct{ db, wal, tally []byte }

func imageOf(t require.TestingT, path string) image {
	read := func(p string) []byte {
		b, err := os.ReadFile(p)
		if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
		}
		return b
	}
	return image{read(path), read(path + "-wal"), read(path + "-tally")}
}

func (i image) write(t require.TestingT, path string) {
	for p, b := range map[string][]byte{path: i.db, path + "-wal": i.wal, path + "-tally": i.tally} {
		if b == nil {
			if err := os.Remove(p); !errors.Is(err, fs.ErrNotExist) {
				require.NoError(t, err)
			}
			continue
		}
		require.NoError(t, os.WriteFile(p, b, 0o600))
	}
}

// torn is what a loss of power in the middle of a write may leave: what was synced
// before it is there, and of what the write changed each sector either was written
// or wasn't. The write appends to the log, or overwrites it from its beginning; it
// has to end before anything is moved into the database itself, because the log is
// synced in between.
func torn(before, after image, written func(sector int) bool) (image, bool) {
	if !bytes.Equal(before.db, after.db) {
		return image{}, false
	}
	size := max(len(before.wal), len(after.wal))
	wal := make([]byte, 0, size)
	for at := 0; at < size; at += sector {
		from := before.wal
		if written(at / sector) {
			from = after.wal
		}
		if at >= len(from) {
			if at < len(after.wal) && written(at/sector) || at < len(before.wal) {
				return image{}, false
			}
			// Not written, but something behind it may be: a hole reads as zeros.
			wal = append(wal, make([]byte, sector)...)
			continue
		}
		wal = append(wal, from[at:min(at+sector, len(from))]...)
	}
	return image{before.db, wal, before.tally}, true
}

// fastDir is a folder in memory where there is one: what is tested there models
// its own syncs.
func fastDir(t testing.TB) string {
	if dir, err := os.MkdirTemp("/dev/shm", "tau-approval-"); err == nil {
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
		return dir
	}
	return t.TempDir()
}

func dbIn(dir string) string { return filepath.Join(dir, "bridge.db") }
