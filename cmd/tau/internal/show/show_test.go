package show

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/words"
)

func TestG8_TheLineAPersonSeesOfARefusal(t *testing.T) {
	a := gate.Answer{
		Tool: "move_joints", Status: gate.StatusRefused, Code: gate.CodeNotApproved,
		Text: "The user did not approve this action: move_joints. Do not perform it; tell the user briefly.",
	}
	require.Equal(t, "✗ move_joints: not approved", Answer(words.English, a))
}

func TestAnswerLines(t *testing.T) {
	require.Equal(t, "✓ home: done", Answer(words.English, gate.Answer{Tool: "home", Status: gate.StatusOK, Text: "done"}))
	require.Equal(t, "✗ home: JOINT_LIMIT: too far", Answer(words.English, gate.Answer{Tool: "home", Status: gate.StatusRefused, Code: gate.CodeJointLimit, Text: "too far"}))
	require.Equal(t, "✗ home: JOINT_LIMIT: too far", Answer(words.English, gate.Answer{Tool: "home", Status: gate.StatusRefused, Code: gate.CodeJointLimit, Text: "JOINT_LIMIT: too far"}))
	require.Equal(t, "? home: outcome unknown: lost (call ab)", Answer(words.English, gate.Answer{Tool: "home", Status: gate.StatusUnknown, Code: gate.CodeUnknownOutcome, Text: "lost", CallID: "ab"}))
}

func TestVerdicts(t *testing.T) {
	v := gate.StopVerdict{Backend: "sim", Commanded: "yes", Acknowledged: "yes", Stationary: "yes", DurationS: 0.25}
	require.Equal(t, "sim: commanded yes, acknowledged yes, stationary yes after 0.250 s", Verdict(words.English, v))
	require.True(t, AtRest([]gate.StopVerdict{v}))
	require.False(t, AtRest(nil))
	require.False(t, AtRest([]gate.StopVerdict{v, {Stationary: "unknown"}}))
}

func TestCase53_54_55_NothingRewritesTheTerminal(t *testing.T) {
	a := gate.Answer{Tool: "x\x1b[2K", Status: gate.StatusRefused, Code: gate.CodeUnknownTool, Text: "a\r\u202Eb"}
	require.Equal(t, `✗ x\u{1b}[2K: UNKNOWN_TOOL: a\u{d}\u{202e}b`, Answer(words.English, a))
}

func TestTextIsBounded(t *testing.T) {
	got := Text(words.English, strings.Repeat("ü", 3000))
	require.Less(t, len(got), maxText+40)
	require.Contains(t, got, "4000 bytes more")
}
