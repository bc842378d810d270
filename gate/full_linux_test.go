package gate_test

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
	"github.com/tau-robot/tau/gate/gatetest"
)

// A disk without room: a no is one all the same, nothing new is asked, a stop works;
// with room again it is written down, and a restart asks nobody.
func TestG40_ANoOnAFullDiskOutlivesTheBridge(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("SKIPPED, a small file system can't be mounted here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, 0)) })
	d := &disk{t, dir}
	u := gatetest.Nobody(t)
	r := d.life(u)
	tk := r.Submit(in("s", `{"to":1}`))
	<-u.Asked
	ballast := filepath.Join(dir, "ballast")
	fillUp(t, ballast)
	require.NoError(t, r.Refuse(t.Context(), tk.ID(), "ann", "answered"))
	require.Equal(t, gate.CodeNotApproved, tk.Answer().Code)
	require.Equal(t, gate.RequestPending, r.stored(tk.ID()).State)
	a := r.call("move", `{"to":2}`)
	require.Equal(t, gate.CodeInternal, a.Code)
	require.Contains(t, a.Text, "the disk is full")
	for _, stop := range []string{"stop", "estop"} {
		require.NotEqual(t, gate.StatusPending, r.call(stop, `{}`).Status)
	}
	err := r.Close(t.Context())
	require.ErrorIs(t, err, approval.ErrFull)

	require.NoError(t, os.Remove(ballast))
	require.NoError(t, r.Close(t.Context()), "it is tried again")
	require.NoError(t, r.lane.Close())
	require.NoError(t, r.disk.Close())

	r = d.life(gatetest.Script(t))
	defer r.end()
	got, err := r.Recover(t.Context())
	require.NoError(t, err)
	require.Empty(t, got.Open)
	rec := r.stored(tk.ID())
	require.Equal(t, gate.RequestRejected, rec.State)
	require.Equal(t, "ann", rec.Decider)
}

// fillUp takes all the room that there is, and once more what is freed meanwhile.
func fillUp(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	until := time.Now().Add(10 * time.Second)
	for size := 1 << 16; size > 0 && time.Now().Before(until); {
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
