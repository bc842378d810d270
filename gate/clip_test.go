package gate_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate"
)

func TestATextIsCutBetweenCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.String().Draw(t, "s"), rapid.IntRange(0, 20).Draw(t, "n")
		c := gate.Clip(s, n)
		if len(s) <= n {
			require.Equal(t, s, c)
			return
		}
		head, cut := strings.CutSuffix(c, "…")
		require.True(t, cut)
		require.True(t, strings.HasPrefix(s, head))
		require.True(t, utf8.ValidString(head))
		require.LessOrEqual(t, len(head), n)
		next, size := utf8.DecodeRuneInString(s[len(head):])
		require.Greater(t, len(head)+size, n, "%q would fit", next)
	})
	require.Equal(t, strings.Repeat("\x80", 64)+"…", gate.Clip(strings.Repeat("\x80", 99), 64))
}
