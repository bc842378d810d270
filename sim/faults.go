package sim

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tau-robot/tau/robot"
)

// FaultKind is something that goes wrong with a simulated robot on purpose.
type FaultKind string

// The kinds. The zero value is none of them.
const (
	// FaultFreeze: the measurements stop being renewed; the drives go on.
	FaultFreeze FaultKind = "freeze"
	// FaultStuck: nothing moves the joint.
	FaultStuck FaultKind = "stuck"
	// FaultWeak: the joint's effort limit is multiplied by Value, 0 to 1.
	FaultWeak FaultKind = "weak"
	// FaultDisconnect: the link to the robot is lost; its own watchdog stops it.
	FaultDisconnect FaultKind = "disconnect"
	// FaultKick: an external torque of Value N·m or N on the joint, for
	// Duration, 0.1 s where that is 0.
	FaultKick FaultKind = "kick"
	// FaultEncoder: the joint's encoder reads Value rad or m more than is true.
	FaultEncoder FaultKind = "encoder_offset"
	// FaultLostSteps: a motor that counts its steps loses some of them. What is
	// measured is what is counted and goes on following the setpoint; the joint
	// truly falls behind, at its largest speed, until Value rad or m more are
	// counted than is true, and stays so until its switch is found. It acts in a
	// motion only.
	FaultLostSteps FaultKind = "lost_steps"
)

// Fault is one scripted fault. It happens once.
type Fault struct {
	Kind   FaultKind `json:"kind"`
	Joint  string    `json:"joint,omitempty"`  // of stuck, weak, kick, encoder_offset
	Motion int       `json:"motion,omitempty"` // 1 is the first Execute that moves; 0: the first that gets to At
	At     float64   `json:"at_s"`             // s of motion time
	Value  float64   `json:"value,omitempty"`
	// Duration is how long it lasts, s of motion time within the same motion; 0
	// is for good.
	Duration float64 `json:"duration_s,omitempty"`
}

const (
	kickDuration = 0.1  // s
	maxFaults    = 1000 // in a file
)

// MaxFaultBytes is the size of the largest file of faults that is read.
const MaxFaultBytes = 1 << 20

func (f *Fault) needsJoint() bool {
	return f.Kind == FaultStuck || f.Kind == FaultWeak || f.Kind == FaultKick || f.Kind == FaultEncoder || f.Kind == FaultLostSteps
}

func (f *Fault) needsValue() bool { return f.needsJoint() && f.Kind != FaultStuck }

// check returns what is wrong with a fault by itself; where names it.
func (f *Fault) check(where string) error {
	switch f.Kind {
	case FaultFreeze, FaultStuck, FaultWeak, FaultDisconnect, FaultKick, FaultEncoder, FaultLostSteps:
	default:
		return robot.Errf(robot.CodeInvalidArgument, where+".kind",
			"%q is not a fault; known are freeze, stuck, weak, disconnect, kick, encoder_offset, lost_steps", f.Kind)
	}
	for _, x := range [...]struct {
		name  string
		value float64
		any   bool
	}{{"at_s", f.At, false}, {"duration_s", f.Duration, false}, {"value", f.Value, true}} {
		if math.IsNaN(x.value) || math.IsInf(x.value, 0) || !x.any && x.value < 0 {
			return &robot.Error{
				Code: robot.CodeInvalidArgument, Where: where + "." + x.name,
				Text: "the number must be finite, and a time not negative", Value: &robot.Quantity{Value: x.value},
			}
		}
	}
	switch {
	case f.Motion < 0:
		return robot.Errf(robot.CodeInvalidArgument, where+".motion", "motions are counted from 1; %d isn't one", f.Motion)
	case f.needsJoint() != (f.Joint != ""):
		return robot.Errf(robot.CodeInvalidArgument, where+".joint", "stuck, weak, kick, encoder_offset and lost_steps name a joint, the others don't")
	case !f.needsValue() && f.Value != 0:
		return robot.Errf(robot.CodeInvalidArgument, where+".value", "%s takes no value", f.Kind)
	case f.Kind == FaultWeak && !(f.Value >= 0 && f.Value < 1):
		return robot.LimitErr(robot.CodeInvalidArgument, where+".value", f.Value, 1, "", "a weak joint keeps a part of its effort from 0 to below 1")
	case f.Kind != FaultWeak && f.needsValue() && f.Value == 0:
		return robot.Errf(robot.CodeInvalidArgument, where+".value", "%s needs a value other than 0", f.Kind)
	case f.Kind == FaultLostSteps && f.Duration != 0:
		return robot.Errf(robot.CodeInvalidArgument, where+".duration_s", "lost steps stay lost; %s takes no duration", f.Kind)
	}
	return nil
}

// ParseFaults reads a script of faults: a JSON object {"faults":[…]} with the
// fields of Fault, and nothing else: unknown or repeated fields, trailing data and
// numbers that make no sense are errors with file and line.
func ParseFaults(file string, data []byte) ([]Fault, error) {
	if len(data) > MaxFaultBytes {
		return nil, robot.LimitErr(robot.CodeInvalidArgument, file, float64(len(data)), MaxFaultBytes, "bytes", "the file is too large")
	}
	var doc struct {
		Faults []Fault `json:"faults"`
	}
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	err := json.UnmarshalDecode(dec, &doc, json.RejectUnknownMembers(true))
	if err == nil {
		var rest jsontext.Token
		if rest, err = dec.ReadToken(); errors.Is(err, io.EOF) {
			err = nil
		} else if err == nil {
			err = errors.New("trailing data: " + rest.String())
		}
	}
	if err != nil {
		return nil, robot.Errf(robot.CodeInvalidArgument, place(file, data, errorOffset(err, dec)), "%w", err)
	}
	if len(doc.Faults) > maxFaults {
		return nil, robot.LimitErr(robot.CodeInvalidArgument, file, float64(len(doc.Faults)), maxFaults, "faults", "too many faults")
	}
	starts, null := scan(data)
	if null >= 0 {
		return nil, robot.Errf(robot.CodeInvalidArgument, place(file, data, null), "null is no value of a fault")
	}
	if doc.Faults == nil {
		return nil, robot.Errf(robot.CodeInvalidArgument, place(file, data, 0), `the object has no "faults"`)
	}
	for i := range doc.Faults {
		if err := doc.Faults[i].check(""); err != nil {
			var e *robot.Error
			if errors.As(err, &e) {
				e.Where = place(file, data, starts[i]) + ": faults" + index(i) + e.Where
			}
			return nil, err
		}
	}
	return doc.Faults, nil
}

func errorOffset(err error, dec *jsontext.Decoder) int64 {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return syntax.ByteOffset
	}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		return semantic.ByteOffset
	}
	return dec.InputOffset()
}

// place returns file:line of a byte offset.
func place(file string, data []byte, offset int64) string {
	offset = max(0, min(offset, int64(len(data))))
	line := 1 + bytes.Count(data[:offset], []byte{'\n'})
	return file + ":" + strconv.Itoa(line)
}

// scan looks through a document that has been decoded already, an object whose
// arrays hold objects: where each element of an array starts, and where the first
// null is, -1 if there is none.
func scan(data []byte) (elements []int64, null int64) {
	null = -1
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			return elements, null
		}
		switch {
		case tok.Kind() == 'n' && null < 0:
			null = dec.InputOffset()
		case tok.Kind() == '{' && dec.StackDepth() == 3:
			elements = append(elements, dec.InputOffset())
		}
	}
}

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// resolve checks faults against a robot and returns the joints' positions in q,
// -1 where there is none.
func resolve(faults []Fault, t *tree) ([]int, error) {
	out := make([]int, len(faults))
	for i := range faults {
		f := &faults[i]
		where := "faults" + index(i)
		if err := f.check(where); err != nil {
			return nil, err
		}
		out[i] = -1
		if f.Joint == "" {
			continue
		}
		if out[i] = t.model.ActiveIndex(f.Joint); out[i] < 0 {
			return nil, robot.Errf(robot.CodeInvalidArgument, where+".joint",
				"the robot has no active joint %q; it has %s", f.Joint, strings.Join(t.model.JointNames(), ", "))
		}
		if t.model.Base.Carries(out[i]) && f.Kind != FaultKick && f.Kind != FaultEncoder {
			return nil, robot.Errf(robot.CodeInvalidArgument, where+".joint", "%s is moved by the base's wheels and has no drive that could be %s", f.Joint, f.Kind)
		}
		if f.Kind == FaultWeak && t.model.Limits[out[i]].Effort == 0 {
			return nil, robot.Errf(robot.CodeInvalidArgument, where+".joint", "%s has no effort limit that could be weakened", f.Joint)
		}
	}
	return out, nil
}
