package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/doctor"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/drivers/port"
	"github.com/tau-robot/tau/gate"
)

// portAnswer is one serial port as "ports --json" tells it.
type portAnswer struct {
	Path    string       `json:"path"`
	ByID    string       `json:"by_id,omitempty"`
	Driver  string       `json:"kernel_driver,omitempty"`
	Vendor  string       `json:"usb_vendor,omitempty"`  // four hexadecimal digits
	Product string       `json:"usb_product,omitempty"` // likewise
	Serial  string       `json:"usb_serial,omitempty"`
	Maker   string       `json:"maker,omitempty"`
	Name    string       `json:"name,omitempty"`
	Holders []portHolder `json:"holders"`
}

type portHolder struct {
	PID     int    `json:"pid"`
	Command string `json:"command,omitempty"`
	Locked  bool   `json:"locked"`
}

func (a *app) ports() *cobra.Command {
	var asJSON bool
	c := leaf("ports", "Lists the serial ports of this machine and who has them, without touching any", 0, func(*cobra.Command, []string) error {
		all, err := port.List()
		if err != nil {
			return exit.Bridgef("%w", err)
		}
		text := portsText(all, asJSON)
		if !asJSON && !doctor.Healthy(doctor.Examine(context.Background(), doctor.Options{Machine: doctor.ThisComputer()})) {
			text += "something is wrong; 'tau robot doctor' says what, and what to do\n"
		}
		return write(a.out, text)
	})
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return c
}

// portsText is the list; what a device says of itself is escaped.
func portsText(all []port.Info, asJSON bool) string {
	out := make([]portAnswer, len(all))
	var b strings.Builder
	for i, p := range all {
		x := portAnswer{Path: p.Path, ByID: p.ByID, Driver: p.Driver, Serial: p.Serial, Maker: p.Maker, Name: p.Name, Holders: []portHolder{}}
		fmt.Fprintf(&b, "%s", gate.Escape(p.Path))
		if p.USB() {
			x.Vendor, x.Product = fmt.Sprintf("%04x", p.Vendor), fmt.Sprintf("%04x", p.Product)
			fmt.Fprintf(&b, "  USB %s:%s", x.Vendor, x.Product)
		}
		for _, s := range []string{p.Maker, p.Name, p.Serial} {
			if s != "" {
				fmt.Fprintf(&b, "  %s", gate.Escape(s))
			}
		}
		if p.ByID != "" {
			fmt.Fprintf(&b, "  %s", gate.Escape(p.ByID))
		}
		for _, h := range p.Holders {
			x.Holders = append(x.Holders, portHolder{h.PID, h.Command, h.Locked})
			fmt.Fprintf(&b, "  held by %s", gate.Escape(h.String()))
		}
		b.WriteByte('\n')
		out[i] = x
	}
	if !asJSON {
		if len(all) == 0 {
			return "no serial port; one appears when its board is plugged in\n"
		}
		return b.String()
	}
	doc, err := json.Marshal(struct {
		Ports []portAnswer `json:"ports"`
	}{out})
	if err != nil { // strings and numbers always encode
		return "{}\n"
	}
	return string(doc) + "\n"
}
