package events

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Reading a FIFO would wait for a writer for ever.
func TestAFIFOInPlaceOfTheHeadIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.head")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := (&sessionLog{}).openHead(path, "sim", 0)
	require.ErrorContains(t, err, "not a regular file")
}
