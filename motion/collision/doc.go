// Package collision is the planner's checker: it says whether a robot touches
// itself, a body of the scene or a guarded zone, at one configuration or
// anywhere along a path.
//
// The robot is covered by spheres: the union of a link's spheres contains every
// collision body of the link and reaches beyond it by no more than a stated
// overshoot. So a distance found here is never larger than the true one: a path
// that is accepted is free, while one that is refused may have missed contact by
// up to the overshoot and the margin. Primitive bodies that are well apart, and
// those that a path starts in contact, are measured body by body instead. A mesh is
// taken at its scale as it was loaded and is solid where it is closed; one with a
// hole, or with triangles that face different ways, stands for its convex hull and
// about a hundredth of its size more. Along a path nothing is skipped between
// two evaluated instants, because the next one is chosen by how far any point of
// the two bodies can move in the meantime (conservative advancement; Mirtich,
// Impulse-based Dynamic Simulation of Rigid Body Systems, 1996, ch. 2).
//
// It is pure: no I/O, no clock, no randomness. It imports robot and mathgl and
// must never import gate, sim, drivers, cmd or another package of motion; the
// simulator must never import it, because a rehearsal has to find contacts by
// other means.
package collision
