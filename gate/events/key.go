package events

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tau-robot/tau/gate/private"
)

const keySize = 32 // bytes

// LoadKey reads the key at path: exactly 32 bytes in a regular file of this user
// that nobody else may read or write. A missing key is an fs.ErrNotExist.
func LoadKey(path string) ([]byte, error) {
	key, err := private.ReadFile(path, keySize)
	if err != nil {
		return nil, fmt.Errorf("events: key: %w", err)
	}
	if len(key) != keySize {
		return nil, fmt.Errorf("events: key %s has %d bytes, not %d", path, len(key), keySize)
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
