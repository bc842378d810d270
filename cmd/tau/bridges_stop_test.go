package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// The bridge that asked is killed, a person says yes at the other one, and stops it
// before that has taken the request up: nothing runs, the request stays its own bridge's,
// and what is shown again afterwards needs a yes of its own.
func TestG6_AStopWhileAnotherBridgesRequestIsTakenUp(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	a, b, at := p.asked()
	id := callOf(at)
	require.NoError(t, a.cmd.Process.Kill())
	at.answers("y")
	eventually(t, func() bool {
		for _, e := range ofType(logged(t, p.dirB), "session") {
			if strings.Contains(e.Text, id) && strings.Contains(e.Text, "is being taken up") {
				return true
			}
		}
		return false
	}, "it is being taken up")
	b.call("halt", "stop", `{}`)
	b.answer("halt")
	at.await("a stop came first")
	require.NotContains(t, at.out.String(), "✓ move_joints: approved")
	at.card()
	require.Empty(t, calls(t, p.dirB, id))
	at.answers("y")
	at.await("✓ move_joints: approved")
	eventually(t, func() bool { return len(calls(t, p.dirB, id)) == 1 }, "it ends there")
	require.Equal(t, 1, ran(t, p.dirB, id))
	b.ends()
}

// A stop at a bridge takes the card of another one's request away there: who said yes to
// nothing yet is asked anew.
func TestG6_AStopTakesAnotherBridgesCardAway(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	a, b, at := p.asked()
	b.call("halt", "stop", `{}`)
	b.answer("halt")
	at.card()
	at.answers("")
	require.Equal(t, gate.CodeNotApproved, a.answer("go").Result.Structured.Code)
	a.ends()
	b.ends()
}
