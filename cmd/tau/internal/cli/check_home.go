package cli

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	"github.com/tau-robot/tau/cmd/tau/internal/bridge"
	"github.com/tau-robot/tau/cmd/tau/internal/homepose"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// homeSeed makes the poses that check tries the same each time.
const homeSeed = 1

// checkContact is two links that are in contact at the home pose.
type checkContact struct {
	Link1  string  `json:"link1"`
	Link2  string  `json:"link2"`
	Depth  float64 `json:"depth"`  // m, 0 for two that only touch
	Always bool    `json:"always"` // in every other pose that was tried too
	Tried  int     `json:"tried"`  // poses, up to the first in which the two are apart
	SRDF   string  `json:"srdf"`   // the element that lets the two touch
}

// simulated notes why m can't be simulated, if it can't.
func (d *checkDocument) simulated(m *robot.Model) {
	err := bridge.Simulable(m)
	if err == nil {
		return
	}
	d.Movable = false
	f := robot.Finding{Where: m.Name, Code: robot.CodeInvalidArgument, Text: "it loads, but can't be simulated: "}
	var e *robot.Error
	if errors.As(err, &e) {
		f.Where, f.Code = e.Where, e.Code
		f.Text += e.Text
		if e.Value != nil && e.Limit != nil {
			f.Text += fmt.Sprintf(" (%g, limit %g)", e.Value.Value, e.Limit.Value)
		}
	} else {
		f.Text += err.Error()
	}
	d.Warnings = append(d.Warnings, f)
}

// home notes which links are in contact where m starts.
func (d *checkDocument) home(m *robot.Model) {
	r, err := homepose.Find(m, homepose.Poses, rand.New(rand.NewPCG(homeSeed, 0)))
	if err != nil {
		d.Movable = false
		d.Warnings = append(d.Warnings, robot.Finding{Where: m.Name, Code: robot.CodeInvalidArgument, Text: "it loads, but can't be planned for: " + err.Error()})
		return
	}
	for i := range r.Contacts {
		c := &r.Contacts[i]
		d.Contacts = append(d.Contacts, checkContact{c.A, c.B, c.Depth, c.Always(), c.Tried, c.SRDF()})
		d.Warnings = append(d.Warnings, robot.Finding{Where: c.A + ", " + c.B, Code: robot.CodeSelfCollision, Text: c.String()})
	}
	if r.Untested != "" {
		d.Warnings = append(d.Warnings, robot.Finding{Where: m.Name, Code: robot.CodeNotSupported, Text: r.Untested})
	}
}

// wayOut writes the lines of an SRDF that let links touch which are in contact at
// the home pose, and when they are right.
func (d *checkDocument) wayOut(b *strings.Builder) {
	write := func(always bool, text string) {
		first := true
		for _, c := range d.Contacts {
			if c.Always != always {
				continue
			}
			if first {
				b.WriteString(text)
				first = false
			}
			fmt.Fprintf(b, "  %s\n", gate.Escape(c.SRDF))
		}
	}
	write(true, "In contact in every pose that was tried. If the two parts always touch in reality too, and only then,\n"+
		"this in an SRDF (--srdf) is right; planner and simulator never compare the two again:\n")
	write(false, "In contact at the home pose, but not in every pose: in a pose where the two are apart, they may collide.\n"+
		"Better is another home pose (in an SRDF: <group_state name=\"home\" …>), or bodies as large as the parts are.\n"+
		"This in an SRDF hides every collision of the two, and is right only if they always touch in reality:\n")
}

// warnHome says before a bridge starts what will be refused on it. A model that
// can't be planned for is refused by the start itself.
func warnHome(w io.Writer, m *robot.Model, check string) {
	r, err := homepose.Find(m, 0, rand.New(rand.NewPCG(homeSeed, 0)))
	if err != nil {
		return
	}
	for i := range r.Contacts {
		c := &r.Contacts[i]
		fmt.Fprintf(w, "tau: warning, %s, %s: %s\n", gate.Escape(c.A), gate.Escape(c.B), c)
	}
	if len(r.Contacts) > 0 {
		fmt.Fprintf(w, "tau: the way out is printed by: %s\n", gate.Escape(check))
	}
	if r.Untested != "" {
		fmt.Fprintf(w, "tau: note: %s\n", r.Untested)
	}
}
