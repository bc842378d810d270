package urdf_test

import (
	"bufio"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
func shared(t testing.TB, parts ...string) string {
	t.Helper()
	root := filepath.Join("..", "..", "..", "shared", "cases")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("SKIPPED %s: the case collection ../shared/cases isn't there", t.Name())
	}
	return filepath.Join(append([]string{root}, parts...)...)
}

func tsv(t testing.TB, file string) [][]string {
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

// Nothing of the collection is left out: each file is in its table, is part of one
// that is, or is of no kind that we read.
func TestTheWholeCollectionIsRead(t *testing.T) {
	table := map[string]bool{}
	for _, part := range []string{"urdf_small", "robots"} {
		for _, row := range tsv(t, shared(t, part, "EXPECT.tsv")) {
			table[part+"/"+row[0]] = true
		}
	}
	for _, files := range [][]string{semanticFiles(), partsOfOthers} {
		for _, name := range files {
			require.False(t, table[name], name)
			table[name] = true
		}
	}
	root := shared(t)
	seen := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch filepath.Ext(name) {
		case ".urdf", ".xacro", ".srdf", ".yaml":
			require.True(t, table[name], "nothing is expected of %s", name)
			seen++
		case ".xml": // of another simulator: refused for what it is
			_, err := urdf.ParseFile(urdf.Files{Description: path})
			require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), name)
			require.ErrorContains(t, err, "the root element is", name)
		}
		return nil
	}))
	require.Equal(t, len(table), seen, "the tables name files that aren't there")
}

// partsOfOthers are the files that xacro files of the collection include, or read
// as tables, and those that need them.
var partsOfOthers = []string{
	"robots/panda_moveit/panda_moveit_config/config/hand.xacro",
	"robots/panda_moveit/panda_moveit_config/config/initial_positions.yaml",
	"robots/panda_moveit/panda_moveit_config/config/panda.ros2_control.xacro",
	"robots/panda_moveit/panda_moveit_config/config/panda.urdf.xacro", // TestExpandedPanda
	"robots/panda_moveit/panda_moveit_config/config/panda_arm.xacro",
	"robots/panda_moveit/panda_moveit_config/config/panda_hand.ros2_control.xacro",
	"robots/ur5e_xacro/config/initial_positions.yaml",
	"robots/ur5e_xacro/config/ur5e/default_kinematics.yaml",
	"robots/ur5e_xacro/config/ur5e/physical_parameters.yaml",
	"robots/ur5e_xacro/config/ur5e/visual_parameters.yaml",
	"robots/ur5e_xacro/urdf/inc/ur_common.xacro",
	"robots/ur5e_xacro/urdf/inc/ur_joint_control.xacro",
	"robots/ur5e_xacro/urdf/inc/ur_sensors.xacro",
	"robots/ur5e_xacro/urdf/inc/ur_transmissions.xacro",
	"robots/ur5e_xacro/urdf/ros2_control_mock_hardware.xacro",
	"robots/ur5e_xacro/urdf/ur.urdf.xacro", // TestExpandedUR5e
	"robots/ur5e_xacro/urdf/ur_macro.xacro",
}

// semantic says what each SRDF and joint_limits.yaml of the collection makes of its
// robot: the joints of its arm, the tip, the gripper's joint; or part of the refusal.
var semantic = []struct {
	description, semantics, limits string
	arm                            int
	tip, gripper                   string
	refused                        string
}{
	{"fanuc_zero_effort/fanuc_description/urdf/fanuc.urdf", "fanuc_zero_effort/fanuc_moveit_config/config/fanuc.srdf", "", 6, "tool0", "", ""},
	{"panda_mesh/urdf/panda.urdf", "panda_mesh/srdf/panda.srdf", "", 7, "panda_hand_tcp", "panda_finger_joint1", ""},
	{"panda_moveit/panda_description/urdf/panda.urdf", moveit + "panda.srdf", moveit + "joint_limits.yaml", 7, "panda_link8", "panda_finger_joint1", ""},
	{"panda_moveit/panda_description/urdf/panda.urdf", moveit + "panda_arm_hand.srdf.xacro", "", 7, "panda_link8", "panda_finger_joint1", ""},
	{"panda_moveit/panda_description/urdf/panda.urdf", moveit + "panda_arm.srdf.xacro", "", 7, "panda_link8", "", ""},
	{"ur5e_expanded/ur5e.urdf", "", "ur5e_xacro/config/ur5e/joint_limits.yaml", 6, "tool0", "", ""},
	// One of its named poses is 3 mrad outside of its own soft limits.
	{"pr2/pr2.urdf", "pr2/pr2_manipulation.srdf", "", 0, "", "", `pr2_manipulation.srdf:83: group state "tuck_right_arm": joint "r_elbow_flex_joint" is outside its limits`},
	// Its poses name a joint that nothing declares, with the seven numbers of a free body.
	{"simple_humanoid/simple_humanoid.urdf", "simple_humanoid/simple_humanoid.srdf", "", 0, "", "", `simple_humanoid.srdf:9: group state "half_sitting": <joint> attribute value: "0. 0. 1. 0. 0. 0. 1." is not a decimal number`},
}

const moveit = "panda_moveit/panda_moveit_config/config/"

var collisionElement = regexp.MustCompile(`(?s)<collision\b.*?</collision>`)

func TestSemanticsOfRealRobots(t *testing.T) {
	for _, c := range semantic {
		t.Run(strings.ReplaceAll(c.semantics+c.limits, "/", "_"), func(t *testing.T) {
			// Without bodies: the collection has few of their meshes.
			text, err := os.ReadFile(shared(t, "robots", c.description))
			require.NoError(t, err)
			f := expandable(t, c.description)
			f.Args = nil
			f.Description = filepath.Join(t.TempDir(), "r.urdf")
			require.NoError(t, os.WriteFile(f.Description, collisionElement.ReplaceAll(text, nil), 0o600))
			if c.semantics != "" {
				f.Semantics = shared(t, "robots", c.semantics)
			}
			if c.limits != "" {
				f.Limits = shared(t, "robots", c.limits)
			}
			m, err := urdf.LoadFile(f)
			if c.refused != "" {
				require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
				require.ErrorContains(t, err, c.refused)
				return
			}
			require.NoError(t, err)
			require.Len(t, m.Arm, c.arm)
			require.Equal(t, c.tip, m.Links[m.Tip].Name)
			require.Equal(t, c.gripper != "", m.Gripper != nil)
			if m.Gripper != nil {
				require.Equal(t, c.gripper, m.JointNames()[m.Gripper.Joint])
			}
		})
	}
}

func semanticFiles() []string {
	seen := map[string]bool{}
	for _, s := range semantic {
		seen["robots/"+s.semantics], seen["robots/"+s.limits] = true, true
	}
	delete(seen, "robots/")
	return slices.Collect(maps.Keys(seen))
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
