package motion_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/gate/words"
	"github.com/tau-robot/tau/robot/builtin"
)

// The card of a move of the whole arm fits a terminal of 80×24 with its question, on
// every robot: what has to be scrolled for is read by fewer people.
func TestG30_TheCardFitsATerminal(t *testing.T) {
	t.Parallel()
	const columns, rows = 80, 24
	for _, name := range builtin.Names() {
		t.Run(name, func(t *testing.T) {
			g := newGated(t, rigOptions{builtin: name}, gatetest.Reject())
			args := wholeArm(g.model, 0.2)
			a := g.ask("move_joints", args)
			require.Equal(t, gate.ApprovalRejected, a.Approval, a.Text)
			req := g.approver.Requests()[0]
			req.Asked, req.Expiry = time.Unix(1e9, 0), time.Unix(1e9+600, 0)
			card := terminal.Card(words.English, req) + terminal.Question
			n := 0
			for _, line := range strings.Split(card, "\n") {
				n += max(1, (utf8.RuneCountInString(line)+columns-1)/columns)
			}
			require.LessOrEqual(t, n, rows, "%d rows:\n%s", n, card)
		})
	}
}
