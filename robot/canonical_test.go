package robot

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// leaves calls visit with the path of each number and text in v, for which set
// changes it and returns what undoes the change; each pointer, list and optional
// part is a leaf as well. A field that a type gets later is found by itself.
func leaves(t *testing.T, path string, v reflect.Value, visit func(path string, set func() (undo func()))) {
	change := func(changed reflect.Value) {
		visit(path, func() func() {
			old := reflect.New(v.Type()).Elem()
			old.Set(v)
			v.Set(changed)
			return func() { v.Set(old) }
		})
	}
	of := func(x any) reflect.Value { return reflect.ValueOf(x).Convert(v.Type()) }
	switch v.Kind() {
	case reflect.Float64:
		change(of(v.Float() + 0.5))
	case reflect.Uint64:
		change(of(v.Uint() + 1))
	case reflect.String:
		change(of(v.String() + "x"))
	case reflect.Bool:
		change(of(!v.Bool()))
	case reflect.Struct:
		for i := range v.NumField() {
			require.True(t, v.Type().Field(i).IsExported())
			leaves(t, path+"."+v.Type().Field(i).Name, v.Field(i), visit)
		}
	case reflect.Pointer:
		require.False(t, v.IsNil(), "%s: the sample has to have it", path)
		change(reflect.Zero(v.Type()))
		leaves(t, path, v.Elem(), visit)
	case reflect.Slice, reflect.Array:
		require.NotZero(t, v.Len(), "%s: the sample has to have one", path)
		if v.Kind() == reflect.Slice {
			change(v.Slice(0, v.Len()-1))
			change(reflect.Append(v.Slice3(0, v.Len(), v.Len()), v.Index(0)))
		}
		for i := range v.Len() {
			leaves(t, path, v.Index(i), visit)
		}
	case reflect.Int:
		change(of(int(v.Int()) - 1))
	default:
		require.Fail(t, "a kind of field that this test doesn't know", "%s is a %s", path, v.Kind())
	}
}

// Every exported field of what is approved is in its encoding, but for the two
// that Motion.AppendCanonical says it leaves out.
func TestEveryFieldIsEncoded(t *testing.T) {
	tr, m, r := sample(t), sampleMotion(t), sampleRehearsal()
	m.Seek = &Seek{Joint: 1, Switch: -0.5, Direction: -1, Speed: 0.1, Travel: 0.2}
	for name, tt := range map[string]struct {
		value  reflect.Value
		encode func() []byte
		digest func() [32]byte
		leaves int // how many there are, so that a walk that stops early is seen
	}{
		"Trajectory": {reflect.ValueOf(&tr).Elem(), func() []byte { return tr.AppendCanonical(nil) }, func() [32]byte { return tr.Digest() }, 125},
		"Motion":     {reflect.ValueOf(&m).Elem(), func() []byte { return m.AppendCanonical(nil) }, func() [32]byte { return m.Digest() }, 147},
		"Rehearsal":  {reflect.ValueOf(&r).Elem(), func() []byte { return r.AppendCanonical(nil) }, func() [32]byte { return r.Digest() }, 78},
	} {
		t.Run(name, func(t *testing.T) {
			before, digest, seen := tt.encode(), tt.digest(), 0
			leaves(t, name, tt.value, func(path string, set func() func()) {
				seen++
				undo := set()
				if path == "Motion.ID" || path == "Motion.Epoch" {
					require.Equal(t, before, tt.encode(), path)
				} else {
					require.NotEqual(t, before, tt.encode(), path)
					require.NotEqual(t, digest, tt.digest(), path)
				}
				undo()
				require.Equal(t, before, tt.encode(), path)
			})
			require.Equal(t, tt.leaves, seen)
		})
	}
}

func TestMotionValidate(t *testing.T) {
	good := sampleMotion(t)
	names, limits := good.Trajectory.Joints, sampleLimits()
	require.NoError(t, good.Validate(names, limits))
	for where, edit := range map[string]func(*Motion){
		"joints":               func(m *Motion) { m.Trajectory.Joints = []string{"down", "up"} },
		"segments":             func(m *Motion) { m.Trajectory.Segments = nil },
		"start_tolerance":      func(m *Motion) { m.StartTolerance = nil },
		"max_deviation":        func(m *Motion) { m.MaxDeviation = []float64{1, 2, 3} },
		"start_tolerance.down": func(m *Motion) { m.StartTolerance = []float64{1, 0} },
		"max_deviation.up":     func(m *Motion) { m.MaxDeviation = []float64{math.NaN(), 1} },
		"max_deviation.down":   func(m *Motion) { m.MaxDeviation = []float64{1, math.Inf(1)} },
		"grip.max_effort":      func(m *Motion) { m.Grip = &Grip{MaxEffort: math.NaN()} },
		"zones":                func(m *Motion) { m.Zones = []string{"door", "bench"} },
	} {
		m := good
		edit(&m)
		requireCode(t, m.Validate(names, limits), CodeInvalidArgument, where)
	}
	requireCode(t, good.Validate(names[:1], limits[:1]), CodeInvalidArgument, "joints")
	requireCode(t, Motion{}.Validate(names, limits), CodeInvalidArgument, "joints")
	for _, zones := range [][]string{{""}, {"", "door"}, {"door", "door"}} {
		m := good
		m.Zones = zones
		requireCode(t, m.Validate(names, limits), CodeInvalidArgument, "zones")
	}
}
