// Package private reads files that nobody else may read (tokens, keys, a database's
// address with its password) and files that nobody else may write (settings). It imports nothing of ours.
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
	return read(path, limit, func(owner int64, mode os.FileMode) error {
		switch {
		case owner != int64(os.Geteuid()):
			return errors.New("belongs to another user; it must be this user's own")
		case mode&0o077 != 0:
			return fmt.Errorf("has mode %#o, so that others could use it: chmod 600", mode)
		}
		return nil
	})
}

// ReadTrusted reads a file that says what is allowed, which others may read and only
// this user or root could have written: a regular file, not a symbolic link, owned by
// one of the two, that neither group nor others can write, of at most limit bytes.
// Errors and blocking are ReadFile's.
func ReadTrusted(path string, limit int64) ([]byte, error) {
	return read(path, limit, func(owner int64, mode os.FileMode) error {
		switch {
		case owner != int64(os.Geteuid()) && owner != 0:
			return errors.New("belongs to another user; it must be this user's own or root's")
		case mode&0o022 != 0:
			return fmt.Errorf("has mode %#o, so that others could write it: chmod go-w", mode)
		}
		return nil
	})
}

// read reads a regular file whose owner and permissions are accepted.
func read(path string, limit int64, accept func(owner int64, mode os.FileMode) error) ([]byte, error) {
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
	case !ok:
		return refuse("its owner isn't known")
	}
	if err := accept(int64(owner.Uid), st.Mode().Perm()); err != nil {
		return refuse("%w", err)
	}
	if st.Size() > limit {
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
