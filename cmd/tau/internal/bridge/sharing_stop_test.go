package bridge

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// What a nonce is issued for carries the moment at which it was; another asking has none.
func TestG6_TheAskingOfWhatIsToBeTakenUpHasItsStamp(t *testing.T) {
	for _, want := range []gate.Stamp{1, 7, 1<<64 - 1} {
		got, ok := stampOf(takenUp(want))
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	for _, asking := range []string{"", "7", "0123456789abcdef", toTakeUp, toTakeUp + "-1", toTakeUp + "1 ", toTakeUp + "18446744073709551616"} {
		_, ok := stampOf(asking)
		require.False(t, ok, asking)
	}
}

// A stop takes what is open elsewhere away at once, and nothing else.
func TestG6_AStopTakesAwayWhatWasShownUnderAnEarlierStamp(t *testing.T) {
	s := &sharing{offered: 3, changed: make(chan struct{})}
	shown, before := offeredAs(3)+"other", s.changed
	require.False(t, s.stopped(shown))
	s.tell(30)
	require.True(t, s.stopped(shown))
	require.False(t, s.stopped(offeredAs(30)+"other"))
	require.False(t, s.stopped("0123456789abcdef"), "a nonce of the desk")
	require.False(t, (*sharing)(nil).stopped(shown))
	select {
	case <-before:
	default:
		t.Fatal("nobody was told")
	}
}
