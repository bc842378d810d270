package calibrate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tau-robot/tau/robot"
)

// mode is the file's: it says how a robot is moved, and nobody else may write it.
const mode = 0o600

// Save writes a file so that at any moment, also after a crash, path is the old file or
// the whole new one: into a temporary file beside it, synced, and renamed. An earlier file
// stays as path.old-DATE, which Save returns; "" is none. It refuses what isn't a regular
// file. After an error path is what it was.
func Save(path string, data []byte, now time.Time) (old string, err error) {
	fail := func(err error) (string, error) {
		return "", robot.Errf(robot.CodeInternal, path, "not written: %w", err)
	}
	st, err := os.Lstat(path)
	exists := err == nil
	switch {
	case exists && !st.Mode().IsRegular():
		return "", robot.Errf(robot.CodeInvalidArgument, path, "is no regular file, and won't be replaced")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fail(err)
	}
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".new-*") // 0600 by itself
	if err != nil {
		return fail(err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err != nil {
		return fail(err)
	}
	if exists {
		if old, err = keep(path, now); err != nil {
			return fail(err)
		}
	}
	if err = os.Rename(tmp.Name(), path); err != nil {
		return fail(err)
	}
	if err := syncFolder(dir); err != nil {
		return old, robot.Errf(robot.CodeInternal, path, "written, but the folder can't be synced: a crash now might undo it: %w", err)
	}
	return old, nil
}

// keep gives the file a second name, so that path is never without one.
func keep(path string, now time.Time) (string, error) {
	const names = 1000
	base := path + ".old-" + now.Format(time.DateOnly)
	for i := range names {
		name := base
		if i > 0 {
			name = fmt.Sprintf("%s.%d", base, i)
		}
		if err := os.Link(path, name); !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
	return "", fmt.Errorf("there are %d earlier files of today", names)
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
