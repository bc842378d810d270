package conns

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsLoopback(t *testing.T) {
	for _, literal := range []string{"127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"} {
		require.True(t, IsLoopback(literal), literal)
		require.True(t, IsLoopbackHost(literal), literal)
	}
	for _, host := range []string{"127.0.0.1:80", "[::1]:80", "[::1]", "localhost", "LocalHost:1"} {
		require.False(t, IsLoopback(host), host)
		require.True(t, IsLoopbackHost(host), host)
	}
	for _, no := range []string{
		"", "0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example.org", "localhost.example.org", "::1%lo", "[::1%lo]:80", "127.1", "0x7f000001",
		"example.org:80", "127.0.0.1:80:80",
	} {
		require.False(t, IsLoopback(no), no)
		require.False(t, IsLoopbackHost(no), no)
	}
}
