package doctor

import (
	"bufio"
	"bytes"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tau-robot/tau/drivers/port"
)

// computer is this computer, as /dev, /sys, /proc and /run have it under a root.
type computer struct {
	root string
	list func() ([]port.Info, error)
}

var _ Machine = (*computer)(nil)

// ThisComputer looks at the computer that it runs on.
func ThisComputer() Machine { return &computer{"/", port.List} }

// Ports lists the serial ports.
func (c *computer) Ports() ([]port.Info, error) { return c.list() }

// User is who runs this.
func (c *computer) User() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// at is a path as the whole computer has it: a relative one is of the folder that this runs in.
func (c *computer) at(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	return filepath.Join(c.root, path)
}

// Device looks at a path without opening it: that would raise DTR, and reset a board.
func (c *computer) Device(path string) (d Device) {
	st, err := os.Stat(c.at(path))
	if err != nil {
		return d
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return d
	}
	d.Exists = true
	d.Serial = st.Mode()&os.ModeCharDevice != 0 && c.tty(sys.Rdev)
	d.Allowed = unix.Access(c.at(path), unix.R_OK|unix.W_OK) == nil
	gid := strconv.Itoa(int(sys.Gid))
	d.Group, d.GroupMay = gid, st.Mode().Perm()&0o060 == 0o060
	if g, err := user.LookupGroupId(gid); err == nil {
		d.Group = g.Name
	}
	if u, err := user.Current(); err == nil {
		groups, err := u.GroupIds()
		d.InGroup = err == nil && slices.Contains(groups, gid)
	}
	if d.Serial {
		d.Holders = port.Holders(c.at(path))
	}
	return d
}

func resolved(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

// The numbers of the kernel's pseudo-terminals, of which /sys knows nothing.
const firstPTY, lastPTY = 136, 143

// tty reports a terminal device.
func (c *computer) tty(rdev uint64) bool {
	if m := unix.Major(rdev); m >= firstPTY && m <= lastPTY {
		return true
	}
	to, err := os.Readlink(filepath.Join(c.sysChar(rdev), "subsystem"))
	return err == nil && filepath.Base(to) == "tty"
}

func (c *computer) sysChar(rdev uint64) string {
	return filepath.Join(c.root, "sys/dev/char", number(rdev))
}

func number(rdev uint64) string {
	return strconv.Itoa(int(unix.Major(rdev))) + ":" + strconv.Itoa(int(unix.Minor(rdev)))
}

// Latency reads an adapter's latency timer; FTDI's have one.
func (c *computer) Latency(path string) (ms int, ok bool) {
	name := filepath.Base(resolved(c.at(path)))
	b, err := os.ReadFile(filepath.Join(c.root, "sys/bus/usb-serial/devices", name, "latency_timer"))
	if err != nil {
		return 0, false
	}
	ms, err = strconv.Atoi(strings.TrimSpace(string(b)))
	return ms, err == nil
}

// ModemManager looks for its process, and for a rule of udev that keeps it away from a
// port or from what it is plugged into.
func (c *computer) ModemManager(path string) (runs, ignores bool) {
	procs, err := os.ReadDir(filepath.Join(c.root, "proc"))
	if err != nil {
		return false, false
	}
	for _, p := range procs {
		if _, err := strconv.Atoi(p.Name()); err != nil {
			continue
		}
		if b, err := os.ReadFile(filepath.Join(c.root, "proc", p.Name(), "comm")); err == nil && strings.TrimSpace(string(b)) == "ModemManager" {
			runs = true
			break
		}
	}
	return runs, runs && c.ignored(filepath.Base(resolved(c.at(path))))
}

// above is how many folders of /sys lie between a terminal and the hub at most.
const above = 6

// ignored looks through what udev knows of a terminal and of each device above it.
func (c *computer) ignored(name string) bool {
	dir, err := filepath.EvalSymlinks(filepath.Join(c.root, "sys/class/tty", name))
	if err != nil {
		return false
	}
	for range above {
		var keys []string
		if b, err := os.ReadFile(filepath.Join(dir, "dev")); err == nil {
			keys = append(keys, "c"+strings.TrimSpace(string(b)))
		}
		if to, err := os.Readlink(filepath.Join(dir, "subsystem")); err == nil {
			keys = append(keys, "+"+filepath.Base(to)+":"+filepath.Base(dir))
		}
		for _, k := range keys {
			if c.tagged(k) {
				return true
			}
		}
		dir = filepath.Dir(dir)
	}
	return false
}

// tagged reads udev's record of a device.
func (c *computer) tagged(key string) bool {
	b, err := os.ReadFile(filepath.Join(c.root, "run/udev/data", key))
	if err != nil {
		return false
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		switch s.Text() {
		case "E:ID_MM_DEVICE_IGNORE=1", "E:ID_MM_PORT_IGNORE=1":
			return true
		}
	}
	return false
}
