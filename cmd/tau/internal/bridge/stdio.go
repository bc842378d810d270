package bridge

import (
	"context"
	"errors"
	"io"
	"syscall"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/cmd/tau/internal/fdio"
	"github.com/tau-robot/tau/gate/mcp"
)

// stdioNotice is what a person reads of a bridge on its client's streams.
func (h *Host) stdioNotice() string {
	l := h.setup.Settings.Lang()
	if h.answerable() {
		return l.StdioAttach() + "\n"
	}
	return l.StdioNobody() + "\n"
}

// serveStdio is the front end of an MCP client that started this process. It ends
// when the client closes its side, which is how such a client ends a server, when it
// can't be reached any more, or when ctx ends. What is open then is ended by the
// host, after the stop. Nothing else reads In or writes to Out.
func (r *run) serveStdio(ctx context.Context) error {
	in, err := fdio.NewReader(r.In)
	if err != nil {
		return exit.Bridgef("%w", err)
	}
	out, err := fdio.NewWriter(r.Out)
	if err != nil {
		return exit.Bridgef("%w", errors.Join(err, in.Close()))
	}
	return stdioEnd(ctx, r.host.mcp.ServeStdio(ctx, Agent, r.host.setup.Session, in, out))
}

// stdioEnd is the exit status of a session's end.
func stdioEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = nil // the interruption decides
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe), errors.Is(err, mcp.ErrDeaf):
		return interrupted("the MCP client doesn't read its answers any more")
	}
	return exit.Bridgef("%w", err)
}
