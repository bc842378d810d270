package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/cmd/tau/internal/datadir"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/cmd/tau/internal/show"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/words"
)

// stopTimeout bounds the wait for a verdict; the stop itself goes on.
const stopTimeout = 15 * time.Second

// stop is "robot stop" and "robot estop": the tools' stop, on a running bridge.
func (a *app) stop(verb string) *cobra.Command {
	var dataDir, reason string
	var asJSON bool
	short := "Stops a running bridge's robots at once: controlled stop, power stays"
	if verb == string(gate.StopEmergency) {
		short = "Stops a running bridge's robots at once and latches: estop_reset has to be approved after it"
	}
	c := leaf(verb, short, 0, func(cmd *cobra.Command, _ []string) error {
		path, err := a.dataPath(dataDir)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), stopTimeout)
		defer cancel()
		reply, err := control.Send(ctx, datadir.Socket(path), control.Request{Verb: verb, Reason: reason})
		commanded := "unknown" // it was sent, or part of it was
		if err != nil {
			reply = control.Reply{Code: gate.CodeDisconnected, Text: err.Error()}
			if errors.Is(err, control.ErrNoBridge) {
				// A stop that reached nothing never looks like one that did.
				commanded = "no"
				reply.Verdicts = []gate.StopVerdict{{Commanded: "no", Acknowledged: "no", Stationary: "unknown", Text: "no bridge runs on " + path}}
			} else {
				reply.Verdicts = []gate.StopVerdict{{Commanded: "unknown", Acknowledged: "unknown", Stationary: "unknown", Text: "no verdict came back"}}
			}
		}
		if asJSON {
			b, jerr := json.Marshal(reply)
			if jerr != nil {
				return exit.Bridgef("%w", jerr)
			}
			if err := write(a.out, string(b)+"\n"); err != nil {
				return err
			}
		} else if err == nil {
			for _, v := range reply.Verdicts {
				fmt.Fprintln(a.out, show.Verdict(words.English, v))
			}
		}
		switch {
		case err != nil:
			return exit.Bridgef("%s: commanded %s: %w", verb, commanded, err)
		case !reply.OK:
			return exit.Bridgef("%s: refused: %s", verb, gate.Escape(reply.Text))
		case !show.AtRest(reply.Verdicts):
			return exit.Callsf("%s: it is not known that everything is at rest", verb)
		}
		return nil
	})
	c.Flags().StringVar(&dataDir, "data-dir", "", "the running bridge's data folder")
	c.Flags().StringVar(&reason, "reason", "", "recorded with the stop")
	c.Flags().BoolVar(&asJSON, "json", false, "the verdict as one JSON document")
	return c
}
