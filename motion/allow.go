package motion

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot"
)

// Allowances say what a principal may do in a session beyond what everybody may, by
// the operator's own list or by a grant (G48). They are asked while a motion is
// planned and again right before it runs, so that what is revoked meanwhile doesn't
// count. They must be safe for concurrent use and must not block for long; a panic
// refuses the call.
type Allowances interface {
	// Zone reports whether a guarded zone of the scene is open now.
	Zone(session, principal, zone string) bool
	// SpeedCap returns the largest speed scale of now, grants counted, and whether
	// there is such a cap at all. A cap that is no number above 0 permits no motion.
	SpeedCap(session, principal string) (scale float64, capped bool)
}

// Ending is what Allowances that know how long a zone stays open are as well.
type Ending interface {
	// ZoneUntil returns when an open zone closes; zero: not by itself.
	ZoneUntil(session, principal, zone string) time.Time
}

// closed is the Allowances of a nil Config.Allow: no zone is open, no cap but 1.
type closed struct{}

func (closed) Zone(_, _, _ string) bool             { return false }
func (closed) SpeedCap(_, _ string) (float64, bool) { return 1, false }

// want is for whom something is planned, and from where.
type want struct {
	session, principal string
	moves              bool      // it is asked for, so that what can't move now is refused
	after              *prospect // where earlier actions leave the robot; nil: where it is measured
	power              uint64    // arm.power from before its state was read
}

func (a *arm) wantOf(call gate.Call, moves bool) want {
	return want{session: call.Session.Name, principal: call.Principal, moves: moves, power: a.powerNow()}
}

// openZones are the zones of a scene that are open to a principal, in ascending order.
func (a *arm) openZones(w want, scene *robot.Scene) []string {
	var open []string
	for i := range scene.Zones {
		if n := scene.Zones[i].Name; a.allow.Zone(w.session, w.principal, n) {
			open = append(open, n)
		}
	}
	slices.Sort(open)
	return open
}

// speedCap is the largest speed scale that a principal may use now, 0 to 1.
func (a *arm) speedCap(session, principal string) float64 {
	most, capped := a.allow.SpeedCap(session, principal)
	switch {
	case !capped || most >= 1:
		return 1
	case most > 0:
		return most
	}
	return 0 // negative, or no number
}

// scale returns the speed scale of a motion: what was asked for where that is within
// the cap, else a refusal; the default, lowered to the cap, where nothing was.
func (a *arm) scale(w want, asked *float64) (float64, error) {
	most := a.speedCap(w.session, w.principal)
	s := defaultSpeedScale
	switch {
	case asked != nil:
		s = *asked
	case most > 0:
		s = math.Min(s, most)
	}
	if err := trajectory.CheckSpeedScale(s); err != nil {
		return 0, err
	}
	if s > most {
		return 0, overCap("speed_scale", s, most)
	}
	return s, nil
}

// overCap refuses a speed scale above the cap.
func overCap(where string, scale, most float64) *robot.Error {
	e := &robot.Error{
		Code: robot.CodeSpeedLimit, Where: where, Text: "is faster than this session may move",
		Value: &robot.Quantity{Name: "speed_scale", Value: scale},
		Limit: &robot.Quantity{Name: "speed_scale", Value: most},
	}
	if most > 0 {
		e.Nearest = []robot.Quantity{{Name: "speed_scale", Value: most}}
	}
	if scale <= 1 {
		e.Access = "speed:" + strconv.FormatFloat(scale, 'g', -1, 64)
	}
	return e
}

// allowed asks again for all that the motion needs permission for.
func (x *moveAction) allowed() error {
	for _, z := range x.motion.Zones {
		if !x.arm.allow.Zone(x.session, x.principal, z) {
			e := robot.Errf(robot.CodeZoneNotGranted, z, "the guarded zone isn't open any more; the motion was planned through it")
			e.Access = "zone:" + z
			return e
		}
	}
	if most := x.arm.speedCap(x.session, x.principal); x.scale > most {
		return overCap("speed_scale", x.scale, most)
	}
	return nil
}

// entered says on the card which guarded zones a motion enters.
func (a *arm) entered(w want, zones []string) []gate.Fact {
	if len(zones) == 0 {
		return nil
	}
	parts := make([]string, len(zones))
	for k, z := range zones {
		until := "open to this session"
		if e, ok := a.allow.(Ending); ok {
			if t := e.ZoneUntil(w.session, w.principal, z); !t.IsZero() {
				until = "granted until " + t.UTC().Format(time.RFC3339)
			}
		}
		parts[k] = fmt.Sprintf("zone %s (%s)", onCard(z), until)
	}
	return []gate.Fact{{Label: "Enters", Text: strings.Join(parts, ", ")}}
}

// accessOf is the permission that would make what an error or its causes refuse
// admissible, "" for none.
func accessOf(err error) string {
	for err != nil {
		var e *robot.Error
		if !errors.As(err, &e) {
			return ""
		}
		if e.Access != "" {
			return e.Access
		}
		err = e.Err
	}
	return ""
}
