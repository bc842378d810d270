package gate_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
)

// house is what request_access may ask for, as a test sets it.
type house struct {
	mu       sync.Mutex
	zones    map[string]string // what entering each permits
	standing map[string]bool
}

func newHouse() *house {
	return &house{zones: map[string]string{"door": "The arm may reach through the door.", "bench": "The arm may reach over the bench."}, standing: map[string]bool{}}
}

func (h *house) set(f func(*house)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(h)
}

func (h *house) Askable(_ gate.Session, value string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if name, ok := gate.ZoneOf(value); ok && h.zones[name] != "" {
		return h.zones[name], nil
	}
	if _, ok := gate.SpeedOf(value); ok {
		return "Motions may be faster.", nil
	}
	return "", gate.Errf(gate.CodeInvalidArgument, "", "%q is no zone of this scene; ask for zone:door or zone:bench", value)
}

func (h *house) Standing(_ gate.Session, _, value string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.standing[value]
}

// permitting gives a gate a house, and the grants and routines of its requests' store.
func permitting(h *house) func(*gate.Config) {
	return func(c *gate.Config) {
		c.Access, c.Grants, c.Routines = h, c.Requests.(gate.Grants), c.Requests.(gate.Routines)
	}
}

// access asks for access and returns the answer and what it says of grants.
func (r *rig) access(args string) (gate.Answer, granted) {
	r.t.Helper()
	a := r.call("request_access", args)
	var out granted
	if len(a.Result) > 0 {
		require.NoError(r.t, json.Unmarshal(a.Result, &out))
	}
	return a, out
}

type granted struct {
	Granted []string `json:"granted"`
	Already []string `json:"already_granted"`
	Until   string   `json:"until"`
}

// values lists what is granted.
func (r *rig) values() (out []string) {
	r.t.Helper()
	all, err := r.Grants(context.Background())
	require.NoError(r.t, err)
	for _, g := range all {
		out = append(out, g.Value)
	}
	return out
}

// wants makes each motion be refused for want of a value, until it is granted.
func (r *rig) wants(code gate.Code, value string) {
	r.arm.change(func(a *arm) {
		a.prepare = func(_ context.Context, c gate.Call) error {
			all, err := r.Grants(context.Background())
			if err != nil {
				return err
			}
			for _, g := range all {
				if g.Holds(c.Session, c.Principal) && gate.Covers(g.Value, value) {
					return nil
				}
			}
			return &gate.Error{Code: code, Where: value, Text: "isn't open", Access: value}
		}
	})
}

func texts(c gate.Card, label string) (out []string) {
	for _, f := range c.Facts {
		if strings.HasSuffix(f.Label, label) {
			out = append(out, f.Text)
		}
	}
	return out
}

// fullStore is a store whose writes of permissions fail.
type fullStore struct {
	*approval.Memory
	err error
}

func (f *fullStore) AddGrants(context.Context, []gate.Grant) error  { return f.err }
func (f *fullStore) AddRoutine(context.Context, gate.Routine) error { return f.err }
func (f *fullStore) fails(t *testing.T, with error) func(*gate.Config) {
	t.Helper()
	f.err = with
	return func(c *gate.Config) {
		f.Memory = c.Requests.(*approval.Memory)
		c.Access, c.Grants, c.Routines = newHouse(), f, f
	}
}
