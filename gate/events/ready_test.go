package events

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestG50_ReadyMendsAndRefuses(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	require.NoError(t, s.Ready(session))
	require.Error(t, s.Ready("no/session"))
	require.NoError(t, s.Emit(event(0)))

	l := s.logs[session]
	heads := &flaky{file: l.heads, short: 10}
	l.heads = heads
	require.ErrorIs(t, s.Emit(event(1)), syscall.ENOSPC, "the line is in, its head isn't")
	require.ErrorIs(t, s.Ready(session), syscall.ENOSPC)
	heads.short = -1
	require.NoError(t, s.Ready(session), "mended by the question")
	require.NoError(t, s.Close())
	requireProven(t, dir, 2)
	require.Error(t, s.Ready(session))
}

// os.File.WriteAt says 0 of a write that failed half-way; the half is cut all the same.
func TestG51_AHalfWrittenLineIsCutWhateverTheCountSays(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	require.NoError(t, s.Emit(event(0)))
	l := s.logs[session]
	l.log = &flaky{file: l.log, short: 40, lies: true}
	require.ErrorIs(t, s.Emit(event(1)), syscall.ENOSPC)
	require.NoError(t, s.Close())
	requireProven(t, dir, 1)
}
