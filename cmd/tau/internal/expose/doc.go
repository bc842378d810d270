// Package expose puts an emulated servo bus in front of a simulated arm and gives other
// programs a pseudo-terminal that behaves like the arm's serial line: `tau robot sim
// --expose`. The arm is its own: neither the bridge's simulated robot nor anything that a
// session moves.
package expose
