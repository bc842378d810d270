package motion

import (
	"errors"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// GateError turns a *robot.Error into the gate's own error with the same code and
// everything else that it says, the permission that it or a cause of it lacks
// included. A *gate.Error stays what it is; whatever comes without a code is a fault
// of the bridge itself. nil is nil.
func GateError(err error) *gate.Error { return gateErr(err) }

func gateErr(err error) *gate.Error {
	if err == nil {
		return nil
	}
	var ge *gate.Error
	if errors.As(err, &ge) {
		return ge
	}
	var re *robot.Error
	if !errors.As(err, &re) {
		return &gate.Error{Code: gate.CodeInternal, Text: err.Error(), Err: err}
	}
	out := &gate.Error{Code: gate.Code(re.Code), Where: re.Where, Text: re.Text, Access: accessOf(err), Err: err}
	out.Value, out.Limit = quantity(re.Value), quantity(re.Limit)
	for _, q := range re.Nearest {
		out.Nearest = append(out.Nearest, gate.Quantity(q))
	}
	return out
}

func quantity(q *robot.Quantity) *gate.Quantity {
	if q == nil {
		return nil
	}
	g := gate.Quantity(*q)
	return &g
}
