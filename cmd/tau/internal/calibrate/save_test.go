package calibrate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

func TestAFileIsReplacedWholeAndTheEarlierOneKept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "arm.toml")
	read := func(name string) string {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		return string(data)
	}
	old, err := Save(path, []byte("one"), noon)
	require.NoError(t, err)
	require.Empty(t, old)
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode())

	require.NoError(t, os.Chmod(path, 0o640))
	for i, want := range []struct{ text, old string }{{"two", ".old-2026-12-01"}, {"three", ".old-2026-12-01.1"}, {"four", ".old-2026-12-01.2"}} {
		was := read(path)
		old, err = Save(path, []byte(want.text), noon)
		require.NoError(t, err, "%d", i)
		require.Equal(t, path+want.old, old)
		require.Equal(t, was, read(old))
		require.Equal(t, want.text, read(path))
		st, err = os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), st.Mode())
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 4) // no temporary file
}

func TestWhatCannotBeReplacedStays(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	require.NoError(t, os.WriteFile(target, []byte("x"), 0o600))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(target, link))
	for _, path := range []string{link, dir, "/dev/null"} {
		_, err := Save(path, []byte("new"), noon)
		require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err), path)
	}
	data, err := os.ReadFile(target)
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
	_, err = Save(filepath.Join(dir, "no", "such.toml"), nil, noon)
	require.Equal(t, robot.CodeInternal, robot.CodeOf(err))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 2)
}
