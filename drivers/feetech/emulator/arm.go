package emulator

// Arm is what the servos turn. Slices are by servo, in the order that the bus was made
// with; positions are of the servo's shaft in rad, from the middle of its encoder, in its
// own direction. One goroutine uses it.
type Arm interface {
	// Step passes dt seconds, a few milliseconds at most, with the servos driving as in
	// says, and overwrites out.
	Step(dt float64, in []Drive, out []Sense)
}

// Drive is what a servo does to its joint.
type Drive struct {
	Powered bool
	Goal    float64 // rad; the servo's own profile has been applied
	Speed   float64 // rad/s, of Goal
	Torque  float64 // of the largest it has, 0 to 1: what it may give
}

// Sense is what a servo feels of its joint.
type Sense struct {
	Position float64 // rad, true
	Velocity float64 // rad/s
	Load     float64 // of the largest torque, -1 to 1
}

// Hands are what an Arm has that can also be held and moved from outside: a Bus needs
// them for Hold and ByHand.
type Hands interface {
	// Hold blocks a joint where it is, whatever drives it, or lets go of it.
	Hold(joint int, held bool)
	// Place moves a joint to a position of its servo's shaft, rad, and leaves it at rest.
	Place(joint int, rad float64)
}
