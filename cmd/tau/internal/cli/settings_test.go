package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSettingsComeFromNobodyElse: what says what is allowed isn't taken from a file that
// somebody else could have written.
func TestSettingsComeFromNobodyElse(t *testing.T) {
	_, err := loadSettings("")
	require.NoError(t, err, "none")
	path := filepath.Join(t.TempDir(), "settings.toml")
	require.NoError(t, os.WriteFile(path, []byte("[ui]\nlanguage = \"tr\"\n"), 0o600))
	for _, mode := range []os.FileMode{0o600, 0o644, 0o440} {
		require.NoError(t, os.Chmod(path, mode))
		_, err = loadSettings(path)
		require.NoError(t, err, mode)
	}
	for _, mode := range []os.FileMode{0o664, 0o646, 0o666} {
		require.NoError(t, os.Chmod(path, mode))
		_, err = loadSettings(path)
		require.ErrorContains(t, err, "chmod go-w", mode)
		require.ErrorContains(t, err, "--settings")
	}
	require.NoError(t, os.Chmod(path, 0o600))
	link := path + ".link"
	require.NoError(t, os.Symlink(path, link))
	_, err = loadSettings(link)
	require.ErrorContains(t, err, "symbolic link")
}
