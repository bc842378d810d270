package collision

import (
	"fmt"

	"github.com/tau-robot/tau/robot"
)

// always is the way out for two links that are made so that they overlap.
const always = "if these two always touch, disable the pair in an SRDF"

// text says what is wrong with a pair at a distance and, where it is wrong from
// the start, what to do about it.
func (d *data) text(p *pair, i int, dist, at float64) string {
	var when string
	switch d.unit {
	case "":
	case "s":
		when = fmt.Sprintf(" at %.3f s", at)
	default:
		when = fmt.Sprintf(" at %.3f %s", at, d.unit)
	}
	switch {
	case d.contact[i] && d.starting:
		return tooDeep(p, dist, d.need[i])
	case d.contact[i] && d.need[i] < p.margin:
		text := fmt.Sprintf("%s is in contact at the start and may only move away, which it doesn't, from %s%s", p.a, p.b, when)
		if p.code == robot.CodeSelfCollision {
			text += "; " + always
		}
		return text
	case p.code == robot.CodeZoneNotGranted:
		return fmt.Sprintf("%s would enter the guarded zone %s%s", p.a, p.b, when)
	case dist < 0:
		return fmt.Sprintf("%s would touch %s%s", p.a, p.b, when)
	}
	return fmt.Sprintf("%s comes too close to %s%s", p.a, p.b, when)
}

// tooDeep is the text for a start that no motion may lead out of.
func tooDeep(p *pair, dist, least float64) string {
	if least >= 0 || dist >= 0 {
		return fmt.Sprintf("%s is nearer to %s at the start than a motion may begin", p.a, p.b)
	}
	if p.code == robot.CodeZoneNotGranted {
		return fmt.Sprintf("%s is %.1f mm inside the guarded zone %s at the start, and no motion leads out of more than %.1f mm without permission for the zone",
			p.a, -1e3*dist, p.b, -1e3*least)
	}
	text := fmt.Sprintf("%s is %.1f mm inside %s at the start, and no motion leads out of more than %.1f mm: switch the torque off and move it out by hand",
		p.a, -1e3*dist, p.b, -1e3*least)
	switch p.code {
	case robot.CodeSelfCollision:
		text += "; " + always
	case robot.CodeSceneCollision:
		text += ", or correct the scene if it isn't there"
	}
	return text
}
