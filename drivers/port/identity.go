package port

import "golang.org/x/sys/unix"

// identity tells one USB device from another; it is zero for what isn't USB.
type identity struct{ vendor, product, serial string }

func (i identity) String() string {
	if i == (identity{}) {
		return "not a USB device"
	}
	s := "USB " + i.vendor + ":" + i.product
	if i.serial != "" {
		s += " serial " + i.serial
	}
	return s
}

// identityOf asks for a device by its number, without opening it.
func identityOf(st unix.Stat_t) identity {
	u, _ := usbOf(st)
	return identity{u.vendor, u.product, u.serial}
}
