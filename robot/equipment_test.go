package robot_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf"
)

// A base on x, y and yaw with two wheels, and a lift on it that has a mast turning
// on top.
const wheeled = `<robot name="w">
<link name="odom"/><link name="cart"/><link name="slide"/><link name="base"/><link name="lw"/><link name="rw"/><link name="lift"/><link name="mast"/>
<joint name="x" type="prismatic"><parent link="odom"/><child link="cart"/><axis xyz="1 0 0"/><limit lower="-5" upper="5" velocity="1" effort="9"/></joint>
<joint name="y" type="prismatic"><parent link="cart"/><child link="slide"/><axis xyz="0 1 0"/><limit lower="-5" upper="5" velocity="1" effort="9"/></joint>
<joint name="yaw" type="continuous"><parent link="slide"/><child link="base"/><axis xyz="0 0 1"/><limit velocity="3" effort="9"/></joint>
<joint name="left" type="continuous"><origin xyz="0 0.08 0" rpy="-1.57 0 0"/><parent link="base"/><child link="lw"/><axis xyz="0 0 1"/><limit velocity="6" effort="1"/></joint>
<joint name="right" type="continuous"><origin xyz="0 -0.08 0"/><parent link="base"/><child link="rw"/><axis xyz="0 1 0"/><limit velocity="6" effort="1"/></joint>
<joint name="lift" type="prismatic"><parent link="base"/><child link="lift"/><axis xyz="0 0 1"/><limit lower="0.1" upper="0.5" velocity="0.2" effort="9"/></joint>
<joint name="mast" type="continuous"><parent link="lift"/><child link="mast"/><axis xyz="0 0 1"/><limit velocity="1" effort="1"/></joint>
</robot>`

func wheeledModel(t *testing.T, edits ...string) *robot.Model {
	t.Helper()
	text := wheeled
	for i := 0; i < len(edits); i += 2 {
		require.Contains(t, text, edits[i])
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	m, err := urdf.Load(urdf.Source{Name: "w.urdf", Data: []byte(text)}, urdf.Source{}, urdf.Source{}, urdf.Source{}, urdf.Options{})
	require.NoError(t, err)
	return m
}

func equipment() *robot.Equipment {
	return &robot.Equipment{
		File: "a.yaml",
		Actuators: []robot.ActuatorEntry{
			{Line: 2, Actuator: robot.Actuator{Name: "lamp", Kind: "led", Unit: "1", Lower: 0, Upper: 1, OnStop: "unchanged", OnLost: "off"}},
			{Line: 3, Actuator: robot.Actuator{Name: "fan", Kind: "pwm", Unit: "%", Lower: -100, Upper: 100, Off: 5, OnStop: "off", OnLost: "unchanged"}},
		},
		Base:       &robot.BaseEntry{Line: 4, X: "x", Y: "y", Yaw: "yaw", Left: "left", Right: "right", Radius: 0.033, Track: 0.16},
		References: []robot.ReferenceEntry{{Line: 5, Joint: "lift", Switch: 0.5, Upper: true, Speed: 0.2, Travel: 0.6}},
	}
}

func TestEquip(t *testing.T) {
	plain := wheeledModel(t)
	m, err := plain.Equip(equipment())
	require.NoError(t, err)
	require.Equal(t, "pwm", m.Actuator("fan").Kind)
	require.Equal(t, 5.0, m.Actuator("fan").Off)
	require.Nil(t, m.Actuator("lift"))
	require.Equal(t, robot.Base{X: 0, Y: 1, Yaw: 2, Left: 3, Right: 4, Radius: 0.033, Track: 0.16}, *m.Base)
	for i, carried := range []bool{true, true, true, false, false, false, false} {
		require.Equal(t, carried, m.Base.Carries(i))
		require.False(t, plain.Base.Carries(i))
	}
	require.Equal(t, robot.Reference{Joint: 5, Switch: 0.5, Direction: 1, Speed: 0.2, Travel: 0.6}, *m.Reference(5))
	require.Nil(t, m.Reference(0))
	require.Nil(t, plain.Base)
	require.Empty(t, plain.Actuators)
	require.Empty(t, plain.References)
	require.NotEqual(t, plain.ModelHash, m.ModelHash)

	same, err := plain.Equip(nil)
	require.NoError(t, err)
	require.Same(t, plain, same)
	// What is equipped again has the new equipment and nothing of the old.
	bare, err := m.Equip(&robot.Equipment{File: "b.yaml"})
	require.NoError(t, err)
	require.Equal(t, plain.ModelHash, bare.ModelHash)
}

// TestEquipTakesTheOutermostWheels: the bounds themselves are robots.
func TestEquipTakesTheOutermostWheels(t *testing.T) {
	plain := wheeledModel(t)
	for _, size := range [][2]float64{{robot.MinWheelRadius, robot.MinTrack}, {robot.MaxWheelRadius, robot.MaxTrack}} {
		e := equipment()
		e.Base.Radius, e.Base.Track = size[0], size[1]
		m, err := plain.Equip(e)
		require.NoError(t, err)
		require.Equal(t, size, [2]float64{m.Base.Radius, m.Base.Track})
	}
}

func TestEquipRefuses(t *testing.T) {
	entry := func(e *robot.Equipment, i int) *robot.Actuator { return &e.Actuators[i].Actuator }
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		line  int
		want  string
		spoil func(e *robot.Equipment)
	}{
		{2, "an actuator's name has 1 to 64 bytes", func(e *robot.Equipment) { entry(e, 0).Name = "" }},
		{2, "an actuator's name has 1 to 64 bytes", func(e *robot.Equipment) { entry(e, 0).Name = strings.Repeat("a", 65) }},
		{3, `actuator "lift" has the name of a joint`, func(e *robot.Equipment) { entry(e, 1).Name = "lift" }},
		{3, `actuator "lamp" is there twice`, func(e *robot.Equipment) { entry(e, 1).Name = "lamp" }},
		{3, `kind "joint" isn't one`, func(e *robot.Equipment) { entry(e, 1).Kind = "joint" }},
		{3, `kind "gripper" isn't one`, func(e *robot.Equipment) { entry(e, 1).Kind = "gripper" }},
		{3, `kind "" isn't one`, func(e *robot.Equipment) { entry(e, 1).Kind = "" }},
		{2, "the range 1 to 1 holds no two values", func(e *robot.Equipment) { entry(e, 0).Lower = 1 }},
		{2, "the range 0 to NaN", func(e *robot.Equipment) { entry(e, 0).Upper = nan }},
		{2, "the range -Inf to 1", func(e *robot.Equipment) { entry(e, 0).Lower = -inf }},
		{3, "off is 101, outside its range -100 to 100", func(e *robot.Equipment) { entry(e, 1).Off = 101 }},
		{3, "off is -100.5, outside", func(e *robot.Equipment) { entry(e, 1).Off = -100.5 }},
		{3, "off is NaN, outside", func(e *robot.Equipment) { entry(e, 1).Off = nan }},
		{2, `on_stop is "hold"`, func(e *robot.Equipment) { entry(e, 0).OnStop = "hold" }},
		{2, `on_lost_link is ""`, func(e *robot.Equipment) { entry(e, 0).OnLost = "" }},
		{1, "257 actuators, more than the 256", func(e *robot.Equipment) { e.Actuators = make([]robot.ActuatorEntry, 257) }},

		{4, `x: "ghost" isn't a joint that can be commanded`, func(e *robot.Equipment) { e.Base.X = "ghost" }},
		{4, `joint "left" is named twice`, func(e *robot.Equipment) { e.Base.Right = "left" }},
		{4, `x: joint "yaw" is continuous, not prismatic`, func(e *robot.Equipment) { e.Base.X = "yaw" }},
		{4, `left: joint "lift" is prismatic, not continuous`, func(e *robot.Equipment) { e.Base.Left = "lift" }},
		{4, `x: joint "y" doesn't hang on link "odom"`, func(e *robot.Equipment) { e.Base.X, e.Base.Y = "y", "x" }},
		{4, `y: joint "lift" doesn't hang on link "cart"`, func(e *robot.Equipment) { e.Base.Y = "lift" }},
		{4, `yaw: joint "mast" doesn't hang on link "slide"`, func(e *robot.Equipment) { e.Base.Yaw = "mast" }},
		{4, `wheel "mast" doesn't hang on link "base"`, func(e *robot.Equipment) { e.Base.Right = "mast" }},
		{4, "the left wheel \"right\" is at y = -0.08 m", func(e *robot.Equipment) { e.Base.Left, e.Base.Right = "right", "left" }},
		{4, "radius must be from 0.001 to 10 m (value 0 m, limit 0.001 m)", func(e *robot.Equipment) { e.Base.Radius = 0 }},
		{4, "radius isn't a number", func(e *robot.Equipment) { e.Base.Radius = nan }},
		{4, "track must be from 0.001 to 100 m (value -0.16 m, limit 0.001 m)", func(e *robot.Equipment) { e.Base.Track *= -1 }},
		{4, "track must be from 0.001 to 100 m (value +Inf m, limit 100 m)", func(e *robot.Equipment) { e.Base.Track = inf }},
		{4, "radius must be from 0.001 to 10 m (value 1e-300 m, limit 0.001 m)", func(e *robot.Equipment) { e.Base.Radius = 1e-300 }},
		{4, "(value 0.00099 m, limit 0.001 m)", func(e *robot.Equipment) { e.Base.Radius = 0.00099 }},
		{4, "(value 10.1 m, limit 10 m)", func(e *robot.Equipment) { e.Base.Radius = 10.1 }},
		{4, "radius must be from 0.001 to 10 m (value 1e+09 m, limit 10 m)", func(e *robot.Equipment) { e.Base.Radius = 1e9 }},
		{4, "track must be from 0.001 to 100 m (value 1e-300 m, limit 0.001 m)", func(e *robot.Equipment) { e.Base.Track = 1e-300 }},
		{4, "(value 100.5 m, limit 100 m)", func(e *robot.Equipment) { e.Base.Track = 100.5 }},

		{5, `"ghost" isn't a joint that can be commanded`, func(e *robot.Equipment) { e.References[0].Joint = "ghost" }},
		{6, `joint "lift" is named twice`, func(e *robot.Equipment) {
			e.References = append(e.References, e.References[0])
			e.References[1].Line = 6
		}},
		{5, `joint "x" is moved by the base's wheels`, func(e *robot.Equipment) { e.References[0].Joint = "x" }},
		{5, "the switch at 0.501 m isn't within the joint's limits", func(e *robot.Equipment) { e.References[0].Switch = 0.501 }},
		{5, "the switch at 0.099 m isn't within the joint's limits", func(e *robot.Equipment) { e.References[0].Switch = 0.099 }},
		{5, "the switch at NaN m isn't", func(e *robot.Equipment) { e.References[0].Switch = nan }},
		{5, "the switch at 0.5 rad isn't within", func(e *robot.Equipment) { e.References[0].Joint = "mast" }}, // unbounded
		{5, "the switch at 0 rad isn't within", func(e *robot.Equipment) { e.References[0].Joint, e.References[0].Switch = "mast", 0 }},
		{5, "(value 0.21 m/s, limit 0.2 m/s)", func(e *robot.Equipment) { e.References[0].Speed = 0.21 }},
		{5, "must be above 0", func(e *robot.Equipment) { e.References[0].Speed = 0 }},
		{5, "must be above 0", func(e *robot.Equipment) { e.References[0].Speed = nan }},
		{5, "travel must be finite and above 0, not 0", func(e *robot.Equipment) { e.References[0].Travel = 0 }},
		{5, "travel must be finite and above 0, not +Inf", func(e *robot.Equipment) { e.References[0].Travel = inf }},
	} {
		m, e := wheeledModel(t), equipment()
		before := m.ModelHash
		c.spoil(e)
		got, err := m.Equip(e)
		require.Nil(t, got, c.want)
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), c.want)
		require.Contains(t, err.Error(), c.want)
		require.Contains(t, err.Error(), fmt.Sprintf("a.yaml:%d: ", c.line))
		require.Nil(t, m.Base)
		require.Equal(t, before, m.ModelHash)
	}
}

// What a base's description has to be is held too: axes along the root's, an axle
// that points left, on both wheels.
func TestEquipRefusesABaseThatWouldDriveOtherwise(t *testing.T) {
	for _, c := range []struct{ old, repl, want string }{
		{`<child link="cart"/><axis xyz="1 0 0"/>`, `<child link="cart"/><axis xyz="-1 0 0"/>`, `x: joint "x" isn't along the root frame's axis`},
		{`<child link="slide"/>`, `<child link="slide"/><origin rpy="0 0 0.001"/>`, `y: joint "y" isn't along the root frame's axis`},
		{`<child link="base"/><axis xyz="0 0 1"/>`, `<child link="base"/><axis xyz="0 0 -1"/>`, `yaw: joint "yaw" isn't along`},
		{`<child link="rw"/><axis xyz="0 1 0"/>`, `<child link="rw"/><axis xyz="0 -1 0"/>`, `wheel "right" turns about (0, -1, 0) of link "base"`},
		{`rpy="-1.57 0 0"`, `rpy="1.57 0 0"`, `wheel "left" turns about (0, -1, `},
		{`rpy="-1.57 0 0"`, `rpy="-1.55 0 0"`, `wheel "left" turns about`},
	} {
		_, err := wheeledModel(t, c.old, c.repl).Equip(equipment())
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), c.want)
		require.Contains(t, err.Error(), c.want)
		require.Contains(t, err.Error(), "a.yaml:4: ")
	}
	// An origin that only moves is fine: where the base starts is the describer's.
	_, err := wheeledModel(t, `<child link="slide"/>`, `<child link="slide"/><origin xyz="0.1 0 0.033"/>`).Equip(equipment())
	require.NoError(t, err)
}

// Two models are the same only if their equipment is: each number and word that
// the planner, the simulator or a person goes by is in the hash.
func TestModelHashCoversEquipment(t *testing.T) {
	m := wheeledModel(t)
	seen := map[[32]byte]string{m.ModelHash: "plain"}
	a := func(f func(*robot.Actuator)) func(*robot.Equipment) {
		return func(e *robot.Equipment) { f(&e.Actuators[0].Actuator) }
	}
	for name, change := range map[string]func(*robot.Equipment){
		"as it is": func(*robot.Equipment) {},
		"name":     a(func(x *robot.Actuator) { x.Name = "lamp2" }),
		"kind":     a(func(x *robot.Actuator) { x.Kind = "relay" }),
		"unit":     a(func(x *robot.Actuator) { x.Unit = "V" }),
		"lower":    a(func(x *robot.Actuator) { x.Lower = -1 }),
		"upper":    a(func(x *robot.Actuator) { x.Upper = 2 }),
		"off":      a(func(x *robot.Actuator) { x.Off = 0.5 }),
		"on stop":  a(func(x *robot.Actuator) { x.OnStop = "off" }),
		"on lost":  a(func(x *robot.Actuator) { x.OnLost = "unchanged" }),
		"order":    func(e *robot.Equipment) { e.Actuators[0], e.Actuators[1] = e.Actuators[1], e.Actuators[0] },
		"fewer":    func(e *robot.Equipment) { e.Actuators = e.Actuators[:1] },
		"no base":  func(e *robot.Equipment) { e.Base = nil },
		"radius":   func(e *robot.Equipment) { e.Base.Radius = 0.034 },
		"track":    func(e *robot.Equipment) { e.Base.Track = 0.17 },
		"none":     func(e *robot.Equipment) { e.References = nil },
		"joint": func(e *robot.Equipment) {
			e.Base = nil
			e.References[0] = robot.ReferenceEntry{Joint: "x", Switch: 0.5, Upper: true, Speed: 0.2, Travel: 0.6}
		},
		"switch": func(e *robot.Equipment) { e.References[0].Switch = 0.4 },
		"end":    func(e *robot.Equipment) { e.References[0].Upper = false },
		"speed":  func(e *robot.Equipment) { e.References[0].Speed = 0.1 },
		"travel": func(e *robot.Equipment) { e.References[0].Travel = 0.7 },
	} {
		e := equipment()
		change(e)
		got, err := m.Equip(e)
		require.NoError(t, err, name)
		require.Empty(t, seen[got.ModelHash], name)
		seen[got.ModelHash] = name
		// Where it was read from is not what it is.
		e.File, e.Actuators[0].Line = "elsewhere.yaml", 99
		again, err := m.Equip(e)
		require.NoError(t, err, name)
		require.Equal(t, got.ModelHash, again.ModelHash, name)
	}
}
