package cli

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/attach"
	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/cmd/tau/internal/datadir"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/cmd/tau/internal/fdio"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
)

func (a *app) approvalsEnrol() *cobra.Command {
	var o operatorFlags
	var public, name, kind string
	c := leaf("enrol", "Lets another key answer: shows a pairing code for a device, or takes a public key", 0, func(cmd *cobra.Command, _ []string) error {
		path, err := a.dataPath(o.dataDir)
		if err != nil {
			return err
		}
		var entry *signed.Entry
		if public != "" || name != "" {
			if entry, err = entryOf(public, name, signed.Kind(kind)); err != nil {
				return err
			}
		}
		if err := a.trusted(cmd.Context(), &o, path); err != nil {
			return err
		}
		key, err := a.unlocker(path)(cmd.Context())
		if err != nil {
			return asked(err)
		}
		defer key.Wipe()
		client := attach.Client{Socket: datadir.Socket(path), Key: key}
		if entry != nil {
			return asked(a.enrol(cmd.Context(), client, *entry))
		}
		return asked(a.pair(cmd.Context(), client))
	})
	o.add(c, false)
	c.Flags().StringVar(&public, "public-key", "", "the key to enrol, base64 of its 65 bytes, as 'approvals init' elsewhere prints it")
	c.Flags().StringVar(&name, "name", "", "with --public-key: what it is called")
	c.Flags().StringVar(&kind, "kind", string(signed.KindDevice), "with --public-key: device (may answer) or operator (may also opt in and open sessions)")
	return c
}

func entryOf(public, name string, kind signed.Kind) (*signed.Entry, error) {
	b, err := base64.StdEncoding.DecodeString(public)
	if err != nil {
		return nil, exit.Usagef("--public-key: %w", err)
	}
	e, err := signed.NewEntry(name, kind, b, time.Now())
	if err != nil {
		return nil, exit.Usagef("--public-key: %w", err)
	}
	return &e, nil
}

// enrol signs an entry and hands it in.
func (a *app) enrol(ctx context.Context, c attach.Client, e signed.Entry) error {
	e, err := c.Key.Vouch(e)
	if err != nil {
		return err
	}
	if _, err := c.Power(ctx, control.Enrol, signed.Enrol, e.ID, e.Params()); err != nil {
		return err
	}
	return write(a.out, fmt.Sprintf("enrolled: %s %s (%s)\n", e.Kind, signed.Grouped(e.ID), gate.Escape(e.Name)))
}

// pair shows a code, and who came with it, and enrols that device if the person says so.
func (a *app) pair(ctx context.Context, c attach.Client) error {
	req, err := c.Statement(ctx, control.Pair, signed.Enrol, signed.PairingID, nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return control.Follow(ctx, c.Socket, req, func(r control.Reply) error {
		p := r.Pairing
		switch {
		case !r.OK:
			return &attach.Refused{Reply: r}
		case p == nil:
			return nil
		case p.Code != "":
			return write(a.out, fmt.Sprintf("Type this code at the device, within two minutes: %s\n", gate.Escape(p.Code)))
		case p.Enrolled:
			return nil
		}
		e, err := signed.NewEntry(p.Name, signed.KindDevice, p.Public, time.Now())
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "A device came with it: %s, key %s\nCompare the key with what the device shows. Enrol it? [y/N] ", gate.Escape(e.Name), signed.Grouped(e.ID))
		yes, err := a.yes(ctx)
		if err != nil {
			return err
		}
		if !yes {
			return exit.Callsf("not enrolled")
		}
		return a.enrol(ctx, c, e)
	})
}

// yes reads a line and reports whether it says so.
func (a *app) yes(ctx context.Context) (bool, error) {
	r, err := fdio.NewReader(a.in)
	if err != nil {
		return false, err
	}
	defer context.AfterFunc(ctx, func() { _ = r.Close() })()
	defer func() { _ = r.Close() }()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		return false, errors.Join(attach.ErrInterrupted, err)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes", "e", "evet":
		return true, nil
	}
	return false, nil
}
