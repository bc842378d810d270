package mcp

import (
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tau-robot/tau/gate"
)

// The members of a call's params._meta that are ours. They say what belongs together,
// and nothing that anything is permitted by.
const (
	metaBatch      = "tau/batch"       // a string: the calls of one session with the same one are one batch (G23)
	metaBatchSize  = "tau/batch_size"  // how many they are, in each of them
	metaBatchPlace = "tau/batch_place" // from 1, the call's place among them; in all or in none
	metaTurn       = "tau/turn"        // a string: another one is another turn, for budgets (G24)
)

// group reads which batch and which turn a call says that it is part of.
func group(inv *gate.Invocation, meta sdk.Meta) {
	invalid := func(key, want string) {
		inv.Invalid = gate.Errf(gate.CodeInvalidArgument, "_meta."+key, "must be %s; it was not run", want)
	}
	if v, ok := meta[metaTurn]; ok {
		turn, isText := v.(string)
		if !isText || turn == "" || len(turn) > gate.MaxTurn {
			invalid(metaTurn, fmt.Sprintf("a string of 1 to %d bytes", gate.MaxTurn))
			return
		}
		inv.Turn = turn
	}
	id, named := meta[metaBatch]
	size, sized := meta[metaBatchSize]
	place, placed := meta[metaBatchPlace]
	if !named && !sized && !placed {
		return
	}
	var b gate.Batch
	var ok bool
	if b.ID, ok = id.(string); !ok || b.ID == "" || len(b.ID) > gate.MaxBatchID {
		invalid(metaBatch, fmt.Sprintf("a string of 1 to %d bytes, and come with %s", gate.MaxBatchID, metaBatchSize))
		return
	}
	if b.Size, ok = whole(size); !ok || b.Size < 1 || b.Size > gate.MaxBatch {
		invalid(metaBatchSize, fmt.Sprintf("an integer from 1 to %d", gate.MaxBatch))
		return
	}
	if b.Place, ok = whole(place); placed && (!ok || b.Place < 1 || b.Place > b.Size) {
		invalid(metaBatchPlace, fmt.Sprintf("an integer from 1 to %s", metaBatchSize))
		return
	}
	inv.Batch = b
}

// whole reads an integer out of decoded JSON.
func whole(v any) (int, bool) {
	f, ok := v.(float64)
	if !ok || f != float64(int(f)) || f < 0 || f > 1<<30 {
		return 0, false
	}
	return int(f), true
}
