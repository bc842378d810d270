package robot_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

var consent = robot.OptIn{Session: "a", Robot: "so101", Driver: "feetech", Port: "/dev/ttyACM0", Principal: "operator"}

func code(t *testing.T, want robot.Code, err error) {
	t.Helper()
	require.ErrorIs(t, err, robot.ErrCode(want))
}

func TestSessionsZeroValuePermitsNothing(t *testing.T) {
	var s robot.Sessions
	code(t, robot.CodeNotOptedIn, s.Permit(""))
	code(t, robot.CodeNotOptedIn, s.Permit("a"))
	_, err := s.New("a")
	require.Error(t, err)
	_, err = s.OptIn(consent, 0)
	require.Error(t, err)
	_, _, err = s.Watch("a")
	code(t, robot.CodeNotOptedIn, err)
	require.False(t, s.Revoke("a"))
	require.Empty(t, s.List())
}

func TestSessionNames(t *testing.T) {
	for _, good := range []string{"a", "A-b_9", strings.Repeat("x", 64)} {
		require.NoError(t, robot.CheckSessionName(good))
	}
	for _, bad := range []string{"", strings.Repeat("x", 65), "a b", "a/b", "..", "ä", "a\n", "a\x00", "a.b"} {
		code(t, robot.CodeInvalidArgument, robot.CheckSessionName(bad))
	}
}

func TestSessionIsSimulatedUntilOptedIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := robot.NewSessions(time.Now)
		got, err := s.New("a")
		require.NoError(t, err)
		require.Equal(t, robot.ModeSim, got.Mode)
		require.Nil(t, got.OptIn)
		code(t, robot.CodeNotOptedIn, s.Permit("a"))
		_, err = s.New("a")
		code(t, robot.CodeInvalidArgument, err)
		_, err = s.New("b")
		require.NoError(t, err)

		o, err := s.OptIn(consent, 0)
		require.NoError(t, err)
		require.Equal(t, robot.DefaultOptIn, o.Expires.Sub(o.Granted))
		require.NoError(t, s.Permit("a"))
		code(t, robot.CodeNotOptedIn, s.Permit("b")) // never another session
		got, ok := s.Get("a")
		require.True(t, ok)
		require.Equal(t, robot.ModeReal, got.Mode)
		require.Equal(t, o, *got.OptIn)
		got.OptIn.Expires = got.OptIn.Expires.Add(time.Hour) // a copy: changes nothing

		time.Sleep(robot.DefaultOptIn - time.Nanosecond)
		require.NoError(t, s.Permit("a"))
		time.Sleep(time.Nanosecond)
		code(t, robot.CodeOptInExpired, s.Permit("a"))
		list := s.List()
		require.Equal(t, []string{"a", "b"}, []string{list[0].Name, list[1].Name})
		require.Equal(t, robot.ModeSim, list[0].Mode)
		require.False(t, s.Revoke("a"))
		code(t, robot.CodeOptInExpired, s.Permit("a"))
	})
}

func TestOptInIsBoundedAndComplete(t *testing.T) {
	s := robot.NewSessions(time.Now)
	_, err := s.New("a")
	require.NoError(t, err)
	for _, d := range []time.Duration{-1, robot.MaxOptIn + 1, 1 << 62} {
		_, err := s.OptIn(consent, d)
		code(t, robot.CodeInvalidArgument, err)
	}
	for _, blank := range []func(*robot.OptIn){
		func(o *robot.OptIn) { o.Robot = "" }, func(o *robot.OptIn) { o.Driver = "" },
		func(o *robot.OptIn) { o.Port = "" }, func(o *robot.OptIn) { o.Principal = "" },
		func(o *robot.OptIn) { o.Session = "nobody" },
	} {
		o := consent
		blank(&o)
		_, err := s.OptIn(o, 0)
		code(t, robot.CodeInvalidArgument, err)
	}
	code(t, robot.CodeNotOptedIn, s.Permit("a"))
	// What a caller writes into Granted and Expires doesn't count.
	forged := consent
	forged.Expires = time.Now().Add(1000 * time.Hour)
	o, err := s.OptIn(forged, time.Minute)
	require.NoError(t, err)
	require.Equal(t, time.Minute, o.Expires.Sub(o.Granted))
	_, err = s.OptIn(consent, robot.MaxOptIn)
	require.NoError(t, err)
}

func TestRevokeEndsAtOnceAndTellsWhoWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := robot.NewSessions(time.Now)
		_, err := s.New("a")
		require.NoError(t, err)
		_, err = s.OptIn(consent, time.Hour)
		require.NoError(t, err)
		time.Sleep(20 * time.Minute)
		left, ended, err := s.Watch("a")
		require.NoError(t, err)
		require.Equal(t, 40*time.Minute, left)
		select {
		case <-ended:
			t.Fatal("ended before it was revoked")
		default:
		}
		require.True(t, s.Revoke("a"))
		<-ended
		code(t, robot.CodeNotOptedIn, s.Permit("a"))
		require.False(t, s.Revoke("a"))

		// A new opt-in replaces the old one, whose watcher is told.
		_, err = s.OptIn(consent, time.Hour)
		require.NoError(t, err)
		_, first, err := s.Watch("a")
		require.NoError(t, err)
		_, err = s.OptIn(consent, time.Minute)
		require.NoError(t, err)
		<-first
		require.NoError(t, s.Permit("a"))

		_, second, err := s.Watch("a")
		require.NoError(t, err)
		require.True(t, s.End("a"))
		<-second
		require.False(t, s.End("a"))
		code(t, robot.CodeNotOptedIn, s.Permit("a"))
	})
}

// A wall clock without a monotonic reading, moved by hand: the clock of a test,
// or of a machine that was asleep.
func TestClockSetBackNeverProlongs(t *testing.T) {
	wall := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := robot.NewSessions(func() time.Time { return wall })
	_, err := s.New("a")
	require.NoError(t, err)
	grant := func() {
		_, err := s.OptIn(consent, time.Hour)
		require.NoError(t, err)
		require.NoError(t, s.Permit("a"))
	}
	grant()
	wall = wall.Add(-2 * time.Second) // before the grant
	code(t, robot.CodeOptInExpired, s.Permit("a"))
	wall = wall.Add(3 * time.Second)
	code(t, robot.CodeOptInExpired, s.Permit("a")) // ended stays ended

	grant()
	wall = wall.Add(time.Hour)
	code(t, robot.CodeOptInExpired, s.Permit("a"))
	wall = wall.Add(-30 * time.Minute)
	code(t, robot.CodeOptInExpired, s.Permit("a"))

	// A grant that has a monotonic reading ends by it, and by a wall clock that
	// ran on while the monotonic one stood still.
	base := time.Now()
	mono, skew := time.Duration(0), time.Duration(0)
	s = robot.NewSessions(func() time.Time { return shiftWall(base.Add(mono), skew) })
	_, err = s.New("a")
	require.NoError(t, err)
	grant()
	skew = 2 * time.Hour
	code(t, robot.CodeOptInExpired, s.Permit("a"))
	skew = 0
	grant()
	mono = time.Hour
	code(t, robot.CodeOptInExpired, s.Permit("a"))
}

// A machine that slept while its wall clock was set back: only the boot clock knows.
func TestSleepNeverProlongs(t *testing.T) {
	wall, boot := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), 5*time.Minute
	s := robot.NewSessions(func() time.Time { return wall })
	_, err := s.New("a")
	require.NoError(t, err)
	s.CountSleep(func() time.Duration { return boot })
	grant := func() <-chan struct{} {
		_, err := s.OptIn(consent, time.Hour)
		require.NoError(t, err)
		_, ended, err := s.Watch("a")
		require.NoError(t, err)
		return ended
	}
	grant()
	boot += time.Hour - time.Second
	left, _, err := s.Watch("a")
	require.NoError(t, err)
	require.Equal(t, time.Second, left)
	boot += time.Second
	code(t, robot.CodeOptInExpired, s.Permit("a"))
	boot -= time.Hour
	code(t, robot.CodeOptInExpired, s.Permit("a")) // ended stays ended

	grant()
	boot--
	code(t, robot.CodeOptInExpired, s.Permit("a"))

	ended := grant()
	s.CountSleep(nil) // another clock can't say how old an opt-in is
	<-ended
	code(t, robot.CodeOptInExpired, s.Permit("a"))
	grant()
	boot += 2 * time.Hour
	require.NoError(t, s.Permit("a"))
}

// shiftWall moves the wall clock of a time. Only a time without a monotonic
// reading can be moved apart from it, which is what a machine that slept shows.
func shiftWall(t time.Time, by time.Duration) time.Time {
	if by == 0 {
		return t
	}
	return t.Round(0).Add(by)
}
