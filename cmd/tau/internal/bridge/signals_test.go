package bridge

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/cmd/tau/internal/datadir"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/cmd/tau/internal/source"
	"github.com/tau-robot/tau/gate/events"
)

func TestASignalEndsAStartThatHangs(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		r := &run{sig: signals{c: make(chan os.Signal, 1)}}
		hang, ended := make(chan struct{}), make(chan struct{})
		r.sig.c <- sig
		h, err := r.start(func() (*Host, error) {
			defer close(ended)
			<-hang
			return nil, os.ErrClosed
		})
		require.Nil(t, h)
		var e *exit.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, exit.Interrupted, e.Status)
		close(hang)
		<-ended
	}
}

// A start that ends after the signal gives back the data folder, also when that takes
// longer than is waited for.
func TestAStartThatWasInterruptedReleasesWhatItOpened(t *testing.T) {
	for _, late := range []bool{false, true} {
		s := setup(t)
		r := &run{sig: signals{c: make(chan os.Signal)}}
		returned := make(chan struct{})
		h, err := r.start(func() (*Host, error) {
			r.sig.c <- os.Interrupt // is taken before this start ends
			if late {
				<-returned
			}
			return Start(s)
		})
		close(returned)
		require.Nil(t, h)
		var e *exit.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, exit.Interrupted, e.Status)
		if late {
			require.Eventually(t, func() bool { _, err := os.Stat(events.KeyPath(s.DataDir)); return err == nil }, time.Minute, time.Millisecond, "it has begun")
		}
		var taken *datadir.TakenError
		for h, err = Start(s); errors.As(err, &taken); h, err = Start(s) {
			time.Sleep(10 * time.Millisecond)
		}
		require.NoError(t, err, "the lock is free")
		require.NoError(t, h.Close())
	}
}

// Unanswered, SIGQUIT would end this process.
func TestQuitIsCaught(t *testing.T) {
	s := catchSignals()
	defer func() {
		signal.Stop(s.c)
		signal.Reset(syscall.SIGPIPE)
	}()
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGQUIT))
	select {
	case got := <-s.c:
		require.Equal(t, syscall.SIGQUIT, got)
	case <-time.After(time.Minute):
		t.Fatal("the signal didn't come")
	}
}

func TestARobotThatCantBeSimulatedIsAUsageError(t *testing.T) {
	s := setup(t)
	still := `<robot name="t"><link name="base"/></robot>`
	file := filepath.Join(t.TempDir(), "still.urdf")
	require.NoError(t, os.WriteFile(file, []byte(still), 0o600))
	var err error
	s.Model, err = source.Robot{Name: file}.Model()
	require.NoError(t, err, "it is a description")
	r := &run{sig: signals{c: make(chan os.Signal)}}
	_, err = r.start(func() (*Host, error) { return Start(s) })
	var e *exit.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, exit.Usage, e.Status, err)
}
