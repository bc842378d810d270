package xacro

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"
)

var (
	errIntRange = errors.New("an integer beyond 64 bits")
	errZeroDiv  = errors.New("division by zero")
)

func (n binary) eval(e *env) (value, error) {
	a, err := e.eval(n.a)
	if err != nil {
		return nil, err
	}
	b, err := e.eval(n.b)
	if err != nil {
		return nil, err
	}
	i, okA := asInt(a)
	j, okB := asInt(b)
	if okA && okB && n.op != "/" {
		return intOp(n.op, i, j)
	}
	f, okA := asFloat(a)
	g, okB := asFloat(b)
	if okA && okB {
		return realOp(n.op, f, g)
	}
	return e.joined(n.op, a, b)
}

// joined is what + and * do with texts and lists.
func (e *env) joined(op string, a, b value) (value, error) {
	unfit := fmt.Errorf("%q between a %s and a %s", op, a.kind(), b.kind())
	if op == "*" {
		if _, ok := asInt(a); ok {
			a, b = b, a
		}
		n, ok := asInt(b)
		if !ok {
			return nil, unfit
		}
		n = max(n, 0)
		switch a := a.(type) {
		case text:
			if err := e.x.size(int64(len(a)), n); err != nil {
				return nil, err
			}
			return text(strings.Repeat(string(a), int(n))), nil
		case *list:
			if err := e.x.size(16*int64(len(a.items)), n); err != nil {
				return nil, err
			}
			out := &list{tuple: a.tuple}
			for range n {
				out.items = append(out.items, a.items...)
			}
			return out, nil
		}
		return nil, unfit
	}
	if op != "+" {
		if _, ok := a.(text); ok && op == "%" {
			return nil, errors.New("formatting with % is not supported")
		}
		return nil, unfit
	}
	switch a := a.(type) {
	case text:
		if b, ok := b.(text); ok {
			return a + b, e.x.size(int64(len(a)+len(b)), 1)
		}
	case *list:
		if b, ok := b.(*list); ok && a.tuple == b.tuple {
			out := append(append([]value(nil), a.items...), b.items...)
			return &list{out, a.tuple}, e.x.size(16*int64(len(out)), 1)
		}
	}
	return nil, unfit
}

// size counts a value of n times bytes before it is made.
func (x *expander) size(bytes, n int64) error {
	if bytes == 0 {
		return nil
	}
	if n > MaxValueBytes/bytes {
		return errLong
	}
	return x.spend(int(bytes * n / 16))
}

// intOp computes with integers; what leaves 64 bits is refused.
func intOp(op string, i, j int64) (value, error) {
	switch op {
	case "+":
		if s := i + j; (s > i) == (j > 0) {
			return integer(s), nil
		}
		return nil, errIntRange
	case "-":
		if s := i - j; (s < i) == (j > 0) {
			return integer(s), nil
		}
		return nil, errIntRange
	case "*":
		return times(i, j)
	case "//", "%":
		if j == 0 {
			return nil, errZeroDiv
		}
		if j == -1 { // MinInt64 / -1 doesn't fit
			if op == "%" {
				return integer(0), nil
			}
			return times(i, -1)
		}
		q, r := i/j, i%j
		if r != 0 && (r < 0) != (j < 0) {
			q, r = q-1, r+j
		}
		if op == "%" {
			return integer(r), nil
		}
		return integer(q), nil
	}
	return intPower(i, j)
}

func times(i, j int64) (value, error) {
	hi, lo := bits.Mul64(magnitude(i), magnitude(j))
	if (i < 0) != (j < 0) {
		if hi != 0 || lo > 1<<63 {
			return nil, errIntRange
		}
		return integer(-int64(lo)), nil
	}
	if hi != 0 || lo >= 1<<63 {
		return nil, errIntRange
	}
	return integer(lo), nil
}

func magnitude(i int64) uint64 {
	if i < 0 {
		return -uint64(i)
	}
	return uint64(i)
}

func intPower(i, j int64) (value, error) {
	switch {
	case j < 0:
		return realOp("**", float64(i), float64(j))
	case j == 0 || i == 1:
		return integer(1), nil
	case i == 0:
		return integer(0), nil
	case i == -1:
		return integer(1 - 2*(j&1)), nil
	case j > 63:
		return nil, errIntRange
	}
	var out value = integer(1)
	for range j {
		var err error
		if out, err = times(int64(out.(integer)), i); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// realOp computes as Python does: // and % go with the floor, a power that has
// no real result is refused.
func realOp(op string, f, g float64) (value, error) {
	switch op {
	case "+":
		return real(f + g), nil
	case "-":
		return real(f - g), nil
	case "*":
		return real(f * g), nil
	case "**":
		r := math.Pow(f, g)
		switch {
		case f == 0 && g < 0:
			return nil, errZeroDiv
		case math.IsNaN(r) && !math.IsNaN(f) && !math.IsNaN(g):
			return nil, fmt.Errorf("%s ** %s is not a real number", formatReal(f), formatReal(g))
		case math.IsInf(r, 0) && !math.IsInf(f, 0) && !math.IsInf(g, 0):
			return nil, fmt.Errorf("%s ** %s is out of range", formatReal(f), formatReal(g))
		}
		return real(r), nil
	}
	if g == 0 {
		return nil, errZeroDiv
	}
	if op == "/" {
		return real(f / g), nil
	}
	rest := math.Mod(f, g)
	quotient := (f - rest) / g
	if rest != 0 && (rest < 0) != (g < 0) {
		rest += g
		quotient--
	} else if rest == 0 {
		rest = math.Copysign(0, g)
	}
	if op == "%" {
		return real(rest), nil
	}
	whole := math.Floor(quotient)
	if quotient-whole > 0.5 {
		whole++
	}
	if whole == 0 {
		whole = math.Copysign(0, f/g)
	}
	return real(whole), nil
}
