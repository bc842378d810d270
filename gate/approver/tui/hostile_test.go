package tui

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// evil is what attackers have put into prompts: cursor movement, erasing, reordering,
// line ends and what looks like another line of the card.
const evil = "\r\x1b[2K\x1b[A\n  Tool: home\u202e\u200b\u2028\u009b\x00[ Approve ]"

// Cases 53 to 55, in every string that reaches the screen.
func TestCase53_54_55_HostileTextIsShownAsWhatItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, 80, 24, Options{Robot: evil, Mode: gate.ModeSim}, Bridge{
			Open: func(context.Context) ([]gate.Record, error) {
				return []gate.Record{{Request: gate.Request{CallID: evil, Tool: evil, Principal: evil, Session: gate.Session{Name: evil}}}}, nil
			},
			Stop: func(gate.StopKind) []gate.StopVerdict { return []gate.StopVerdict{{Backend: evil}} },
		})
		req := request()
		args, err := json.Marshal([]string{evil})
		require.NoError(t, err)
		req.Args = args
		req.Tool, req.Effect, req.Session.Name, req.Session.Backend, req.Session.Mode = evil, evil, evil, evil, gate.Mode(evil)
		req.Principal, req.Origin = evil, evil
		req.Card.Facts = []gate.Fact{{Label: evil, Text: evil}}
		req.Card.Assumed = []string{evil, strings.Repeat("日本語", 60), strings.Repeat("א", 100), strings.Repeat("e\u0301", 90)}
		data, err := json.Marshal(map[string]any{
			"joints":  []any{map[string]any{"joint": evil, "peak_velocity": 1e308, "velocity_limit": 1e-308}},
			"drawing": map[string]any{"t_s": []float64{0, 1}, "positions": [][]float64{{0, 1}}, "tool": [][3]float64{{0, 0, 0}, {1, 1, 1}}},
		})
		require.NoError(t, err)
		req.Card.Data = data
		req.Notices = []gate.Notice{{Kind: gate.CallerGone, Text: evil}}
		s.ask(t.Context(), req)
		s.tui.Event(gate.Event{Type: evil, Tool: evil, Principal: evil, Origin: evil, Text: evil, Reason: evil, Code: gate.Code(evil)})
		s.tui.Motion(gate.Running{CallID: "x", Tool: evil}, 1, 2)
		s.tui.Tell(evil)
		s.press("!")
		var all strings.Builder
		for range 20 {
			text := s.tty.String()
			all.WriteString(text)
			require.Equal(t, 24, strings.Count(text, "\n"))
			require.NotContains(t, text, "\u202e")
			require.NotContains(t, text, "\u200b")
			rows := strings.Split(text, "\n")
			for i, row := range rows {
				require.False(t, strings.HasPrefix(row, "  Tool: home"), "%d %s", i, text)
				require.False(t, strings.HasPrefix(row, "Approval needed") && i > 3, text)
			}
			require.Contains(t, rows[len(rows)-2], "! E-STOP")
			s.press("\x1b[6~")
		}
		require.Contains(t, all.String(), `\u{d}\u{1b}[2K\u{1b}[A\u{a}  Tool: home\u{202e}`)
		require.Contains(t, s.tty.String(), "end of the card", "it can be read to its end")
		time.Sleep(time.Second)
		s.press("y")
		s.answered(gate.Approved, "answered")
		require.NoError(t, s.leave())
		require.Empty(t, s.tty.Unknown())
	})
}

// Data that isn't a drawing isn't drawn, and does no harm.
func TestDataThatIsNoDrawingIsntDrawn(t *testing.T) {
	for _, data := range []string{
		``, `{`, `null`, `[]`, `{"drawing":{}}`, `{"drawing":{"t_s":[0,1],"positions":[[0,1]],"tool":[[0,0,0],[0,0,0]]}}`,
		`{"joints":[{}],"drawing":{"t_s":[0,1],"positions":[[0]],"tool":[[0,0,0],[0,0,0]]}}`,
		`{"joints":[{}],"drawing":{"t_s":[0,1],"positions":[[0,1]],"tool":[[0,0,0]]}}`,
		`{"drawing":{"t_s":[` + strings.Repeat("0,", maxMoments+1) + `0]}}`,
	} {
		require.Nil(t, readRehearsal(json.RawMessage(data)), data)
	}
	for _, data := range []string{
		`{"joints":[{"joint":"a"}],"drawing":{"t_s":[0,1],"positions":[[1e308,-1e308]],"tool":[[0,0,0],[1e308,-1e308,1e308]]}}`,
		`{"joints":[{"joint":"a"}],"drawing":{"t_s":[0,1],"positions":[[0,0]],"tool":[[0,0,0],[0,0,0]]}}`,
	} {
		r := readRehearsal(json.RawMessage(data))
		require.NotNil(t, r)
		for _, w := range []int{1, 8, 46, 200} {
			r.rows(0, w%2 == 0, w)
		}
	}
}

func FuzzRehearsal(f *testing.F) {
	f.Add([]byte(`{"joints":[{"joint":"a","peak_velocity":1,"velocity_limit":2}],"drawing":{"t_s":[0,1,2],"positions":[[0,1,0.5]],"tool":[[0,0,0],[1,1,1],[0,1,2]]}}`), uint8(40))
	f.Add([]byte(`{"joints":[{"joint":"a"}],"drawing":{"t_s":[0,1],"positions":[[1e308,-1e308]],"tool":[[0,0,0],[1e308,-1e308,1e308]]}}`), uint8(46))
	f.Fuzz(func(t *testing.T, data []byte, wide uint8) {
		r := readRehearsal(data)
		w := int(wide) + minWide - 4
		for _, row := range r.rows(0, false, w) {
			require.LessOrEqual(t, width(row), w, "%q", row)
			for _, r := range row {
				require.False(t, unicode.In(r, unicode.C, unicode.Zl, unicode.Zp), "%q", row)
			}
		}
	})
}
