package telegram

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/private"
)

// Bounds of a bot's token.
const (
	maxTokenFile   = 4096 // bytes
	minTokenSecret = 20   // characters behind the colon; BotFather gives 35
	maxToken       = 256
)

// Token is a bot's token. It shows itself nowhere: printed, logged or marshalled it reads
// hiddenToken. The zero value opens nothing.
type Token struct{ secret string }

// hiddenToken is what is shown in a token's place.
const hiddenToken = "(bot token)"

func (Token) String() string { return hiddenToken }

// GoString is String, so that %#v gives nothing away either.
func (Token) GoString() string { return hiddenToken }

// LogValue is String for log/slog.
func (Token) LogValue() slog.Value { return slog.StringValue(hiddenToken) }

// MarshalText is String for encoders.
func (Token) MarshalText() ([]byte, error) { return []byte(hiddenToken), nil }

// redact takes the token out of a text that is going to be shown.
func (t Token) redact(s string) string {
	if t.secret == "" {
		return s
	}
	return strings.ReplaceAll(s, t.secret, hiddenToken)
}

// NewToken checks the form of a bot's token: digits, a colon and the secret.
func NewToken(s string) (Token, error) {
	bad := gate.Errf(gate.CodeInvalidArgument, "telegram.token_file", "it holds no bot token: want one line, digits, a colon and the secret, as BotFather gave it")
	id, secret, ok := strings.Cut(s, ":")
	if !ok || id == "" || len(s) > maxToken || len(secret) < minTokenSecret {
		return Token{}, bad
	}
	for _, r := range id {
		if r < '0' || r > '9' {
			return Token{}, bad
		}
	}
	for _, r := range secret {
		switch {
		case r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_', r == '-':
		default:
			return Token{}, bad
		}
	}
	return Token{s}, nil
}

// ReadToken reads a bot's token from a file that nobody else can read: a regular file,
// not a symbolic link, owned by this user, with no permission for group or others. It
// blocks for the disk only.
func ReadToken(path string) (Token, error) {
	if !filepath.IsAbs(path) {
		return Token{}, gate.Errf(gate.CodeInvalidArgument, "telegram.token_file", "%s: want an absolute path", gate.Escape(path))
	}
	b, err := private.ReadFile(path, maxTokenFile)
	if err != nil {
		return Token{}, gate.Errf(gate.CodeInvalidArgument, "telegram.token_file", "%w", err)
	}
	t, err := NewToken(strings.TrimRight(string(b), "\r\n"))
	if err != nil {
		return Token{}, fmt.Errorf("%s: %w", gate.Escape(path), err)
	}
	return t, nil
}
