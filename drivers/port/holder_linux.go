package port

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// lockHolder is the process that holds the lock on a device, by the kernel's own
// list. It isn't known where the holder is in another process namespace, or gone.
func lockHolder(st unix.Stat_t) (Holder, bool) {
	b, err := os.ReadFile("/proc/locks")
	if err != nil {
		return Holder{}, false
	}
	pid, found := parseLocks(string(b), unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	if !found {
		return Holder{}, false
	}
	if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid))); err != nil {
		return Holder{}, false
	}
	return Holder{PID: pid, Command: commandOf(pid), Locked: true}, true
}

func commandOf(pid int) string {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return ""
	}
	return commandLine(b)
}

// openers are the processes but one that have a device open, by rising process id, as
// far as this user may see them. Nothing is opened.
func openers(st unix.Stat_t, but int) []Holder {
	var out []Holder
	for pid, devices := range openDevices() {
		if pid != but && slices.Contains(devices, st.Rdev) {
			out = append(out, Holder{PID: pid, Command: commandOf(pid)})
		}
	}
	slices.SortFunc(out, func(a, b Holder) int { return a.PID - b.PID })
	return out
}

// openDevices are the character devices that each process has open.
func openDevices() map[int][]uint64 {
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	out := map[int][]uint64{}
	for _, p := range procs {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join("/proc", p.Name(), "fd")
		fds, err := os.ReadDir(dir)
		if err != nil {
			continue // another user's, or gone
		}
		for _, fd := range fds {
			name := filepath.Join(dir, fd.Name())
			// The name first: a stat of a file on a dead network mount would hang.
			if to, err := os.Readlink(name); err != nil || !strings.HasPrefix(to, "/dev/") {
				continue
			}
			if st, err := statOf(name); err == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR {
				out[pid] = append(out[pid], st.Rdev)
			}
		}
	}
	return out
}
