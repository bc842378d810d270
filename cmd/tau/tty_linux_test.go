package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// echoes reports whether a terminal is in its ordinary mode, seen from its master.
func echoes(t *testing.T, ptmx *os.File) bool {
	t.Helper()
	attr, err := unix.IoctlGetTermios(int(ptmx.Fd()), unix.TCGETS)
	require.NoError(t, err)
	return attr.Lflag&unix.ECHO != 0 && attr.Lflag&unix.ICANON != 0 && attr.Lflag&unix.ISIG != 0
}
