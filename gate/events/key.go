package events

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const keySize = 32 // bytes

// LoadKey reads the key at path: exactly 32 bytes in a regular file of this user
// that nobody else may read or write. A missing key is an fs.ErrNotExist.
func LoadKey(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("events: key: %w", err)
	}
	defer func() { _ = f.Close() }() // read only
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("events: key: %w", err)
	}
	switch st, ok := info.Sys().(*syscall.Stat_t); {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("events: key %s is not a regular file", path)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("events: key %s has mode %04o, which lets others in; it must be 0600", path, info.Mode().Perm())
	case ok && int(st.Uid) != os.Geteuid():
		return nil, fmt.Errorf("events: key %s belongs to user %d, not to user %d, who runs this", path, st.Uid, os.Geteuid())
	case info.Size() != keySize:
		return nil, fmt.Errorf("events: key %s has %d bytes, not %d", path, info.Size(), keySize)
	}
	key := make([]byte, keySize)
	if _, err := io.ReadFull(f, key); err != nil {
		return nil, fmt.Errorf("events: key: %w", err)
	}
	return key, nil
}

// loadOrMakeKey returns the key at path and makes it first if there is none.
// Of processes that do so at once, all end up with the same key: a key appears
// under its name only whole, and only where none was (link(2)).
func loadOrMakeKey(path string, random io.Reader) ([]byte, error) {
	key, err := LoadKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key = make([]byte, keySize)
	if _, err := io.ReadFull(random, key); err != nil {
		return nil, fmt.Errorf("events: no randomness for a key: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".events.key-*") // O_EXCL, mode 0600
	if err != nil {
		return nil, fmt.Errorf("events: key: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.Write(key)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return nil, fmt.Errorf("events: key: %w", err)
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("events: key: %w", err)
	}
	return LoadKey(path)
}
