package urdf_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf"
)

func parse(t testing.TB, text string) *robot.Description {
	t.Helper()
	d, err := urdf.Parse("t.urdf", []byte(text), urdf.Options{})
	require.NoError(t, err)
	return d
}

// refused holds text to a refusal in that line whose text holds want.
func refused(t testing.TB, text string, line int, want string) {
	t.Helper()
	start := time.Now()
	_, err := urdf.Parse("t.urdf", []byte(text), urdf.Options{})
	require.Less(t, time.Since(start), 20*time.Second) // far from what a bomb would take, and from what a busy machine may
	require.Error(t, err, "%.200s", text)
	require.Contains(t, []robot.Code{robot.CodeInvalidArgument, robot.CodeNotSupported}, robot.CodeOf(err))
	require.Contains(t, err.Error(), want)
	require.Contains(t, err.Error(), fmt.Sprintf("t.urdf:%d: ", line))
}

// bot puts lines between two links and the end of the robot; the first of them
// is line 3.
func bot(lines string) string {
	return "<robot name=\"t\"><link name=\"a\"/>\n<link name=\"b\"/>\n" + lines + "\n</robot>"
}

func joint(inside string) string {
	return "<joint name=\"j\" type=\"revolute\"><parent link=\"a\"/><child link=\"b\"/>\n" + inside + "</joint>"
}

const limit = `<limit lower="-1" upper="1" effort="2" velocity="3"/>`

func TestCase1_LoopsEndAndAreNamed(t *testing.T) {
	refused(t, bot(strings.ReplaceAll(joint(limit), `link="a"`, `link="b"`)), 3, `joint "j": link "b" is its own parent`)
	two := joint(limit) + "\n" + strings.NewReplacer(`"j"`, `"k"`, `parent link="a"`, `parent link="b"`, `child link="b"`, `child link="a"`).Replace(joint(limit))
	refused(t, bot(two), 5, "no root link")
	ring := joint(limit)
	for i := range 500 { // l0 → l1 → … → l499 → l0, beside the tree a → b
		ring += fmt.Sprintf("\n<link name=\"l%d\"/><joint name=\"j%d\" type=\"fixed\"><parent link=\"l%d\"/><child link=\"l%d\"/></joint>", i, i, i, (i+1)%500)
	}
	refused(t, bot(ring), 504, `part of a loop that doesn't hang on the root "a"`)
}

func TestCase2_NumbersAreTheSameEverywhere(t *testing.T) {
	t.Setenv("LC_ALL", "de_DE.UTF-8")
	d := parse(t, bot(joint(`<origin xyz="0.5 0.25 0" rpy="0 0 1.5708"/>`+limit)))
	require.Equal(t, mgl64.Vec3{0.5, 0.25, 0}, d.Joints[0].Origin.P)
	require.InDelta(t, 1.5708, 2*math.Atan2(d.Joints[0].Origin.Q.V[2], d.Joints[0].Origin.Q.W), 1e-15)
	refused(t, bot(joint(`<origin xyz="0,1 0,2 0,3"/>`+limit)), 4, `<origin> attribute xyz: "0,1" is not a decimal number`)
}

func TestCase4_TwoParents(t *testing.T) {
	text := bot("<link name=\"c\"/>\n" + joint(limit) + "\n" +
		strings.NewReplacer(`"j"`, `"k"`, `child link="b"`, `child link="c"`).Replace(joint(limit)) + "\n" +
		strings.NewReplacer(`"j"`, `"m"`, `parent link="a"`, `parent link="b"`, `child link="b"`, `child link="c"`).Replace(joint(limit)))
	refused(t, text, 8, `link "c" has two parents: joint "k" and joint "m"`)
}

func TestCase5_TranslationIsAppliedAfterRotation(t *testing.T) {
	d := parse(t, bot(joint(`<origin xyz="1 0 0" rpy="0 0 1.5707963"/>`+limit)))
	o := d.Joints[0].Origin
	require.Equal(t, mgl64.Vec3{1, 0, 0}, o.Apply(mgl64.Vec3{}))
	require.InDelta(t, 0, o.Apply(mgl64.Vec3{1, 0, 0}).Sub(mgl64.Vec3{1, 1, 0}).Len(), 1e-7)
}

// The order of roll, pitch and yaw, against matrices multiplied out.
func TestRollPitchYaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float64Range(-7, 7)
		r, p, y := a.Draw(t, "r"), a.Draw(t, "p"), a.Draw(t, "y")
		d, err := urdf.Parse("t.urdf", []byte(bot(joint(fmt.Sprintf(`<origin rpy="%v %v %v"/>`, r, p, y)+limit))), urdf.Options{})
		require.NoError(t, err)
		want := mgl64.Rotate3DZ(y).Mul3(mgl64.Rotate3DY(p)).Mul3(mgl64.Rotate3DX(r))
		got := d.Joints[0].Origin.Q.Mat4().Mat3()
		for i := range want {
			require.InDelta(t, want[i], got[i], 1e-12)
		}
	})
}

func TestCase7_AxisKeepsItsSign(t *testing.T) {
	d := parse(t, bot(joint(`<axis xyz="0 0 -1"/>`+limit)))
	require.Equal(t, mgl64.Vec3{0, 0, -1}, d.Joints[0].Axis)
	d = parse(t, bot(joint(`<axis xyz="0 -3 4"/>`+limit)))
	require.InDelta(t, 0, d.Joints[0].Axis.Sub(mgl64.Vec3{0, -0.6, 0.8}).Len(), 1e-15)
	require.Len(t, d.Warnings, 1)
	require.Contains(t, d.Warnings[0].Text, "length 5")
	require.Equal(t, 4, d.Warnings[0].Line)
	d = parse(t, bot(joint(`<axis xyz="0 0 1.0005"/>`+limit)))
	require.Empty(t, d.Warnings)
	require.Equal(t, mgl64.Vec3{0, 0, 1}, d.Joints[0].Axis)
	refused(t, bot(joint(`<axis xyz="0 0 0"/>`+limit)), 4, "the axis has no direction")
}

func TestRefusals(t *testing.T) {
	in := func(mass, inertia string) string {
		return strings.Replace(bot(joint(limit)), `<link name="b"/>`, `<link name="b"><inertial>`+mass+inertia+`</inertial></link>`, 1)
	}
	geo := func(s string) string {
		return strings.Replace(bot(joint(limit)), `<link name="b"/>`, `<link name="b"><collision><geometry>`+s+`</geometry></collision></link>`, 1)
	}
	const i1 = `<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>`
	for _, c := range []struct {
		text string
		line int
		want string
	}{
		{"", 1, "there is no <robot> element"},
		{"<robot name='t'>", 1, "never closed"},
		{"<robot name='t'>\n<link name='a'></robot>", 2, "</robot> where </link> of line 2 is due"},
		{"<robot name='t'><link name='a'/></robot>\nx", 1, "text outside the root"},
		{"<robot name='t'><link name='a'/></robot>\n<link/>", 2, "after the end of the document"},
		{"<sdf name='t'/>", 1, "the root element is <sdf>"},
		{"<u:robot xmlns:u='urn:u' name='t'/>", 1, "not <robot>"},
		{"<robot><link name='a'/></robot>", 1, "lacks the attribute name"},
		{"<robot name='t' name='u'><link name='a'/></robot>", 1, "attribute name is given twice"},
		{"<robot name='t'><link name='a&b;'/></robot>", 1, "not well-formed"},
		{"<robot name='t'><link\n name='a'\n name='b'/></robot>", 3, "given twice"},
		{"<robot name='t'><link name='a&#x202e;'/></robot>", 1, "can't be shown"},
		{"<robot name='t'><link name='" + strings.Repeat("x", 300) + "'/></robot>", 1, "a name of 300 bytes"},
		{"<robot name='t'>" + strings.Repeat("<gazebo>", 100), 1, "nested more than 64 deep"},
		{"<?xml version='1.0' encoding='latin1'?><robot name='t'/>", 1, `the encoding "latin1"; only UTF-8 is read`},
		{"<robot xmlns='http://www.ros.org/wiki/xacro' name='t'><macro/></robot>", 1, "unexpanded xacro element <robot>"},
		{bot(joint(limit) + "<link name='${x}'/>"), 4, "unexpanded xacro expression in <link> attribute name"},
		{bot(joint(`<origin xyz="$(arg x) 0 0"/>` + limit)), 4, "unexpanded xacro expression in <origin> attribute xyz"},
		{bot(strings.Replace(joint(limit), "revolute", "screw", 1)), 3, `unknown type "screw"`},
		{bot(strings.Replace(joint(limit), ` type="revolute"`, "", 1)), 3, "type is missing"},
		{bot(strings.Replace(joint(limit), `<parent link="a"/>`, "", 1)), 3, "<parent> is missing"},
		{bot(strings.Replace(joint(limit), `link="a"`, `link="x"`, 1)), 3, `parent link "x" doesn't exist`},
		{bot(strings.Replace(joint(limit), `<child link="b"/>`, `<child link="y"/>`, 1)), 3, `child link "y" doesn't exist`},
		{bot(joint(limit + "\n" + limit)), 5, "a second <limit>; the first is in line 4"},
		{bot(joint(`<limit effort="2" velocity="3"/>`)), 4, "neither lower nor upper"},
		{bot(joint(`<limit lower="-1" upper="1" effort="2" velocity="1e999"/>`)), 4, "out of range"},
		{bot(joint(`<limit lower="-1" upper="1" effort="2" velocity="1e13"/>`)), 4, "out of range"},
		{bot(joint(`<limit lower="-1" upper="1_0" effort="2" velocity="3"/>`)), 4, "not a decimal number"},
		{bot(joint(`<limit lower="-1" upper="1" effort="-2" velocity="3"/>`)), 4, "effort: -2 is negative"},
		{bot(joint(`<limit lower="" upper="1" effort="2" velocity="3"/>`)), 4, `"" is not a decimal number`},
		{bot(joint(limit + `<dynamics damping="-1"/>`)), 4, "damping: -1 is negative"},
		{bot(joint(limit + `<dynamics friction="nan"/>`)), 4, "not finite"},
		{bot(joint(limit + `<safety_controller soft_lower_limit="2" soft_upper_limit="3" k_velocity="1"/>`)), 4, "leave no position"},
		{bot(joint(limit + `<mimic/>`)), 4, "lacks the attribute joint"},
		{bot(joint(`<origin xyz="0 0"/>` + limit)), 4, "holds 2 values"},
		{in(``, i1), 2, "needs both <mass> and <inertia>"},
		{in(`<mass value="1"/>`, ``), 2, "needs both"},
		{in(`<mass/>`, i1), 2, "lacks the attribute value"},
		{in(`<mass value="inf"/>`, i1), 2, "not finite"},
		{in(`<mass value="1"/>`, strings.Replace(i1, `iyy="1"`, `iyy="-1"`, 1)), 2, "negative eigenvalue"},
		{in(`<mass value="1"/>`, strings.Replace(i1, `ixy="0"`, `ixy="2"`, 1)), 2, "negative eigenvalue"},
		{in(`<mass value="1"/>`, strings.Replace(i1, ` izz="1"`, ``, 1)), 2, "lacks the attribute izz"},
		{geo(``), 2, "holds no box"},
		{geo(`<sphere radius="1"/><box size="1 1 1"/>`), 2, "2 shapes where one is due"},
		{geo(`<box/>`), 2, "lacks the attribute size"},
		{geo(`<box size="1 0 1"/>`), 2, "above zero"},
		{geo(`<sphere radius="-1"/>`), 2, "must be above zero"},
		{geo(`<cylinder radius="1"/>`), 2, "lacks the attribute length"},
		{geo(`<capsule radius="1" length="0"/>`), 2, "must be above zero"},
		{geo(`<mesh filename="x.stl" scale="1 0 1"/>`), 2, "no factor may be zero"},
		{geo(`<mesh/>`), 2, "lacks the attribute filename"},
	} {
		refused(t, c.text, c.line, c.want)
	}
	_, err := urdf.Parse("t.urdf", make([]byte, urdf.MaxURDFBytes+1), urdf.Options{})
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
}

// Every fault of a file is reported, with its own line.
func TestAllFaultsAreReported(t *testing.T) {
	text := bot(joint("<origin xyz=\"x 0 0\"/>\n<axis\n xyz=\"0 0\"/>\n<limit lower=\"2\"\n upper=\"1\" velocity=\"-3\"/>"))
	_, err := urdf.Parse("dir:1/t.urdf", []byte(text), urdf.Options{})
	var lines []int
	for _, f := range urdf.Findings(err) {
		require.Equal(t, "dir:1/t.urdf", f.File)
		require.Equal(t, robot.CodeInvalidArgument, f.Code)
		lines = append(lines, f.Line)
	}
	require.Equal(t, []int{4, 6, 7, 8}, lines)
	require.Nil(t, urdf.Findings(nil))

	// Beyond a bound they are counted.
	_, err = urdf.Parse("t.urdf", []byte("<robot name='t'>"+strings.Repeat("<link/>", 30)+"</robot>"), urdf.Options{})
	found := urdf.Findings(err)
	require.Len(t, found, 21)
	require.Equal(t, "10 more errors", found[20].Text)
	d := parse(t, "<robot name='t'><link name='a'/>"+strings.Repeat("<x/>", 600)+"</robot>")
	require.Len(t, d.Warnings, 501)
	require.Equal(t, "100 more warnings", d.Warnings[500].Text)
}

// What isn't in the root's own namespace is a vendor's.
func TestVendorNamespaces(t *testing.T) {
	d := parse(t, `<robot name="t" xmlns="urn:urdf" xmlns:v="urn:v"><link name="a"/><link name="b"><collision><geometry>
<v:box size="9 9 9"/><sphere radius="1" v:radius="9"/></geometry></collision></link>
<joint name="j" type="fixed" v:type="revolute"><parent link="a"/><child link="b"/><v:child link="a"/></joint>
<joint xmlns="urn:v" name="x" type="screw"/><v:stuff><link name="c" xmlns="urn:urdf"/></v:stuff></robot>`)
	require.Len(t, d.Links, 2)
	require.Len(t, d.Joints, 1)
	require.Equal(t, robot.Fixed, d.Joints[0].Type)
	require.Equal(t, robot.Geometry{Kind: robot.Sphere, Radius: 1}, d.Links[1].Colliders[0].Geometry)
	require.Empty(t, d.Warnings)
}

func TestSoftLimits(t *testing.T) {
	soft := func(s string) robot.Joint {
		return parse(t, bot(joint(limit+`<safety_controller k_velocity="1" `+s+`/>`))).Joints[0]
	}
	for _, c := range []struct {
		attrs        string
		lower, upper float64
	}{
		{``, -1, 1},
		{`soft_lower_limit="-0.5" soft_upper_limit="0.25" k_position="3"`, -0.5, 0.25},
		{`soft_lower_limit="-5" soft_upper_limit="5" k_position="3"`, -1, 1},
		{`soft_lower_limit="-0.5"`, -0.5, 1},
		{`soft_lower_limit="0" soft_upper_limit="0" k_position="0"`, -1, 1},
		{`soft_lower_limit="0" soft_upper_limit="0" k_position="3"`, 0, 0},
	} {
		j := soft(c.attrs)
		require.Equal(t, []float64{c.lower, c.upper}, []float64{j.Lower, j.Upper}, c.attrs)
	}
}

// A mimic joint's limits bind its master for every sign of the multiplier, and a
// continuous master that something bounded follows is bounded.
func TestMimicNarrowsItsMaster(t *testing.T) {
	make := func(master, follower, mimic string) *robot.Description {
		return parse(t, `<robot name="t"><link name="a"/><link name="b"/><link name="c"/>
<joint name="f" type="revolute"><parent link="b"/><child link="c"/>`+follower+`<mimic joint="m" `+mimic+`/></joint>
<joint name="m" type="`+master+`"><parent link="a"/><child link="b"/>`+limit+`</joint></robot>`)
	}
	d := make("revolute", `<limit lower="-0.2" upper="0.6" effort="1" velocity="1"/>`, `multiplier="-2" offset="0.2"`)
	m := d.Joints[d.JointIndex("m")]
	require.InDelta(t, -0.2, m.Lower, 1e-12)
	require.InDelta(t, 0.2, m.Upper, 1e-12)
	require.Equal(t, 0.5, m.Velocity)
	require.Equal(t, []string{"m"}, d.JointNames()) // parents first, whatever the order in the file
	require.Equal(t, 0, d.JointIndex("m"))

	d = make("continuous", limit, `multiplier="2"`)
	m = d.Joints[d.JointIndex("m")]
	require.Equal(t, robot.Revolute, m.Type)
	require.True(t, m.Bounded)
	require.Equal(t, []float64{-0.5, 0.5}, []float64{m.Lower, m.Upper})

	// A follower that leaves one position holds both, which is said; its zero has no sign.
	d = make("revolute", `<limit lower="0" upper="0.8" effort="1" velocity="1"/>`, `multiplier="-1"`)
	m = d.Joints[d.JointIndex("m")]
	require.Equal(t, []float64{-0.8, 0}, []float64{m.Lower, m.Upper})
	require.False(t, math.Signbit(m.Upper))
	require.Empty(t, d.Warnings)
	d = make("revolute", `<limit lower="0" upper="2" effort="1" velocity="1"/>`, `multiplier="-1" offset="-1"`)
	m = d.Joints[d.JointIndex("m")]
	require.Equal(t, []float64{-1, -1}, []float64{m.Lower, m.Upper})
	require.Len(t, d.Warnings, 1)
	require.Contains(t, d.Warnings[0].Text, `its limits 0 to 2 and its multiplier -1 leave only -1 for "m", which it follows`)

	d = make("revolute", limit, `multiplier="0" offset="0.3"`)
	require.Equal(t, []float64{-1, 1}, []float64{d.Joints[0].Lower, d.Joints[0].Upper})

	text := `<robot name="t"><link name="a"/><link name="b"/><link name="c"/>
<joint name="f" type="revolute"><parent link="b"/><child link="c"/>` + limit + `
<mimic joint="m" %s/></joint>
<joint name="m" type="revolute"><parent link="a"/><child link="b"/>` + limit + `%s</joint></robot>`
	refused(t, fmt.Sprintf(text, `offset="3"`, ""), 3, `leave no position for "m"`)
	refused(t, fmt.Sprintf(text, `multiplier="0" offset="3"`, ""), 3, "outside its limits")
	refused(t, fmt.Sprintf(text, `multiplier="1e-9"`, ""), 3, "too small")
	refused(t, fmt.Sprintf(text, "", `<mimic joint="f"/>`), 3, "mimics itself")
}

// Inertia: what a box has is taken, with any rotation; what only breaks the
// triangle inequality loads with a warning; a frame has none.
func TestInertia(t *testing.T) {
	load := func(mass float64, i [6]float64) *robot.Description {
		return parse(t, fmt.Sprintf(`<robot name="t"><link name="a"><inertial><mass value="%v"/>
<inertia ixx="%v" ixy="%v" ixz="%v" iyy="%v" iyz="%v" izz="%v"/></inertial></link></robot>`, mass, i[0], i[1], i[2], i[3], i[4], i[5]))
	}
	rapid.Check(t, func(rt *rapid.T) {
		side := rapid.Float64Range(0.001, 2)
		x, y, z := side.Draw(rt, "x"), side.Draw(rt, "y"), side.Draw(rt, "z")
		diag := mgl64.Diag3(mgl64.Vec3{y*y + z*z, x*x + z*z, x*x + y*y}.Mul(1.0 / 12))
		q := mgl64.AnglesToQuat(side.Draw(rt, "r")*3, side.Draw(rt, "p")*3, side.Draw(rt, "w")*3, mgl64.XYZ).Mat4().Mat3()
		m := q.Mul3(diag).Mul3(q.Transpose())
		d := load(1, [6]float64{m.At(0, 0), m.At(0, 1), m.At(0, 2), m.At(1, 1), m.At(1, 2), m.At(2, 2)})
		require.Empty(rt, d.Warnings)
		require.NotNil(rt, d.Links[0].Inertial)
	})
	d := load(1, [6]float64{1, 0, 0, 1, 0, 5})
	require.Contains(t, d.Warnings[0].Text, "triangle inequality")
	require.Empty(t, load(1e-9, [6]float64{}).Warnings)
	require.Nil(t, load(0, [6]float64{}).Links[0].Inertial)
}

// The hash is over every byte, the name of the file apart.
func TestHash(t *testing.T) {
	a, err := urdf.Parse("a.urdf", []byte(bot(joint(limit))), urdf.Options{})
	require.NoError(t, err)
	b, err := urdf.Parse("b.urdf", []byte(bot(joint(limit))), urdf.Options{})
	require.NoError(t, err)
	require.Equal(t, a.Hash, b.Hash)
	c, err := urdf.Parse("a.urdf", []byte(bot(joint(limit))+"\n"), urdf.Options{})
	require.NoError(t, err)
	require.NotEqual(t, a.Hash, c.Hash)
}
