// Package gate decides which tool calls run. A call is decoded strictly, looked
// up, checked against hooks and limits; a tier-2 (physical) call is prepared
// (planned and rehearsed by its tool), shown to a person through an Approver, and
// only the prepared action that the person approved is run, by the lane, one at
// a time. Everything else refuses: the zero value of each type permits nothing.
//
// It is a leaf: it imports none of our other packages, and it knows no robot. The
// lane, the event log, the request store and the approver are interfaces here,
// implemented in the folders below and handed in by cmd/tau.
//
// How a call walks through, and how each step can end it, is tabled in
// docs/GATE-states.md. In the code: gate.go takes a call in (strict.go,
// catalog.go, batch.go, budget.go, hooks_before.go, rates.go), physical.go queues and prepares it, ask.go puts the one
// question, execute.go gives it to the lane and checks it again, emit.go records
// it; stop.go goes past all of that.
//
// The clauses named in comments (G1, G12, …) are those of docs/GATE.md.
package gate
