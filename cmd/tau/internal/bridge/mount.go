package bridge

import (
	"context"
	"errors"
	"strings"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/mount"
	"github.com/tau-robot/tau/gate/private"
)

// maxToken bounds a bearer token's file.
const maxToken = 4096 // bytes

// openMounts starts and reaches the servers that the settings mount, and returns their
// tools and what a stop does there.
func (h *Host) openMounts(ctx context.Context) (tools []gate.Tool, stops []gate.Stopper, err error) {
	for _, m := range h.setup.Settings.Mounts {
		s, err := mount.Open(ctx, m, mount.Options{
			Version: h.setup.Version, Log: h.Log, Now: h.setup.Now, Token: bearerToken,
		})
		if err != nil {
			return nil, nil, err
		}
		h.mounts = append(h.mounts, s)
		tools = append(tools, s.Tools()...)
		if stop, ok := s.Stopper(); ok {
			stops = append(stops, stop)
		}
		h.Log.Info("an MCP server is mounted", "mount", m.Name, "tools", len(s.Tools()))
	}
	return tools, stops, nil
}

// closeMounts ends them.
func (h *Host) closeMounts() error {
	var errs []error
	for _, m := range h.mounts {
		errs = append(errs, m.Close())
	}
	h.mounts = nil
	return errors.Join(errs...)
}

// bearerToken reads a token's file.
func bearerToken(path string) (string, error) {
	b, err := private.ReadFile(path, maxToken)
	if err != nil {
		return "", gate.Errf(gate.CodeInvalidArgument, "mount.token_file", "%w", err)
	}
	token := strings.TrimSpace(string(b))
	for _, r := range token {
		if r <= ' ' || r >= 0x7f {
			return "", gate.Errf(gate.CodeInvalidArgument, "mount.token_file", "%q doesn't hold a token", path)
		}
	}
	if token == "" {
		return "", gate.Errf(gate.CodeInvalidArgument, "mount.token_file", "%q is empty", path)
	}
	return token, nil
}
