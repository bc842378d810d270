package bridge

import (
	"context"

	"github.com/tau-robot/tau/gate"
)

// Channels are those that ask a person elsewhere, beside whatever asks in this process.
type Channels struct {
	Telegram bool
	Web      bool
}

// channel is one of them as the host runs it: begun once the gate is there, and ended
// when that has ended its questions, so that what waits isn't refused by the end.
type channel interface {
	approver() gate.Approver
	begin()
	end(ctx context.Context) error
	name() string
	notice() string // for whoever starts the bridge
}

// openChannels makes the channels that were asked for.
func (h *Host) openChannels() error {
	if h.setup.Channels.Telegram {
		c, err := openTelegram(h)
		if err != nil {
			return err
		}
		h.channels = append(h.channels, c)
	}
	if h.setup.Channels.Web {
		c, err := openWeb(h)
		if err != nil {
			return err
		}
		h.channels = append(h.channels, c)
	}
	return nil
}

func (h *Host) beginChannels() {
	for _, c := range h.channels {
		c.begin()
	}
}

func (h *Host) endChannels(e *ending) {
	for _, c := range h.channels {
		e.step(c.name(), c.end)
	}
}

// channelsNotice says where approvals are asked.
func (h *Host) channelsNotice() string {
	s := ""
	for _, c := range h.channels {
		s += c.notice() + "\n"
	}
	return s
}

// stopFrom stops everything on a channel's behalf.
func (h *Host) stopFrom(origin string) func(context.Context, gate.StopKind, string, string) []gate.StopVerdict {
	return func(ctx context.Context, kind gate.StopKind, reason, by string) []gate.StopVerdict {
		return h.Gate.Stop(ctx, kind, reason, origin, by).Verdicts
	}
}
