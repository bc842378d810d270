package web

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/conns"
)

// maxHosts bounds the names that may be listed.
const maxHosts = 16

// Settings is the section [web] of the operator's settings. The zero value listens
// nowhere.
type Settings struct {
	// Listen is a loopback address with its port, "127.0.0.1:8477"; port 0 takes a free one.
	Listen string `toml:"listen"`
	// Hosts are other names under which it is asked, HOST or HOST:PORT as browsers send
	// them: those of a proxy on this machine that ends TLS. It must leave Host as it is.
	Hosts []string `toml:"hosts"`
}

// Configured reports whether the section is there.
func (s Settings) Configured() bool { return s.Listen != "" || len(s.Hosts) > 0 }

// Check holds a section that is there to what is needed.
func (s Settings) Check() error {
	bad := func(key, format string, args ...any) error {
		return gate.Errf(gate.CodeInvalidArgument, "web."+key, format, args...)
	}
	if !s.Configured() {
		return nil
	}
	if s.Listen == "" {
		return bad("listen", "is missing: a loopback address with its port, 127.0.0.1:8477")
	}
	host, port, err := net.SplitHostPort(s.Listen)
	if err != nil {
		return bad("listen", "%q: want an address with its port, 127.0.0.1:8477", s.Listen)
	}
	if !conns.IsLoopback(host) {
		return bad("listen", "%q: only a literal loopback address (127.0.0.1 or ::1) is served; for other machines put a proxy with TLS before it and list its name in web.hosts", s.Listen)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return bad("listen", "%q: the port is no number from 0 to 65535", s.Listen)
	}
	if len(s.Hosts) > maxHosts {
		return bad("hosts", "%d are listed, limit %d", len(s.Hosts), maxHosts)
	}
	for _, h := range s.Hosts {
		if u, err := url.Parse("https://" + h); err != nil || u.Host != h || h == "" || u.User != nil || strings.ContainsAny(h, "*/?#@ ") {
			return bad("hosts", "%q: want HOST or HOST:PORT", h)
		}
	}
	return nil
}
