package motion

import (
	"context"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/robot"
)

func (p *Planner) describe(_ context.Context, _ gate.Call, a *arm) (any, error) {
	m := a.Model
	out := describeResult{
		Robot: m.Name, Mode: a.info.Mode, Backend: a.info.Backend, Port: a.info.Port,
		Root: m.Links[m.Root].Name, Tip: m.Links[m.Tip].Name, DoF: m.DoF(),
		Scene: []string{}, Zones: []string{}, Assumed: append([]string{}, m.Assumed...),
	}
	for i := range m.Links {
		out.Links = append(out.Links, m.Links[i].Name)
	}
	inArm := map[int]bool{}
	for _, i := range m.Arm {
		inArm[i] = true
	}
	for i := range m.Joints {
		j := &m.Joints[i]
		r := jointResult{Name: j.Name, Type: j.Type.String(), Unit: j.Type.Unit(), Parent: m.Links[j.Parent].Name, Child: m.Links[j.Child].Name}
		if j.Mimic != nil {
			r.Mimics = m.Joints[j.Mimic.Joint].Name
		}
		if k := j.Active; k >= 0 {
			r.Limits, r.InArm = &m.Limits[k], inArm[k]
			r.Gripper = m.Gripper != nil && m.Gripper.Joint == k
			r.Carried = m.Base.Carries(k)
			r.OpenLoop = a.isOpenLoop(k)
			if ref := m.Reference(k); ref != nil {
				r.Reference = &referenceResult{Switch: ref.Switch, Towards: end(ref.Direction), Speed: ref.Speed, Travel: ref.Travel}
			}
			if k < len(m.Home) {
				r.Home = &m.Home[k]
			}
		}
		out.Joints = append(out.Joints, r)
	}
	if b := m.Base; b != nil {
		out.Base = &baseResult{Left: a.info.Joints[b.Left], Right: a.info.Joints[b.Right], Radius: b.Radius, Track: b.Track}
	}
	scene := a.sceneNow()
	for i := range scene.Bodies {
		out.Scene = append(out.Scene, scene.Bodies[i].Name)
	}
	for i := range scene.Zones {
		out.Zones = append(out.Zones, scene.Zones[i].Name)
	}
	return out, nil
}

func (p *Planner) readState(ctx context.Context, _ gate.Call, a *arm) (any, error) {
	st, err := a.state(ctx)
	if err != nil {
		return nil, err
	}
	out := stateResult{
		Velocities: byName(a.info.Joints, st.Velocities),
		Efforts:    byName(a.info.Joints, st.Efforts), MeasuredAt: st.MeasuredAt, AgeS: p.now().Sub(st.MeasuredAt).Seconds(),
		Moving: st.Moving, Mode: a.info.Mode, Backend: a.info.Backend, Enabled: st.Enabled, Powered: powered(st), EStopped: st.EStopped,
		OpenLoop: a.openLoopNames(), Setpoints: a.setpoints(st, true),
		Held: st.Held, Faults: append([]robot.Fault{}, st.Faults...),
		Tip: a.knownTip(st), Actuators: a.actuatorValues(st),
	}
	out.Positions, out.Unreferenced = a.known(st)
	return out, nil
}

// end names the end of a joint's range in a direction.
func end(direction float64) string {
	if direction < 0 {
		return "lower"
	}
	return "upper"
}

// tipPose is the tip in the root frame at q.
func (a *arm) tipPose(q []float64) poseResult {
	d := a.tree.NewData()
	a.tree.FK(d, q)
	return poseOf(a.linkPose(d, a.Model.Tip))
}

func (a *arm) linkPose(d *kinematics.Data, link int) robot.Pose {
	return kinematics.PoseOf(&d.Frames[link])
}
