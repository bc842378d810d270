// Package motion turns a robot's commands into tools of the gate: it plans a
// motion, checks it, has it rehearsed, describes it on a card, and runs exactly
// that motion when the lane says so.
//
// Its mathematics is in the folders below (kinematics, collision, planning,
// trajectory), which are pure: no I/O, no clock, randomness passed in. This
// package imports those, robot and gate; it must never import sim, drivers or
// cmd: who rehearses and what moves is handed in through Config.
package motion
