package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
)

func TestAnAddressThatCantBeOneIsAUsageError(t *testing.T) {
	for _, addr := range []string{"localhost:99999", "127.0.0.1:1x", "127.0.0.1:-1", "10.0.0.1:0"} {
		_, err := listen(addr)
		var e *exit.Error
		require.ErrorAs(t, err, &e, addr)
		require.Equal(t, exit.Usage, e.Status, addr)
	}
}
