package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate/conns"
)

// TestG6_StrangersUseNoDescriptorsUp: whoever can connect, without a token, holds no more
// than a bounded number of connections, and keeps nobody out who has one.
func TestG6_StrangersUseNoDescriptorsUp(t *testing.T) {
	b := serve(t, newFake(), nil)
	var strangers []net.Conn
	var readers []*bufio.Reader
	for range conns.Max + 64 {
		c, err := net.Dial("tcp", b.host)
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
		_, err = fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", b.host)
		require.NoError(t, err)
		rd := bufio.NewReader(c)
		resp, err := http.ReadResponse(rd, nil)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
		strangers, readers = append(strangers, c), append(readers, rd)
	}
	status, _ := b.post(t, b.alice, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, nil)
	require.NotEqual(t, http.StatusUnauthorized, status)
	for k := range 64 {
		require.NoError(t, strangers[k].SetReadDeadline(time.Now().Add(10*time.Second)))
		_, err := readers[k].ReadByte()
		require.Error(t, err)
		timeout, ok := err.(net.Error) //nolint:errorlint // as net returns it
		require.False(t, ok && timeout.Timeout(), "stranger %d is still there", k)
	}
}

// TestStrangersDontHoldUpTheEnd: neither who says nothing nor who says half a request;
// net/http alone waits five seconds for those, which is all that the bridge has.
func TestStrangersDontHoldUpTheEnd(t *testing.T) {
	b := serve(t, newFake(), nil)
	for _, begun := range []string{"", "GET / HT"} {
		c, err := net.Dial("tcp", b.host)
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
		_, err = io.WriteString(c, begun)
		require.NoError(t, err)
	}
	// The server accepts in their order, so that both are there by now.
	status, _ := b.post(t, b.alice, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, nil)
	require.NotEqual(t, http.StatusUnauthorized, status)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	require.NoError(t, b.srv.Shutdown(ctx))
}
