// Package bridge puts the parts of a running bridge together: model, scene,
// simulator, rehearsal, planner, gate, lane, request store, event log, approver,
// control socket and MCP server, each handed what it needs and nothing more; and
// it ends them in the order that is safe. It holds no rule about what may move:
// those are in gate, robot, motion and sim.
//
// One bridge has one simulated robot, at most one real one, and one lane for both. The
// real one moves only for the calls of a session whose opt-in is in force, which a
// person gave on the command line of this run or signed with the operator's key.
// Whatever ends the bridge (the
// end of a script, quit, SIGINT, SIGTERM, SIGHUP, a reader that went away) goes
// one way: a controlled stop, the wait for rest, then the end. SIGTSTP stops
// first and then suspends.
package bridge
