package sim

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

// The fence finds that the tip leaves the box in a step if, and only if, it does at one
// of many places on the step, whatever moves the tip and wherever it began.
func TestTheFenceMissesNothing(t *testing.T) {
	for _, name := range []string{"so101", "gantry", "rover", "pantilt"} {
		t.Run(name, func(t *testing.T) {
			m, err := builtin.Load(name)
			require.NoError(t, err)
			r := newRobot(t, Options{Model: m})
			tip := func(q []float64) vec3 {
				r.mon.pose(q)
				return r.mon.d.linkFrame(m.Tip).P
			}
			rapid.Check(t, func(t *rapid.T) {
				q := make([]float64, m.DoF())
				for i, l := range m.Limits {
					lo, hi := -2.0, 2.0
					if l.Bounded {
						lo, hi = l.Lower, l.Upper
					}
					q[i] = lo + (hi-lo)*rapid.Float64Range(0, 1).Draw(t, "q")
				}
				at := tip(q)
				var box [2]mgl64.Vec3
				for k := range at {
					box[0][k] = at[k] - rapid.Float64Range(-0.01, 0.1).Draw(t, "below")
					box[1][k] = box[0][k] + rapid.Float64Range(0.02, 0.2).Draw(t, "size")
				}
				f := newFence(r, &box)
				f.start(q)
				beyond := func(p vec3) (by [6]float64) {
					for k := range p {
						by[k], by[3+k] = box[0][k]-p[k], p[k]-box[1][k]
					}
					return by
				}
				most := beyond(at) // what it may be outside; it may only get less
				for k := range most {
					if most[k] > -deeper {
						most[k] = math.Max(0, most[k]) + deeper
					} else {
						most[k] = 0
					}
				}
				dq, next := make([]float64, len(q)), make([]float64, len(q))
				for step := range 8 {
					for i := range dq {
						dq[i] = rapid.Float64Range(-0.2, 0.2).Draw(t, "dq")
						next[i] = q[i] + dq[i]
					}
					worst := math.Inf(-1)
					const parts = 64
					mid := make([]float64, len(q))
					for s := range parts {
						for i := range q {
							mid[i] = q[i] + dq[i]*float64(s+1)/parts
						}
						off := beyond(tip(mid))
						for k := range off {
							worst = math.Max(worst, off[k]-most[k])
							most[k] = math.Min(most[k], math.Max(0, off[k]+deeper))
						}
					}
					e := f.advance(next, dq, float64(step))
					switch {
					case worst > 2*fenceTolerance:
						require.NotNil(t, e, "step %d: missed, %g m outside", step, worst)
					case worst < -2*fenceTolerance:
						require.Nil(t, e, "step %d: %g m inside", step, -worst)
					}
					if e != nil {
						require.Equal(t, robot.CodeWorkspace, e.Code)
						require.Equal(t, m.Links[m.Tip].Name, e.Where)
						return
					}
					copy(q, next)
				}
			})
		})
	}
}

// Steps that are small beside the room add up: a sliding joint moves the tip by all of
// its way.
func TestTheFenceAddsUpWhatTheJointsMove(t *testing.T) {
	m, err := builtin.Load("gantry")
	require.NoError(t, err)
	r := newRobot(t, Options{Model: m})
	q := append([]float64(nil), m.Home...)
	r.mon.pose(q)
	at := r.mon.d.linkFrame(m.Tip).P
	f := newFence(r, &[2]mgl64.Vec3{at.Sub(vec3{1, 1, 1}), at.Add(vec3{1, 1, 0.05})})
	f.start(q)
	up := -1
	for j := range q { // the joint that lifts the tip
		next := append([]float64(nil), q...)
		next[j] += 0.01
		r.mon.pose(next)
		if r.mon.d.linkFrame(m.Tip).P[2] > at[2]+0.009 {
			up = j
		}
	}
	require.GreaterOrEqual(t, up, 0)
	dq := make([]float64, len(q))
	dq[up] = 0.01
	for step := range 5 {
		q[up] += dq[up]
		e := f.advance(q, dq, float64(step))
		if step < 4 {
			require.Nil(t, e, "%d cm up", step+1)
		}
	}
	q[up] += dq[up]
	require.NotNil(t, f.advance(q, dq, 5), "6 cm up, of 5")
}

// A step whose ends are both inside isn't, where the way between them isn't.
func TestTheFenceLooksWithinAStep(t *testing.T) {
	m := so101(t)
	r := newRobot(t, Options{Model: m})
	r.mon.pose(m.Home)
	far := r.mon.d.linkFrame(m.Tip).P[0]
	for _, over := range []float64{-1e-3, 1e-3} {
		f := newFence(r, &[2]mgl64.Vec3{{-1, -1, -1}, {far - over, 1, 1}})
		f.start(pan(m, -0.5))
		dq := make([]float64, m.DoF())
		dq[0] = 1
		e := f.advance(pan(m, 0.5), dq, 0)
		require.Equal(t, over > 0, e != nil, "%g m", over)
	}
}

// A rehearsal fails where the measured tip leaves the box, and says by which face.
func TestARehearsalKeepsTheTipInTheWorkspace(t *testing.T) {
	m := so101(t)
	free, err := NewRehearser(m, nil, 1, RehearserOptions{})
	require.NoError(t, err)
	mo := motionOf(restToRest(m, m.Home, pan(m, 0.6), 0.3, 0), 0)
	rec, err := free.Rehearse(context.Background(), atHome(m), mo)
	require.NoError(t, err)
	y := math.Abs(rec.EndPosition[1])
	box := func(side float64) *[2]mgl64.Vec3 { return &[2]mgl64.Vec3{{-1, -side, -1}, {1, side, 1}} }
	h, err := NewRehearser(m, nil, 1, RehearserOptions{Workspace: box(y + 3e-3)})
	require.NoError(t, err)
	same, err := h.Rehearse(context.Background(), atHome(m), mo)
	require.NoError(t, err)
	require.Equal(t, rec.Digest(), same.Digest(), "looking changes nothing")
	h, err = NewRehearser(m, nil, 1, RehearserOptions{Workspace: box(y - 3e-3)})
	require.NoError(t, err)
	_, err = h.Rehearse(context.Background(), atHome(m), mo)
	refusedWith(t, err, robot.CodeWorkspace, "gripper_frame_link leaves the workspace at")
	var e *robot.Error
	require.ErrorAs(t, err, &e)
	require.InDelta(t, y-3e-3, math.Abs(e.Limit.Value), 1e-12)
	require.Equal(t, "y", e.Limit.Name)
	require.InDelta(t, e.Limit.Value, e.Value.Value, 1e-3)

	// It may come back from outside, and stay where it is, but go no farther out.
	from := func(angle float64) robot.State {
		return robot.State{Positions: pan(m, angle), Setpoints: pan(m, angle)}
	}
	way := func(a, b float64) robot.Motion { return motionOf(restToRest(m, pan(m, a), pan(m, b), 0.3, 0), 0) }
	_, err = h.Rehearse(context.Background(), from(0.8), way(0.8, 0))
	require.NoError(t, err)
	_, err = h.Rehearse(context.Background(), from(0.8), way(0.8, 0.8))
	require.NoError(t, err)
	_, err = h.Rehearse(context.Background(), from(0.8), way(0.8, 0.9))
	refusedWith(t, err, robot.CodeWorkspace)
}

func TestAWorkspaceIsABox(t *testing.T) {
	m := so101(t)
	for _, b := range [][2]mgl64.Vec3{{}, {{0, 0, 1}, {1, 1, 1}}, {{0, 0, 0}, {1, math.NaN(), 1}}, {{0, 0, 0}, {1, 1, math.Inf(1)}}} {
		_, err := NewRehearser(m, nil, 1, RehearserOptions{Workspace: &b})
		require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err), fmt.Sprint(b))
	}
}
