package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// cache is a build cache of a run's own. What a mutant compiles to nobody asks for again, and
// a thousand of them would fill the user's cache with tens of gigabytes for days.
type cache struct {
	dir  string              // "": the user's, which a short run shares
	kept map[string]struct{} // what is built without any mutant
}

const (
	// ownFrom is from how many mutants on a run has a cache of its own: building everything
	// anew for it takes minutes.
	ownFrom = 100
	// pruneEvery is after how many mutants it is emptied of what is older than pruneAge, which
	// no build can still be reading.
	pruneEvery = 50
	pruneAge   = 15 * time.Minute
)

// keep remembers what is there as what every mutant needs.
func (c *cache) keep() error {
	c.kept = map[string]struct{}{}
	return c.walk(func(path string, _ fs.FileInfo) error {
		c.kept[path] = struct{}{}
		return nil
	})
}

// prune removes what mutants left before a time.
func (c *cache) prune(before time.Time) error {
	return c.walk(func(path string, info fs.FileInfo) error {
		if _, kept := c.kept[path]; kept || !info.ModTime().Before(before) {
			return nil
		}
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

func (c *cache) walk(do func(path string, info fs.FileInfo) error) error {
	if c.dir == "" {
		return nil
	}
	return filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a build took it away meanwhile
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return do(path, info)
	})
}

// environment is that of a go command with the cache.
func (c *cache) environment() []string {
	if c.dir == "" {
		return nil
	}
	return append(os.Environ(), "GOCACHE="+c.dir)
}
