package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/chart"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/cmd/tau/internal/source"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/urdf"
)

type checkFlags struct {
	robotFlags
	json        bool
	plot, scene string
}

func (a *app) check() *cobra.Command {
	var k checkFlags
	c := leaf("check FILE|NAME", "What the loader makes of a description: joints, limits, geometry, warnings, errors", 1, func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("plot") && k.plot == "" {
			return exit.Usagef("--plot needs a file's name")
		}
		if k.scene != "" && k.plot == "" {
			return exit.Usagef("--scene goes with --plot")
		}
		k.Name = args[0]
		return a.runCheck(&k)
	})
	f := c.Flags()
	f.BoolVar(&k.json, "json", false, "the findings as one JSON document")
	f.StringVar(&k.plot, "plot", "", "PNG of the robot with its link frames and collision bodies, from the side and from above")
	f.StringVar(&k.scene, "scene", "", "with --plot: JSON file of what stands around the robot, which is drawn too")
	k.addFiles(f)
	return c
}

// checkDocument is check --json.
type checkDocument struct {
	OK       bool            `json:"ok"`
	Robot    string          `json:"robot"`
	Links    int             `json:"links"`
	Joints   int             `json:"joints"`
	DoF      int             `json:"dof"`
	Root     string          `json:"root"`
	Errors   []robot.Finding `json:"errors"`
	Warnings []robot.Finding `json:"warnings"`
	// Movable is false where the description loads but no motion can be planned
	// or simulated on it; a warning says why.
	Movable bool         `json:"movable"`
	Moving  []checkJoint `json:"moving"`
	Bodies  []checkBody  `json:"bodies"`
	Assumed []string     `json:"assumed"` // of the whole robot; a joint's own are with its limits
	// Contacts are the links that touch at the home pose, each with a warning.
	Contacts []checkContact `json:"contacts,omitempty"`
	// What the robot has beside its joints.
	Actuators  []robot.Actuator `json:"actuators,omitempty"`
	Base       *checkBase       `json:"base,omitempty"`
	References []checkReference `json:"references,omitempty"`
}

// checkBase is a differential drive.
type checkBase struct {
	X      string  `json:"x"`
	Y      string  `json:"y"`
	Yaw    string  `json:"yaw"`
	Left   string  `json:"left"`
	Right  string  `json:"right"`
	Radius float64 `json:"radius"` // m
	Track  float64 `json:"track"`  // m
}

// checkReference is a joint that finds a switch before it knows where it is.
type checkReference struct {
	Joint  string  `json:"joint"`
	Switch float64 `json:"switch"` // rad or m
	End    string  `json:"end"`    // of the joint that the search goes towards
	Speed  float64 `json:"speed"`  // rad/s or m/s
	Travel float64 `json:"travel"` // rad or m
}

// checkJoint is a joint that isn't fixed.
type checkJoint struct {
	Joint  string             `json:"joint"`
	Type   string             `json:"type"`
	Unit   string             `json:"unit"`
	Parent string             `json:"parent"`
	Child  string             `json:"child"`
	Mimics string             `json:"mimics,omitempty"`
	Limits *robot.JointLimits `json:"limits,omitempty"` // of the joints that q is about
}

// checkBody is a collision body.
type checkBody struct {
	Link string `json:"link"`
	Kind string `json:"kind"`
	Mesh string `json:"mesh,omitempty"`
	Read *bool  `json:"read,omitempty"` // whether the mesh was
}

func (a *app) runCheck(k *checkFlags) error {
	if k.Name == "" {
		return exit.Usagef("robot check needs a file's name")
	}
	var l source.Loaded
	if slices.Contains(builtin.Names(), k.Name) {
		var err error
		if l, err = k.load(); err != nil {
			return err
		}
	} else {
		f, err := k.Files()
		if err != nil {
			return exit.Usagef("%w", err)
		}
		if l, err = source.Read(f); err != nil {
			return a.refusedCheck(k, err)
		}
	}
	doc, err := checked(l)
	if err != nil {
		return exit.Bridgef("%w", err)
	}
	if l.Model != nil {
		doc.simulated(l.Model)
		doc.home(l.Model)
	}
	if k.plot != "" {
		if err := a.plotCheck(k, l); err != nil {
			return err
		}
	}
	if k.json {
		return a.document(doc)
	}
	return write(a.out, doc.String())
}

func (a *app) refusedCheck(k *checkFlags, err error) error {
	found := urdf.Findings(err)
	if k.json {
		if err := a.document(checkDocument{
			Errors: found, Warnings: []robot.Finding{}, Moving: []checkJoint{}, Bodies: []checkBody{}, Assumed: []string{},
		}); err != nil {
			return err
		}
	}
	var b strings.Builder
	findings(&b, "error", found)
	fmt.Fprint(a.err, b.String())
	return exit.Callsf("%s is refused: %s", gate.Escape(k.Name), plural(len(found), "error"))
}

// checked says what the loader made of a description.
func checked(l source.Loaded) (checkDocument, error) {
	d, m := l.Description, l.Model
	doc := checkDocument{
		OK: true, Robot: d.Name, Links: len(d.Links), Joints: len(d.Joints), DoF: d.DoF(), Root: d.Links[d.Root].Name,
		Errors: []robot.Finding{}, Warnings: append([]robot.Finding{}, d.Warnings...),
		Movable: m != nil, Moving: []checkJoint{}, Bodies: []checkBody{}, Assumed: []string{},
	}
	var limits []robot.JointLimits
	if m != nil {
		limits = m.Limits
		doc.Warnings = append([]robot.Finding{}, m.Warnings...)
		doc.Assumed = append(doc.Assumed, m.Assumed...)
		doc.equipment(m)
	} else {
		for _, f := range urdf.Findings(l.Why) {
			f.Text = "it loads, but can't be moved: " + f.Text
			doc.Warnings = append(doc.Warnings, f)
		}
		var err error
		if limits, err = robot.NewLimits(d, nil); err != nil {
			return doc, err
		}
	}
	for i := range d.Joints {
		j := &d.Joints[i]
		if j.Type == robot.Fixed {
			continue
		}
		c := checkJoint{Joint: j.Name, Type: j.Type.String(), Unit: j.Type.Unit(), Parent: d.Links[j.Parent].Name, Child: d.Links[j.Child].Name}
		if j.Mimic != nil {
			c.Mimics = d.Joints[j.Mimic.Joint].Name
		}
		if j.Active >= 0 {
			c.Limits = &limits[j.Active]
		}
		doc.Moving = append(doc.Moving, c)
	}
	for i := range d.Links {
		for _, c := range d.Links[i].Colliders {
			b := checkBody{Link: d.Links[i].Name, Kind: c.Geometry.Kind.String()}
			if c.Geometry.Kind == robot.MeshGeometry {
				read := c.Geometry.Mesh != nil && len(c.Geometry.Mesh.Triangles) > 0
				b.Read = &read
				if c.Geometry.Mesh != nil {
					b.Mesh = c.Geometry.Mesh.File
				}
			}
			doc.Bodies = append(doc.Bodies, b)
		}
	}
	return doc, nil
}

// equipment fills in what m has beside its joints.
func (d *checkDocument) equipment(m *robot.Model) {
	name := func(i int) string { return m.Joints[m.Active[i]].Name }
	d.Actuators = m.Actuators
	if b := m.Base; b != nil {
		d.Base = &checkBase{name(b.X), name(b.Y), name(b.Yaw), name(b.Left), name(b.Right), b.Radius, b.Track}
	}
	for _, r := range m.References {
		c := checkReference{name(r.Joint), r.Switch, "lower", r.Speed, r.Travel}
		if r.Direction > 0 {
			c.End = "upper"
		}
		d.References = append(d.References, c)
	}
}

// String is the document for people.
func (d *checkDocument) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s loads: %s, %s, %d degrees of freedom, root %s\n", gate.Escape(d.Robot),
		plural(d.Links, "link"), plural(d.Joints, "joint"), d.DoF, gate.Escape(d.Root))
	for _, j := range d.Moving {
		fmt.Fprintf(&b, "  %-28s %-10s %s\n", gate.Escape(j.Joint), j.Type, j.limits())
	}
	kinds := map[string]int{}
	var order []string
	for _, c := range d.Bodies {
		if kinds[c.Kind]++; kinds[c.Kind] == 1 {
			order = append(order, c.Kind)
		}
	}
	b.WriteString("collision bodies:")
	if len(order) == 0 {
		b.WriteString(" none")
	}
	for _, k := range order {
		fmt.Fprintf(&b, " %s × %d", k, kinds[k])
	}
	b.WriteByte('\n')
	for _, a := range d.Actuators {
		fmt.Fprintf(&b, "actuator %s: %s, %g to %g %s; a stop: %s, a lost link: %s\n", gate.Escape(a.Name), gate.Escape(a.Kind),
			a.Lower, a.Upper, gate.Escape(a.Unit), a.OnStop, a.OnLost)
	}
	if w := d.Base; w != nil {
		fmt.Fprintf(&b, "base: wheels %s and %s of radius %g m, %g m apart\n", gate.Escape(w.Left), gate.Escape(w.Right), w.Radius, w.Track)
	}
	for _, r := range d.References {
		fmt.Fprintf(&b, "reference %s: a switch at %g, towards the %s end\n", gate.Escape(r.Joint), r.Switch, r.End)
	}
	for _, s := range d.Assumed {
		fmt.Fprintf(&b, "assumed: %s\n", gate.Escape(s))
	}
	findings(&b, "warning", d.Warnings)
	d.wayOut(&b)
	return b.String()
}

func (j *checkJoint) limits() string {
	if j.Limits == nil {
		return "follows " + gate.Escape(j.Mimics)
	}
	l := j.Limits
	out := "unbounded"
	if l.Bounded {
		out = fmt.Sprintf("%g to %g %s", l.Lower, l.Upper, j.Unit)
	}
	if l.Velocity > 0 {
		out += fmt.Sprintf(", %g %s/s", l.Velocity, j.Unit)
	} else {
		out += ", speed limit unknown: it can't be moved"
	}
	if l.Acceleration > 0 {
		out += fmt.Sprintf(", %g %s/s²", l.Acceleration, j.Unit)
	}
	if len(l.Assumed) > 0 {
		out += " (assumed: " + strings.Join(l.Assumed, ", ") + ")"
	}
	return out
}

func findings(b *strings.Builder, kind string, fs []robot.Finding) {
	for _, f := range fs {
		b.WriteString(kind)
		if f.Line > 0 {
			fmt.Fprintf(b, ", line %d", f.Line)
		}
		if f.Where != "" && f.File == "" || f.Where != "" && !strings.HasPrefix(f.Where, f.File) {
			fmt.Fprintf(b, ", %s", gate.Escape(f.Where))
		}
		fmt.Fprintf(b, ": %s\n", gate.Escape(f.Text))
	}
}

func (a *app) plotCheck(k *checkFlags, l source.Loaded) error {
	d, m := l.Description, l.Model
	scene, err := sceneOf(k.scene)
	if err != nil {
		return err
	}
	q := middle(d)
	if m == nil {
		m = &robot.Model{Description: d}
	} else {
		q = m.Home
	}
	poses, err := linkPoses(d, q)
	if err != nil {
		return exit.Bridgef("--plot: %w", err)
	}
	arm := chart.Arm{Title: d.Name, Model: m, Scene: scene, End: poses, Frames: true}
	if err := chart.Save(k.plot, func(w io.Writer) error { return chart.DrawArm(w, arm) }); err != nil {
		return exit.Bridgef("--plot: %w", err)
	}
	fmt.Fprintf(a.err, "wrote %s\n", gate.Escape(k.plot))
	return nil
}
