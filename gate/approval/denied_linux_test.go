package approval_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
)

// What can't be opened says why: a file that another user keeps, a disk that only
// reads, a folder that isn't there and a full disk aren't damage.
func TestWhatCantBeOpenedSaysWhy(t *testing.T) {
	refused := func(t *testing.T, path string, want error) {
		t.Helper()
		_, err := approval.OpenSQLite(t.Context(), path, approval.Options{})
		require.ErrorIs(t, err, want)
		for _, other := range []error{approval.ErrDamaged, approval.ErrNewer, approval.ErrInUse, approval.ErrFull, approval.ErrDenied, approval.ErrMissing} {
			require.Equal(t, errors.Is(want, other), errors.Is(err, other), other)
		}
	}
	made := func(t *testing.T, dir string) string {
		t.Helper()
		s, err := approval.OpenSQLite(t.Context(), dbIn(dir), approval.Options{})
		require.NoError(t, err)
		ask(t, s, "a")
		require.NoError(t, s.Close())
		return dbIn(dir)
	}
	t.Run("another user's file", func(t *testing.T) {
		for _, f := range []string{"", "-tally"} {
			dir := t.TempDir()
			path := made(t, dir)
			require.NoError(t, os.Chmod(dir, 0o777))
			require.NoError(t, os.Chmod(path, 0o666))
			require.NoError(t, os.Chmod(path+"-tally", 0o666))
			require.NoError(t, os.Chmod(path+f, 0))
			asNobody(t, func() { refused(t, path, approval.ErrDenied) })
		}
	})
	t.Run("another user's folder", func(t *testing.T) {
		dir := t.TempDir()
		path := made(t, dir)
		require.NoError(t, os.Chmod(dir, 0o755))
		require.NoError(t, os.Chmod(path, 0o644))
		asNobody(t, func() { refused(t, path, approval.ErrDenied) })
	})
	t.Run("a disk that only reads", func(t *testing.T) {
		dir := smallDisk(t, "1m")
		path := made(t, dir)
		require.NoError(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
		refused(t, path, approval.ErrDenied)
	})
	t.Run("a folder that isn't there", func(t *testing.T) {
		refused(t, dbIn(filepath.Join(t.TempDir(), "nowhere")), approval.ErrMissing)
	})
	t.Run("a disk without room for the check", func(t *testing.T) {
		dir := smallDisk(t, "1m")
		path := made(t, dir)
		fill(t, filepath.Join(dir, "ballast"))
		refused(t, path, approval.ErrFull)
	})
	t.Run("in use", func(t *testing.T) {
		path := made(t, t.TempDir())
		openDB(t, path)
		refused(t, path, approval.ErrInUse)
	})
	t.Run("nobody waits for it any more", func(t *testing.T) {
		path := made(t, t.TempDir())
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := approval.OpenSQLite(gone, path, approval.Options{})
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, approval.ErrDamaged)
		require.ErrorIs(t, err, gate.ErrCode(gate.CodeInternal))
	})
}

// asNobody runs f with the file permissions of a user who owns nothing.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if os.Geteuid() == 0 {
		const nobody = 65534
		require.NoError(t, unix.Setfsuid(nobody))
		defer func() { require.NoError(t, unix.Setfsuid(0)) }()
		if id, err := unix.SetfsuidRetUid(nobody); err != nil || id != nobody {
			if os.Getenv("CI") == "true" {
				t.Fatal("under CI root takes another user's permissions, and here it can't")
			}
			t.Skip("SKIPPED, another user's permissions can't be taken here")
		}
	}
	f()
}
