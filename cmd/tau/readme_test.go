package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func readme(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	return string(b)
}

// blocks are the indented blocks of a page, without their indent, with lines that go
// on joined.
func blocks(page string) [][]string {
	var out [][]string
	var block []string
	for line := range strings.Lines(page + "\n\n") {
		text, in := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		switch {
		case in && len(block) > 0 && strings.HasSuffix(block[len(block)-1], `\`):
			block[len(block)-1] = strings.TrimSuffix(block[len(block)-1], `\`) + text
		case in:
			block = append(block, text)
		case len(block) > 0:
			out, block = append(out, block), nil
		}
	}
	return out
}

// place is a folder that looks like the repository after make build.
func place(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	require.NoError(t, os.Symlink(binary, filepath.Join(dir, "bin", "tau")))
	for _, name := range []string{"testdata", "docs"} {
		require.NoError(t, os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)))
	}
	return dir
}

// Each command of the README runs as it stands there. One that opens a prompt is given
// an empty script instead of a person.
func TestEveryCommandOfTheREADMERuns(t *testing.T) {
	dir := place(t)
	n := 0
	for _, block := range blocks(readme(t)) {
		text := strings.Join(block, "\n")
		if !strings.HasPrefix(text, "bin/tau ") && !strings.HasPrefix(text, "printf ") {
			continue
		}
		commands := block
		if strings.HasPrefix(text, "printf ") {
			commands = []string{strings.Join(block, " ")}
		}
		for _, c := range commands {
			if strings.HasPrefix(c, "bin/tau robot sim") {
				c += " --script - </dev/null"
			}
			cmd := exec.CommandContext(context.Background(), "sh", "-c", c)
			cmd.Dir = dir
			cmd.Env = environment("TAU_DATA_DIR=" + filepath.Join(dir, "data"))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s\n%s", c, out)
			n++
		}
	}
	require.GreaterOrEqual(t, n, 10)
}

// What the README types at the prompt works there, in that order, from where the arm
// starts.
func TestWhatTheREADMETypesAtThePromptWorks(t *testing.T) {
	var lines []string
	for _, block := range blocks(readme(t)) {
		if !strings.HasPrefix(block[0], "state ") {
			continue
		}
		for _, l := range block { // what is typed, and what that is, some blanks apart
			if typed, _, _ := strings.Cut(l, "   "); typed != "" && typed != "stop" { // which would drop what waits
				lines = append(lines, typed)
			}
		}
	}
	require.GreaterOrEqual(t, len(lines), 7)
	input := "move_joints shoulder_pan=0.5\n" + strings.Join(lines, "\n") + "\n"
	r := tau(t, input, "robot", "sim", "--rehearse", "--clock", "fast", "--mcp", "off", "--data-dir", dataDir(t))
	require.Equal(t, 0, r.status, r.stderr)
	for _, tool := range []string{"move_joints", "jog", "move_pose", "move_path", "gripper", "home"} {
		require.Contains(t, r.stdout, "✓ "+tool+": ", "%s", r.stdout)
	}
	require.NotContains(t, r.stdout, "✗", "%s", r.stdout)
}

func TestThePicturesAndFilesThatTheREADMENamesAreThere(t *testing.T) {
	names := regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(readme(t), -1)
	require.NotEmpty(t, names)
	pictures := 0
	for _, m := range names {
		path := filepath.Join("..", "..", m[1])
		if filepath.Ext(path) == ".png" {
			requirePicture(t, path)
			pictures++
			continue
		}
		_, err := os.Stat(path)
		require.NoError(t, err)
	}
	require.GreaterOrEqual(t, pictures, 5)
}

// The stdio configuration is what a client would start: it answers, and moves the
// simulated robot without anybody.
func TestTheREADMEsStdioConfigurationIsOneThatWorks(t *testing.T) {
	var found bool
	for _, block := range blocks(readme(t)) {
		var doc struct {
			Servers map[string]struct {
				Command string
				Args    []string
			} `json:"mcpServers"`
		}
		if json.Unmarshal([]byte(strings.Join(block, "\n")), &doc) != nil || len(doc.Servers) == 0 {
			continue
		}
		found = true
		for _, s := range doc.Servers {
			require.True(t, strings.HasSuffix(s.Command, "/bin/tau"))
			in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"
			r := tauEnv(t, []string{"TAU_DATA_DIR=" + dataDir(t)}, in, s.Args...)
			require.Equal(t, 0, r.status, r.stderr)
			require.Contains(t, r.stdout, `"protocolVersion":"2025-11-25"`)
		}
	}
	require.True(t, found)
}
