package expose

import (
	"math"

	"github.com/tau-robot/tau/drivers/feetech/emulator"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
	"github.com/tau-robot/tau/sim"
)

// Of the servos' encoders, in ticks.
const (
	ticksPerRad = hardware.TicksPerRadian
	middle      = hardware.TicksPerTurn / 2
)

// mount is how a servo sits on its joint: its shaft, rad from its encoder's middle, is at
// plus per times the joint's position.
type mount struct{ at, per float64 }

func (m mount) shaft(q float64) float64 { return m.at + m.per*q }
func (m mount) joint(p float64) float64 { return (p - m.at) / m.per }

// mounts says how the servos sit: as the robot's file has it, or without one each with its
// middle at the joint's 0 and turning as the joint does.
func mounts(m *robot.Model, f *hardware.File) []mount {
	out := make([]mount, len(m.Active))
	for i := range out {
		out[i] = mount{per: 1}
		if f != nil {
			j := &f.Joints[i]
			out[i] = mount{at: (j.Zero + float64(j.Offset) - middle) / ticksPerRad, per: j.Direction * j.Scale / ticksPerRad}
		}
	}
	return out
}

// arm is the simulated arm as the servos turn it.
type arm struct {
	sim        *sim.Arm
	mounts     []mount
	drive      []sim.ArmDrive
	q, v, load []float64
}

var (
	_ emulator.Arm   = (*arm)(nil)
	_ emulator.Hands = (*arm)(nil)
)

func newArm(a *sim.Arm, mounts []mount) *arm {
	n := a.Joints()
	return &arm{
		sim: a, mounts: mounts, drive: make([]sim.ArmDrive, n),
		q: make([]float64, n), v: make([]float64, n), load: make([]float64, n),
	}
}

// Step implements emulator.Arm.
func (a *arm) Step(dt float64, in []emulator.Drive, out []emulator.Sense) {
	for i, m := range a.mounts {
		a.drive[i] = sim.ArmDrive{Powered: in[i].Powered, Goal: m.joint(in[i].Goal), Speed: in[i].Speed / m.per, Torque: in[i].Torque}
	}
	a.sim.Step(dt, a.drive)
	a.sim.Read(a.q, a.v, a.load)
	for i, m := range a.mounts {
		out[i] = emulator.Sense{
			Position: m.shaft(a.q[i]), Velocity: m.per * a.v[i], Load: math.Copysign(1, m.per) * a.load[i],
		}
	}
}

// Hold implements emulator.Hands.
func (a *arm) Hold(joint int, held bool) { a.sim.Hold(joint, held) }

// Place implements emulator.Hands.
func (a *arm) Place(joint int, rad float64) { a.sim.Place(joint, a.mounts[joint].joint(rad)) }
