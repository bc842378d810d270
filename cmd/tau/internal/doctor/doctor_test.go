package doctor

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/port"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/hardware"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// fake is a computer as a test says.
type fake struct {
	ports   []port.Info
	err     error
	devices map[string]Device
	latency map[string]int
	mm      bool
	ignored bool
}

func (f *fake) Ports() ([]port.Info, error) { return f.ports, f.err }
func (f *fake) Device(path string) Device   { return f.devices[path] }
func (f *fake) Latency(path string) (int, bool) {
	ms, ok := f.latency[path]
	return ms, ok
}
func (f *fake) ModemManager(string) (bool, bool) { return f.mm, f.ignored }
func (f *fake) User() string                     { return "ann" }

var fine = Device{Exists: true, Serial: true, Allowed: true, Group: "dialout", GroupMay: true}

const usb = "/dev/ttyUSB0"

func one(d Device) *fake {
	return &fake{devices: map[string]Device{usb: d}, ports: []port.Info{{Path: usb, ByID: "/dev/serial/by-id/x", Vendor: 0x1a86, Product: 0x7523}}}
}

// texts is all that was found, for people.
func texts(fs []Finding) string {
	var b strings.Builder
	for _, f := range fs {
		b.WriteString(string(f.Level) + " " + f.Check + ": " + f.Text + " | " + f.Do + "\n")
	}
	return b.String()
}

func file(t *testing.T) *hardware.File {
	t.Helper()
	data, err := os.ReadFile("../../../../testdata/hardware/so101-feetech.toml")
	require.NoError(t, err)
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	f, err := hardware.Parse("so101.toml", data, m, noon)
	require.NoError(t, err)
	return f
}

// whole are the servos that the example's file is about.
func whole(f *hardware.File) (out []Servo) {
	for i := range f.Joints {
		j := &f.Joints[i]
		out = append(out, Servo{ID: j.Channel, Model: "STS3215", Known: true, Firmware: "3.10", Offset: j.Offset, Low: 0, High: 4095, Voltage: 7.4, Temperature: 31})
	}
	return out
}

// answering is a bus whose servos are there at one speed.
func answering(at int, servos []Servo, asked *[]int) Bus {
	return func(_ context.Context, baud int, _ []int) ([]Servo, error) {
		*asked = append(*asked, baud)
		if baud != at {
			return nil, nil
		}
		return servos, nil
	}
}

func TestAPortIsSaidInPlainWords(t *testing.T) {
	for name, c := range map[string]struct {
		m    *fake
		port string
		want []string
		not  string
	}{
		"no port at all":      {&fake{}, "", []string{"problem port: this computer has no serial port", "cable that carries data"}, "ok "},
		"ports can't be said": {&fake{err: robot.Errf(robot.CodeNotSupported, "ports", "no /sys")}, "", []string{"problem port: ports: no /sys"}, "NOT_SUPPORTED"},
		"not there":           {&fake{}, usb, []string{"problem port: there is no /dev/ttyUSB0", "by-id"}, "devices"},
		"no serial port":      {one(Device{Exists: true}), usb, []string{"problem port: /dev/ttyUSB0 is no serial port"}, "devices"},
		"not of the group": {one(Device{Exists: true, Serial: true, Group: "dialout", GroupMay: true}), usb,
			[]string{"problem permission: user ann may not open /dev/ttyUSB0, group dialout may", "sudo usermod -aG dialout ann"}, "newgrp"},
		"not logged in again": {one(Device{Exists: true, Serial: true, Group: "dialout", GroupMay: true, InGroup: true}), usb,
			[]string{"problem permission", "though ann is in group dialout", "newgrp dialout"}, "usermod"},
		"of no group":    {one(Device{Exists: true, Serial: true, Group: "root", GroupMay: true}), usb, []string{"problem permission", "udev rule"}, "usermod"},
		"a closed group": {one(Device{Exists: true, Serial: true, Group: "dialout"}), usb, []string{"problem permission", "udev rule"}, "usermod"},
		"busy": {one(Device{Exists: true, Serial: true, Allowed: true, Holders: []port.Holder{{PID: 708, Command: "lerobot-record"}, {PID: 9}}}), usb,
			[]string{"problem busy: /dev/ttyUSB0 is held by process 708 (lerobot-record), process 9", "end it"}, "ModemManager"},
		"held by ModemManager": {one(Device{Exists: true, Serial: true, Allowed: true, Holders: []port.Holder{{PID: 7, Command: "/usr/sbin/ModemManager"}}}), usb,
			[]string{"problem busy", "takes it for a modem", "ID_MM_DEVICE_IGNORE"}, "end it"},
		"fine, and nobody said what it is": {one(fine), usb, []string{"ok port: /dev/ttyUSB0 is there", "note devices: nothing was asked", "--driver"}, "problem"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Examine(t.Context(), Options{Port: c.port, Machine: c.m, Now: noon})
			for _, w := range c.want {
				require.Contains(t, texts(got), w)
			}
			require.NotContains(t, texts(got), c.not)
			require.Equal(t, !strings.Contains(texts(got), "problem"), Healthy(got))
		})
	}
}

func TestWhatIsSlowOrInTheWayOfAPort(t *testing.T) {
	m := one(fine)
	m.latency = map[string]int{usb: 16}
	got := Examine(t.Context(), Options{Port: usb, Machine: m, Now: noon})
	require.Contains(t, texts(got), "problem latency: the USB adapter of /dev/ttyUSB0 keeps each answer for up to 16 ms")
	require.Contains(t, texts(got), "/sys/bus/usb-serial/devices/ttyUSB0/latency_timer")
	require.False(t, Healthy(got))
	m.devices["/dev/serial/by-id/x"] = fine
	got = Examine(t.Context(), Options{Port: "/dev/serial/by-id/x", Machine: m, Now: noon})
	require.Contains(t, texts(got), "/sys/bus/usb-serial/devices/ttyUSB0/latency_timer", "a link has no timer")
	m.latency[usb] = 1
	require.NotContains(t, texts(Examine(t.Context(), Options{Port: usb, Machine: m, Now: noon})), "latency")

	m.mm = true
	require.Contains(t, texts(Examine(t.Context(), Options{Port: usb, Machine: m, Now: noon})), "note modemmanager: ModemManager runs, and may write to /dev/ttyUSB0")
	m.ignored = true
	require.NotContains(t, texts(Examine(t.Context(), Options{Port: usb, Machine: m, Now: noon})), "odemmanager")

	m.ports[0].Vendor, m.ports[0].Product = 0x2341, 0x0036
	require.Contains(t, texts(Examine(t.Context(), Options{Port: usb, Machine: m, Now: noon})), "problem boot loader: at /dev/ttyUSB0 an Arduino Leonardo is in its boot loader")
	m.ports[0].Product = 0x8036 // running
	require.NotContains(t, texts(Examine(t.Context(), Options{Port: usb, Machine: m, Now: noon})), "boot loader")
	m.ports[0].Vendor, m.ports[0].Product = 0x1a86, 0x0036
	require.NotContains(t, texts(Examine(t.Context(), Options{Port: usb, Machine: m, Now: noon})), "boot loader")

	// Without a port each that there is is looked at.
	m.latency[usb] = 16
	require.Contains(t, texts(Examine(t.Context(), Options{Machine: m, Now: noon})), "problem latency")
}

func TestABoardIsNotAsked(t *testing.T) {
	for _, driver := range []string{"mcu", "gobot"} {
		got := Examine(t.Context(), Options{Port: usb, Driver: driver, Machine: one(fine), Now: noon})
		require.Contains(t, texts(got), "note devices: the board wasn't asked: opening its port may reset it")
		require.True(t, Healthy(got))
	}
}

func TestServosOfAWholeArmAreWell(t *testing.T) {
	f := file(t)
	var asked []int
	got := Examine(t.Context(), Options{Port: usb, Driver: "feetech", File: f, Name: f.Name, Machine: one(fine), Bus: answering(1000000, whole(f), &asked), Now: noon})
	require.True(t, Healthy(got), texts(got))
	require.Equal(t, []int{1000000}, asked)
	require.Contains(t, texts(got), "ok file: so101.toml: robot so101, driver feetech, calibrated 2026-11-30")
	require.Contains(t, texts(got), "ok servo: ID 1: STS3215, firmware 3.10, 7.4 V, 31 °C, torque off")
}

func TestWhatIsWrongWithABus(t *testing.T) {
	f := file(t)
	change := func(do func(s *Servo)) []Servo {
		all := whole(f)
		do(&all[2])
		return all
	}
	for name, c := range map[string]struct {
		servos []Servo
		want   []string
	}{
		"a clash":          {change(func(s *Servo) { s.Shared = true; s.Voltage = 1 }), []string{"problem ID clash: ID 3: more than one servo", "alone"}},
		"one missing":      {append(whole(f)[:2], whole(f)[3:]...), []string{"problem missing: ID 3 (elbow_flex) doesn't answer; those that do are 1, 2, 4, 5, 6"}},
		"another model":    {change(func(s *Servo) { s.Known = false; s.Model = "SCS15" }), []string{"problem model: ID 3: it is SCS15, which this driver doesn't know"}},
		"old firmware":     {change(func(s *Servo) { s.Trouble = "the STS3215 has firmware 3.6" }), []string{"problem set up: ID 3: the STS3215 has firmware 3.6"}},
		"low voltage":      {change(func(s *Servo) { s.Voltage = 4.4 }), []string{"problem voltage: ID 3: its supply is 4.4 V, and 4.5 V is the least"}},
		"the wrong supply": {change(func(s *Servo) { s.Voltage = 12.1 }), []string{"problem voltage: ID 3: its supply is 12.1 V, and 8.4 V is the most", "switch it off"}},
		"hot":              {change(func(s *Servo) { s.Temperature = 61 }), []string{"problem temperature: ID 3: it has 61 °C"}},
		"another offset":   {change(func(s *Servo) { s.Offset++ }), []string{"problem calibration: ID 3 (elbow_flex): its memory has the offset -37 and the file -38", "calibrate again"}},
		"narrow bounds":    {change(func(s *Servo) { s.Low = 1000 }), []string{"problem calibration: ID 3 (elbow_flex): its own bounds are 1000 to 4095 ticks, narrower than the file's 946 to 3150"}},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []int
			got := Examine(t.Context(), Options{Port: usb, Driver: "feetech", File: f, Name: f.Name, Machine: one(fine), Bus: answering(1000000, c.servos, &asked), Now: noon})
			require.False(t, Healthy(got))
			for _, w := range c.want {
				require.Contains(t, texts(got), w)
			}
			n := 0
			for _, x := range got {
				if x.Level == Bad {
					n++
				}
			}
			require.Equal(t, 1, n, texts(got)) // one thing is wrong, and one is said
		})
	}
}

func TestASilentBus(t *testing.T) {
	f := file(t)
	var asked []int
	o := Options{Port: usb, Driver: "feetech", File: f, Name: f.Name, Machine: one(fine), Bus: answering(-1, nil, &asked), Now: noon}
	got := Examine(t.Context(), o)
	require.Contains(t, texts(got), "problem devices: no servo answers, at none of [1000000 500000")
	require.Contains(t, texts(got), "supply on")
	require.Equal(t, hardware.Bauds("feetech"), asked)

	asked = nil
	o.Bus = answering(115200, whole(f), &asked)
	got = Examine(t.Context(), o)
	require.Contains(t, texts(got), "problem baud: nobody answers at 1000000 bit/s, and at 115200 they do | write baud = 115200 into the robot's file")
	o.File, o.Name = nil, ""
	require.Contains(t, texts(Examine(t.Context(), o)), "calibrate with --baud 115200")

	// The file's speed is the first that is tried.
	slow := *f
	slow.Baud = 38400
	o.File, asked = &slow, nil
	Examine(t.Context(), o)
	require.Equal(t, []int{38400, 1000000, 500000, 250000, 128000, 115200}, asked)
}

func TestALineThatFailsIsNotASilentOne(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{robot.Errf(robot.CodeBusy, "port x", "process 7 has it"), "problem busy: port x: process 7 has it"},
		{robot.Errf(robot.CodeDisconnected, "port x", "lost"), "problem line: port x: lost | is it plugged in"},
		{robot.Errf(robot.CodeInvalidArgument, "port x", "no"), "can't do 1000000 bit/s"},
	} {
		got := Examine(t.Context(), Options{Port: usb, Driver: "feetech", Machine: one(fine), Now: noon,
			Bus: func(context.Context, int, []int) ([]Servo, error) { return nil, c.err }})
		require.Contains(t, texts(got), c.want)
	}
}

func TestAPortThatIsWrongIsNotOpened(t *testing.T) {
	for _, d := range []Device{{}, {Exists: true}, {Exists: true, Serial: true}, {Exists: true, Serial: true, Allowed: true, Holders: []port.Holder{{PID: 1}}}} {
		got := Examine(t.Context(), Options{Port: usb, Driver: "feetech", Machine: one(d), Now: noon,
			Bus: func(context.Context, int, []int) ([]Servo, error) { t.Error("opened"); return nil, nil }})
		require.False(t, Healthy(got))
	}
}

func TestAFileIsLookedAt(t *testing.T) {
	f := file(t)
	o := Options{Name: f.Name, File: f, Machine: one(fine), Now: noon.AddDate(0, 0, 100), Port: usb}
	require.Contains(t, texts(Examine(t.Context(), o)), "problem calibration: so101.toml: calibrated on 2026-11-30, 101 days ago")
	o.Now, o.Driver = noon, "mcu"
	require.Contains(t, texts(Examine(t.Context(), o)), "problem file: so101.toml is for the driver feetech, and --driver is mcu")
	o.File, o.FileErr = nil, robot.Errf(robot.CodeInvalidArgument, "so101.toml:7", "baud: is \x1b[2K bad")
	got := texts(Examine(t.Context(), o))
	require.Contains(t, got, "problem file: so101.toml:7: baud: is")
	require.NotContains(t, got, "\x1b")
}
