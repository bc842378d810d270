// Package policy is the operator's rules as a section of the settings file: which tools
// may be called and by whom, within which bounds and how often, what of a result is
// withheld, and which reads are tried twice. docs/POLICY.md describes each key.
//
// A [Section] is plain data with toml tags; Check holds it against what can be known
// of it alone, [Compile] against the catalog, so that a rule about a tool or an argument
// that isn't there is an error at the start and not a rule that never holds. The
// [Policy] that comes out is applied to a [gate.Config] as hooks, rates, a budget, roles
// and a hash that is part of what a person approves.
//
// A policy can only tighten: it has no way to let something run, skip a question or
// raise a limit. Its hooks are to be registered last, nearest to the gate, so that they
// see what every other hook has left.
//
// What is bounded here of motions (speed cap, workspace, zones) is data for whoever
// plans them. The package must never import robot, motion, sim or cmd.
//
// A Policy doesn't change once it is compiled; any goroutine may use it, and nothing of
// it blocks.
package policy
