// Package datadir owns the folder in which one bridge keeps what it knows: who
// may use it (nobody else), which process has it (one, by a lock that the kernel
// drops when the process dies), and where things lie in it. It imports nothing of
// ours and must never import gate, robot or cli.
package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Dir is a data folder that this process holds. Its methods may be called from
// any goroutine.
type Dir struct {
	path string
	lock *os.File
}

// Owner is what the lock file says of the process that holds the folder.
type Owner struct {
	PID     int       `json:"pid"`
	Robot   string    `json:"robot"`
	Started time.Time `json:"started"`
}

// TakenError says that another bridge has the folder.
type TakenError struct {
	Path  string
	Owner Owner // zero where its lock file can't be read
}

func (e *TakenError) Error() string {
	who := "another bridge"
	if e.Owner.PID > 0 {
		who = fmt.Sprintf("another bridge (robot %q, pid %d)", e.Owner.Robot, e.Owner.PID)
	}
	return fmt.Sprintf("%s runs on %s: one bridge a data folder; end it, or name another folder with --data-dir", who, e.Path)
}

// Default returns the folder to use: the flag, else TAU_DATA_DIR, else
// $XDG_STATE_HOME/tau (ignored unless absolute, as that specification says), else
// ~/.local/state/tau. getenv is os.Getenv outside tests.
func Default(flag string, getenv func(string) string) (string, error) {
	for _, p := range []string{flag, getenv("TAU_DATA_DIR")} {
		if p != "" {
			return filepath.Abs(p)
		}
	}
	if x := getenv("XDG_STATE_HOME"); filepath.IsAbs(x) {
		return filepath.Join(x, "tau"), nil
	}
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("no data folder: HOME is not set; name one with --data-dir or TAU_DATA_DIR")
	}
	return filepath.Join(home, ".local", "state", "tau"), nil
}

// Open makes the folder (mode 0700) where it is missing and takes it for this
// process. A folder that belongs to someone else, or into which others can write,
// is refused: what lies in it decides what a robot may do. A folder that another
// bridge holds is a *TakenError. Nothing blocks.
func Open(path, robot string, now time.Time) (*Dir, error) {
	if err := Make(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(path, "bridge.lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data folder: lock: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer func() { _ = f.Close() }()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &TakenError{Path: path, Owner: readOwner(f)}
		}
		return nil, fmt.Errorf("data folder: lock %s: %w", f.Name(), err)
	}
	d := &Dir{path: path, lock: f}
	if err := d.claim(Owner{PID: os.Getpid(), Robot: robot, Started: now}); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Make makes the folder (mode 0700) where it is missing, and refuses one that Open
// would refuse for whose it is. It takes nothing.
func Make(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	return check(path)
}

func check(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	if !st.IsDir() {
		return fmt.Errorf("data folder: %s is not a folder", path)
	}
	if st.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("data folder: others can write into %s (mode %04o, at most 0755)", path, st.Mode().Perm())
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Geteuid() {
		return fmt.Errorf("data folder: %s belongs to user %d, this process is user %d", path, sys.Uid, os.Geteuid())
	}
	return nil
}

func (d *Dir) claim(o Owner) error {
	b, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("data folder: lock: %w", err)
	}
	if err := d.lock.Truncate(0); err != nil {
		return fmt.Errorf("data folder: lock: %w", err)
	}
	if _, err := d.lock.WriteAt(append(b, '\n'), 0); err != nil {
		return fmt.Errorf("data folder: lock: %w", err)
	}
	for _, sub := range []string{"sessions", "logs"} {
		if err := os.MkdirAll(d.Join(sub), 0o700); err != nil {
			return fmt.Errorf("data folder: %w", err)
		}
	}
	return nil
}

func readOwner(f *os.File) Owner {
	var o Owner
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 4096))
	if err != nil || json.Unmarshal(b, &o) != nil {
		return Owner{}
	}
	return o
}

// Path returns the folder, absolute.
func (d *Dir) Path() string { return d.path }

// Join returns a path inside the folder.
func (d *Dir) Join(elem ...string) string {
	return filepath.Join(append([]string{d.path}, elem...)...)
}

// Close gives the folder up. The lock file stays: removing it would let two
// processes lock two files of one name. A second Close returns nil.
func (d *Dir) Close() error {
	if d.lock == nil {
		return nil
	}
	f := d.lock
	d.lock = nil
	return f.Close()
}

// Socket returns the path of the control socket of the bridge on folder path.
func Socket(path string) string { return filepath.Join(path, "control.sock") }
