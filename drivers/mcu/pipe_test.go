package mcu_test

import (
	"net"

	"github.com/tau-robot/tau/drivers/mcu"
)

// pipe is a line in memory: what one end writes the other reads, and waits for.
func pipe() (mcu.Port, net.Conn) {
	a, b := net.Pipe()
	return a, b
}
