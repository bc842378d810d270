package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardTyped throws away what was typed at a terminal and not read yet. A terminal that
// can't keeps it.
func discardTyped(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
