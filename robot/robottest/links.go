package robottest

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// What a robot behind a wire does when the wire, the host or the board fails.

const (
	returns    = 10 * time.Second // within which a link that can come back does
	stopBySelf = 30 * time.Second // within which a robot that was let alone is seen at rest
	looks      = 5                // after which what hasn't moved is taken to stand still
)

// between is how long to wait from one look at the robot to the next: where its time is
// the wall clock's, long enough that something slow is seen to move.
func (c *check) between() time.Duration {
	if c.Stall > 0 {
		return 60 * time.Millisecond
	}
	return waitStep
}

// lost is what a motion ends with whose link was lost.
var lost = []robot.Code{robot.CodeDisconnected, robot.CodeLinkTimeout}

// settles waits until somebody beside the robot has seen it stand still, and returns where.
func (c *check) settles() []float64 {
	c.Helper()
	last, same := c.Observe(), 0
	for end := time.Now().Add(stopBySelf); same < looks; {
		require.True(c, time.Now().Before(end), "the robot goes on moving")
		time.Sleep(c.between())
		now := c.Observe()
		require.Len(c, now, len(c.info.Joints))
		same++
		for i := range now {
			if math.Abs(now[i]-last[i]) > c.Tolerance/10 {
				same = 0
			}
		}
		last = now
	}
	return last
}

// stays requires that the robot stands where it stood, for a while.
func (c *check) stays(at []float64, why string) {
	c.Helper()
	if at == nil {
		return
	}
	for range looks {
		time.Sleep(c.between())
		require.InDeltaSlice(c, at, c.Observe(), c.Tolerance, why)
	}
}

// stoppedBySelf requires that a robot that was let alone at s seconds of a motion
// braked by itself within its watchdog's time, and returns where it stands then; nil
// where nobody sees it.
func (c *check) stoppedBySelf(m robot.Motion, s float64) []float64 {
	c.Helper()
	if c.Observe == nil {
		return nil
	}
	rest := c.settles()
	c.brakesWithin(m, s, c.Lag+c.Watchdog, rest)
	return rest
}

// answers returns the robot's state once it answers again; false if it doesn't: a
// backend may be one that stays disconnected for good.
func (c *check) answers() (robot.State, bool) {
	c.Helper()
	for end := time.Now().Add(returns); time.Now().Before(end); time.Sleep(waitStep) {
		s, err := c.b.State(c.ctx)
		if err == nil && !s.Moving {
			c.honest(s)
			return s, true
		}
		if err == nil || robot.CodeOf(err) == robot.CodeStaleState || robot.CodeOf(err) == robot.CodeLinkTimeout {
			continue
		}
		require.Equal(c, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
	}
	return robot.State{}, false
}

// voids requires that a motion from before something went wrong doesn't run after it.
func (c *check) voids(m robot.Motion, rest []float64) {
	c.Helper()
	r := c.execute(c.ctx, m)
	require.Error(c, r.err, "a motion from before it went wrong is void")
	require.NotEmpty(c, robot.CodeOf(r.err))
	require.Equal(c, robot.OutcomeRefused, r.out.Status)
	require.Empty(c, r.progress)
	c.stays(rest, "a motion from before ran")
}

// recovers requires that a robot moves again only after a reset and an enable, neither
// of which moves it, and that nothing from before m's end is good any more.
func (c *check) recovers(m robot.Motion, rest []float64) {
	c.Helper()
	c.voids(m, rest)
	s := c.state()
	require.True(c, len(s.Faults) > 0 || s.EStopped || !s.Enabled, "it waits for a person")
	if len(s.Faults) > 0 || s.EStopped {
		c.reset()
	}
	c.stays(rest, "a reset moved it")
	after := c.state()
	require.Empty(c, after.Faults)
	require.False(c, after.EStopped)
	require.False(c, after.Enabled, "it is enabled by a command of its own")
	require.False(c, after.Moving)
	c.voids(m, rest)
	if anyOf(after.Unreferenced) {
		return // it was without power, and knows nothing any more
	}
	c.enabled()
	c.stays(rest, "enabling moved it")
	c.voids(m, rest)
	require.NoError(c, c.execute(c.ctx, c.motion(c.Target, c.seconds()/2)).err, "what is prepared now runs")
}

func lostLink(c *check) {
	m := c.longMotion()
	r, at := c.midway(c.ctx, m, m.Trajectory.Duration()/2, c.Unplug)
	require.Equal(c, robot.CodeDisconnected, robot.CodeOf(r.err), "%v", r.err)
	require.Equal(c, robot.OutcomeUnknown, r.out.Status, "what became of it can't be known")
	c.claims(r.out)
	rest := c.stoppedBySelf(m, at)
	_, err := c.b.State(c.ctx)
	require.Equal(c, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
	v := c.stop(robot.StopControlled)
	require.Equal(c, robot.No, v.Commanded)
	require.NotEqual(c, robot.Yes, v.Stationary)
	require.NotEmpty(c, v.Text)

	c.Replug()
	s, back := c.answers()
	c.stays(rest, "it came back moving")
	if !back {
		c.voids(m, rest)
		return
	}
	require.False(c, s.Moving)
	c.recovers(m, rest)
}

// reboots: a board that comes up again has forgotten everything, and is treated so.
func reboots(c *check) {
	m := c.longMotion()
	r, _ := c.midway(c.ctx, m, m.Trajectory.Duration()/2, c.Reboot)
	// A board that says nothing while it boots is silent before it is known to have booted.
	require.Contains(c, slices.Concat(lost, silence), robot.CodeOf(r.err), "%v", r.err)
	require.Contains(c, []robot.OutcomeStatus{robot.OutcomeUnknown, robot.OutcomeFaulted}, r.out.Status)
	c.claims(r.out)
	s, back := c.answers()
	var rest []float64
	if c.Observe != nil {
		rest = c.settles()
	}
	c.voids(m, rest)
	if !back {
		return
	}
	require.False(c, s.Enabled, "nobody has enabled it in this life")
	require.False(c, s.Moving)
	for i, name := range c.info.Joints {
		if c.info.IsOpenLoop(i) {
			require.True(c, i < len(s.Unreferenced) && s.Unreferenced[i], "%s: nobody has told this life of it", name)
			require.False(c, i < len(s.Declared) && s.Declared[i], "%s: what was said of it was said of another life", name)
		}
	}
	if len(s.Faults) > 0 || s.EStopped {
		c.reset()
	}
	if open(c.info) {
		c.remainsUnknown(c.state(), rest)
	}
	c.voids(m, rest)
}

// hostGone: the robot stops by itself when the host says nothing any more, and the
// backend, should it be alive, takes nothing for granted.
func hostGone(c *check) {
	m := c.longMotion()
	r, at := c.midway(c.ctx, m, m.Trajectory.Duration()/3, c.Silence)
	// Whoever only gets answers can't tell a robot that hears nothing from one that says
	// nothing.
	require.Contains(c, slices.Concat(lost, silence), robot.CodeOf(r.err), "%v", r.err)
	require.Contains(c, []robot.OutcomeStatus{robot.OutcomeUnknown, robot.OutcomeFaulted}, r.out.Status)
	rest := c.stoppedBySelf(m, at)
	c.voids(m, rest)
	v := c.stop(robot.StopControlled)
	require.NotEqual(c, robot.Yes, v.Acknowledged, "nothing gets there")
	require.NotEqual(c, robot.Yes, v.Stationary)
	require.NotEmpty(c, v.Text)
}

// secondMaster: what somebody else says on the wire moves nothing, and what it spoils
// ends in a fault and not in a motion that nobody asked for.
func secondMaster(c *check) {
	seen := c.seen()
	c.Intrude()
	c.stays(seen, "a second master moved it")

	if s := c.state(); len(s.Faults) > 0 || s.EStopped {
		c.reset()
		c.enabled()
	}
	m := c.longMotion()
	r, at := c.midway(c.ctx, m, m.Trajectory.Duration()/3, c.Intrude)
	if r.err == nil {
		require.Equal(c, robot.OutcomeDone, r.out.Status)
		require.InDeltaSlice(c, c.Target, c.end(r.out), c.Tolerance, "what wasn't disturbed is where it was to be")
		return
	}
	require.NotEmpty(c, robot.CodeOf(r.err))
	require.Contains(c, []robot.OutcomeStatus{robot.OutcomeUnknown, robot.OutcomeFaulted}, r.out.Status)
	rest := c.stoppedBySelf(m, at)
	if s, back := c.answers(); back {
		require.True(c, len(s.Faults) > 0 || s.EStopped || !s.Enabled, "why it stopped is latched")
		c.recovers(m, rest)
		return
	}
	c.voids(m, rest)
}

// rivals: nobody else gets a robot that a bridge has, and a bridge that has closed
// leaves it free, a lost link or not.
func rivals(c *check) {
	require.Error(c, c.Rival(), "two bridges on one wire")
	m := c.longMotion()
	_, _ = c.midway(c.ctx, m, m.Trajectory.Duration()/2, c.Unplug)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { _ = c.b.Close() }) // what it couldn't do it may say
	}
	wg.Wait()
	require.NoError(c, c.b.Close(), "a later Close returns nil")
	c.Replug()
	require.Eventually(c, func() bool { return c.Rival() == nil }, returns, waitStep, "whoever is next gets it")
}

// trips: what makes the robot itself stop ends the motion for good.
func trips(c *check) {
	m := c.longMotion()
	r, at := c.midway(c.ctx, m, m.Trajectory.Duration()/3, c.Trip)
	require.Error(c, r.err)
	require.NotEmpty(c, robot.CodeOf(r.err))
	require.Contains(c, []robot.OutcomeStatus{robot.OutcomeFaulted, robot.OutcomeStopped}, r.out.Status)
	c.brakesWithin(m, at, c.Lag+c.Watchdog, c.end(r.out))
	rest := c.seen()
	s := c.state()
	c.atRest(s)
	require.True(c, len(s.Faults) > 0 || s.EStopped, "why is latched")
	c.voids(m, rest)
	again := c.state()
	require.Equal(c, s.Faults, again.Faults, "a refusal changes no reason")

	// While its cause is there a reset releases nothing for good.
	_, _ = c.b.Actuate(c.ctx, robot.Command{ID: c.Name(), Kind: robot.EStopReset, Epoch: again.StopEpoch})
	require.Eventually(c, func() bool {
		now := c.state()
		return len(now.Faults) > 0 || now.EStopped
	}, returns, waitStep, "what is still pressed is still latched")
	c.Untrip()
	now := c.state()
	require.True(c, len(now.Faults) > 0 || now.EStopped, "a released button resets nothing")
	c.recovers(m, rest)
}

func namesItself(c *check) {
	require.Equal(c, c.info.Mode == robot.ModeReal, c.info.Port != "")
	for _, kind := range []robot.StopKind{robot.StopControlled, robot.StopEmergency} {
		v := c.stop(kind)
		require.Equal(c, c.info.Backend, v.Backend)
	}
	require.NoError(c, c.b.Close())
	require.Equal(c, c.info.Backend, c.stop(robot.StopControlled).Backend)
	require.Equal(c, c.info, c.b.Info(), "it is what it was")
}
