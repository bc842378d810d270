package boardtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A cache is a folder of this user's in the temporary folder, shared by all test
// processes. What is built from one content lies under its hash and is never changed.
type cache struct {
	dir  string
	root string // of the repository
}

const (
	// places is how many real-time emulated boards the machine holds (docs/HIL.md).
	places = 2
	// keep is how long something built is kept after its last use.
	keep = 24 * time.Hour
	// lockPoll is the pause between two looks at locks of which any will do: flock
	// can wait for one alone.
	lockPoll = 20 * time.Millisecond
)

func openCache() (*cache, error) {
	root, err := repository()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(os.TempDir(), "tau-boardtest-"+strconv.Itoa(os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return nil, err
	}
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || int(st.Uid) != os.Getuid() {
		return nil, fmt.Errorf("%s isn't a folder that only this user can write: what is run from it could be anybody's", dir)
	}
	return &cache{dir: dir, root: root}, nil
}

// repository finds the repository's root from the test's own folder.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "firmware", "PROTOCOL.md")); err == nil {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("no firmware/PROTOCOL.md in any folder above %s", dir)
		}
	}
}

// A recipe says how one file is made from sources.
type recipe struct {
	name    string   // of what is made
	sources []string // folders below the root
	make    []string // make's arguments, without the folder where it goes
	out     string   // the variable that names that folder
	also    []string // commands whose version belongs to the content
}

func emulatorRecipe() recipe {
	return recipe{
		name: "tau-emulator", sources: []string{"firmware/emulator"},
		make: []string{"-C", "firmware/emulator", "all"}, out: "B", also: []string{"cc"},
	}
}

func hostRecipe() recipe {
	return recipe{
		name: "tau-host", sources: []string{"firmware/core", "firmware/host", "firmware/emulator"}, // it has the emulator's plant
		make: []string{"-C", "firmware", "host"}, out: "B", also: []string{"cc"},
	}
}

func firmwareRecipe(o Options) recipe {
	if o.Map == "test" {
		return recipe{
			name: "test.hex", sources: []string{"firmware/emulator"},
			make: []string{"-C", "firmware/emulator", "test-firmware"}, out: "B", also: []string{"avr-gcc"},
		}
	}
	r := recipe{
		name: "tau.hex", sources: []string{"firmware/core", "firmware/avr"},
		make: []string{"-C", "firmware/avr", "all"}, out: "OUT", also: []string{"avr-gcc"},
	}
	baud := o.Baud
	if baud == 0 {
		baud = 115200
	}
	servos, isServo := strings.CutPrefix(o.Map, "servo")
	if isServo {
		r.make = append(r.make, "MAP=servo8", "SERVOS="+servos,
			fmt.Sprintf("FEEDBACK=%d", o.Feedback), fmt.Sprintf("SWITCHES=%d", o.Switches))
	} else {
		r.make = append(r.make, "MAP="+o.Map)
	}
	r.make = append(r.make, fmt.Sprintf("BAUD=%d", baud))
	return r
}

// build makes what r says, or finds it made, and returns its path.
func (c *cache) build(r recipe) (string, error) {
	hash, err := c.hash(r)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(c.dir, r.name+"-"+hash)
	made := filepath.Join(dir, r.name)
	release, err := c.lock("build-"+r.name+"-"+hash[:8], placeWait)
	if err != nil {
		return "", err
	}
	defer release()
	now := time.Now()
	if _, err := os.Stat(made); err == nil {
		return made, os.Chtimes(dir, now, now)
	}
	c.prune(now)
	work, err := os.MkdirTemp(c.dir, "making-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }()                                    // gone already where it was renamed
	cmd := exec.Command("make", append(slices.Clone(r.make), r.out+"="+work)...) //nolint:noctx // a compiler ends
	cmd.Dir = c.root
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "MAKEFLAGS=") || strings.HasPrefix(v, "MFLAGS=") || strings.HasPrefix(v, "MAKELEVEL=")
	})
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	if _, err := os.Stat(filepath.Join(work, r.name)); err != nil {
		return "", fmt.Errorf("%s made no %s: %w", strings.Join(cmd.Args, " "), r.name, err)
	}
	if err := os.Rename(work, dir); err != nil {
		return "", err
	}
	return made, nil
}

// hash is of everything that r's outcome depends on: its sources, its arguments, what
// the environment says to make, and the compilers' versions.
func (c *cache) hash(r recipe) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", r.make)
	for _, v := range []string{"CC", "CFLAGS", "AVRCC"} {
		fmt.Fprintf(h, "%q\n", os.Getenv(v))
	}
	for _, command := range r.also {
		version, err := exec.Command(command, "--version").Output() //nolint:noctx // ends at once
		if err != nil {
			return "", fmt.Errorf("%s --version: %w", command, err)
		}
		line, _, _ := bytes.Cut(version, []byte("\n"))
		fmt.Fprintf(h, "%q\n", line)
	}
	for _, folder := range r.sources {
		err := filepath.WalkDir(filepath.Join(c.root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && d.Name() == "build" {
				return fs.SkipDir
			}
			if !isSource(d) {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(h, "%q %d\n%s", d.Name(), len(text), text)
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

func isSource(d fs.DirEntry) bool {
	return d.Type().IsRegular() && (d.Name() == "Makefile" || slices.Contains([]string{".c", ".h", ".S", ".mk"}, filepath.Ext(d.Name())))
}

// prune removes what nobody has used for long. Its errors don't matter: it is tried
// again at the next build.
func (c *cache) prune(now time.Time) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && e.IsDir() && now.Sub(info.ModTime()) > keep {
			_ = os.RemoveAll(filepath.Join(c.dir, e.Name()))
		}
	}
}

// lock waits for the lock of that name, which no other test of this user then has.
func (c *cache) lock(name string, wait time.Duration) (release func(), err error) {
	return c.anyOf([]string{name}, wait)
}

// place waits for one of the machine's places for a real-time board.
func (c *cache) place(wait time.Duration) (release func(), err error) {
	names := make([]string, places)
	for i := range names {
		names[i] = fmt.Sprintf("place-%d", i)
	}
	return c.anyOf(names, wait)
}

// anyOf waits for any of the locks. A lock is the kernel's, on an open file, and ends
// with the process that holds it.
func (c *cache) anyOf(names []string, wait time.Duration) (release func(), err error) {
	deadline := time.Now().Add(wait)
	for {
		for _, name := range names {
			f, err := os.OpenFile(filepath.Join(c.dir, name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
			if err != nil {
				return nil, err
			}
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
			if err == nil {
				return func() { _ = f.Close() }, nil
			}
			_ = f.Close()
			if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
				return nil, fmt.Errorf("the lock %s: %w", name, err)
			}
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("other tests have held %s for %v", strings.Join(names, " and "), wait)
		}
		time.Sleep(lockPoll)
	}
}
