package mcp_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate/mcp"
)

func TestTokenFile(t *testing.T) {
	tok := token(t, 3, "agent-1", "bench_2")
	path := filepath.Join(t.TempDir(), "agent.token")
	require.NoError(t, mcp.SaveToken(path, tok))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, tok.Bearer()+"\nprincipal agent-1\nsession bench_2\n", string(text))

	other := token(t, 4, "agent-1", "bench_2")
	require.ErrorIs(t, mcp.SaveToken(path, other), os.ErrExist, "a file that exists is never written over")
	again, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, text, again)

	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(path, link))
	require.Error(t, mcp.SaveToken(link, other))
	dangling := filepath.Join(t.TempDir(), "dangling")
	target := filepath.Join(t.TempDir(), "target")
	require.NoError(t, os.Symlink(target, dangling))
	require.Error(t, mcp.SaveToken(dangling, other))
	require.NoFileExists(t, target)
}

func TestNewToken(t *testing.T) {
	_, err := mcp.NewToken(bytes.NewReader(make([]byte, 31)), "a", "s")
	require.Error(t, err, "too little randomness")
	seen := map[string]bool{}
	for i := range byte(50) {
		s := token(t, i, "a", "s").Bearer()
		require.False(t, seen[s])
		seen[s] = true
	}
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.StringN(0, 70, 80).Draw(rt, "name")
		valid := len(name) >= 1 && len(name) <= 64 && strings.Trim(name,
			"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
		_, err := mcp.NewToken(bytes.NewReader(make([]byte, 32)), name, "s")
		require.Equal(rt, valid, err == nil)
		_, err = mcp.NewToken(bytes.NewReader(make([]byte, 32)), "a", name)
		require.Equal(rt, valid, err == nil)
	})
}

func TestATokenDoesntShowItsSecret(t *testing.T) {
	tok := token(t, 3, "alice", "left")
	var b bytes.Buffer
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "token", tok)
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "token", tok)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		fmt.Fprintf(&b, verb, tok)
	}
	require.NotContains(t, b.String(), tok.Bearer())
	require.Contains(t, b.String(), tok.ID())
	require.NotContains(t, tok.Bearer(), tok.ID())
}

func TestTokenTable(t *testing.T) {
	tokens := new(mcp.TokenTable)
	tok := token(t, 3, "a", "s")
	require.NoError(t, tokens.Add(tok))
	require.Error(t, tokens.Add(tok))
	require.Error(t, tokens.Add(mcp.Token{}), "the zero token opens nothing")
	require.False(t, tokens.Revoke("0000000000000000"))
	require.True(t, tokens.Revoke(tok.ID()))
	require.NoError(t, tokens.Add(tok))
}
