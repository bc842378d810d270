package private

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyAPrivateFileIsRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("ok"), []byte("secret"), 0o600))
	b, err := ReadFile(at("ok"), 6)
	require.NoError(t, err)
	require.Equal(t, "secret", string(b))

	require.NoError(t, os.WriteFile(at("open"), []byte("secret"), 0o600))
	require.NoError(t, os.Chmod(at("open"), 0o640))
	require.NoError(t, os.Symlink(at("ok"), at("link")))
	require.NoError(t, syscall.Mkfifo(at("fifo"), 0o600))
	for path, why := range map[string]string{
		at("open"): "chmod 600", at("link"): "symbolic link", at("fifo"): "regular file", dir: "regular file", at("none"): "no such file",
	} {
		_, err := ReadFile(path, 100)
		require.ErrorContains(t, err, why)
		require.ErrorContains(t, err, path)
		require.NotContains(t, err.Error(), "secret")
	}
	_, err = ReadFile(at("ok"), 5)
	require.ErrorContains(t, err, "6 bytes")
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(at("ok"), 12345, 12345))
		_, err = ReadFile(at("ok"), 100)
		require.ErrorContains(t, err, "another user")
	}
}

func TestATrustedFileCanBeWrittenByNobodyElse(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, mode := range []os.FileMode{0o600, 0o644, 0o444, 0o755} {
		require.NoError(t, os.WriteFile(at("ok"), []byte("x = 1"), 0o600))
		require.NoError(t, os.Chmod(at("ok"), mode))
		b, err := ReadTrusted(at("ok"), 5)
		require.NoError(t, err, mode)
		require.Equal(t, "x = 1", string(b))
		require.NoError(t, os.Remove(at("ok")))
	}
	require.NoError(t, os.WriteFile(at("ok"), []byte("x = 1"), 0o600))
	for _, mode := range []os.FileMode{0o620, 0o602, 0o666, 0o777} {
		require.NoError(t, os.Chmod(at("ok"), mode))
		_, err := ReadTrusted(at("ok"), 5)
		require.ErrorContains(t, err, "chmod go-w", mode)
		require.ErrorContains(t, err, at("ok"))
	}
	require.NoError(t, os.Chmod(at("ok"), 0o644))
	require.NoError(t, os.Symlink(at("ok"), at("link")))
	require.NoError(t, syscall.Mkfifo(at("fifo"), 0o600))
	for path, why := range map[string]string{at("link"): "symbolic link", at("fifo"): "regular file", dir: "regular file", at("none"): "no such file"} {
		_, err := ReadTrusted(path, 100)
		require.ErrorContains(t, err, why)
	}
	_, err := ReadTrusted(at("ok"), 4)
	require.ErrorContains(t, err, "5 bytes")
	if os.Geteuid() == 0 { // who is root can't make a file that is root's and not its own
		require.NoError(t, os.Chown(at("ok"), 12345, 12345))
		_, err = ReadTrusted(at("ok"), 100)
		require.ErrorContains(t, err, "another user")
	}
}
