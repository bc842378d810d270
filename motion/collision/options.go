package collision

import (
	"math"

	"github.com/tau-robot/tau/robot"
)

// The default margins and tolerances, m.
const (
	// DefaultSceneMargin is the clearance that every evaluated instant needs to
	// the bodies and the zones of the scene.
	DefaultSceneMargin = 2e-3
	// DefaultSelfMargin is the same between links. It equals the resolution, so
	// what holds between evaluated instants is 0: no contact.
	DefaultSelfMargin = 2.5e-4
	// DefaultResolution is how much of a margin may be used up between two
	// evaluated instants of a path.
	DefaultResolution = 2.5e-4
	// DefaultOvershoot bounds how far the spheres reach beyond a body.
	DefaultOvershoot = 2e-3
	// DefaultStartContact is how far below its margin a pair may be at the start
	// of a path that only makes its gap grow: an arm that fell or was pushed into
	// something must be able to leave it.
	DefaultStartContact = 20e-3
	// StartNoise is how far below its margin a pair may be at the start whatever its
	// size: what sensor noise, a scene measured by hand and a servo that settles make
	// of a contact. Farther, it may be no deeper than the thinner of the two bodies
	// is thick: what is said to be beyond a body isn't in contact with it.
	StartNoise = 6e-3
	// overshootRatio keeps the number of spheres of a big body bounded: the
	// overshoot is at least the body's diagonal divided by this.
	overshootRatio = 64
)

// Options are margins and tolerances in metres. The zero value is not valid and
// New refuses it.
type Options struct {
	SceneMargin  float64 // >= Resolution
	SelfMargin   float64 // >= Resolution
	Resolution   float64 // > 0
	Overshoot    float64 // > 0
	StartContact float64 // >= 0, see DefaultStartContact; 0 refuses every start below a margin
}

// DefaultOptions returns the default margins and tolerances.
func DefaultOptions() Options {
	return Options{
		SceneMargin: DefaultSceneMargin, SelfMargin: DefaultSelfMargin, Resolution: DefaultResolution,
		Overshoot: DefaultOvershoot, StartContact: DefaultStartContact,
	}
}

func (o Options) check() error {
	bad := func(name string, v float64, text string) error {
		e := robot.Errf(robot.CodeInvalidArgument, "options."+name, "%s", text)
		e.Value = &robot.Quantity{Value: v, Unit: "m"}
		return e
	}
	for _, f := range []struct {
		name string
		v    float64
	}{
		{"scene_margin", o.SceneMargin}, {"self_margin", o.SelfMargin}, {"resolution", o.Resolution},
		{"overshoot", o.Overshoot}, {"start_contact", o.StartContact},
	} {
		if math.IsNaN(f.v) || math.IsInf(f.v, 0) || f.v < 0 {
			return bad(f.name, f.v, "must be finite and not negative")
		}
	}
	switch {
	case o.Resolution == 0:
		return bad("resolution", 0, "must be positive")
	case o.Overshoot == 0:
		return bad("overshoot", 0, "must be positive")
	case o.SceneMargin < o.Resolution:
		return bad("scene_margin", o.SceneMargin, "must be at least the resolution")
	case o.SelfMargin < o.Resolution:
		return bad("self_margin", o.SelfMargin, "must be at least the resolution")
	}
	return nil
}
