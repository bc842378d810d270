// Package private reads files that nobody else may read: tokens, keys, a database's
// address with its password. It imports nothing of ours.
package private

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// ReadFile reads a private file: a regular file, not a symbolic link, owned by this
// user, with no permission for group or others, of at most limit bytes. An error names
// the file and says what to do; it never holds the content. It blocks for the disk only.
func ReadFile(path string, limit int64) ([]byte, error) {
	refuse := func(format string, args ...any) ([]byte, error) {
		return nil, fmt.Errorf("%q: %w", path, fmt.Errorf(format, args...))
	}
	// Without O_NONBLOCK a FIFO that lies there would block for ever.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, syscall.ELOOP):
		return refuse("is a symbolic link; name the file itself")
	case err != nil:
		return refuse("%w", pathless(err))
	}
	defer func() { _ = f.Close() }() // it was only read
	st, err := f.Stat()
	if err != nil {
		return refuse("%w", pathless(err))
	}
	owner, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !st.Mode().IsRegular():
		return refuse("isn't a regular file")
	case !ok || int64(owner.Uid) != int64(os.Geteuid()):
		return refuse("belongs to another user; it must be this user's own")
	case st.Mode().Perm()&0o077 != 0:
		return refuse("has mode %#o, so that others could use it: chmod 600", st.Mode().Perm())
	case st.Size() > limit:
		return refuse("has %d bytes, at most %d are read", st.Size(), limit)
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return refuse("%w", pathless(err))
	case int64(len(b)) > limit:
		return refuse("has more than %d bytes", limit)
	}
	return b, nil
}

// pathless drops the path from an error that is going to be told with it.
func pathless(err error) error {
	var named *os.PathError
	if errors.As(err, &named) {
		return named.Err
	}
	return err
}
