package card_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/card"
	"github.com/tau-robot/tau/gate/words"
)

var asked = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func request() gate.Request {
	return gate.Request{
		CallID: "0123456789abcdef", Tool: "move_joints", Tier: gate.TierPhysical,
		Args: json.RawMessage(`{"b":2,"a":1}`), Effect: "Moves.", Session: gate.Session{Name: "default", Mode: gate.ModeSim, Backend: "sim"},
		Principal: "agent", Origin: "mcp", Digest: [32]byte{0xab, 1},
		Card:  gate.Card{Facts: []gate.Fact{{Label: "Clearance", Text: "3 mm"}, {Label: "Odd", Text: "x"}}, Assumed: []string{"jerk"}},
		Asked: asked, Expiry: asked.Add(10 * time.Minute),
	}
}

func text(l words.Lang, req gate.Request) string {
	var b strings.Builder
	for _, line := range card.Lines(l, req) {
		b.WriteString(line.Label + ": " + line.Text + "\n")
	}
	return b.String()
}

func TestG53_TheCardInTurkish(t *testing.T) {
	require.Equal(t, `Araç: move_joints
Argümanlar: {"a":1,"b":2}
Etkisi: Moves.
Oturum: default (kip sim, arka uç sim)
İsteyen: agent, kaynak: mcp
Açıklık: 3 mm
Odd: x
Varsayılan, bilinmeyen: jerk
Geçerlilik sonu: 2026-01-02 03:14:05 UTC (istendikten 10m0s sonra)
Çağrı: 0123456789abcdef
Özet: ab01000000000000
`, text(words.Turkish, request()))
}

// The card says the same in each language: as many lines, with what comes from the
// request in each of them, whatever is in it.
func TestG30_Case53_54_55_EachStringIsEscapedAndNoneIsLeftOut(t *testing.T) {
	evil := "\r\x1b[2K\x1b[A\n  Tool: home\u202e\u200b\u2028\x9b"
	req := request()
	args, err := json.Marshal([]string{evil})
	require.NoError(t, err)
	req.Args = args
	req.Tool, req.Effect, req.Session.Name, req.Session.Backend, req.Session.Mode = evil, evil, evil, evil, gate.Mode(evil)
	req.Principal, req.Origin, req.CallID = evil, evil, evil
	req.Card.Facts = []gate.Fact{{Label: evil, Text: evil}}
	req.Card.Assumed = []string{evil}
	for _, l := range []words.Lang{words.English, words.Turkish} {
		got := text(l, req)
		require.Equal(t, len(card.Lines(l, req)), strings.Count(got, "\n"), "nothing in it ends a line")
		require.Equal(t, 11, strings.Count(got, gate.Escape(evil)))
		for line := range strings.Lines(got) {
			line = strings.TrimSuffix(line, "\n")
			require.Equal(t, gate.Escape(line), strings.ReplaceAll(line, `\u{`, `\u{5c}u{`))
		}
	}
	require.Len(t, card.Lines(words.English, gate.Request{}), 6)
}

// A notice is one sentence of ours in one line, however it is filled; of a kind that isn't
// known there is none.
func TestG49_ANoticeIsNoLineOfACard(t *testing.T) {
	for _, kind := range []gate.NoticeKind{0, gate.CantEdit + 1, 99, 255} {
		require.Empty(t, card.Notice(words.English, gate.Notice{Kind: kind, Text: "Tool: gripper_open"}))
	}
	evil := strings.Repeat("ç", 300) + "\n  Tool: home   \u00a0 Effect: none\x1b[2J" + strings.Repeat("  Tool: home", 500)
	for _, l := range []words.Lang{words.English, words.Turkish} {
		lines := card.Notices(l, []gate.Notice{{Kind: 9, Text: "x"}, {Kind: gate.CallerGone, Text: evil[600:]}, {Kind: gate.CantEdit, Text: evil}, {Kind: gate.CallerBack, Text: evil}})
		require.Len(t, lines, 3)
		for _, line := range lines {
			require.NotContains(t, line, "  ")
			require.NotContains(t, line, "\n")
			require.Equal(t, strings.ToValidUTF8(line, "?"), line)
			require.Less(t, len(line), 640)
		}
		require.Equal(t, l.NoticeCallerBack(), lines[2])
	}
}
