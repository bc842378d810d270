package emulator

import "math"

const (
	freeLag  = 0.010 // s, by which a joint of Free follows its goal
	freeGain = 6.0   // part of the largest torque for each rad that it is behind
	// freeDrag is the part of the largest torque that a rad/s costs.
	freeDrag = 0.05
)

// Free is an Arm without dynamics: each joint follows its goal with a small lag, nothing
// weighs, and what has no power stays where it is. Not safe for concurrent use.
type Free struct {
	at, v []float64
	held  []bool
	extra []float64 // load that stands on a joint, of the largest torque
}

var (
	_ Arm   = (*Free)(nil)
	_ Hands = (*Free)(nil)
)

// NewFree returns an arm of as many joints as start has positions, rad.
func NewFree(start ...float64) *Free {
	n := len(start)
	return &Free{at: append([]float64(nil), start...), v: make([]float64, n), held: make([]bool, n), extra: make([]float64, n)}
}

// Load puts a weight on a joint: what carrying it costs, of the largest torque, -1 to 1.
func (f *Free) Load(joint int, load float64) { f.extra[joint] = load }

// Hold blocks a joint, or lets go of it.
func (f *Free) Hold(joint int, held bool) { f.held[joint] = held }

// Place puts a joint somewhere, rad, at rest.
func (f *Free) Place(joint int, rad float64) { f.at[joint], f.v[joint] = rad, 0 }

// Step implements Arm.
func (f *Free) Step(dt float64, in []Drive, out []Sense) {
	for i := range f.at {
		d := in[i]
		load := 0.0
		switch {
		case f.held[i] || !d.Powered || d.Torque == 0:
			f.v[i] = 0
		default:
			next := f.at[i] + (d.Goal-f.at[i])*(1-math.Exp(-dt/freeLag))
			f.v[i] = (next - f.at[i]) / dt
			f.at[i] = next
		}
		if d.Powered {
			load = freeGain*(d.Goal-f.at[i]) + freeDrag*f.v[i] + f.extra[i]
			load = math.Max(-d.Torque, math.Min(d.Torque, load))
		}
		out[i] = Sense{Position: f.at[i], Velocity: f.v[i], Load: load}
	}
}
