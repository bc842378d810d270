// Package settings reads the operator's settings file (--settings FILE, TOML), once,
// before anything is started. It is strict: a key that nobody knows is an error with
// its line. No opt-in is ever read from it, and there is no file that is read unless it
// is named on the command line: what lies in a folder that an agent may write to must
// not decide who approves.
package settings

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/tau-robot/tau/gate/approver/telegram"
	"github.com/tau-robot/tau/gate/approver/web"
	"github.com/tau-robot/tau/gate/mount"
	"github.com/tau-robot/tau/gate/policy"
	"github.com/tau-robot/tau/gate/words"
)

// MaxBytes bounds a settings file.
const MaxBytes = 1 << 20

// File is the whole of it. The zero value is what holds without a file.
type File struct {
	UI UI `toml:"ui"`
	// Mounts are other MCP servers whose tools stand in the catalog too.
	Mounts []mount.Manifest `toml:"mount"`
	// Policy is what may be called, by whom, how often, and within which bounds.
	Policy policy.Section `toml:"policy"`
	// Telegram and Web are channels that approvals are asked on.
	Telegram telegram.Settings `toml:"telegram"`
	Web      web.Settings      `toml:"web"`
}

// UI is about what a person sees.
type UI struct {
	Language string `toml:"language"` // "en" (the default) or "tr"
}

// Lang returns the language of notices.
func (f *File) Lang() words.Lang {
	l, _ := words.Parse(f.UI.Language) // Parse has held it
	return l
}

// Parse reads a file's bytes; name is for errors. Relative paths in it are the
// sections' own business.
func Parse(name string, data []byte) (File, error) {
	var f File
	meta, err := toml.NewDecoder(bytes.NewReader(data)).Decode(&f)
	var bad toml.ParseError
	switch {
	case errors.As(err, &bad):
		return File{}, fmt.Errorf("%s:%d: %s", name, bad.Position.Line, bad.Message)
	case err != nil:
		return File{}, fmt.Errorf("%s: %w", name, err)
	}
	if left := meta.Undecoded(); len(left) > 0 {
		keys := make([]string, len(left))
		for i, k := range left {
			keys[i] = k.String()
		}
		return File{}, fmt.Errorf("%s: unknown: %s", name, strings.Join(keys, ", "))
	}
	if _, ok := words.Parse(f.UI.Language); !ok && f.UI.Language != "" {
		return File{}, fmt.Errorf("%s: ui.language %q: want en or tr", name, f.UI.Language)
	}
	if err := f.Policy.Check(); err != nil {
		return File{}, fmt.Errorf("%s: %w", name, err)
	}
	for _, section := range []interface{ Check() error }{f.Telegram, f.Web} {
		if err := section.Check(); err != nil {
			return File{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	named := map[string]bool{}
	for i := range f.Mounts {
		m := &f.Mounts[i]
		if err := m.Check(); err != nil {
			return File{}, fmt.Errorf("%s: %w", name, err)
		}
		if named[m.Name] {
			return File{}, fmt.Errorf("%s: there are two mounts named %q", name, m.Name)
		}
		named[m.Name] = true
	}
	return f, nil
}
