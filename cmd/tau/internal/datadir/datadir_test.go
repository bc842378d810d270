package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDefaultTakesFlagThenVariableThenXDGThenHome(t *testing.T) {
	env := map[string]string{}
	get := func(k string) string { return env[k] }
	_, err := Default("", get)
	require.ErrorContains(t, err, "HOME")
	env["HOME"] = "/h"
	for _, c := range []struct{ set, to, flag, want string }{
		{"", "", "", "/h/.local/state/tau"},
		{"XDG_STATE_HOME", "relative", "", "/h/.local/state/tau"},
		{"XDG_STATE_HOME", "/x", "", "/x/tau"},
		{"TAU_DATA_DIR", "/t", "", "/t"},
		{"", "", "/f", "/f"},
	} {
		if c.set != "" {
			env[c.set] = c.to
		}
		got, err := Default(c.flag, get)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

func TestASecondBridgeIsRefusedByNameAndPID(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	d, err := Open(dir, "so101", time.Unix(1, 0))
	require.NoError(t, err)
	st, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), st.Mode().Perm())

	_, err = Open(dir, "panda", time.Unix(2, 0))
	var taken *TakenError
	require.True(t, errors.As(err, &taken))
	require.Equal(t, os.Getpid(), taken.Owner.PID)
	require.ErrorContains(t, err, `"so101"`)
	require.ErrorContains(t, err, dir)

	require.NoError(t, d.Close())
	require.NoError(t, d.Close())
	d, err = Open(dir, "panda", time.Unix(3, 0))
	require.NoError(t, err)
	require.NoError(t, d.Close())
}

func TestOpenRefusesAFolderThatOthersWrite(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777))
	_, err := Open(dir, "so101", time.Unix(1, 0))
	require.ErrorContains(t, err, "others can write")

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = Open(file, "so101", time.Unix(1, 0))
	require.Error(t, err)
}

func TestOpenRefusesALockThatIsALink(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	other := filepath.Join(t.TempDir(), "precious")
	require.NoError(t, os.WriteFile(other, []byte("keep"), 0o600))
	require.NoError(t, os.Symlink(other, filepath.Join(dir, "bridge.lock")))
	_, err := Open(dir, "so101", time.Unix(1, 0))
	require.Error(t, err)
	b, err := os.ReadFile(other)
	require.NoError(t, err)
	require.Equal(t, "keep", string(b))
}
