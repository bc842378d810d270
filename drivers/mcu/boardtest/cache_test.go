package boardtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeCache is a cache of its own with a repository whose make counts its runs.
func fakeCache(t *testing.T) *cache {
	t.Helper()
	requireTools(t, []tool{makeTool})
	c := &cache{dir: t.TempDir(), root: t.TempDir()}
	require.NoError(t, os.Mkdir(filepath.Join(c.root, "src"), 0o700))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(c.root, "src", name), []byte(text), 0o600))
	}
	write("Makefile", "all:\n\techo run >> ../runs\n\tcp a.c $(B)/thing\nbroken:\n\t@echo no such luck; false\nnothing:\n\ttrue\n")
	write("a.c", "one")
	return c
}

func thing(target string) recipe {
	return recipe{name: "thing", sources: []string{"src"}, make: []string{"-C", "src", target}, out: "B", also: []string{"make"}}
}

func (c *cache) runs(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.root, "runs"))
	require.NoError(t, err)
	return strings.Count(string(text), "run")
}

func TestOneContentIsBuiltOnce(t *testing.T) {
	c := fakeCache(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			path, err := c.build(thing("all"))
			if err != nil {
				t.Error(err)
				return
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != "one" {
				t.Errorf("%s has %q, %v", path, text, err)
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, c.runs(t))

	first, err := c.build(thing("all"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(c.root, "src", "a.c"), []byte("two"), 0o600))
	second, err := c.build(thing("all"))
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	require.Equal(t, 2, c.runs(t))
	text, err := os.ReadFile(first)
	require.NoError(t, err)
	require.Equal(t, "one", string(text), "what was built is never changed")
}

func TestOtherArgumentsAreAnotherBuild(t *testing.T) {
	c := fakeCache(t)
	a, err := c.hash(thing("all"))
	require.NoError(t, err)
	b, err := c.hash(thing("other"))
	require.NoError(t, err)
	require.NotEqual(t, a, b)
	require.NotEqual(t, firmwareRecipe(Options{Map: "servo2"}), firmwareRecipe(Options{Map: "servo2", Feedback: 1}))
}

func TestAFailedBuildSaysWhatTheCompilerSaid(t *testing.T) {
	c := fakeCache(t)
	_, err := c.build(thing("broken"))
	require.ErrorContains(t, err, "no such luck")
	_, err = c.build(thing("nothing"))
	require.ErrorContains(t, err, "made no thing")
	entries, err := filepath.Glob(filepath.Join(c.dir, "*-*", "*"))
	require.NoError(t, err)
	require.Empty(t, entries, "nothing half made is left")
}

func TestWhatNobodyUsesIsRemoved(t *testing.T) {
	c := fakeCache(t)
	old, err := c.build(thing("all"))
	require.NoError(t, err)
	long := time.Now().Add(-keep - time.Hour)
	require.NoError(t, os.Chtimes(filepath.Dir(old), long, long))
	require.NoError(t, os.WriteFile(filepath.Join(c.root, "src", "a.c"), []byte("two"), 0o600))
	_, err = c.build(thing("all"))
	require.NoError(t, err)
	require.NoFileExists(t, old)
}

func TestTheMachineHasTwoPlaces(t *testing.T) {
	c := &cache{dir: t.TempDir()}
	first, err := c.place(0)
	require.NoError(t, err)
	second, err := c.place(0)
	require.NoError(t, err)
	defer second()
	_, err = c.place(0)
	require.ErrorContains(t, err, "other tests have held place-0 and place-1")

	third := make(chan error)
	go func() {
		release, err := c.place(waitLimit)
		if err == nil {
			release()
		}
		third <- err
	}()
	first()
	require.NoError(t, <-third, "a place that is given back is taken")
}

// fakeT is a test that notes how it ended.
type fakeT struct {
	testing.TB
	skipped, failed string
}

func (f *fakeT) Helper()           {}
func (f *fakeT) Cleanup(fn func()) { f.TB.Cleanup(fn) }

type over struct{}

func (f *fakeT) Skipf(format string, args ...any) {
	f.skipped = fmt.Sprintf(format, args...)
	panic(over{})
}
func (f *fakeT) Skip(args ...any) { f.skipped = fmt.Sprint(args...); panic(over{}) }
func (f *fakeT) Fatalf(format string, args ...any) {
	f.failed = fmt.Sprintf(format, args...)
	panic(over{})
}

// try runs what may skip or fail.
func (f *fakeT) try(run func()) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(over); !ok {
				panic(r)
			}
		}
	}()
	run()
}

func TestAMissingToolSkipsByNameAndFailsUnderCI(t *testing.T) {
	missing := []tool{{[]string{"tau-no-such-compiler"}, "tau-nothing", "compiles nothing"}}
	t.Setenv("CI", "")
	f := &fakeT{TB: t}
	f.try(func() { requireTools(f, missing) })
	require.Contains(t, f.skipped, "tau-no-such-compiler, which compiles nothing, isn't installed (Debian: apt-get install tau-nothing)")
	require.Empty(t, f.failed)

	t.Setenv("CI", "true")
	f = &fakeT{TB: t}
	f.try(func() { requireTools(f, missing) })
	require.Contains(t, f.failed, "tau-no-such-compiler")
	require.Empty(t, f.skipped)
}

func TestARealBoardStandsInWhereItMay(t *testing.T) {
	port := filepath.Join(t.TempDir(), "ttyACM0")
	t.Setenv(PortVariable, port)
	f := &fakeT{TB: t}
	b := Start(f, Options{Map: "servo2", RealToo: true})
	require.Equal(t, Real, b.Kind())
	require.Equal(t, port, b.Path())
	f.try(func() { b.Button(true) })
	require.Contains(t, f.skipped, "takes no commands")
	f.skipped = ""
	f.try(func() { b.Trace() })
	require.Contains(t, f.skipped, "has no trace")
}

func TestOptionsThatMeanNothingAreRefused(t *testing.T) {
	t.Setenv(LaterVariable, "")
	f := &fakeT{TB: t}
	f.try(func() { Start(f, Options{Map: "servo9"}) })
	require.Contains(t, f.failed, `no pin map "servo9"`)
	f.try(func() { Start(f, Options{Map: "servo2", Kind: Real}) })
	require.Contains(t, f.failed, "real can't be started")
}

func TestALineOfTheTraceIsReadOrRefused(t *testing.T) {
	now := time.Unix(1, 0)
	e, err := parse("1500000 servo 3 1500125", now)
	require.NoError(t, err)
	require.Equal(t, Event{At: 1500 * time.Microsecond, Kind: "servo", Text: "3 1500125", Args: []string{"3", "1500125"}, Wall: now}, e)
	require.True(t, e.Is("servo"))
	require.True(t, e.Is("servo", 3))
	require.False(t, e.Is("servo", 2))
	require.False(t, e.Is("servo", 3, 1500125, 0), "more numbers than words")
	e, err = parse("7 unplugged", now)
	require.NoError(t, err)
	require.True(t, e.Is("unplugged"))
	require.Zero(t, e.Int(0))
	for _, bad := range []string{"", "servo 3", "-1 servo", "1.5 servo 3", "12"} {
		_, err := parse(bad, now)
		require.Error(t, err, "%q", bad)
	}
}
