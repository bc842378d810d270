// Package bridge puts the parts of a running bridge together: model, scene,
// simulator, rehearsal, planner, gate, lane, request store, event log, approver,
// control socket and MCP server, each handed what it needs and nothing more; and
// it ends them in the order that is safe. It holds no rule about what may move:
// those are in gate, robot, motion and sim.
//
// One bridge has one simulated robot and one lane. Whatever ends the bridge (the
// end of a script, quit, SIGINT, SIGTERM, SIGHUP, a reader that went away) goes
// one way: a controlled stop, the wait for rest, then the end. SIGTSTP stops
// first and then suspends.
package bridge
