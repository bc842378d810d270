package port

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Holder is a process that has a port open.
type Holder struct {
	PID     int
	Command string // its command line, shortened and printable; "" if it can't be read
	Locked  bool   // it took the port as Open does
}

// String is "1234 (tau robot real)".
func (h Holder) String() string {
	s := strconv.Itoa(h.PID)
	if h.Command != "" {
		s += " (" + h.Command + ")"
	}
	return s
}

// maxPrintable bounds what a device or a process may say about itself, in runes.
const maxPrintable = 80

// printable makes a text that a device, a process or a caller chose fit for a person's
// terminal: no control characters, one line, not long.
func printable(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range strings.TrimSpace(s) {
		if n == maxPrintable {
			b.WriteString("…")
			break
		}
		if r == utf8.RuneError || !strconv.IsPrint(r) {
			r = '?'
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// commandLine reads /proc/PID/cmdline: arguments, each ended by a zero byte.
func commandLine(b []byte) string {
	return printable(strings.ReplaceAll(strings.TrimRight(string(b), "\x00"), "\x00", " "))
}

// parseLocks finds, in the text of /proc/locks, the process that holds a flock for
// writing on the file of that device number and inode. A waiting one ("->") isn't it.
//
//	1: FLOCK  ADVISORY  WRITE 708 00:13:511 0 EOF
func parseLocks(text string, major, minor uint32, inode uint64) (pid int, found bool) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "FLOCK" || f[3] != "WRITE" {
			continue
		}
		at := strings.Split(f[5], ":")
		if len(at) != 3 {
			continue
		}
		ma, err1 := strconv.ParseUint(at[0], 16, 32)
		mi, err2 := strconv.ParseUint(at[1], 16, 32)
		in, err3 := strconv.ParseUint(at[2], 10, 64)
		p, err4 := strconv.Atoi(f[4])
		if err1 != nil || err2 != nil || err3 != nil || err4 != nil || p <= 0 {
			continue
		}
		if uint32(ma) == major && uint32(mi) == minor && in == inode {
			return p, true
		}
	}
	return 0, false
}
