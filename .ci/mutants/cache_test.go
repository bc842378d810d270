package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestPruneKeepsWhatEveryMutantNeeds(t *testing.T) {
	c := cache{dir: t.TempDir()}
	now := time.Now()
	write := func(name string, age time.Duration) string {
		path := filepath.Join(c.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	base := write("00/base", 2*time.Hour)
	if err := c.keep(); err != nil {
		t.Fatal(err)
	}
	old, young := write("00/old", time.Hour), write("01/young", time.Minute)
	if err := c.prune(now.Add(-pruneAge)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{base: true, old: false, young: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAShortRunSharesTheUsersCache(t *testing.T) {
	var c cache
	if c.environment() != nil || c.keep() != nil || c.prune(time.Now()) != nil {
		t.Fatal("it has a cache of its own")
	}
}
