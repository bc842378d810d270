package telegram

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/conns"
)

// DefaultAPI is where the Bot API is.
const DefaultAPI = "https://api.telegram.org"

// maxListed bounds the chats and the users that may be listed.
const maxListed = 64

// Settings is the section [telegram] of the operator's settings. The zero value names
// no bot.
type Settings struct {
	TokenFile string  `toml:"token_file"` // absolute; mode 0600, this user's own
	Chats     []int64 `toml:"chats"`      // that cards are sent to and presses are taken from
	// Users may press and stop; empty: whoever is in a chat, which then has to be a
	// private one.
	Users []int64 `toml:"users"`
	API   string  `toml:"api"` // another Bot API server: https, or http on loopback
}

// Configured reports whether the section is there.
func (s Settings) Configured() bool {
	return s.TokenFile != "" || s.API != "" || len(s.Chats) > 0 || len(s.Users) > 0
}

// Check holds a section that is there to what is needed. It reads no file.
func (s Settings) Check() error {
	bad := func(key, format string, args ...any) error {
		return gate.Errf(gate.CodeInvalidArgument, "telegram."+key, format, args...)
	}
	if !s.Configured() {
		return nil
	}
	switch {
	case s.TokenFile == "":
		return bad("token_file", "is missing: the file (mode 0600) with the bot's token")
	case !filepath.IsAbs(s.TokenFile):
		return bad("token_file", "%q: want an absolute path", s.TokenFile)
	case len(s.Chats) == 0:
		return bad("chats", "is missing: the ids of the chats that may approve; the log names the id of a chat that isn't listed when it writes to the bot")
	case len(s.Chats) > maxListed:
		return bad("chats", "%d are listed, limit %d", len(s.Chats), maxListed)
	case len(s.Users) > maxListed:
		return bad("users", "%d are listed, limit %d", len(s.Users), maxListed)
	}
	for i, id := range s.Chats {
		switch {
		case id == 0:
			return bad("chats", "0 is no chat's id")
		case slices.Contains(s.Chats[:i], id):
			return bad("chats", "%d is listed twice", id)
		case id < 0 && len(s.Users) == 0:
			return bad("users", "is missing: %d is a group, and everybody whom somebody adds to it could approve; list who may", id)
		}
	}
	for i, id := range s.Users {
		switch {
		case id <= 0:
			return bad("users", "%d is no user's id", id)
		case slices.Contains(s.Users[:i], id):
			return bad("users", "%d is listed twice", id)
		}
	}
	_, err := s.base()
	return err
}

// base returns the address of the Bot API without a slash at its end.
func (s Settings) base() (string, error) {
	if s.API == "" {
		return DefaultAPI, nil
	}
	bad := func(why string) (string, error) {
		return "", gate.Errf(gate.CodeInvalidArgument, "telegram.api", "%q: %s", s.API, why)
	}
	u, err := url.Parse(s.API)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return bad("want https://HOST")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Contains(s.API, "#"):
		return bad("want an address without a user, a query or a fragment")
	case u.Scheme == "https":
	case u.Scheme == "http" && conns.IsLoopback(u.Hostname()):
	default:
		return bad("want https, or http on a literal loopback address: the token is in each request")
	}
	return strings.TrimRight(s.API, "/"), nil
}
