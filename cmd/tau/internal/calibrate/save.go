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

// errUnsynced is in the error of a Save that has written the file.
var errUnsynced = errors.New("a crash of this computer now might undo it")

// Save writes a file so that at any moment, also after a crash, path is the old file or
// the whole new one: into a temporary file beside it, synced, and renamed. An earlier file
// stays as path.old-DATE, which Save returns; "" is none. It refuses what isn't a regular
// file. After an error path is what it was, but for one that says that it is written, and that
// the folder couldn't be synced.
func Save(path string, data []byte, now time.Time) (old string, err error) {
	exists, err := replaceable(path)
	if err != nil {
		return "", err
	}
	folder, err := os.Open(filepath.Dir(path)) // it is synced at the end, so it can't fail then
	if err != nil {
		return "", unwritten(path, err)
	}
	defer func() { _ = folder.Close() }() // it was only read
	tmp, err := beside(path)
	if err != nil {
		return "", unwritten(path, err)
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err == nil && exists {
		old, err = keep(path, now)
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return "", unwritten(path, err)
	}
	if err := folder.Sync(); err != nil {
		return old, robot.Errf(robot.CodeInternal, path, "written, but its folder can't be synced: %w", fmt.Errorf("%w: %w", err, errUnsynced))
	}
	return old, nil
}

// Try finds out whether Save could write path, before anybody measures an arm for it: it
// makes a file beside it, and a second name where there is an earlier one to keep, and
// takes both away again. Errors are Save's.
func Try(path string) error {
	exists, err := replaceable(path)
	if err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return unwritten(path, err)
	}
	defer func() { _ = folder.Close() }() // it was only read
	tmp, err := beside(path)
	if err != nil {
		return unwritten(path, err)
	}
	err = tmp.Close()
	if err == nil && exists {
		second := tmp.Name() + ".old"
		if err = os.Link(tmp.Name(), second); err == nil {
			err = os.Remove(second)
		}
	}
	if err = errors.Join(err, os.Remove(tmp.Name())); err != nil {
		return unwritten(path, err)
	}
	return nil
}

// replaceable reports whether there is a file to be kept, and refuses what is no file.
func replaceable(path string) (exists bool, err error) {
	st, err := os.Lstat(path)
	switch {
	case err == nil && !st.Mode().IsRegular():
		return false, robot.Errf(robot.CodeInvalidArgument, path, "is no regular file, and won't be replaced")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, unwritten(path, err)
	}
	return err == nil, nil
}

// beside makes a temporary file in the same folder, of mode 0600.
func beside(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".new-*")
}

func unwritten(path string, err error) error {
	return robot.Errf(robot.CodeInternal, path, "not written: %w", err)
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
