package web_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/web"
)

func TestItServesOnLoopbackUntilItEnds(t *testing.T) {
	r := newRig(t)
	ln, err := web.Listen(web.Settings{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- r.s.Serve(ln) }()
	addr := ln.Addr().String()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Do(r.dev.Request("GET", addr, web.Path+"requests", ""))
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 200, resp.StatusCode)

	// A list that is held ends with the service, and half a request holds nothing up.
	held := make(chan int, 1)
	go func() {
		resp, err := (&http.Client{Transport: tr}).Do(r.dev.Request("GET", addr, web.Path+"requests?wait=25", ""))
		if err != nil {
			held <- 0
			return
		}
		_ = resp.Body.Close()
		held <- resp.StatusCode
	}()
	half, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer half.Close()
	_, err = fmt.Fprintf(half, "POST %sdecide HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", web.Path, addr)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_ = r.s.Shutdown(ctx) // the half request is cut
	require.NoError(t, <-served)
	<-held
	require.Error(t, r.s.Serve(ln), "it has ended")
}

func TestG32_OnlyLoopbackIsServed(t *testing.T) {
	r := newRig(t)
	require.Equal(t, gate.CodeInvalidArgument, gate.CodeOf(r.s.Serve(foreign{})))
	for want, s := range map[string]web.Settings{
		"web.listen: is missing":              {},
		"is missing: a loopback address":      {Hosts: []string{"x"}},
		"\"0.0.0.0:8477\": only a literal":    {Listen: "0.0.0.0:8477"},
		"\":8477\": only a literal":           {Listen: ":8477"},
		"\"localhost:1\": only a literal":     {Listen: "localhost:1"},
		"\"192.168.0.7:1\": only a literal":   {Listen: "192.168.0.7:1"},
		"\"127.0.0.1\": want an address with": {Listen: "127.0.0.1"},
		"the port is no number":               {Listen: "127.0.0.1:http"},
		"\"127.0.0.1:080\": the port is no":   {Listen: "127.0.0.1:080"},
		"\"https://x\": want HOST":            {Listen: "127.0.0.1:0", Hosts: []string{"https://x"}},
		"\"*.example.org\": want HOST":        {Listen: "127.0.0.1:0", Hosts: []string{"*.example.org"}},
		"\"\": want HOST":                     {Listen: "127.0.0.1:0", Hosts: []string{""}},
		"17 are listed, limit 16":             {Listen: "127.0.0.1:0", Hosts: make([]string, 17)},
		"\"a@b\": want HOST":                  {Listen: "127.0.0.1:0", Hosts: []string{"a@b"}},
		"\"a/b\": want HOST":                  {Listen: "127.0.0.1:0", Hosts: []string{"a/b"}},
	} {
		_, err := web.Listen(s)
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, web.Settings{}.Check(), "a section that isn't there")
	require.NoError(t, web.Settings{Listen: "[::1]:8477", Hosts: []string{"console.example", "console.example:8443"}}.Check())
	_, err := web.New(web.Options{})
	require.ErrorContains(t, err, "it needs a ring")
}

// foreign is a listener on another address.
type foreign struct{ net.Listener }

func (foreign) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }
func (foreign) Close() error   { return nil }
