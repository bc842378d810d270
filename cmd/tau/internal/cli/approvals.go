package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/attach"
	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/cmd/tau/internal/datadir"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
	"github.com/tau-robot/tau/gate/words"
)

// askTimeout bounds the wait for an answer of the control socket.
const askTimeout = 25 * time.Second

// operatorFlags are those of the commands of the operator's side.
type operatorFlags struct {
	dataDir string
	json    bool
	reason  string
}

func (o *operatorFlags) add(c *cobra.Command, withJSON bool) {
	c.Flags().StringVar(&o.dataDir, "data-dir", "", "the running bridge's data folder")
	if withJSON {
		c.Flags().BoolVar(&o.json, "json", false, "the answer as one JSON document")
	}
}

func (a *app) approvals() *cobra.Command {
	return group("approvals", "The operator's side of a running bridge: what waits, who may answer, and the answers",
		a.approvalsInit(), a.approvalsPasswd(), a.approvalsList(), a.approvalsShow(), a.approvalsAttach(),
		a.approvalsApprove(), a.approvalsReject(), a.approvalsGrants(), a.approvalsRevoke(), a.approvalsDevices(), a.approvalsEnrol())
}

// ask sends one request to the bridge of a data folder.
func (a *app) ask(ctx context.Context, o *operatorFlags, req control.Request) (control.Reply, error) {
	path, err := a.dataPath(o.dataDir)
	if err != nil {
		return control.Reply{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	r, err := attach.Do(ctx, datadir.Socket(path), req)
	return r, asked(err)
}

// asked gives an error of the operator's side its exit status: what the bridge refused
// is a call that isn't ok, and a bridge that can't be reached is the bridge's failure.
func asked(err error) error {
	var no *attach.Refused
	var own *exit.Error
	switch {
	case err == nil || errors.As(err, &own):
		return err
	case errors.As(err, &no):
		return exit.Callsf("refused: %s", gate.Escape(no.Error()))
	case errors.Is(err, attach.ErrInterrupted), errors.Is(err, context.Canceled):
		return &exit.Error{Status: exit.Interrupted, Err: attach.ErrInterrupted}
	case errors.Is(err, attach.ErrNoTerminal):
		return exit.Usagef("%w", err)
	}
	return exit.Bridgef("%w", err)
}

// print writes a reply: as JSON, or as a person reads it.
func (a *app) print(o *operatorFlags, r control.Reply, text string) error {
	if !o.json {
		return write(a.out, text)
	}
	b, err := json.Marshal(r)
	if err != nil {
		return exit.Bridgef("%w", err)
	}
	return write(a.out, string(b)+"\n")
}

func (a *app) approvalsList() *cobra.Command {
	var o operatorFlags
	c := leaf("list", "Lists the requests that wait for an answer", 0, func(cmd *cobra.Command, _ []string) error {
		r, err := a.ask(cmd.Context(), &o, control.Request{Verb: control.List})
		if err != nil {
			return err
		}
		return a.print(&o, r, attach.Table(r.Requests, words.English))
	})
	o.add(c, true)
	return c
}

func (a *app) approvalsShow() *cobra.Command {
	var o operatorFlags
	c := leaf("show CALL", "Shows a request's card, ended or not", 1, func(cmd *cobra.Command, args []string) error {
		r, err := a.ask(cmd.Context(), &o, control.Request{Verb: control.Show, ID: args[0]})
		if err != nil {
			return err
		}
		var b strings.Builder
		for _, i := range r.Requests {
			req, ok := i.Request()
			if !ok {
				return exit.Bridgef("the bridge has sent a request that is none")
			}
			b.WriteString(terminal.Card(words.English, req))
			fmt.Fprintf(&b, "  State: %s\n", gate.Escape(string(i.State)))
			if i.Decider != "" {
				fmt.Fprintf(&b, "  Decided by: %s\n", gate.Escape(i.Decider))
			}
		}
		return a.print(&o, r, b.String())
	})
	o.add(c, true)
	return c
}

func (a *app) approvalsReject() *cobra.Command {
	var o operatorFlags
	c := leaf("reject CALL", "Refuses a request that waits; it needs no key", 1, func(cmd *cobra.Command, args []string) error {
		r, err := a.ask(cmd.Context(), &o, control.Request{Verb: control.Reject, ID: args[0], Reason: o.reason})
		if err != nil {
			return err
		}
		return a.print(&o, r, "rejected\n")
	})
	o.add(c, true)
	c.Flags().StringVar(&o.reason, "reason", "", "recorded with it")
	return c
}

func (a *app) approvalsGrants() *cobra.Command {
	var o operatorFlags
	c := leaf("grants", "Lists what has been granted, and the routines", 0, func(cmd *cobra.Command, _ []string) error {
		r, err := a.ask(cmd.Context(), &o, control.Request{Verb: control.Grants})
		if err != nil {
			return err
		}
		var b strings.Builder
		if len(r.Grants)+len(r.Routines) == 0 {
			b.WriteString("nothing is granted, and there is no routine\n")
		}
		for _, g := range r.Grants {
			fmt.Fprintf(&b, "grant %s  %s for %s in session %s until %s, by %s: %s\n", gate.Escape(g.ID), gate.Escape(g.Value), gate.Escape(g.Principal),
				gate.Escape(g.Session), g.Expires.UTC().Format(time.DateTime+" UTC"), gate.Escape(g.Decider), gate.Escape(g.Reason))
		}
		for _, x := range r.Routines {
			fmt.Fprintf(&b, "routine %s  %s for %s in session %s until %s, %d firings left\n", gate.Escape(x.ID), gate.Escape(x.Name), gate.Escape(x.Principal),
				gate.Escape(x.Session), x.Expires.UTC().Format(time.DateTime+" UTC"), x.Firings)
		}
		return a.print(&o, r, b.String())
	})
	o.add(c, true)
	return c
}

func (a *app) approvalsRevoke() *cobra.Command {
	var o operatorFlags
	c := leaf("revoke grant|routine|device|optin|token ID", "Takes power away at once; it needs no key", 2, func(cmd *cobra.Command, args []string) error {
		if args[0] == "device" {
			id, err := keyArg(args[1])
			if err != nil {
				return err
			}
			args[1] = id
		}
		r, err := a.ask(cmd.Context(), &o, control.Request{Verb: control.Revoke, Kind: args[0], ID: args[1]})
		if err != nil {
			return err
		}
		return a.print(&o, r, "revoked: "+gate.Escape(r.Text)+"\n")
	})
	o.add(c, true)
	return c
}

func (a *app) approvalsAttach() *cobra.Command {
	var o operatorFlags
	var each bool
	c := leaf("attach", "Shows each question of a running bridge at this terminal; y approves, with the operator's key", 0, func(cmd *cobra.Command, _ []string) error {
		_, err := a.attach(cmd.Context(), &o, each, "")
		return err
	})
	o.add(c, false)
	c.Flags().BoolVar(&each, "ask-each", false, "ask for the passphrase at each approval, rather than once")
	return c
}

func (a *app) approvalsApprove() *cobra.Command {
	var o operatorFlags
	c := leaf("approve CALL", "Shows the open question and approves it, after y and the passphrase of the operator's key", 1, func(cmd *cobra.Command, args []string) error {
		ok, err := a.attach(cmd.Context(), &o, true, args[0])
		if err == nil && !ok {
			return exit.Callsf("%s: not approved here", gate.Escape(args[0]))
		}
		return err
	})
	o.add(c, false)
	return c
}

// attach answers at this terminal.
func (a *app) attach(ctx context.Context, o *operatorFlags, each bool, only string) (bool, error) {
	path, err := a.dataPath(o.dataDir)
	if err != nil {
		return false, err
	}
	if err := a.trusted(ctx, o, path); err != nil {
		return false, err
	}
	ok, err := attach.Run(ctx, attach.Options{
		In: a.in, Out: a.out, Socket: datadir.Socket(path), Unlock: a.unlocker(path), AskEach: each, Only: only, Now: time.Now,
	})
	if errors.Is(err, attach.ErrNotAsked) {
		return false, exit.Callsf("%s: %w", gate.Escape(only), err)
	}
	return ok, asked(err)
}

// trusted refuses to go on where the bridge doesn't trust the key of this data folder:
// nothing that it signs would count.
func (a *app) trusted(ctx context.Context, o *operatorFlags, path string) error {
	info, err := keyInfo(path)
	if err != nil {
		return err
	}
	r, err := a.ask(ctx, o, control.Request{Verb: control.Devices})
	if err != nil {
		return err
	}
	for _, k := range r.Keys {
		if k.ID == info.ID && k.Revoked.IsZero() {
			return nil
		}
	}
	return exit.Callsf("the bridge doesn't take answers from this key: %s", gate.Escape(r.Text))
}
