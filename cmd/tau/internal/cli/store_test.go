package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
)

func TestStoreIsReadFromAPrivateFileAndNeverSaid(t *testing.T) {
	const good = "postgres://tau:s3cr3t@db.example:5432/tau?sslmode=verify-full"
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(p, []byte(text), 0o600))
		require.NoError(t, os.Chmod(p, mode))
		return "@" + p
	}
	for v, want := range map[string]string{
		"":                                    "",
		"postgres://tau@/tau?host=/run/pg":    "postgres://tau@/tau?host=/run/pg",
		"postgresql://tau@db/tau":             "postgresql://tau@db/tau",
		file("good", good+"\n", 0o600):        good,
		file("readonly", " "+good+" ", 0o400): good,
	} {
		got, err := loadStore(v)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, v := range []string{
		good, "postgres://tau@db/tau?password=s3cr3t", "mysql://u:s3cr3t@h/d", "host=db password=s3cr3t", "postgres://u:%zzs3cr3t@h/d", "s3cr3t",
		"@" + filepath.Join(dir, "none"), "@" + dir, "@",
		file("open", good, 0o644), file("group", good, 0o640), file("empty", "\n", 0o600), file("two", good+"\n"+good, 0o600),
		file("large", good+string(make([]byte, maxStore)), 0o600), file("other", "s3cr3t", 0o600),
	} {
		got, err := loadStore(v)
		require.Error(t, err, v)
		require.Empty(t, got)
		require.NotContains(t, err.Error(), "s3cr3t")
		var e *exit.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, exit.Usage, e.Status)
	}
}
