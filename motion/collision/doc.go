// Package collision is the planner's checker: it says whether a robot touches
// itself, a body of the scene or a guarded zone, at one configuration or
// anywhere along a path.
//
// The robot is covered by spheres: the union of a link's spheres contains every
// collision body of the link and reaches beyond it by no more than a stated
// overshoot. So a distance found here is never larger than the true one: a path
// that is accepted is free, while one that is refused may have missed contact by
// up to the overshoot and the margin. Along a path nothing is skipped between
// two evaluated instants, because the next one is chosen by how far any point of
// the two bodies can move in the meantime (conservative advancement; Mirtich,
// Impulse-based Dynamic Simulation of Rigid Body Systems, 1996, ch. 2).
//
// It is pure: no I/O, no clock, no randomness. It imports robot and mathgl and
// must never import gate, sim, drivers, cmd or another package of motion; the
// simulator must never import it, because a rehearsal has to find contacts by
// other means.
package collision
