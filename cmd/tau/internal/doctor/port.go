package doctor

import (
	"fmt"
	"strings"

	"github.com/tau-robot/tau/drivers/port"
	"github.com/tau-robot/tau/gate"
)

// checkPorts says which ports there are, where none was named.
func checkPorts(ports []port.Info, err error, m Machine) []Finding {
	if err != nil {
		return []Finding{{Bad, "port", textOf(err), "name the port, as in --port /dev/ttyACM0"}}
	}
	if len(ports) == 0 {
		return []Finding{{
			Bad, "port", "this computer has no serial port",
			"plug the board or the servo adapter in, with a cable that carries data (many only charge); then 'tau robot ports' shows it. In a virtual machine or a container it has to be handed in",
		}}
	}
	var out []Finding
	for _, p := range ports {
		found := append(checkDevice(p.Path, m.Device(p.Path), m.User()), checkBoard(p)...)
		ms, timed := m.Latency(p.Path)
		found = append(found, checkLatency(p.Path, ms, timed)...)
		if p.USB() {
			found = append(found, checkModemManager(p, m)...)
		}
		out = append(out, found...)
	}
	return out
}

// checkDevice says whether a path is a port that this user can have.
func checkDevice(path string, d Device, user string) []Finding {
	name := gate.Escape(path)
	switch {
	case !d.Exists:
		return []Finding{{Bad, "port", "there is no " + name, "is the cable in, and does it carry data? 'tau robot ports' lists what is there; a link under /dev/serial/by-id stays the same wherever the board is plugged in"}}
	case !d.Serial:
		return []Finding{{Bad, "port", name + " is no serial port", "'tau robot ports' lists those that are there"}}
	case len(d.Holders) > 0:
		return []Finding{busy(name, d.Holders)}
	case !d.Allowed:
		return []Finding{permission(name, d, gate.Escape(user))}
	}
	return []Finding{{Good, "port", name + " is there, this user may open it, and nobody has it open", ""}}
}

func busy(name string, holders []port.Holder) Finding {
	var by []string
	what := "end it, then try again"
	for _, h := range holders {
		by = append(by, "process "+gate.Escape(h.String()))
		if strings.Contains(h.Command, "ModemManager") {
			what = "ModemManager takes it for a modem: " + modemManagerFix
		}
	}
	return Finding{Bad, "busy", name + " is held by " + strings.Join(by, ", "), what}
}

func permission(name string, d Device, user string) Finding {
	f := Finding{Level: Bad, Check: "permission", Text: fmt.Sprintf("user %s may not open %s", user, name)}
	group := gate.Escape(d.Group)
	switch {
	case !d.GroupMay || d.Group == "" || d.Group == "root":
		f.Do = "it is given to no group: a udev rule has to, as in  SUBSYSTEM==\"tty\", MODE=\"0660\", GROUP=\"dialout\""
	case d.InGroup:
		f.Text += fmt.Sprintf(", though %s is in group %s", user, group)
		f.Do = "that counts from the next login on: log out and in, or start a shell with  newgrp " + group
	default:
		f.Text += ", group " + group + " may"
		f.Do = fmt.Sprintf("sudo usermod -aG %s %s   and log in again", group, user)
	}
	return f
}

// slow is a latency timer, ms, from which on it costs more than the bus itself: a read of
// six servos takes 0.6 ms of the wire at 1 Mbit/s.
const slow = 2

// checkLatency says that a USB adapter waits for more bytes before it hands over what it
// has: 16 ms by default with FTDI's.
func checkLatency(path string, ms int, timed bool) []Finding {
	if !timed || ms < slow {
		return nil
	}
	short := path[strings.LastIndexByte(path, '/')+1:]
	return []Finding{{
		Bad, "latency", fmt.Sprintf("the USB adapter of %s keeps each answer for up to %d ms (its latency timer): every exchange takes that long", gate.Escape(path), ms),
		fmt.Sprintf("echo 1 | sudo tee /sys/bus/usb-serial/devices/%s/latency_timer   until it is plugged in again; for good a udev rule:  ACTION==\"add\", SUBSYSTEM==\"usb-serial\", DRIVER==\"ftdi_sio\", ATTR{latency_timer}=\"1\"", gate.Escape(short)),
	}}
}

const modemManagerFix = `a udev rule keeps it away:  ATTRS{idVendor}=="VENDOR", ENV{ID_MM_DEVICE_IGNORE}="1"  with the vendor that 'tau robot ports' shows; or  sudo systemctl disable --now ModemManager  if this computer has no modem`

func modemManager(path string) Finding {
	return Finding{
		Note, "modemmanager", "ModemManager runs, and may write to " + gate.Escape(path) + " whenever it is plugged in, to see whether it is a modem",
		modemManagerFix,
	}
}

// usbID is a USB device's vendor and product.
type usbID struct{ vendor, product uint16 }

// bootLoaders are boards that have their own USB and show another product while their boot
// loader runs: the first of the two numbers that Arduino's boards.txt (cores avr 1.8 and
// samd 1.8) has for them.
func bootLoader(id usbID) (board string, is bool) {
	if id.vendor != 0x2341 && id.vendor != 0x2a03 {
		return "", false
	}
	switch id.product {
	case 0x0036:
		return "Arduino Leonardo", true
	case 0x0037:
		return "Arduino Micro", true
	case 0x003c:
		return "Arduino Esplora", true
	case 0x0041:
		return "Arduino Yún", true
	case 0x004d:
		return "Arduino Zero", true
	case 0x004e:
		return "Arduino MKR1000", true
	case 0x004f:
		return "Arduino MKRZERO", true
	case 0x0053:
		return "Arduino MKR WAN 1300", true
	case 0x0054:
		return "Arduino MKR WiFi 1010", true
	case 0x0057:
		return "Arduino Nano 33 IoT", true
	}
	return "", false
}

// checkBoard says that a board waits for a program instead of running one.
func checkBoard(p port.Info) []Finding {
	board, is := bootLoader(usbID{p.Vendor, p.Product})
	if !is {
		return nil
	}
	return []Finding{{
		Bad, "boot loader", fmt.Sprintf("at %s an %s is in its boot loader, and no firmware answers", gate.Escape(p.Path), board),
		"press its reset button once; if it comes back the same way it has no firmware: upload it",
	}}
}
