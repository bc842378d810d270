package sim

import "math"

// startOutside takes note of joints that stand outside of their limits when a motion
// begins, as only one that brings them back in may.
func (x *motion) startOutside() {
	r := x.r
	for i := range r.s.q {
		l := &r.info.Limits[i]
		over := math.Max(0, r.s.q[i]-l.Upper) + math.Min(0, r.s.q[i]-l.Lower)
		if !l.Bounded || over == 0 {
			continue
		}
		if x.outer == nil {
			x.outer = make([]float64, r.tree.n)
		}
		x.outer[i] = over
	}
}

// within reports whether joint i is measured within its limits, else which one it is
// beyond. A joint that began outside may be as far out as it has come by now. The
// limits of a joint that looks for its switch don't bind, since where it is isn't
// known.
func (x *motion) within(i int) (limit float64, ok bool) {
	r := x.r
	l, q := &r.info.Limits[i], r.s.q[i]
	if !l.Bounded || x.m.Seek != nil && x.m.Seek.Joint == i {
		return 0, true
	}
	lower, upper := l.Lower, l.Upper
	if x.outer != nil {
		x.outer[i] = math.Min(math.Max(x.outer[i], math.Min(0, q-l.Lower)), math.Max(0, q-l.Upper))
		lower, upper = lower+math.Min(0, x.outer[i]), upper+math.Max(0, x.outer[i])
	}
	switch tol := r.tolerance(i); {
	case q < lower-tol:
		return lower, false
	case q > upper+tol:
		return upper, false
	}
	return 0, true
}
