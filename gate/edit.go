package gate

import (
	"context"
	"encoding/json"
	"math"
)

// Edit is what a person at the card may ask for instead of what is asked: the same
// thing slower, or less of it (G46). Each field is a fraction of what the prepared
// action does and lies above 0 and below 1; 0 leaves it as it is. One of them at least
// is set.
type Edit struct {
	SpeedScale float64 `json:"speed_scale,omitempty"` // of the speed
	Fraction   float64 `json:"fraction,omitempty"`    // of the way, or of the time
}

// Check refuses what isn't strictly slower or shorter, as INVALID_ARGUMENT.
func (e Edit) Check() error {
	if e == (Edit{}) {
		return Errf(CodeInvalidArgument, "edit", "an edit makes an action slower or shorter; this one changes nothing")
	}
	for _, f := range [...]struct {
		name string
		v    float64
	}{{"speed_scale", e.SpeedScale}, {"fraction", e.Fraction}} {
		if f.v == 0 {
			continue
		}
		if !(f.v > 0 && f.v < 1) || 1/f.v > math.MaxFloat64 {
			err := Errf(CodeInvalidArgument, "edit."+f.name, "an edit only makes an action slower or shorter: above 0 and below 1")
			if !math.IsNaN(f.v) && !math.IsInf(f.v, 0) {
				err.Value, err.Limit = &Quantity{Value: f.v}, &Quantity{Value: 1}
			}
			return err
		}
	}
	return nil
}

// Editable is a Tool whose prepared actions can be made slower or shorter. Of whoever
// isn't one, a person can only approve or refuse what is asked.
type Editable interface {
	Tool
	// Edit returns the arguments of the same tool that do what a prepared action of
	// this tool does, slower or less far. It approves nothing and has no side effects:
	// what it returns is prepared and asked anew. call is the call as it was asked,
	// prepared what Prepare or Restore made of it. What isn't strictly slower or
	// shorter is INVALID_ARGUMENT; what can't be said exactly in the tool's arguments
	// is NOT_SUPPORTED.
	Edit(ctx context.Context, call Call, prepared Action, edit Edit) (args json.RawMessage, err error)
}
