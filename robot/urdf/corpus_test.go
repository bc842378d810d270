package urdf_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf"
)

// shared returns a path in the case collection beside the repository, and skips
// the test by name where that isn't there.
func shared(t *testing.T, parts ...string) string {
	t.Helper()
	root := filepath.Join("..", "..", "..", "shared", "cases")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("SKIPPED %s: the case collection ../shared/cases isn't there", t.Name())
	}
	return filepath.Join(append([]string{root}, parts...)...)
}

func tsv(t *testing.T, file string) [][]string {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	var out [][]string
	for s := bufio.NewScanner(f); s.Scan(); {
		out = append(out, strings.Split(s.Text(), "\t"))
	}
	require.Greater(t, len(out), 1)
	return out[1:]
}

// small says what each file of urdf_small gives: part of the refusal's text, or
// "" where it loads, and a further check.
var small = map[string]struct {
	refused string
	check   func(t *testing.T, d *robot.Description)
}{
	"bom_utf8.urdf":             {"", sized(2, 1, 1)},
	"utf16le_bom.urdf":          {"UTF-16", nil},
	"hex_float.urdf":            {`attribute xyz: "0x1p-1" is not a decimal number`, nil},
	"nan_inf.urdf":              {`"NaN" is not finite`, nil},
	"comma_decimal.urdf":        {`.urdf:2: joint "j1": <origin> attribute xyz: "0,1" is not a decimal number`, nil},
	"four_values.urdf":          {"rpy holds 4 values where 3 numbers are due", nil},
	"missing_axis.urdf":         {"", func(t *testing.T, d *robot.Description) { require.Equal(t, mgl64.Vec3{1, 0, 0}, d.Joints[0].Axis) }},
	"limits_swapped.urdf":       {`joint "j1": lower limit 1 is above the upper limit -1 rad`, nil},
	"limit_missing.urdf":        {`joint "j1": a revolute joint needs <limit>`, nil},
	"zero_velocity_effort.urdf": {"", warned("no velocity limit above zero", "no effort limit above zero")},
	"negative_velocity.urdf":    {"velocity: -1 is negative", nil},
	"continuous_with_limits.urdf": {"", func(t *testing.T, d *robot.Description) {
		require.False(t, d.Joints[0].Bounded)
		warned("lower and upper are ignored")(t, d)
	}},
	"continuous_no_limit.urdf": {"", func(t *testing.T, d *robot.Description) {
		require.False(t, d.Joints[0].Bounded)
		require.Zero(t, d.Joints[0].Velocity)
		warned("no velocity limit")(t, d)
	}},
	"floating.urdf":             {`joint "f": joints of the type floating are not supported`, nil},
	"planar.urdf":               {`joint "p": joints of the type planar are not supported`, nil},
	"duplicate_link.urdf":       {`link "b" is defined twice`, nil},
	"duplicate_joint.urdf":      {`joint "j1" is defined twice`, nil},
	"two_parents.urdf":          {`link "c" has two parents: joint "j2" and joint "j3"`, nil},
	"self_parent.urdf":          {`joint "j2": link "b" is its own parent`, nil},
	"cycle_no_root.urdf":        {"there is no root link", nil},
	"detached_cycle.urdf":       {`link "c" is part of a loop that doesn't hang on the root "a"`, nil},
	"two_roots.urdf":            {`2 root links: "a", "c"`, nil},
	"single_link.urdf":          {"", sized(1, 0, 0)},
	"no_links.urdf":             {"no links", nil},
	"mimic_offset_escapes.urdf": {"", escapes},
	"mimic_chain.urdf":          {"", chained},
	"mimic_missing_target.urdf": {`mimics "nope", which doesn't exist`, nil},
	"mimic_self.urdf":           {`joint "j1" mimics itself`, nil},
	"mimic_of_fixed.urdf":       {`mimics "j1", which is fixed`, nil},
	"negative_mass.urdf":        {`link "a": mass -1 kg is negative`, nil},
	"mesh_negative_scale.urdf":  {"", warned(`"tri.stl" doesn't exist`)},
	"xacro_unexpanded.urdf":     {"unexpanded xacro element <xacro:property>", nil},
	"xacro_macro_only.urdf":     {"unexpanded xacro element <xacro:macro>", nil},
	"gazebo_noise.urdf":         {"", sized(2, 1, 1)},
	"comment_hides_joint.urdf":  {"", sized(2, 1, 1)},
	"entity_bomb.urdf":          {"DOCTYPE", nil},
	"trailing_nul.urdf":         {":3: not well-formed XML", nil},
	"version_2.urdf":            {`version "2.0" is not supported`, nil},
	"deep_chain_2000.urdf":      {"", deep},
	"two_collisions.urdf":       {"", bodies},
	"two_documents.urdf":        {":3: an XML declaration after the start", nil},
	"foreign_namespace_joint.urdf": {"", func(t *testing.T, d *robot.Description) {
		sized(2, 1, 1)(t, d)
		require.Equal(t, 3.0, d.Joints[0].Velocity)
	}},
	"undeclared_prefix.urdf": {"", warned("the prefix isn't declared")},
	"origin_inside_geometry.urdf": {"", func(t *testing.T, d *robot.Description) {
		warned("<origin> inside <geometry> is ignored")(t, d)
		require.Len(t, d.Links[0].Colliders, 1)
		require.Equal(t, robot.IdentityPose(), d.Links[0].Colliders[0].Origin)
	}},
}

func sized(links, joints, dof int) func(*testing.T, *robot.Description) {
	return func(t *testing.T, d *robot.Description) {
		require.Equal(t, []int{links, joints, dof}, []int{len(d.Links), len(d.Joints), d.DoF()})
	}
}

func warned(texts ...string) func(*testing.T, *robot.Description) {
	return func(t *testing.T, d *robot.Description) {
		all := fmt.Sprint(d.Warnings)
		for _, text := range texts {
			require.Contains(t, all, text)
		}
		for _, w := range d.Warnings {
			require.Positive(t, w.Line)
		}
	}
}

func escapes(t *testing.T, d *robot.Description) {
	sized(3, 2, 1)(t, d)
	jl := d.Joints[d.JointIndex("jl")]
	require.Equal(t, 0.0, jl.Lower)
	require.InDelta(t, 0.45, jl.Upper, 1e-12)
	require.Equal(t, 0.5, jl.Velocity)
}

func chained(t *testing.T, d *robot.Description) {
	sized(4, 3, 1)(t, d)
	at := func(name string, master float64) float64 {
		m := d.Joints[d.JointIndex(name)].Mimic
		require.Equal(t, "m0", d.Joints[m.Joint].Name)
		return m.Multiplier*master + m.Offset
	}
	require.InDelta(t, 0.3, at("m1", 0.4), 1e-12)
	require.InDelta(t, 0.6, at("m2", 0.4), 1e-12)
}

func deep(t *testing.T, d *robot.Description) {
	sized(2001, 2000, 2000)(t, d)
	p := robot.IdentityPose()
	for _, j := range d.Joints {
		p = p.Mul(j.Origin)
	}
	require.Equal(t, "l2000", d.Links[d.Joints[1999].Child].Name)
	require.InDelta(t, 2.0, p.P[2], 1e-9)
}

func bodies(t *testing.T, d *robot.Description) {
	c := d.Links[0].Colliders
	require.Len(t, c, 2)
	require.Equal(t, robot.Box, c[0].Geometry.Kind)
	require.Equal(t, robot.Sphere, c[1].Geometry.Kind)
	require.Less(t, c[1].Origin.P.Sub(mgl64.Vec3{1, 0, 0.1}).Len(), c[1].Geometry.Radius)
}

func TestSmallUglyFiles(t *testing.T) {
	rows := tsv(t, shared(t, "urdf_small", "EXPECT.tsv"))
	for _, row := range rows {
		want, known := small[row[0]]
		require.True(t, known, "the collection has %s, of which nothing is expected here: %s", row[0], row[1])
		t.Run(row[0], func(t *testing.T) {
			d, err := urdf.ParseFile(urdf.Files{Description: shared(t, "urdf_small", row[0])})
			if want.refused != "" {
				require.Contains(t, []robot.Code{robot.CodeInvalidArgument, robot.CodeNotSupported}, robot.CodeOf(err))
				require.Contains(t, err.Error(), want.refused)
				require.Contains(t, err.Error(), row[0]+":")
				for _, f := range urdf.Findings(err) {
					require.Positive(t, f.Line)
				}
				return
			}
			require.NoError(t, err)
			want.check(t, d)
		})
	}
	require.Len(t, small, len(rows))
}

func TestRealRobots(t *testing.T) {
	for _, row := range tsv(t, shared(t, "robots", "EXPECT.tsv")) {
		t.Run(row[0], func(t *testing.T) {
			d, err := urdf.ParseFile(urdf.Files{Description: shared(t, "robots", row[0])})
			if row[1] != "load" { // xacro: refused with the line where arguments or packages are missing
				require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
				require.Contains(t, err.Error(), "xacro")
				require.Positive(t, urdf.Findings(err)[0].Line)
				d, err = urdf.ParseFile(expandable(t, row[0]))
				require.NoError(t, err)
				require.Equal(t, expanded[row[0]], []int{len(d.Links), len(d.Joints), d.DoF()})
				return
			}
			require.NoError(t, err)
			var n [3]int
			for i := range n {
				n[i], err = strconv.Atoi(row[2+i])
				require.NoError(t, err)
			}
			sized(n[0], n[1], n[2])(t, d)
			require.Equal(t, row[5], d.Links[d.Root].Name)
		})
	}
}
