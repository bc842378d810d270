package port

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tau-robot/tau/robot"
)

// List returns the serial ports of this machine by name, with who has them. It opens
// and touches none of them: everything comes from /sys, /proc and the names in /dev.
// Pseudo-terminals aren't in it.
func List() ([]Info, error) {
	return list("/")
}

// list is List under another root.
func list(root string) ([]Info, error) {
	class := filepath.Join(root, "sys/class/tty")
	names, err := os.ReadDir(class)
	if err != nil {
		return nil, robot.Errf(robot.CodeNotSupported, "ports", "this system doesn't say which ports it has: %w", err)
	}
	links := byID(root)
	open := openDevices()
	var out []Info
	for _, n := range names {
		dir := filepath.Join(class, n.Name())
		if !realPort(dir) {
			continue
		}
		i := Info{Path: filepath.Join(root, "dev", n.Name()), Driver: driverOf(dir)}
		i.ByID = links[i.Path]
		if u, ok := usbAbove(filepath.Join(dir, "device")); ok {
			i.Vendor, _ = usbID(u.vendor)
			i.Product, _ = usbID(u.product)
			i.Serial, i.Maker, i.Name = u.serial, u.maker, u.name
		}
		st, err := statOf(i.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // unplugged just now, or not given to this container
		}
		if err == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR {
			i.Holders = holdersOf(st, open)
		}
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b Info) int { return compareNames(a.Path, b.Path) })
	return out, nil
}

// compareNames puts ttyUSB10 behind ttyUSB9.
func compareNames(a, b string) int {
	pa, na := splitNumber(a)
	pb, nb := splitNumber(b)
	return cmp.Or(cmp.Compare(pa, pb), cmp.Compare(na, nb), cmp.Compare(a, b))
}

func splitNumber(s string) (string, int) {
	head := strings.TrimRight(s, "0123456789")
	n, err := strconv.Atoi(s[len(head):])
	if err != nil {
		return s, 0
	}
	return head, n
}

// realPort reports a terminal with hardware behind it: consoles have no device, and a
// UART that the kernel only reserved a name for has type 0.
func realPort(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, "device")); err != nil {
		return false
	}
	kind, err := os.ReadFile(filepath.Join(dir, "type"))
	return err != nil || strings.TrimSpace(string(kind)) != "0"
}

func driverOf(dir string) string {
	to, err := os.Readlink(filepath.Join(dir, "device", "driver"))
	if err != nil {
		return ""
	}
	return printable(filepath.Base(to))
}

// byID are the links of /dev/serial/by-id by what they lead to.
func byID(root string) map[string]string {
	dir := filepath.Join(root, "dev/serial/by-id")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for _, e := range entries {
		to, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name()))
		if err == nil && out[to] == "" {
			out[to] = filepath.Join(dir, e.Name())
		}
	}
	return out
}

// Holders are the processes for whose sake Open would refuse a device: that which locked
// it, and of anything but a pseudo-terminal, which its maker has open, those that have it
// open. It opens nothing. A path that can't be looked at has none.
func Holders(path string) []Holder {
	st, err := statOf(path)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return nil
	}
	if pseudo(st) {
		return holdersOf(st, nil)
	}
	return holdersOf(st, openDevices())
}

// holdersOf are the processes of open that have a device open, the one that locked it
// first. The lock's holder is known also where its descriptors may not be seen.
func holdersOf(st unix.Stat_t, open map[int][]uint64) []Holder {
	var out []Holder
	locker, locked := lockHolder(st)
	if locked {
		out = append(out, locker)
	}
	for pid, devices := range open {
		if slices.Contains(devices, st.Rdev) && (!locked || pid != locker.PID) {
			out = append(out, Holder{PID: pid, Command: commandOf(pid)})
		}
	}
	slices.SortStableFunc(out, func(a, b Holder) int {
		if a.Locked != b.Locked {
			if a.Locked {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.PID, b.PID)
	})
	return out
}

// usb is what sysfs says of a USB device. vendor and product are hex digits.
type usb struct{ vendor, product, serial, maker, name string }

// usbOf finds the USB device that a terminal device is on.
func usbOf(st unix.Stat_t) (usb, bool) {
	if pseudo(st) {
		return usb{}, false
	}
	return usbAbove(filepath.Join(sysChar(st.Rdev), "device"))
}

// usbAbove walks from a terminal's device in sysfs up to the USB device; it is two or
// three folders above.
func usbAbove(device string) (usb, bool) {
	const levels = 5
	dir, err := filepath.EvalSymlinks(device)
	if err != nil {
		return usb{}, false
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return ""
		}
		return printable(string(b))
	}
	for range levels {
		if v := read("idVendor"); v != "" {
			return usb{v, read("idProduct"), read("serial"), read("manufacturer"), read("product")}, true
		}
		dir = filepath.Dir(dir)
	}
	return usb{}, false
}
