package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/attach"
	"github.com/tau-robot/tau/cmd/tau/internal/bridge"
	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/cmd/tau/internal/datadir"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
	"github.com/tau-robot/tau/robot"
)

func (a *app) session() *cobra.Command {
	return group("session", "The sessions of a running bridge: who may call in them, and which may move a real robot",
		a.sessionNew(), a.sessionList(), a.sessionOptIn(), a.sessionRevoke())
}

// power signs a statement with the operator's key of the data folder and has the bridge
// do what it says.
func (a *app) power(cmd *cobra.Command, o *operatorFlags, verb string, purpose signed.Purpose, id string, params []signed.Param) (control.Reply, error) {
	path, err := a.dataPath(o.dataDir)
	if err != nil {
		return control.Reply{}, err
	}
	if err := a.trusted(cmd.Context(), o, path); err != nil {
		return control.Reply{}, err
	}
	key, err := a.unlocker(path)(cmd.Context())
	if err != nil {
		return control.Reply{}, asked(err)
	}
	defer key.Wipe()
	r, err := attach.Client{Socket: datadir.Socket(path), Key: key}.Power(cmd.Context(), verb, purpose, id, params)
	return r, asked(err)
}

func (a *app) sessionNew() *cobra.Command {
	var o operatorFlags
	var principal string
	c := leaf("new NAME", "Opens a simulated session where it is missing, and issues a bearer token for one client in it", 1, func(cmd *cobra.Command, args []string) error {
		if err := robot.CheckSessionName(args[0]); err != nil {
			return exit.Usagef("%w", err)
		}
		r, err := a.power(cmd, &o, control.Session, signed.Session, args[0], signed.Params("principal", principal))
		if err != nil {
			return err
		}
		return a.print(&o, r, fmt.Sprintf("session %s, principal %s: bearer token %s in %s\n", args[0], gate.Escape(principal), gate.Escape(r.Text), gate.Escape(r.Token)))
	})
	o.add(c, true)
	c.Flags().StringVar(&principal, "principal", "agent", "whom the token stands for")
	return c
}

func (a *app) sessionList() *cobra.Command {
	var o operatorFlags
	c := leaf("list", "Lists the sessions", 0, func(cmd *cobra.Command, _ []string) error {
		r, err := a.ask(cmd.Context(), &o, control.Request{Verb: control.Sessions})
		if err != nil {
			return err
		}
		var b strings.Builder
		for _, s := range r.Sessions {
			fmt.Fprintf(&b, "%s  %s, since %s", gate.Escape(s.Name), gate.Escape(s.Mode), s.Created.UTC().Format(time.DateTime+" UTC"))
			if s.OptIn != "" {
				fmt.Fprintf(&b, "; opted in until %s: %s", s.Expires.UTC().Format(time.DateTime+" UTC"), gate.Escape(s.OptIn))
			} else if s.Mode == string(gate.ModeReal) {
				b.WriteString("; its opt-in has ended, so it moves nothing")
			}
			for _, t := range s.Tokens {
				fmt.Fprintf(&b, "; token %s", gate.Escape(t))
			}
			b.WriteByte('\n')
		}
		return a.print(&o, r, b.String())
	})
	o.add(c, true)
	return c
}

func (a *app) sessionOptIn() *cobra.Command {
	var o operatorFlags
	var length time.Duration
	c := leaf("optin NAME", "Lets one session of a running bridge move its real robot, for a while", 1, func(cmd *cobra.Command, args []string) error {
		if err := robot.CheckSessionName(args[0]); err != nil {
			return exit.Usagef("%w", err)
		}
		if length <= 0 || length > robot.MaxOptIn {
			return exit.Usagef("--for %s: an opt-in lasts more than 0 and at most %s", length, robot.MaxOptIn)
		}
		shown, err := a.ask(cmd.Context(), &o, control.Request{Verb: control.Sessions})
		if err != nil {
			return err
		}
		if len(shown.Real) == 0 {
			return exit.Callsf("the bridge has no real robot, so there is nothing that an opt-in could let session %q move; 'tau robot real' starts one that has", args[0])
		}
		// What is signed is what is shown; the passphrase, typed after it, is the yes.
		fmt.Fprintf(a.err, "⚠️  Session %s is to be allowed to move this REAL robot for %s:\n", args[0], length)
		for _, l := range shown.Real {
			fmt.Fprintf(a.err, "  %s: %s\n", gate.Escape(l.Label), gate.Escape(l.Text))
		}
		r, err := a.power(cmd, &o, control.OptIn, signed.OptIn, args[0], signed.Params("for", length.String(), bridge.ShownParam, bridge.ShownOptIn(shown.Real)))
		if err != nil {
			return err
		}
		return a.print(&o, r, gate.Escape(r.Text)+"\n")
	})
	o.add(c, true)
	c.Flags().DurationVar(&length, "for", robot.DefaultOptIn, "how long it lasts, at most 8h")
	return c
}

func (a *app) sessionRevoke() *cobra.Command {
	var o operatorFlags
	c := leaf("revoke NAME", "Ends the opt-in of a session at once; it needs no key", 1, func(cmd *cobra.Command, args []string) error {
		r, err := a.ask(cmd.Context(), &o, control.Request{Verb: control.Revoke, Kind: "optin", ID: args[0]})
		if err != nil {
			return err
		}
		return a.print(&o, r, "revoked: "+gate.Escape(r.Text)+"\n")
	})
	o.add(c, true)
	return c
}
