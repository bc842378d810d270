package conns

import (
	"net"
	"net/netip"
	"strings"
)

// IsLoopback reports a literal loopback address, without a port. A name isn't one,
// whatever it resolves to: that is what DNS rebinding uses.
func IsLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.Zone() == "" && a.Unmap().IsLoopback()
}

// IsLoopbackHost reports a loopback host as a Host header or an address on a command
// line has it: a literal address, in brackets or not, or "localhost", with or without a
// port.
func IsLoopbackHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	} else {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	}
	return strings.EqualFold(name, "localhost") || IsLoopback(name)
}

// OnLoopback reports a listener that only this machine reaches.
func OnLoopback(ln net.Listener) bool {
	a, ok := ln.Addr().(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}
