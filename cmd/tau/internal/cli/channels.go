package cli

import (
	"slices"
	"strings"

	"github.com/tau-robot/tau/cmd/tau/internal/bridge"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
)

// splitChannels takes the channels that ask elsewhere off --approve-from, which may
// name them alone or beside one that asks here: "telegram", "terminal,web".
func (b *bridgeFlags) splitChannels() error {
	if !strings.Contains(b.approveFrom, ",") && b.approveFrom != "telegram" && b.approveFrom != "web" {
		return nil
	}
	var seen, here []string
	for _, name := range strings.Split(b.approveFrom, ",") {
		if slices.Contains(seen, name) {
			return exit.Usagef("--approve-from %s: %q is there twice", b.approveFrom, name)
		}
		seen = append(seen, name)
		switch name {
		case "telegram":
			b.channels.Telegram = true
		case "web":
			b.channels.Web = true
		case "terminal", "tui", "attach":
			here = append(here, name)
		case "none":
			return exit.Usagef("--approve-from %s: none stands alone", b.approveFrom)
		default:
			return exit.Usagef("--approve-from %q: want terminal, tui, attach, web, telegram, or none", name)
		}
	}
	if len(here) > 1 {
		return exit.Usagef("--approve-from %s: %s both ask here; name one of them, beside web and telegram", b.approveFrom, strings.Join(here, " and "))
	}
	b.approveFrom = strings.Join(here, "") // "": attach too, if a key is trusted
	if (b.channels != bridge.Channels{}) && b.settings == "" {
		return exit.Usagef("--approve-from web and telegram need --settings FILE, with a section [web] or [telegram]")
	}
	return nil
}
