package port

import (
	"strconv"
	"strings"
)

// Info is a port of this machine. Texts that come from the device are printable and
// short.
type Info struct {
	Path    string   // "/dev/ttyACM0"
	ByID    string   // the link under /dev/serial/by-id that stays with the board, or ""
	Driver  string   // the kernel's driver, "" where that isn't known
	Vendor  uint16   // of USB; 0 where it isn't USB
	Product uint16   // of USB
	Serial  string   // the USB device's serial number, may be ""
	Maker   string   // what the USB device says of its maker
	Name    string   // what it says of itself
	Holders []Holder // who has it open, as far as this user may know
}

// USB reports a port on USB.
func (i Info) USB() bool { return i.Vendor != 0 || i.Product != 0 }

// usbID reads the four hex digits of a vendor or product as sysfs gives them.
func usbID(s string) (uint16, bool) {
	s = strings.TrimSpace(s)
	if len(s) != 4 {
		return 0, false
	}
	v, err := strconv.ParseUint(s, 16, 16)
	return uint16(v), err == nil
}
