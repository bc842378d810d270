package approval_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
)

// smallDisk is a file system of its own with a size.
func smallDisk(t *testing.T, size string) string {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("SKIPPED, a small file system can't be mounted here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, 0)) })
	return dir
}

// A disk without room refuses what is new, by name, and nothing begins to move on
// it; what is there is read all the same, and once there is room it goes on.
func TestAFullDiskRefusesWhatIsNew(t *testing.T) {
	dir := smallDisk(t, "1m")
	s, err := approval.OpenSQLite(t.Context(), dbIn(dir), approval.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	c := ask(t, s, "a")
	running := ask(t, s, "b")
	lease, err := s.Claim(t.Context(), running)
	require.NoError(t, err)
	ballast := filepath.Join(dir, "ballast")
	fill(t, ballast)

	refused := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, approval.ErrFull)
		require.ErrorIs(t, err, gate.ErrCode(gate.CodeInternal))
		require.ErrorContains(t, err, "make room")
	}
	now := time.Now()
	req := gate.Request{CallID: "c", Tier: gate.TierPhysical, Digest: [32]byte{1}, Asked: now, Expiry: now.Add(time.Minute)}
	for range 3 {
		_, err = s.Open(t.Context(), req, make([]byte, 10_000))
		refused(err)
	}
	_, err = s.Claim(t.Context(), c)
	refused(err)
	refused(s.Start(t.Context(), lease, time.Now()))
	refused(s.Finish(t.Context(), "a", gate.Ending{State: gate.RequestStopped}))

	list, err := s.Pending(t.Context(), time.Now())
	require.NoError(t, err)
	require.Len(t, list, 1)
	got, err := s.Get(t.Context(), "b")
	require.NoError(t, err)
	require.Equal(t, gate.RequestClaimed, got.State)
	_, err = s.Get(t.Context(), "c")
	require.ErrorIs(t, err, gate.ErrCode(gate.CodeInvalidArgument))

	require.NoError(t, os.Remove(ballast))
	_, err = s.Open(t.Context(), req, []byte("s"))
	require.NoError(t, err)
	_, err = s.Claim(t.Context(), c)
	require.NoError(t, err, "nothing was taken to be decided")
	require.NoError(t, s.Start(t.Context(), lease, time.Now()))
}

// An expiry that can't be written down counts all the same.
func TestAFullDiskKeepsNothingAlive(t *testing.T) {
	dir := smallDisk(t, "1m")
	now := time.Now()
	s, err := approval.OpenSQLite(t.Context(), dbIn(dir), approval.Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	ask(t, s, "a")
	fill(t, filepath.Join(dir, "ballast"))
	now = now.Add(time.Hour)
	list, err := s.Pending(t.Context(), now)
	require.NoError(t, err)
	require.Empty(t, list)
	got, err := s.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, gate.RequestExpired, got.State)
}

func TestADatabaseThatCantBeMadeSaysSo(t *testing.T) {
	dir := smallDisk(t, "256k")
	fill(t, filepath.Join(dir, "ballast"))
	_, err := approval.OpenSQLite(t.Context(), dbIn(dir), approval.Options{})
	require.ErrorIs(t, err, approval.ErrFull)
	require.NoError(t, os.Remove(filepath.Join(dir, "ballast")))
	openDB(t, dbIn(dir))
}

// fill takes all the room that there is.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	for size := 1 << 16; size > 0; {
		_, err := f.Write(make([]byte, size))
		switch {
		case errors.Is(err, unix.ENOSPC):
			size /= 2
		case err != nil:
			t.Fatal(fmt.Errorf("filling: %w", err))
		}
	}
	require.NoError(t, f.Close())
}
