//go:build !linux

package doctor

import (
	"os"
	"strconv"

	"github.com/tau-robot/tau/drivers/port"
)

// computer is one of which nothing but its ports is known.
type computer struct{}

var _ Machine = computer{}

// ThisComputer looks at the computer that it runs on.
func ThisComputer() Machine { return computer{} }

// Ports lists the serial ports.
func (computer) Ports() ([]port.Info, error) { return port.List() }

// Device looks at a path.
func (computer) Device(path string) Device {
	st, err := os.Stat(path)
	if err != nil {
		return Device{}
	}
	serial := st.Mode()&os.ModeCharDevice != 0
	return Device{Exists: true, Serial: serial, Allowed: serial}
}

// Latency isn't known here.
func (computer) Latency(string) (int, bool) { return 0, false }

// ModemManager is Linux's.
func (computer) ModemManager(string) (bool, bool) { return false, false }

// User is who runs this.
func (computer) User() string { return strconv.Itoa(os.Getuid()) }
