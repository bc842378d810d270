package cli

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
)

// maxStore bounds the file that --store names, in bytes.
const maxStore = 4096

// loadStore reads the address of the shared database: from the command line, or, behind
// an @, from a file of this user's alone. No error says it, nor what the file holds.
func loadStore(v string) (string, error) {
	name, file := strings.CutPrefix(v, "@")
	if file {
		text, err := readPrivate(name)
		if err != nil {
			return "", exit.Usagef("--store: %w", err)
		}
		if v = strings.TrimSpace(text); v == "" || strings.ContainsAny(v, "\r\n") {
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

// readPrivate reads a file that nobody but this user can read or write.
func readPrivate(name string) (_ string, err error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !st.Mode().IsRegular():
		return "", fmt.Errorf("%s is no regular file", name)
	case st.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("%s is open to others (mode %04o, want 0600): chmod 0600 it, and change the password that was in it", name, st.Mode().Perm())
	case !ok || int(sys.Uid) != os.Geteuid():
		return "", fmt.Errorf("%s belongs to another user", name)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxStore+1))
	switch {
	case err != nil:
		return "", err
	case len(b) > maxStore:
		return "", fmt.Errorf("%s has more than %d bytes", name, maxStore)
	}
	return string(b), nil
}
