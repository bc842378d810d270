package cli

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/bridge"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/gate"
)

// catalogEntry is one tool of tools --json.
type catalogEntry struct {
	Name        string          `json:"name"`
	Tier        gate.Tier       `json:"tier"`
	Effect      string          `json:"effect"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input_schema"`
	Output      json.RawMessage `json:"output_schema,omitempty"`
}

func (a *app) tools() *cobra.Command {
	var asJSON bool
	var arm placeFlags
	c := leaf("tools", "Lists the catalog: name, tier, effect, schema", 0, func(*cobra.Command, []string) error {
		model, scene, err := arm.load()
		if err != nil {
			return err
		}
		specs, err := bridge.Catalog(model, scene)
		if err != nil {
			return exit.Bridgef("%w", err)
		}
		sort.SliceStable(specs, func(i, j int) bool { return specs[i].Tier < specs[j].Tier })
		if asJSON {
			return a.toolsJSON(specs)
		}
		var b strings.Builder
		for _, s := range specs {
			fmt.Fprintf(&b, "%s  %-22s %s\n", s.Tier, s.Name, s.Effect)
		}
		return write(a.out, b.String())
	})
	arm.add(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "the catalog as one JSON document")
	return c
}

func (a *app) toolsJSON(specs []gate.Spec) error {
	out := struct {
		Tools []catalogEntry `json:"tools"`
	}{}
	for _, s := range specs {
		e := catalogEntry{Name: s.Name, Tier: s.Tier, Effect: s.Effect, Description: s.Description}
		e.Input = s.Input.JSON()
		if s.Output != nil {
			e.Output = s.Output.JSON()
		}
		out.Tools = append(out.Tools, e)
	}
	return a.document(out)
}
