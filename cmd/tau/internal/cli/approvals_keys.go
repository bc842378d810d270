package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/attach"
	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/cmd/tau/internal/datadir"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
)

func keyArg(text string) (string, error) {
	id, err := signed.ParseKeyID(text)
	if err != nil {
		return "", exit.Usagef("%w", err)
	}
	return id, nil
}

// keyInfo says what operator's key a data folder has.
func keyInfo(path string) (signed.KeyInfo, error) {
	info, err := signed.ReadKeyInfo(signed.KeyPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		return info, exit.Callsf("there is no operator's key in %s: make one with 'tau robot approvals init'", path)
	}
	if err != nil {
		return info, exit.Callsf("%w", err)
	}
	return info, nil
}

// unlocker opens the operator's key of a data folder with a passphrase that is typed at
// this terminal.
func (a *app) unlocker(path string) func(context.Context) (*signed.Private, error) {
	return func(ctx context.Context) (*signed.Private, error) {
		info, err := keyInfo(path)
		if err != nil {
			return nil, err
		}
		pass, err := attach.ReadPassphrase(ctx, a.in, a.err, fmt.Sprintf("Passphrase of the operator's key %s (%s): ", signed.Grouped(info.ID), gate.Escape(info.Name)))
		defer clear(pass)
		if err != nil {
			return nil, err
		}
		key, _, err := signed.OpenKey(signed.KeyPath(path), pass)
		if err != nil {
			return nil, exit.Callsf("%w", err)
		}
		return key, nil
	}
}

// newPassphrase asks for a passphrase twice.
func (a *app) newPassphrase(ctx context.Context) ([]byte, error) {
	pass, err := attach.ReadPassphrase(ctx, a.in, a.err, fmt.Sprintf("New passphrase (at least %d characters): ", signed.MinPassphrase))
	if err != nil {
		return nil, asked(err)
	}
	if err := signed.CheckPassphrase(pass); err != nil {
		clear(pass)
		return nil, exit.Callsf("%w", err)
	}
	again, err := attach.ReadPassphrase(ctx, a.in, a.err, "The same again: ")
	defer clear(again)
	switch {
	case err != nil:
		clear(pass)
		return nil, asked(err)
	case !bytes.Equal(pass, again):
		clear(pass)
		return nil, exit.Callsf("the two aren't the same; nothing was changed")
	}
	return pass, nil
}

func (a *app) approvalsInit() *cobra.Command {
	var o operatorFlags
	var name string
	c := leaf("init", "Makes the operator's key, with which answers from outside of a bridge's own terminal are signed", 0, func(cmd *cobra.Command, _ []string) error {
		path, err := a.dataPath(o.dataDir)
		if err != nil {
			return err
		}
		if err := datadir.Make(path); err != nil {
			return exit.Bridgef("%w", err)
		}
		switch _, err := os.Lstat(signed.KeyPath(path)); {
		case err == nil:
			return exit.Callsf("%s is there already; 'tau robot approvals passwd' changes its passphrase", signed.KeyPath(path))
		case !errors.Is(err, fs.ErrNotExist):
			return exit.Bridgef("%w", err)
		}
		return a.makeKey(cmd.Context(), path, name)
	})
	o.add(c, false)
	c.Flags().StringVar(&name, "name", "operator", "what the key is called on cards and in the log")
	return c
}

func (a *app) makeKey(ctx context.Context, path, name string) error {
	key, err := signed.NewPrivate(rand.Reader)
	if err != nil {
		return exit.Bridgef("%w", err)
	}
	defer key.Wipe()
	now := time.Now()
	entry, err := signed.NewEntry(name, signed.KindOperator, key.Public(), now)
	if err != nil {
		return exit.Usagef("--name: %w", err)
	}
	if entry, err = key.Vouch(entry); err != nil {
		return exit.Bridgef("%w", err)
	}
	pass, err := a.newPassphrase(ctx)
	if err != nil {
		return err
	}
	defer clear(pass)
	// The entry first: one without a key is harmless, a key without an entry is of no use.
	if err := signed.InitRing(path, entry); err != nil {
		return exit.Bridgef("%w", err)
	}
	if err := signed.WriteKey(signed.KeyPath(path), name, now, key, pass, signed.DefaultCost(), rand.Reader, true); err != nil {
		return exit.Bridgef("%w", err)
	}
	return write(a.out, fmt.Sprintf(`the operator's key is %[1]s
  private half, under the passphrase: %[2]s
  public half: %[3]s
A bridge trusts it once it has been told of it on its command line:
  tau robot sim --operator-key %[1]s
Then answer from any terminal with 'tau robot approvals attach'. Keep the id: the bridge shows it at each start.
`, signed.Grouped(key.ID()), gate.Escape(signed.KeyPath(path)), base64.StdEncoding.EncodeToString(key.Public())))
}

func (a *app) approvalsPasswd() *cobra.Command {
	var o operatorFlags
	c := leaf("passwd", "Changes the passphrase of the operator's key", 0, func(cmd *cobra.Command, _ []string) error {
		path, err := a.dataPath(o.dataDir)
		if err != nil {
			return err
		}
		info, err := keyInfo(path)
		if err != nil {
			return err
		}
		old, err := attach.ReadPassphrase(cmd.Context(), a.in, a.err, fmt.Sprintf("Passphrase of the operator's key %s (%s): ", signed.Grouped(info.ID), gate.Escape(info.Name)))
		defer clear(old)
		if err != nil {
			return asked(err)
		}
		// A wrong one is told before a new one is asked for.
		key, _, err := signed.OpenKey(signed.KeyPath(path), old)
		if err != nil {
			return exit.Callsf("%w", err)
		}
		key.Wipe()
		fresh, err := a.newPassphrase(cmd.Context())
		if err != nil {
			return err
		}
		defer clear(fresh)
		if err := signed.ChangePassphrase(signed.KeyPath(path), old, fresh, signed.DefaultCost(), rand.Reader); err != nil {
			return exit.Callsf("%w", err)
		}
		return write(a.out, "the passphrase is changed\n")
	})
	o.add(c, false)
	return c
}

func (a *app) approvalsDevices() *cobra.Command {
	var o operatorFlags
	c := leaf("devices", "Lists the enrolled keys", 0, func(cmd *cobra.Command, _ []string) error {
		r, err := a.ask(cmd.Context(), &o, control.Request{Verb: control.Devices})
		if err != nil {
			return err
		}
		var b strings.Builder
		b.WriteString(gate.Escape(r.Text) + "\n")
		for _, k := range r.Keys {
			state := "enrolled " + k.Created.UTC().Format(time.DateOnly)
			if !k.Revoked.IsZero() {
				state += ", revoked " + k.Revoked.UTC().Format(time.DateTime+" UTC")
			}
			fmt.Fprintf(&b, "%s  %-8s %s  (%s)\n", signed.Grouped(k.ID), gate.Escape(k.Kind), gate.Escape(k.Name), state)
		}
		for _, p := range r.Problems {
			fmt.Fprintf(&b, "⚠️  counts for nothing: %s\n", gate.Escape(p))
		}
		return a.print(&o, r, b.String())
	})
	o.add(c, true)
	return c
}
