package planning

import (
	"context"
	"math"
	"math/rand/v2"
)

const (
	// maxSamples bounds the samples of one search, and with them its time.
	maxSamples = 2000
	// extension is how far one extension goes at most, rad or m, in the Euclidean
	// distance over the joints that take part.
	extension = 0.6
	// shortcuts is how many random shortcuts are tried on a found path.
	shortcuts = 80
	// cornerRounds is how many times each corner is tried nearer to its neighbours.
	cornerRounds = 5
	// same is the distance below which two configurations are one.
	same = 1e-9
)

// roadTree is one of the two trees; parent is -1 at its root.
type roadTree struct {
	q      [][]float64
	parent []int
}

func (t *roadTree) add(q []float64, parent int) int {
	t.q = append(t.q, append([]float64(nil), q...))
	t.parent = append(t.parent, parent)
	return len(t.q) - 1
}

// to returns the way from the root to a node.
func (t *roadTree) to(i int) [][]float64 {
	var out [][]float64
	for ; i >= 0; i = t.parent[i] {
		out = append(out, t.q[i])
	}
	for a, b := 0, len(out)-1; a < b; a, b = a+1, b-1 {
		out[a], out[b] = out[b], out[a]
	}
	return out
}

// search is a detour's state.
type search struct {
	p      *Planner
	joints []int // positions in q that take part
	target []float64
	next   []float64
}

// detour looks for a path around what is in the way: two trees that grow towards
// each other from start and goal (RRT-Connect; Kuffner and LaValle, ICRA 2000),
// then shortcuts. It returns nil when it found none.
func (p *Planner) detour(ctx context.Context, a, b []float64, rng *rand.Rand) ([][]float64, error) {
	s := &search{p: p, target: make([]float64, len(a)), next: make([]float64, len(a))}
	takesPart := make([]bool, len(a))
	for _, i := range p.m.Arm {
		takesPart[i] = !p.belongs(i)
	}
	for i := range a {
		if takesPart[i] || a[i] != b[i] {
			s.joints = append(s.joints, i)
		}
	}
	trees := [2]*roadTree{new(roadTree), new(roadTree)}
	trees[0].add(a, -1)
	trees[1].add(b, -1)
	for k := range maxSamples {
		if err := cancelled(ctx); err != nil {
			return nil, err
		}
		grow, other := trees[k%2], trees[1-k%2]
		s.sample(a, b, takesPart, rng)
		node, _, err := s.extend(grow, s.target)
		if err != nil {
			return nil, err
		}
		if node < 0 {
			continue
		}
		copy(s.target, grow.q[node])
		meet := -1
		for {
			n, reached, err := s.extend(other, s.target)
			if err != nil {
				return nil, err
			}
			if reached {
				meet = n
			}
			if n < 0 || reached {
				break
			}
		}
		if meet < 0 {
			continue
		}
		ends := [2]int{node, meet}
		if k%2 == 1 {
			ends = [2]int{meet, node}
		}
		path, err := s.finish(trees, ends, rng)
		if path != nil || err != nil {
			return path, err
		}
	}
	return nil, nil
}

// sample draws a configuration into target: anywhere in the limits for the arm's
// joints, within a turn of the start for continuous ones, and between start and
// goal for others.
func (s *search) sample(a, b []float64, arm []bool, rng *rand.Rand) {
	copy(s.target, a)
	for _, i := range s.joints {
		l := &s.p.m.Limits[i]
		switch u := rng.Float64(); {
		case !arm[i]:
			s.target[i] = a[i] + u*(b[i]-a[i])
		case l.Bounded:
			s.target[i] = l.Lower + u*(l.Upper-l.Lower)
		default:
			s.target[i] = (a[i]+b[i])/2 + (2*u-1)*math.Pi
		}
	}
}

// extend grows a tree from its node nearest to q by one step towards q. It
// returns the new node, -1 if the way is blocked, and whether q is reached.
func (s *search) extend(t *roadTree, q []float64) (node int, reached bool, err error) {
	near, d := 0, math.Inf(1)
	for i := range t.q {
		if e := s.distance(t.q[i], q); e < d {
			near, d = i, e
		}
	}
	if d < same {
		return near, true, nil
	}
	k := min(1, extension/d)
	copy(s.next, t.q[near])
	for _, i := range s.joints {
		s.next[i] += k * (q[i] - t.q[near][i])
	}
	if k == 1 {
		copy(s.next, q)
	}
	free, err := s.p.segmentFree(t.q[near], s.next)
	if err != nil || !free {
		return -1, false, err
	}
	return t.add(s.next, near), k == 1, nil
}

func (s *search) distance(a, b []float64) float64 {
	var sum float64
	for _, i := range s.joints {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum)
}

// finish joins the two ways, shortens the path and checks all of it again in the
// direction of travel, because the goal's tree was checked the other way round.
// It returns nil if that fails.
func (s *search) finish(trees [2]*roadTree, ends [2]int, rng *rand.Rand) ([][]float64, error) {
	path := trees[0].to(ends[0])
	back := trees[1].to(ends[1])
	for i := len(back) - 2; i >= 0; i-- {
		path = append(path, back[i])
	}
	path, err := s.shorten(path, rng)
	if err != nil {
		return nil, err
	}
	out := make([][]float64, len(path))
	for i := range path {
		if i > 0 {
			if free, err := s.p.segmentFree(path[i-1], path[i]); err != nil || !free {
				return nil, err
			}
		}
		out[i] = append([]float64(nil), path[i]...)
	}
	return out, nil
}

// shorten replaces stretches of a path by straight lines where these are free.
func (s *search) shorten(path [][]float64, rng *rand.Rand) ([][]float64, error) {
	drop := func() error {
		for i := 0; i+2 < len(path); {
			j := len(path) - 1
			for ; j > i+1; j-- {
				free, err := s.p.segmentFree(path[i], path[j])
				if err != nil {
					return err
				}
				if free {
					break
				}
			}
			path = append(path[:i+1:i+1], path[j:]...)
			i++
		}
		return nil
	}
	if err := drop(); err != nil {
		return nil, err
	}
	for range shortcuts {
		if len(path) < 4 {
			break
		}
		// From somewhere on one line to somewhere on a later one that isn't its
		// neighbour, so that the number of waypoints never grows.
		i, u := rng.IntN(len(path)-3), rng.Float64()
		j, v := i+2+rng.IntN(len(path)-3-i), rng.Float64()
		from, to := between(path[i], path[i+1], u), between(path[j], path[j+1], v)
		free, err := s.linesFree(path[i], from, to, path[j+1])
		if err != nil {
			return nil, err
		}
		if free {
			path = append(append(path[:i+1:i+1], from, to), path[j+1:]...)
		}
	}
	// Pull corners towards the middle of their neighbours.
	for range cornerRounds {
		for i := 1; i+1 < len(path); i++ {
			corner := between(path[i], between(path[i-1], path[i+1], 0.5), 0.5)
			free, err := s.linesFree(path[i-1], corner, path[i+1])
			if err != nil {
				return nil, err
			}
			if free {
				path[i] = corner
			}
		}
	}
	return path, drop()
}

// linesFree reports whether all straight lines from each point to the next are free.
func (s *search) linesFree(points ...[]float64) (bool, error) {
	for i := 1; i < len(points); i++ {
		if free, err := s.p.segmentFree(points[i-1], points[i]); err != nil || !free {
			return false, err
		}
	}
	return true, nil
}

func between(a, b []float64, u float64) []float64 {
	out := make([]float64, len(a))
	for i := range out {
		out[i] = a[i] + u*(b[i]-a[i])
	}
	return out
}
