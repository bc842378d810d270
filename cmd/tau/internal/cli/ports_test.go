package cli

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/port"
)

// What a device says of itself can't write to the terminal, and JSON says the same.
func TestPortsAreTold(t *testing.T) {
	all := []port.Info{
		{Path: "/dev/ttyACM0", ByID: "/dev/serial/by-id/usb-x", Driver: "cdc_acm", Vendor: 0x2341, Product: 0x43, Serial: "85736", Maker: "A\x1b[2J", Name: "Uno",
			Holders: []port.Holder{{PID: 42, Command: "tau robot real", Locked: true}}},
		{Path: "/dev/ttyS0"},
	}
	text := portsText(all, false)
	require.Contains(t, text, `/dev/ttyACM0  USB 2341:0043  A\u{1b}[2J  Uno  85736  /dev/serial/by-id/usb-x  held by `)
	require.Contains(t, text, "42")
	require.Contains(t, text, "\n/dev/ttyS0\n")
	require.Equal(t, "no serial port; one appears when its board is plugged in\n", portsText(nil, false))

	var doc struct{ Ports []portAnswer }
	require.NoError(t, json.Unmarshal([]byte(portsText(all, true)), &doc))
	require.Equal(t, "2341", doc.Ports[0].Vendor)
	require.Equal(t, []portHolder{{42, "tau robot real", true}}, doc.Ports[0].Holders)
	require.Empty(t, doc.Ports[1].Holders)
	require.Equal(t, "{\"ports\":[]}\n", portsText(nil, true))
}
