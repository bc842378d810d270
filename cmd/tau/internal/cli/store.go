package cli

import (
	"net/url"
	"strings"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/gate/private"
)

// maxStore bounds the file that --store names, in bytes.
const maxStore = 4096

// loadStore reads the address of the shared database: from the command line, or, behind
// an @, from a file of this user's alone. No error says it, nor what the file holds.
func loadStore(v string) (string, error) {
	name, file := strings.CutPrefix(v, "@")
	if file {
		text, err := private.ReadFile(name, maxStore)
		if err != nil {
			return "", exit.Usagef("--store: %w", err)
		}
		if v = strings.TrimSpace(string(text)); v == "" || strings.ContainsAny(v, "\r\n") {
			return "", exit.Usagef("--store: %s: want one line, the address of a PostgreSQL database", name)
		}
	}
	if v == "" {
		return "", nil
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return "", exit.Usagef("--store: want postgres://user@host:port/database, or @FILE with that in a file of mode 0600")
	}
	_, secret := u.User.Password()
	if secret = secret || u.Query().Has("password"); secret && !file {
		return "", exit.Usagef("--store: a password on a command line can be read by every process of this machine: put the address into a file of mode 0600 and name it --store @FILE")
	}
	return v, nil
}
