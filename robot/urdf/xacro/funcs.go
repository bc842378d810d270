package xacro

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// function is something an expression can call, other than a method of a value.
type function struct {
	name string
	run  func(e *env, args []value) (value, error)
}

// module is a name with functions behind the dot.
type module struct {
	name   string
	member func(string) (value, bool)
}

func (*function) kind() string { return "function" }
func (*module) kind() string   { return "module" }

// global returns what a name means that nobody defined.
func global(name string) (value, bool) {
	switch name {
	case "math":
		return &module{name, mathMember}, true
	case "python":
		return &module{name, pythonMember}, true
	case "xacro":
		return &module{name, xacroMember}, true
	case "load_yaml":
		return xacroMember(name)
	}
	if v, ok := mathMember(name); ok {
		return v, true
	}
	return pythonMember(name)
}

func mathMember(name string) (value, bool) {
	switch name {
	case "pi":
		return real(math.Pi), true
	case "e":
		return real(math.E), true
	case "tau":
		return real(2 * math.Pi), true
	case "inf":
		return real(math.Inf(1)), true
	case "nan":
		return real(math.NaN()), true
	case "floor":
		return rounding(name, math.Floor), true
	case "ceil":
		return rounding(name, math.Ceil), true
	case "trunc":
		return rounding(name, math.Trunc), true
	case "atan2":
		return numeric(name, 2, 2, func(a []float64) float64 { return math.Atan2(a[0], a[1]) }), true
	case "fmod":
		return numeric(name, 2, 2, func(a []float64) float64 { return math.Mod(a[0], a[1]) }), true
	case "copysign":
		return numeric(name, 2, 2, func(a []float64) float64 { return math.Copysign(a[0], a[1]) }), true
	case "pow":
		return numeric(name, 2, 2, func(a []float64) float64 { return math.Pow(a[0], a[1]) }), true
	case "hypot":
		return numeric(name, 2, 2, func(a []float64) float64 { return math.Hypot(a[0], a[1]) }), true
	case "log":
		return numeric(name, 1, 2, func(a []float64) float64 {
			if len(a) == 2 {
				return math.Log(a[0]) / math.Log(a[1])
			}
			return math.Log(a[0])
		}), true
	case "isnan", "isinf", "isfinite":
		return &function{name, func(_ *env, args []value) (value, error) {
			f, err := numbers(name, args, 1, 1)
			if err != nil {
				return nil, err
			}
			nan, inf := math.IsNaN(f[0]), math.IsInf(f[0], 0)
			return boolean(name == "isnan" && nan || name == "isinf" && inf || name == "isfinite" && !nan && !inf), nil
		}}, true
	}
	if f := oneArgument(name); f != nil {
		return numeric(name, 1, 1, func(a []float64) float64 { return f(a[0]) }), true
	}
	return nil, false
}

func oneArgument(name string) func(float64) float64 {
	switch name {
	case "acos":
		return math.Acos
	case "asin":
		return math.Asin
	case "atan":
		return math.Atan
	case "cos":
		return math.Cos
	case "sin":
		return math.Sin
	case "tan":
		return math.Tan
	case "acosh":
		return math.Acosh
	case "asinh":
		return math.Asinh
	case "atanh":
		return math.Atanh
	case "cosh":
		return math.Cosh
	case "sinh":
		return math.Sinh
	case "tanh":
		return math.Tanh
	case "exp":
		return math.Exp
	case "expm1":
		return math.Expm1
	case "log1p":
		return math.Log1p
	case "log10":
		return math.Log10
	case "log2":
		return math.Log2
	case "sqrt":
		return math.Sqrt
	case "fabs":
		return math.Abs
	case "degrees":
		return func(v float64) float64 { return v * (180 / math.Pi) }
	case "radians":
		return func(v float64) float64 { return v * (math.Pi / 180) }
	}
	return nil
}

// numbers checks a function's arguments.
func numbers(name string, args []value, least, most int) ([]float64, error) {
	if len(args) < least || len(args) > most {
		return nil, fmt.Errorf("%s takes %d arguments, not %d", name, most, len(args))
	}
	out := make([]float64, len(args))
	for i, a := range args {
		f, ok := asFloat(a)
		if !ok {
			return nil, fmt.Errorf("%s of a %s; a number is due", name, a.kind())
		}
		out[i] = f
	}
	return out, nil
}

// numeric is a function of real numbers. What it can't answer with a number of
// its range, from numbers that are, is refused.
func numeric(name string, least, most int, f func([]float64) float64) value {
	return &function{name, func(_ *env, args []value) (value, error) {
		in, err := numbers(name, args, least, most)
		if err != nil {
			return nil, err
		}
		out := f(in)
		if math.IsNaN(out) || math.IsInf(out, 0) {
			for _, v := range in {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return real(out), nil
				}
			}
			return nil, fmt.Errorf("%s has no finite value for %v", name, in)
		}
		return real(out), nil
	}}
}

func rounding(name string, f func(float64) float64) value {
	return &function{name, func(_ *env, args []value) (value, error) {
		in, err := numbers(name, args, 1, 1)
		if err != nil {
			return nil, err
		}
		if i, ok := asInt(args[0]); ok {
			return integer(i), nil
		}
		return whole(f(in[0]))
	}}
}

// whole turns a real without fraction into an integer.
func whole(f float64) (value, error) {
	if !(f >= -(1<<63) && f < 1<<63) {
		return nil, errIntRange
	}
	return integer(f), nil
}

func pythonMember(name string) (value, bool) {
	var run func(e *env, args []value) (value, error)
	switch name {
	case "len":
		run = length
	case "min", "max":
		run = func(e *env, args []value) (value, error) { return extreme(e, name, args) }
	case "round":
		run = round
	case "int":
		run = toInt
	case "float":
		run = toReal
	case "str":
		run = func(e *env, args []value) (value, error) {
			if len(args) != 1 {
				return nil, errors.New("str takes 1 argument")
			}
			s, err := e.x.str(args[0])
			return text(s), err
		}
	case "bool":
		run = func(_ *env, args []value) (value, error) {
			if len(args) != 1 {
				return nil, errors.New("bool takes 1 argument")
			}
			return boolean(truth(args[0])), nil
		}
	case "list":
		run = toList
	case "dict":
		run = func(*env, []value) (value, error) { return nil, errors.New("dict takes named arguments: dict(a=1)") }
	default:
		return nil, false
	}
	return &function{name, run}, true
}

func length(_ *env, args []value) (value, error) {
	if len(args) == 1 {
		switch v := args[0].(type) {
		case text:
			return integer(runes(string(v))), nil
		case *list:
			return integer(len(v.items)), nil
		case *dict:
			return integer(len(v.keys)), nil
		}
	}
	return nil, errors.New("len takes 1 argument: a str, list or dict")
}

func extreme(e *env, name string, args []value) (value, error) {
	if len(args) == 1 {
		l, ok := args[0].(*list)
		if !ok {
			return nil, fmt.Errorf("%s of a %s", name, args[0].kind())
		}
		args = l.items
	}
	if len(args) == 0 {
		return nil, fmt.Errorf("%s of nothing", name)
	}
	if err := e.x.spend(len(args)); err != nil {
		return nil, err
	}
	best := args[0]
	for _, v := range args[1:] {
		order, _, err := ordered(name, v, best)
		if err != nil {
			return nil, err
		}
		if name == "min" && order < 0 || name == "max" && order > 0 {
			best = v
		}
	}
	return best, nil
}

// round goes to the even neighbour where both are as near, as Python's does.
func round(_ *env, args []value) (value, error) {
	in, err := numbers("round", args, 1, 2)
	if err != nil {
		return nil, err
	}
	if len(args) == 1 {
		if i, ok := asInt(args[0]); ok {
			return integer(i), nil
		}
		return whole(math.RoundToEven(in[0]))
	}
	digits, ok := asInt(args[1])
	if !ok || digits < 0 || digits > 15 {
		return nil, errors.New("round takes 0 to 15 digits")
	}
	if i, ok := asInt(args[0]); ok {
		return integer(i), nil
	}
	v, _ := number(fmt.Sprintf("%.*f", digits, in[0])) // correctly rounded from the exact binary value
	f, ok := asFloat(v)
	if !ok {
		return args[0], nil // inf and nan
	}
	return real(f), nil
}

func toInt(_ *env, args []value) (value, error) {
	if len(args) != 1 {
		return nil, errors.New("int takes 1 argument")
	}
	switch v := args[0].(type) {
	case text:
		if n, ok := number(string(v)); ok {
			if i, ok := n.(integer); ok {
				return i, nil
			}
		}
		return nil, fmt.Errorf("%q is not an integer", clip(string(v)))
	case real:
		return whole(math.Trunc(float64(v)))
	}
	if i, ok := asInt(args[0]); ok {
		return integer(i), nil
	}
	return nil, fmt.Errorf("int of a %s", args[0].kind())
}

func toReal(_ *env, args []value) (value, error) {
	if len(args) != 1 {
		return nil, errors.New("float takes 1 argument")
	}
	v := args[0]
	if t, ok := v.(text); ok {
		n, ok := number(string(t))
		if !ok {
			return nil, fmt.Errorf("%q is not a number", clip(string(t)))
		}
		v = n
	}
	if f, ok := asFloat(v); ok {
		return real(f), nil
	}
	return nil, fmt.Errorf("float of a %s", v.kind())
}

func toList(e *env, args []value) (value, error) {
	out := &list{}
	if len(args) == 0 {
		return out, nil
	}
	if len(args) == 1 {
		switch v := args[0].(type) {
		case *list:
			out.items = append(out.items, v.items...)
			return out, e.x.spend(len(v.items))
		case *dict:
			out.items = append(out.items, v.keys...)
			return out, e.x.spend(len(v.keys))
		case text:
			for _, c := range string(v) {
				out.items = append(out.items, text(string(c)))
			}
			return out, e.x.spend(len(v))
		}
	}
	return nil, errors.New("list takes 1 argument: a str, list or dict")
}

func xacroMember(name string) (value, bool) {
	var run func(e *env, args []value) (value, error)
	switch name {
	case "load_yaml":
		run = func(e *env, args []value) (value, error) {
			s, err := e.texts(name, args)
			if err != nil {
				return nil, err
			}
			if len(args) != 1 {
				return nil, errors.New("load_yaml takes 1 argument: a file's name")
			}
			return e.x.loadYAML(s, e.at)
		}
	case "arg":
		run = func(e *env, args []value) (value, error) {
			s, err := e.texts(name, args)
			if err != nil {
				return nil, err
			}
			v, err := e.x.argument(s)
			return text(v), err
		}
	case "fatal", "error":
		run = func(e *env, args []value) (value, error) {
			s, err := e.texts(name, args)
			if err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("the description refuses itself: %s", clip(s))
		}
	case "warning", "message":
		run = func(e *env, args []value) (value, error) {
			s, err := e.texts(name, args)
			if err != nil {
				return nil, err
			}
			e.x.warn(e.at, "xacro."+name, clip(s))
			return text(""), nil
		}
	default:
		return nil, false
	}
	return &function{"xacro." + name, run}, true
}

// texts joins arguments with spaces; there must be one at least.
func (e *env) texts(name string, args []value) (string, error) {
	if len(args) == 0 {
		return "", fmt.Errorf("%s takes an argument", name)
	}
	out := make([]string, len(args))
	for i, a := range args {
		s, err := e.x.str(a)
		if err != nil {
			return "", err
		}
		out[i] = s
	}
	s := strings.Join(out, " ")
	return s, e.x.size(int64(len(s)), 1)
}
