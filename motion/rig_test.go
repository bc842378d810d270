package motion_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion"
	"github.com/tau-robot/tau/motion/planning"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/sim"
)

// rig is a robot in the simulator with the tools on it.
type rig struct {
	t       testing.TB
	model   *robot.Model
	robot   *sim.Robot
	backend robot.Backend // what the tools have: the robot, or what stands between
	name    string
	tools   map[string]gate.Tool
	planner *motion.Planner
	reh     motion.Rehearser
	now     time.Time
	count   int
}

type rigOptions struct {
	scene   robot.Scene
	start   []float64
	checker planning.Checker
	faults  []sim.Fault
	off     bool
	// rehearser saves compiling the scene again; nil makes one
	rehearser motion.Rehearser
	// between stands between the tools and the robot; nil: nothing does
	between func(robot.Backend) robot.Backend
	name    string // of the arm; "": sim
	// sceneNow replaces the scene as it is; nil: the simulated robot's
	sceneNow func() *robot.Scene
	builtin  string       // name of the robot; "": so101
	model    *robot.Model // instead of a built-in robot's
	fixed    bool         // the scene can't be changed
	// edit stands between the tools and the scene; nil: nothing does
	edit    func(motion.SceneEditor) motion.SceneEditor
	unknown []bool // joints whose position isn't known
	allow   motion.Allowances
	space   *motion.Box    // that the planner keeps the tip in
	fence   *[2]mgl64.Vec3 // that the rehearsal keeps it in
}

// world is a simulated robot's scene, the same pointer until it changes.
type world struct {
	robot *sim.Robot
	mu    sync.Mutex
	last  *robot.Scene
}

func (w *world) get() *robot.Scene {
	now := w.robot.Scene()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil || w.last.Hash != now.Hash {
		w.last = &now
	}
	return w.last
}

func newRig(t testing.TB, o rigOptions) *rig {
	t.Helper()
	if o.builtin == "" {
		o.builtin = "so101"
	}
	m := o.model
	if m == nil {
		var err error
		m, err = builtin.Load(o.builtin)
		require.NoError(t, err)
	}
	r, err := sim.New(sim.Options{Model: m, Scene: &o.scene, Clock: sim.Fast, Seed: 1, Start: o.start, Faults: o.faults, Disabled: o.off, Unreferenced: o.unknown})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	if o.sceneNow == nil {
		o.sceneNow = (&world{robot: r}).get
	}
	reh := o.rehearser
	if reh == nil {
		reh, err = sim.NewRehearser(m, &o.scene, 1, sim.RehearserOptions{Scene: o.sceneNow, Workspace: o.fence})
		require.NoError(t, err)
	}
	var backend robot.Backend = r
	if o.between != nil {
		backend = o.between(r)
	}
	if o.name == "" {
		o.name = "sim"
	}
	arm := motion.Arm{Model: m, Scene: o.scene, SceneNow: o.sceneNow, Backend: backend, Rehearser: reh, Checker: o.checker, Edit: r}
	if o.fixed {
		arm.Edit = nil
	}
	if o.edit != nil {
		arm.Edit = o.edit(r)
	}
	g := &rig{t: t, reh: reh, model: m, robot: r, backend: backend, name: o.name, tools: map[string]gate.Tool{}, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	g.planner, err = motion.New(motion.Config{
		Arms: map[string]motion.Arm{o.name: arm},
		Now:  func() time.Time { return g.now }, Seed: 1, Allow: o.allow, Workspace: o.space,
	})
	require.NoError(t, err)
	for _, tool := range g.planner.Tools() {
		g.tools[tool.Spec().Name] = tool
	}
	return g
}

// call is a call as the gate would hand it on.
func (g *rig) call(tool, args string) gate.Call {
	g.count++
	return gate.Call{
		ID: fmt.Sprintf("%032x", g.count), Tool: tool, Args: json.RawMessage(args), Principal: "tester", Origin: "test",
		Session: gate.Session{Name: "s", Mode: gate.ModeSim, Backend: g.name}, Progress: func(string) {},
	}
}

// prepare asks a tool for its action.
func (g *rig) prepare(tool, args string) (gate.Action, error) {
	t := g.tools[tool]
	require.NotNil(g.t, t, tool)
	return t.Prepare(context.Background(), g.call(tool, args))
}

// do prepares, checks and runs a tool, and decodes its result into out.
func (g *rig) do(tool, args string, out any) error {
	act, err := g.prepare(tool, args)
	if err != nil {
		return err
	}
	if err := act.Check(context.Background()); err != nil {
		return err
	}
	res, err := act.Run(context.Background())
	if out != nil && res.Data != nil {
		require.NoError(g.t, json.Unmarshal(res.Data, out))
	}
	return err
}

// must is do without an error.
func (g *rig) must(tool, args string, out any) {
	g.t.Helper()
	require.NoError(g.t, g.do(tool, args, out))
}

// rehearsalCause is the error that a refused rehearsal wraps.
func rehearsalCause(err error) error {
	var re *robot.Error
	if !errors.As(err, &re) {
		return nil
	}
	return re.Err
}

func (g *rig) positions() []float64 {
	st, err := g.robot.State(context.Background())
	require.NoError(g.t, err)
	return st.Positions
}

// moved is what the tests read of a motion's result.
type moved struct {
	Positions        map[string]float64 `json:"positions"`
	DurationS        float64            `json:"duration_s"`
	MaxTrackingError float64            `json:"max_tracking_error"`
	Outcome          string             `json:"outcome"`
	Mode             string             `json:"mode"`
	Backend          string             `json:"backend"`
	Gripped          string             `json:"gripped"`
	Tip              struct {
		Position    [3]float64 `json:"position"`
		Orientation [4]float64 `json:"orientation"`
	} `json:"tip"`
	Rehearsal *robot.Rehearsal `json:"rehearsal"`
}

type planned struct {
	PlanID    string    `json:"plan_id"`
	Digest    string    `json:"digest"`
	ExpiresAt time.Time `json:"expires_at"`
	DurationS float64   `json:"duration_s"`
}

// fast adds to arguments that the motion is as fast as it may be, so that the
// simulator has less of it.
func fast(args string) string {
	args = strings.TrimSuffix(args, "}")
	if args != "{" {
		args += ","
	}
	return args + `"speed_scale":1}`
}

// wholeArm are the arguments of a move of every joint of the arm, or of a base's
// wheels, by an amount from where home has it, or the other way where a limit is.
func wholeArm(m *robot.Model, by float64) string {
	targets := map[string]float64{}
	move := func(i int) {
		q := m.Home[i] + by
		if l := m.Limits[i]; l.Bounded && q > l.Upper {
			q = m.Home[i] - min(by, m.Home[i]-l.Lower)
		}
		targets[m.JointNames()[i]] = math.Round(q*1e3) / 1e3
	}
	if b := m.Base; b != nil {
		move(b.Left)
		move(b.Right)
	} else {
		for _, i := range m.Arm {
			move(i)
		}
	}
	data, err := json.Marshal(map[string]any{"positions": targets})
	if err != nil {
		panic(err) // finite numbers by name encode
	}
	return string(data)
}
