package signed

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"github.com/tau-robot/tau/gate"
)

// maxFile bounds a key's file, in bytes.
const maxFile = 8192

// checkFolder refuses a folder that isn't this user's alone.
func checkFolder(dir string) error {
	st, err := os.Lstat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("keys: %w", err)
	case !st.IsDir():
		return distrust(dir, "is no folder (a symbolic link to one isn't either)")
	case st.Mode().Perm()&0o077 != 0:
		return distrust(dir, "is open to others (mode %04o, want 0700): chmod 0700 it, and look at what lies in it", st.Mode().Perm())
	}
	return ownerOf(dir, st)
}

func ownerOf(path string, st fs.FileInfo) error {
	if sys, ok := st.Sys().(*syscall.Stat_t); !ok || int(sys.Uid) != os.Geteuid() {
		return distrust(path, "belongs to another user")
	}
	return nil
}

func distrust(path, format string, args ...any) error {
	return gate.Errf(gate.CodeInvalidArgument, path, format, args...)
}

// readFile reads a file that is this user's alone: a regular file of mode
// 0600 that is no symbolic link. A file that isn't there is
// fs.ErrNotExist; all else is an *gate.Error that names it.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case errors.Is(err, unix.ELOOP):
		return nil, distrust(path, "is a symbolic link")
	case err != nil:
		return nil, distrust(path, "can't be read: %w", err)
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, distrust(path, "can't be read: %w", err)
	case !st.Mode().IsRegular():
		return nil, distrust(path, "is no regular file")
	case st.Mode().Perm() != 0o600:
		return nil, distrust(path, "has mode %04o, want 0600", st.Mode().Perm())
	case st.Size() > maxFile:
		return nil, distrust(path, "has %d bytes, at most %d are allowed", st.Size(), maxFile)
	}
	if err := ownerOf(path, st); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, distrust(path, "can't be read: %w", err)
	case len(b) > maxFile:
		return nil, distrust(path, "has more than %d bytes", maxFile)
	}
	return b, nil
}

// readJSON reads a file into v, strictly: unknown and double members, trailing data
// and invalid UTF-8 are errors.
func readJSON(path string, v any) error {
	b, err := readFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v, json.RejectUnknownMembers(true)); err != nil {
		return distrust(path, "is damaged: %w", err)
	}
	return nil
}

// writeJSON puts v in the place of a file, whole or not at all, with mode 0600, and
// returns once it is on the disk. fresh: a file that is there is an error.
func writeJSON(path string, v any, fresh bool) (err error) {
	b, err := json.Marshal(v)
	if err != nil {
		return gate.Errf(gate.CodeInternal, path, "%w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return gate.Errf(gate.CodeInternal, path, "can't be written: %w", err)
	}
	defer func() {
		if rerr := os.Remove(f.Name()); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}()
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return gate.Errf(gate.CodeInternal, path, "can't be written: %w", err)
	}
	move := os.Rename
	if fresh {
		// A link never replaces; the second name goes with the deferred removal.
		move = os.Link
	}
	if err := move(f.Name(), path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return distrust(path, "is there already")
		}
		return gate.Errf(gate.CodeInternal, path, "can't be written: %w", err)
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return gate.Errf(gate.CodeInternal, dir, "%w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return gate.Errf(gate.CodeInternal, dir, "%w", err)
	}
	return nil
}
