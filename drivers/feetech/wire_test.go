package feetech_test

import (
	"fmt"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/emulator"
)

// whole follows the wire and says what on it isn't a whole exchange of one owner: a packet
// of the host that is none, or comes while an answer is due; an answer that nobody asked
// for, or in another's place; two that speak at once. The zero value is ready.
type whole struct {
	due    []byte // who is to answer, in their order
	asked  emulator.Packet
	packet int
	bad    string // the first thing that was wrong
}

func (w *whole) take(p emulator.Packet) {
	w.packet++
	if w.bad != "" {
		return
	}
	say := func(format string, args ...any) {
		w.bad = fmt.Sprintf("packet %d at %v: %s (% X)", w.packet, p.At, fmt.Sprintf(format, args...), p.Bytes)
	}
	switch {
	case p.Collided:
		say("somebody else spoke at the same time")
	case p.FromHost && p.Op == 0:
		say("the host said what is no instruction")
	case p.FromHost && len(w.due) > 0:
		say("the host spoke while servo %d was to answer its %v", w.due[0], w.asked.Op)
	case p.FromHost:
		w.asked, w.due = p, nil
		switch p.Op {
		case bus.SyncRead:
			w.due = append(w.due, p.IDs...)
		case bus.SyncWrite:
		default:
			w.due = append(w.due, p.ID)
		}
	case len(w.due) == 0:
		say("servo %d answered what nobody had asked", p.ID)
	case p.ID != w.due[0]:
		say("servo %d answered in place of %d", p.ID, w.due[0])
	default:
		w.due = w.due[1:]
	}
}

// wrote reports whether an instruction writes to a servo, or restarts it.
func wrote(p emulator.Packet) bool {
	return p.FromHost && p.Op != bus.Ping && p.Op != bus.Read && p.Op != bus.SyncRead
}
