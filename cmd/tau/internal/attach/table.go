package attach

import (
	"fmt"
	"strings"
	"time"

	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/words"
)

// Table lists requests, a line each: whether it is asked now, its call id, tool, session
// and principal, when it expires, and at which other bridge it is. Every string in it is escaped.
func Table(items []control.Item, l words.Lang) string {
	if len(items) == 0 {
		return l.TUINothing() + "\n"
	}
	var b strings.Builder
	for _, i := range items {
		state := l.TUIWaiting()
		if i.Open {
			state = l.TUIOpen()
		}
		fmt.Fprintf(&b, "%s  %-10s %s  (%s, %s)  %s", gate.Escape(i.CallID), state, gate.Escape(i.Tool),
			gate.Escape(i.Session.Name), gate.Escape(i.Principal), i.Expires.UTC().Format(time.DateTime+" UTC"))
		if i.Bridge != "" {
			fmt.Fprintf(&b, "  @ %s", gate.Escape(i.Bridge))
		}
		b.WriteString("\n")
	}
	return b.String()
}
