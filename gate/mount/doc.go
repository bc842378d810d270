// Package mount brings the tools of other MCP servers into a catalog, so that a
// camera or a lamp can stand beside the arm behind the same gate (GATE.md G4).
//
// What such a server says of itself is plain data: tiers, annotations, effects,
// titles and descriptions are stripped. What a tool is comes from the operator's
// manifest, and a tool that the manifest doesn't list isn't there. Nothing that a
// server asks for (sampling, elicitation, roots, further input) is answered.
//
// A tool is pinned as it was when the bridge started: a server that later describes it
// otherwise, or isn't the same program any more, is refused until the next start.
// What another program does can't be rehearsed; a card says so.
//
// One Server owns its connection and its child process, which Close ends. The package
// imports nothing of ours but gate, and must never import anything that can approve.
package mount
