package approval

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a method has reported is on the disk: SQLite syncs its log at the end of
// each transaction only at this setting.
func TestG44_WhatIsReportedIsSynced(t *testing.T) {
	s, err := OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "bridge.db"), Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for pragma, want := range map[string]string{
		"synchronous": "2", "journal_mode": "wal", "locking_mode": "exclusive", "busy_timeout": "2000",
		"application_id": "1952544097", "user_version": "2",
	} {
		var got string
		require.NoError(t, s.conn.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got))
		require.Equal(t, want, got, pragma)
	}
}
