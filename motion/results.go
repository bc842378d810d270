package motion

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tau-robot/tau/robot"
)

// The results of the tools, as CONTRACT's agents see them: SI units, measured
// values only. encoding/json sorts the maps' keys.

type poseResult struct {
	Position    [3]float64 `json:"position"`
	Orientation [4]float64 `json:"orientation"`        // w,x,y,z
	Measured    *bool      `json:"measured,omitempty"` // false: where the setpoints would have it
}

func poseOf(p robot.Pose) poseResult {
	return poseResult{Position: p.P, Orientation: [4]float64{p.Q.W, p.Q.V[0], p.Q.V[1], p.Q.V[2]}}
}

type motionResult struct {
	Positions        map[string]float64        `json:"positions,omitempty"`
	Setpoints        map[string]setpointResult `json:"setpoints,omitempty"`
	OpenLoop         []string                  `json:"open_loop,omitempty"`
	Unreferenced     []string                  `json:"unreferenced,omitempty"`
	DurationS        float64                   `json:"duration_s"`
	MaxTrackingError *float64                  `json:"max_tracking_error,omitempty"`
	Tip              *poseResult               `json:"tip,omitempty"`
	Gripped          string                    `json:"gripped,omitempty"`
	Outcome          robot.OutcomeStatus       `json:"outcome"`
	MeasuredAt       *time.Time                `json:"measured_at,omitempty"`
	Mode             robot.Mode                `json:"mode"`
	Backend          string                    `json:"backend"`
	Rehearsal        *robot.Rehearsal          `json:"rehearsal"`
}

// text says the outcome in one line for the model. unknown is what it says of joints
// whose position isn't known.
func (r motionResult) text(unknown string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s after %.2f s", r.Outcome, r.DurationS)
	if len(r.OpenLoop) > 0 {
		fmt.Fprintf(&b, "; open loop: nothing was measured of %s, so whether the arm did what its setpoints did isn't known", strings.Join(r.OpenLoop, ", "))
	}
	switch {
	case r.Tip != nil && r.Tip.Measured == nil:
		fmt.Fprintf(&b, "; tip measured at (%.4f, %.4f, %.4f) m", r.Tip.Position[0], r.Tip.Position[1], r.Tip.Position[2])
	case r.Tip != nil:
		fmt.Fprintf(&b, "; the setpoints have the tip at (%.4f, %.4f, %.4f) m", r.Tip.Position[0], r.Tip.Position[1], r.Tip.Position[2])
	case len(r.OpenLoop) > 0 && r.Setpoints == nil:
		b.WriteString("; not even its setpoints are known")
	case len(r.Unreferenced) == 0 && len(r.OpenLoop) == 0:
		b.WriteString("; where it is was not measured")
	}
	b.WriteString(unknown)
	if r.Gripped != "" {
		fmt.Fprintf(&b, "; holding %s", r.Gripped)
	}
	fmt.Fprintf(&b, " (%s, %s)", r.Mode, r.Backend)
	return b.String()
}

type commandResult struct {
	Outcome      robot.OutcomeStatus       `json:"outcome"`
	Enabled      *bool                     `json:"enabled,omitempty"`
	EStopped     *bool                     `json:"estopped,omitempty"`
	Positions    map[string]float64        `json:"positions,omitempty"`
	Setpoints    map[string]setpointResult `json:"setpoints,omitempty"`
	OpenLoop     []string                  `json:"open_loop,omitempty"`
	Unreferenced []string                  `json:"unreferenced,omitempty"`
	Actuators    map[string]actuatorValue  `json:"actuators,omitempty"`
	MeasuredAt   *time.Time                `json:"measured_at,omitempty"`
	DurationS    float64                   `json:"duration_s"`
	Mode         robot.Mode                `json:"mode"`
	Backend      string                    `json:"backend"`
}

// text says the outcome of a command in one line for the model.
func (r commandResult) text(c robot.Command, unknown string) string {
	if c.Kind != robot.SetActuator {
		text := fmt.Sprintf("%s: %s", c.Kind, r.Outcome)
		if len(r.OpenLoop) > 0 {
			text += "; open loop: nothing was measured of " + strings.Join(r.OpenLoop, ", ")
		}
		return text + unknown
	}
	v, known := r.Actuators[c.Name]
	switch {
	case !known:
		return fmt.Sprintf("%s %s: %s; its value isn't known", c.Kind, c.Name, r.Outcome)
	case v.Measured:
		return fmt.Sprintf("%s %s: %s; measured %g %s", c.Kind, c.Name, r.Outcome, v.Value, v.Unit)
	}
	return fmt.Sprintf("%s %s: %s; commanded and acknowledged, not measured: %g %s", c.Kind, c.Name, r.Outcome, v.Value, v.Unit)
}

type actuatorValue struct {
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"`
	Measured bool    `json:"measured"`
}

type planResult struct {
	PlanID    string           `json:"plan_id"`
	Digest    string           `json:"digest"`
	ExpiresAt time.Time        `json:"expires_at"`
	DurationS float64          `json:"duration_s"`
	Rehearsal *robot.Rehearsal `json:"rehearsal"`
}

// setpointResult is what a joint that nothing measures was told.
type setpointResult struct {
	Value    float64 `json:"value"`
	Measured bool    `json:"measured"`           // false
	Declared bool    `json:"declared,omitempty"` // a person said that it is there; nothing commanded it
}

type stateResult struct {
	Positions    map[string]float64        `json:"positions,omitempty"`
	Velocities   map[string]float64        `json:"velocities,omitempty"`
	Efforts      map[string]float64        `json:"efforts,omitempty"`
	Setpoints    map[string]setpointResult `json:"setpoints,omitempty"`
	Tip          *poseResult               `json:"tip,omitempty"`
	MeasuredAt   time.Time                 `json:"measured_at"`
	AgeS         float64                   `json:"age_s"`
	Moving       bool                      `json:"moving"`
	Mode         robot.Mode                `json:"mode"`
	Backend      string                    `json:"backend"`
	Enabled      bool                      `json:"enabled"`
	Powered      bool                      `json:"powered"`
	EStopped     bool                      `json:"estopped"`
	OpenLoop     []string                  `json:"open_loop,omitempty"`
	Held         string                    `json:"held,omitempty"`
	Unreferenced []string                  `json:"unreferenced,omitempty"`
	Actuators    map[string]actuatorValue  `json:"actuators,omitempty"`
	Faults       []robot.Fault             `json:"faults"`
}

type jointResult struct {
	Name      string             `json:"name"`
	Type      string             `json:"type"`
	Unit      string             `json:"unit"`
	Parent    string             `json:"parent"`
	Child     string             `json:"child"`
	Limits    *robot.JointLimits `json:"limits,omitempty"`
	Mimics    string             `json:"mimics,omitempty"`
	Home      *float64           `json:"home,omitempty"`
	InArm     bool               `json:"in_arm"`
	Gripper   bool               `json:"gripper"`
	Carried   bool               `json:"moved_by_wheels,omitempty"`
	Reference *referenceResult   `json:"reference,omitempty"`
	OpenLoop  bool               `json:"open_loop,omitempty"`
}

type referenceResult struct {
	Switch  float64 `json:"switch"`
	Towards string  `json:"towards"`
	Speed   float64 `json:"speed"`
	Travel  float64 `json:"travel"`
}

type baseResult struct {
	Left   string  `json:"left"`
	Right  string  `json:"right"`
	Radius float64 `json:"radius"`
	Track  float64 `json:"track"`
}

type describeResult struct {
	Robot   string        `json:"robot"`
	Mode    robot.Mode    `json:"mode"`
	Backend string        `json:"backend"`
	Port    string        `json:"port,omitempty"`
	Root    string        `json:"root"`
	Tip     string        `json:"tip"`
	DoF     int           `json:"dof"`
	Links   []string      `json:"links"`
	Joints  []jointResult `json:"joints"`
	Base    *baseResult   `json:"base,omitempty"`
	Scene   []string      `json:"scene_bodies"`
	Zones   []string      `json:"guarded_zones"`
	Assumed []string      `json:"assumed"`
}

type actuatorResult struct {
	robot.Actuator
	Value    *float64 `json:"value,omitempty"`
	Measured *bool    `json:"measured,omitempty"`
}

type actuatorsResult struct {
	Actuators []actuatorResult `json:"actuators"`
}

type rehearseResult struct {
	DurationS float64          `json:"duration_s"`
	Rehearsal *robot.Rehearsal `json:"rehearsal"`
}

// byName zips names and values; values must be as long as names. NaN, which is what
// isn't measured, is left out, and a map of nothing else is nil.
func byName(names []string, values []float64) map[string]float64 {
	if len(values) != len(names) {
		return nil
	}
	m := make(map[string]float64, len(names))
	for i, n := range names {
		if !math.IsNaN(values[i]) {
			m[n] = values[i]
		}
	}
	if len(m) == 0 && len(names) > 0 {
		return nil
	}
	return m
}
