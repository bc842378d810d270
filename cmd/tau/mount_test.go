package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// mounting writes settings that mount another bridge, which is an MCP server that
// happens to be at hand, by its real binary as a child on stdio.
func mounting(t *testing.T, tools string) (settings, farDir string) {
	t.Helper()
	farDir = dataDir(t)
	settings = filepath.Join(t.TempDir(), "settings.toml")
	text := fmt.Sprintf(`[[mount]]
name = "lab"
command = [%q, "robot", "sim", "--mcp", "stdio", "--clock", "fast", "--data-dir", %q]
timeout_s = 20
[mount.stop]
tool = "stop"
%s`, binary, farDir, tools)
	require.NoError(t, os.WriteFile(settings, []byte(text), 0o600))
	return settings, farDir
}

const labTools = `[mount.tools.current_time]
tier = 0
kind = "read"
description = "Says what time it is in the lab."
[mount.tools.demo_physical_action]
tier = 2
kind = "write"
description = "Does something in the lab."
effect = "Does something in the lab."
[mount.tools.demo_physical_action.arguments]
note = "a note for the lab"
`

// TestG4_AMountedServerStandsBehindTheGate: its tier-0 tool is called, its physical one
// is asked about (and nobody can answer here), one that isn't listed isn't there, and a
// stop stops it too.
func TestG4_AMountedServerStandsBehindTheGate(t *testing.T) {
	settings, farDir := mounting(t, labTools)
	dir := dataDir(t)
	as, r := script(t, dir, []string{
		`{"tool":"lab_current_time"}`,
		`{"tool":"lab_demo_physical_action","arguments":{"note":"x"}}`,
		`{"tool":"lab_move_joints","arguments":{"positions":{"shoulder_pan":0.5}}}`,
		`{"tool":"lab_current_time","arguments":{"extra":1}}`,
	}, "--settings", settings)
	require.Equal(t, 1, r.status, r.stderr)
	require.Len(t, as, 4)
	require.Equal(t, "ok", as[0].Status, as[0].Text)
	require.Contains(t, as[0].Text, "The mounted server lab says: ")
	require.Equal(t, "NOT_APPROVED", as[1].Code)
	require.Contains(t, as[1].Text, "Nobody can answer in this run.")
	require.Equal(t, "UNKNOWN_TOOL", as[2].Code)
	require.Equal(t, "INVALID_ARGUMENT", as[3].Code)
	stops, r := script(t, dir, []string{`{"tool":"stop"}`}, "--settings", settings)
	require.Equal(t, 0, r.status, r.stderr)
	require.Contains(t, string(stops[0].Result), `"backend":"mount lab","commanded":"yes","acknowledged":"yes"`)

	asked := ofType(logged(t, dir), "approval")
	require.Len(t, asked, 1)
	require.Equal(t, "Mounted server", asked[0].Card.Facts[0].Label)
	far := logged(t, farDir)
	require.GreaterOrEqual(t, len(ofType(far, "stop")), 2, "the script's, and those of the ends")
	for _, e := range ofType(far, "tool_call") {
		require.NotEqual(t, "demo_physical_action", e.Tool, "what wasn't approved was never sent")
	}
}

// TestG4_WhatTheManifestGetsWrongKeepsTheBridgeFromStarting, with the reason.
func TestG4_WhatTheManifestGetsWrongKeepsTheBridgeFromStarting(t *testing.T) {
	for tools, why := range map[string]string{
		"[mount.tools.nothing]\ntier = 0\nkind = \"read\"\ndescription = \"x\"\n":            "mount lab.tools.nothing: the server has no such tool",
		"[mount.tools.current_time]\ntier = true\nkind = \"read\"\ndescription = \"x\"\n":    "tier",
		"[mount.tools.current_time]\ntier = 2.0\nkind = \"read\"\ndescription = \"x\"\n":     "tier",
		"[mount.tools.home]\ntier = 0\nkind = \"write\"\ndescription = \"x\"\n":              "a tool of kind write is tier 2 at least",
		"[mount.tools.home]\ntier = 2\nkind = \"write\"\ndescription = \"x\"\nsafe = true\n": "unknown: mount.tools.home.safe",
	} {
		settings, _ := mounting(t, tools)
		r := tau(t, "", "robot", "sim", "--script", "-", "--data-dir", dataDir(t), "--settings", settings)
		require.NotEqual(t, 0, r.status, tools)
		require.Contains(t, r.stderr, why, tools)
		require.NotContains(t, r.stderr, "goroutine")
	}
}

// TestG4_AMountedCallThatIsExemptIsSent: what it answers is its own business.
func TestG4_AMountedCallThatIsExemptIsSent(t *testing.T) {
	settings, farDir := mounting(t, labTools)
	dir := dataDir(t)
	as, r := script(t, dir, []string{`{"tool":"lab_demo_physical_action","arguments":{"note":"x"}}`}, "--settings", settings, "--rehearse")
	require.Equal(t, 1, r.status, r.stderr)
	require.Equal(t, "TOOL_FAILED", as[0].Code, "the lab's own bridge has nobody who could approve")
	require.Equal(t, "error", as[0].Status)
	require.Equal(t, gate.ApprovalExempt, ofType(logged(t, dir), "tool_call")[0].Approval)
	require.Len(t, ofType(logged(t, farDir), "approval"), 1)
}
