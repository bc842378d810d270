package sim

import (
	"context"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// lit is the built-in arm with three things to set beside its joints.
func lit(t testing.TB) *robot.Model {
	e := &robot.Equipment{File: "actuators.yaml"}
	for _, a := range []robot.Actuator{
		{Name: "lamp", Kind: "led", Upper: 1, OnStop: "unchanged", OnLost: "off"},
		{Name: "pump", Kind: "relay", Upper: 1, OnStop: "off", OnLost: "unchanged"},
		{Name: "fan", Kind: "motor", Unit: "1/s", Lower: -50, Upper: 100, Off: 5, OnStop: "off", OnLost: "off"},
	} {
		e.Actuators = append(e.Actuators, robot.ActuatorEntry{Actuator: a})
	}
	m, err := so101(t).Equip(e)
	require.NoError(t, err)
	return m
}

func set(r *Robot, name string, value float64, epoch uint64) (robot.Outcome, error) {
	return r.Actuate(context.Background(), robot.Command{Kind: robot.SetActuator, Name: name, Value: value, Epoch: epoch})
}

func values(t testing.TB, r *Robot) map[string]float64 {
	s, err := r.State(context.Background())
	require.NoError(t, err)
	out := map[string]float64{}
	for _, a := range s.Actuators {
		require.False(t, a.Measured, "nothing measures it")
		out[a.Name] = a.Value
	}
	return out
}

func TestSetActuator(t *testing.T) {
	m := lit(t)
	r := newRobot(t, Options{Model: m})
	info := r.Info()
	require.Len(t, info.Actuators, m.DoF()+3)
	require.Equal(t, m.Actuators, info.Actuators[m.DoF():], "after the joints")
	require.Equal(t, map[string]float64{"lamp": 0, "pump": 0, "fan": 5}, values(t, r), "they start off")
	out, err := set(r, "fan", -50, 0)
	require.NoError(t, err)
	require.Equal(t, robot.OutcomeDone, out.Status)
	require.Equal(t, []robot.ActuatorState{{Name: "lamp"}, {Name: "pump"}, {Name: "fan", Value: -50}}, out.Final.Actuators)
	require.Zero(t, out.Duration)
	_, err = set(r, "lamp", 1, 0)
	require.NoError(t, err)
	want := map[string]float64{"lamp": 1, "pump": 0, "fan": -50}
	require.Equal(t, want, values(t, r))

	for _, c := range []struct {
		name  string
		value float64
		near  float64
	}{{"fan", 100.5, 100}, {"fan", -51, -50}, {"lamp", 1.001, 1}} {
		_, err := set(r, c.name, c.value, 0)
		var e *robot.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, robot.CodeInvalidArgument, e.Code)
		require.Equal(t, c.name, e.Where)
		require.Equal(t, c.value, e.Value.Value)
		require.Equal(t, c.near, e.Limit.Value)
		require.Equal(t, []robot.Quantity{{Name: c.name, Value: c.near, Unit: m.Actuator(c.name).Unit}}, e.Nearest)
	}
	for _, c := range []struct {
		name  string
		value float64
	}{{"fan", math.NaN()}, {"fan", math.Inf(1)}, {"nobody", 1}, {"", 1}, {"shoulder_pan", 0.1}} {
		out, err := set(r, c.name, c.value, 0)
		require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err), "%+v: %v", c, err)
		require.Equal(t, robot.OutcomeRefused, out.Status)
	}
	require.Equal(t, want, values(t, r), "a refusal sets nothing")
	_, err = set(newRobot(t, Options{Model: so101(t)}), "fan", 1, 0)
	require.Equal(t, robot.CodeNotSupported, robot.CodeOf(err))
}

// TestAStopSwitchesOff what declares it, in mid-motion and at rest, an e-stop and a
// fault too, and what was approved before can't switch it on again.
func TestAStopSwitchesOff(t *testing.T) {
	m := lit(t)
	ctx := context.Background()
	on := func(o Options) *Robot {
		o.Model = m
		r := newRobot(t, o)
		for _, name := range []string{"lamp", "pump", "fan"} {
			_, err := set(r, name, 1, 0)
			require.NoError(t, err)
		}
		return r
	}
	off := map[string]float64{"lamp": 1, "pump": 0, "fan": 5}
	mo := motionOf(restToRest(m, m.Home, pan(m, 0.5), 0.5, 0), 0)
	for _, kind := range []robot.StopKind{robot.StopControlled, robot.StopEmergency} {
		r := on(Options{})
		r.Stop(ctx, kind)
		require.Equal(t, off, values(t, r), kind)
		out, err := set(r, "pump", 1, 0)
		require.Contains(t, []robot.Code{robot.CodeStopped, robot.CodeEStopped}, robot.CodeOf(err), "%v", err)
		require.Equal(t, robot.OutcomeRefused, out.Status)
		_, err = set(r, "pump", 1, 1)
		if kind == robot.StopControlled {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, robot.CodeEStopped, robot.CodeOf(err))
		_, err = r.Actuate(ctx, robot.Command{Kind: robot.EStopReset, Epoch: 1})
		require.NoError(t, err)
		require.Equal(t, off, values(t, r), "a reset switches nothing on")
	}

	r := on(Options{})
	var at map[string]float64
	r.AtMotionTime(0.3, func() {
		_, err := set(r, "pump", 0, 0)
		require.Equal(t, robot.CodeBusy, robot.CodeOf(err), "%v", err)
		var wg sync.WaitGroup
		wg.Go(func() { r.Stop(ctx, robot.StopControlled) })
		wg.Wait()
		at = values(t, r)
	})
	out, err := r.Execute(ctx, mo, nil)
	require.Equal(t, robot.CodeStopped, robot.CodeOf(err))
	require.Equal(t, off, at)
	require.Equal(t, []robot.ActuatorState{{Name: "lamp", Value: 1}, {Name: "pump"}, {Name: "fan", Value: 5}}, out.Final.Actuators)

	r = on(Options{Faults: []Fault{{Kind: FaultStuck, Joint: "shoulder_pan", At: 0.1}}})
	_, err = r.Execute(ctx, mo, nil)
	require.Equal(t, robot.CodeDeviation, robot.CodeOf(err))
	require.Equal(t, off, values(t, r))
	_, err = set(r, "pump", 1, 0)
	require.Equal(t, robot.CodeDeviation, robot.CodeOf(err), "while a fault is latched nothing is set")

	// A motion that ends as it should, and one that is cancelled, change nothing.
	r = on(Options{})
	_, err = r.Execute(ctx, mo, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"lamp": 1, "pump": 1, "fan": 1}, values(t, r))
}

// TestALostLinkSwitchesOff what declares it, whether it is lost at rest or in
// mid-motion; a stop doesn't get through any more.
func TestALostLinkSwitchesOff(t *testing.T) {
	m := lit(t)
	ctx := context.Background()
	for _, moving := range []bool{false, true} {
		o := Options{Model: m}
		if moving {
			o.Faults = []Fault{{Kind: FaultDisconnect, At: 0.2, Duration: 0.1}}
		}
		r := newRobot(t, o)
		for _, name := range []string{"lamp", "pump", "fan"} {
			_, err := set(r, name, 1, 0)
			require.NoError(t, err)
		}
		if moving {
			_, err := r.Execute(ctx, motionOf(restToRest(m, m.Home, pan(m, 0.5), 0.5, 0), 0), nil)
			require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err))
			require.Equal(t, []float64{0, 0, 5}, r.values, "the fault that ended the motion stopped it too")
			continue
		}
		require.NoError(t, r.Inject(Fault{Kind: FaultDisconnect}))
		r.Stop(ctx, robot.StopControlled)
		require.Equal(t, []float64{0, 1, 5}, r.values)
		_, err := set(r, "lamp", 1, 1)
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err))
	}
}
