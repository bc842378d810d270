package logfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestG52_LevelsAndMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "tau.log")
	for _, verbose := range []bool{false, true} {
		l, err := Open(path)
		require.NoError(t, err)
		log := l.Logger(verbose)
		log.Debug("tier 0", "verbose", verbose)
		log.Info("tier 2", "verbose", verbose)
		require.NoError(t, l.Close())
		require.NoError(t, l.Close())
		log.Info("after the end") // is lost, harms nothing
	}
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(b), `msg="tier 0"`))
	require.Contains(t, string(b), `msg="tier 0" verbose=true`)
	require.Equal(t, 2, strings.Count(string(b), `msg="tier 2"`))
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode().Perm())
}

// stuck is a disk that hangs until it is let go.
type stuck struct {
	letGo chan struct{}
	mu    sync.Mutex
	got   bytes.Buffer
	err   error
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.letGo
	if s.err != nil {
		return 0, s.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got.Write(p)
}

func (s *stuck) Close() error { return nil }

func TestG52_ADiskThatHangsHoldsNobodyUpAndTheLossIsCounted(t *testing.T) {
	s := &stuck{letGo: make(chan struct{})}
	l := newFile(s)
	const lines = queue + 100
	for i := range lines {
		_, err := fmt.Fprintf(l, "line %d\n", i) // would deadlock here if Write waited
		require.NoError(t, err)
	}
	close(s.letGo)
	require.NoError(t, l.Close())
	written := strings.Count(s.got.String(), "line ")
	require.GreaterOrEqual(t, written, queue)
	lost := 0
	for _, m := range regexp.MustCompile(`count=(\d+)`).FindAllStringSubmatch(s.got.String(), -1) {
		n, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		lost += n
	}
	require.Equal(t, lines-written, lost, "every lost line is counted")
}

func TestCloseReportsTheFirstWriteError(t *testing.T) {
	s := &stuck{letGo: make(chan struct{}), err: errors.New("no space")}
	close(s.letGo)
	l := newFile(s)
	l.Logger(false).Info("x")
	require.ErrorContains(t, l.Close(), "no space")
}

func TestOpenRefusesALink(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink("/dev/null", filepath.Join(dir, "tau.log")))
	_, err := Open(filepath.Join(dir, "tau.log"))
	require.Error(t, err)
}

// Opening a FIFO for writing would wait for a reader; with one, the log would go to it.
func TestOpenRefusesAFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tau.log")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	_, err := Open(path)
	require.Error(t, err)
	r, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer func() { _ = r.Close() }()
	_, err = Open(path)
	require.ErrorContains(t, err, "not a regular file")
}
