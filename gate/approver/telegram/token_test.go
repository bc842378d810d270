package telegram_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/telegram"
	"github.com/tau-robot/tau/gate/approver/telegram/telegramtest"
)

func TestATokenIsReadOnlyFromAFileOfOnesOwn(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(p, []byte(text), mode))
		require.NoError(t, os.Chmod(p, mode))
		return p
	}
	for _, text := range []string{telegramtest.Token, telegramtest.Token + "\n", telegramtest.Token + "\r\n"} {
		_, err := telegram.ReadToken(file("good", text, 0o600))
		require.NoError(t, err)
	}
	_, err := telegram.ReadToken(file("readonly", telegramtest.Token, 0o400))
	require.NoError(t, err)

	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(filepath.Join(dir, "good"), link))
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	for path, want := range map[string]string{
		file("group", telegramtest.Token, 0o640): "has mode 0640, so that others could use it",
		file("world", telegramtest.Token, 0o604): "has mode 0604",
		link:                                     "is a symbolic link",
		fifo:                                     "isn't a regular file",
		dir:                                      "isn't a regular file",
		filepath.Join(dir, "none"):               "no such file",
		"good":                                   "want an absolute path",
		file("large", strings.Repeat("x", 4097), 0o600):                    "has 4097 bytes, at most 4096",
		file("empty", "", 0o600):                                           "holds no bot token",
		file("two", telegramtest.Token+"\n"+telegramtest.Token, 0o600):     "holds no bot token",
		file("blank", " "+telegramtest.Token, 0o600):                       "holds no bot token",
		file("path", "7001:../../../../../../../../etc/passwd0000", 0o600): "holds no bot token",
		file("short", "7001:abc", 0o600):                                   "holds no bot token",
		file("letters", "x7001:0123456789abcdefghij0123456789", 0o600):     "holds no bot token",
		file("noid", ":0123456789abcdefghij0123456789", 0o600):             "holds no bot token",
		file("nul", "7001:0123456789abcdefghij\x000123456789", 0o600):      "holds no bot token",
		file("long", "7001:"+strings.Repeat("a", 300), 0o600):              "holds no bot token",
	} {
		_, err := telegram.ReadToken(path)
		require.Equal(t, gate.CodeInvalidArgument, gate.CodeOf(err), path)
		require.ErrorContains(t, err, want, path)
		require.NotContains(t, err.Error(), "0123456789abcdefghij")
	}
}

func TestATokenShowsItselfNowhere(t *testing.T) {
	token, err := telegram.NewToken(telegramtest.Token)
	require.NoError(t, err)
	j, err := json.Marshal(map[string]any{"t": token})
	require.NoError(t, err)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "token", token, "inside", struct{ T telegram.Token }{token})
	shown := fmt.Sprintf("%v %+v %#v %s %q %s %s", token, token, token, token, token, j, log.String())
	require.NotContains(t, shown, "0123456789abcdefghij")
}

func TestSettingsAreHeldToWhatIsSafe(t *testing.T) {
	good := telegram.Settings{TokenFile: "/t", Chats: []int64{5}}
	require.NoError(t, good.Check())
	require.NoError(t, telegram.Settings{}.Check(), "a section that isn't there")
	require.False(t, telegram.Settings{}.Configured())
	many := make([]int64, 65)
	for i := range many {
		many[i] = int64(i + 1)
	}
	for want, s := range map[string]telegram.Settings{
		"telegram.token_file: is missing":            {Chats: []int64{5}},
		"want an absolute path":                      {TokenFile: "t", Chats: []int64{5}},
		"telegram.chats: is missing":                 {TokenFile: "/t"},
		"-5 is a group":                              {TokenFile: "/t", Chats: []int64{5, -5}},
		"0 is no chat's id":                          {TokenFile: "/t", Chats: []int64{0}},
		"telegram.chats: 5 is listed twice":          {TokenFile: "/t", Chats: []int64{5, 6, 5}},
		"telegram.users: 5 is listed twice":          {TokenFile: "/t", Chats: []int64{5}, Users: []int64{5, 5}},
		"-1 is no user's id":                         {TokenFile: "/t", Chats: []int64{5}, Users: []int64{-1}},
		"telegram.chats: 65 are listed":              {TokenFile: "/t", Chats: many},
		"telegram.users: 65 are listed":              {TokenFile: "/t", Chats: []int64{5}, Users: many},
		"https, or http on a literal loopback":       {TokenFile: "/t", Chats: []int64{5}, API: "http://api.example.org"},
		"\"http://localhost:80\": want https":        {TokenFile: "/t", Chats: []int64{5}, API: "http://localhost:80"},
		"want https://HOST":                          {TokenFile: "/t", Chats: []int64{5}, API: "api.example.org"},
		"without a user, a query":                    {TokenFile: "/t", Chats: []int64{5}, API: "https://a:b@example.org"},
		"\"https://example.org?x=1\": want an addre": {TokenFile: "/t", Chats: []int64{5}, API: "https://example.org?x=1"},
		"\"https://example.org/#\": want an addre":   {TokenFile: "/t", Chats: []int64{5}, API: "https://example.org/#"},
		"\"ftp://127.0.0.1\": want https":            {TokenFile: "/t", Chats: []int64{5}, API: "ftp://127.0.0.1"},
	} {
		err := s.Check()
		require.Equal(t, gate.CodeInvalidArgument, gate.CodeOf(err), want)
		require.ErrorContains(t, err, want)
	}
	for _, api := range []string{"https://bots.example.org/prefix/", "http://127.0.0.1:8081", "http://[::1]:8081"} {
		s := good
		s.API = api
		require.NoError(t, s.Check(), api)
	}
	_, err := telegram.New(telegram.Options{})
	require.ErrorContains(t, err, "no section [telegram]")
	_, err = telegram.New(telegram.Options{Settings: good})
	require.ErrorContains(t, err, "needs a bot's token")
	_, err = telegram.New(telegram.Options{Settings: telegram.Settings{TokenFile: "t"}})
	require.ErrorContains(t, err, "absolute")
}
