package mount

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/conns"
)

// Bounds of a manifest.
const (
	defaultTimeout = 30 * time.Second
	maxTimeout     = 300 * time.Second
	maxTools       = 64
)

var mountName = regexp.MustCompile(`^[a-z][a-z0-9]{0,15}$`)

// Kind says what a mounted tool does, in the manifest's words. It bounds its tier.
type Kind string

// The kinds. What writes, runs commands or touches files is always asked about.
const (
	KindRead  Kind = "read"  // looks at something: a camera, a sensor
	KindFetch Kind = "fetch" // fetches from an address in its arguments: needs an allow-list
	KindNote  Kind = "note"  // writes nothing but what is its own: a message, a log; tier 1 or 2
	KindWrite Kind = "write" // changes something in the world: a lamp, a relay; tier 2
	KindFile  Kind = "file"  // writes files; tier 2
	KindShell Kind = "shell" // runs commands; tier 2
)

// lowest returns the lowest tier that a kind may have; false: there is no such kind.
func (k Kind) lowest() (gate.Tier, bool) {
	switch k {
	case KindRead, KindFetch:
		return gate.TierRead, true
	case KindNote:
		return gate.TierWrite, true
	case KindWrite, KindFile, KindShell:
		return gate.TierPhysical, true
	}
	return 0, false
}

// Manifest is what the operator's settings say of one server. Exactly one of Command
// and URL is set.
type Manifest struct {
	Name      string            `toml:"name" json:"name"`                       // its tools are NAME_TOOL
	Command   []string          `toml:"command" json:"command,omitempty"`       // run as a child process, spoken to on stdio
	Env       map[string]string `toml:"env" json:"env,omitempty"`               // all that the child sees beside PATH, HOME, LANG and TMPDIR
	URL       string            `toml:"url" json:"url,omitempty"`               // Streamable HTTP; https, or http on loopback
	TokenFile string            `toml:"token_file" json:"token_file,omitempty"` // of mode 0600; sent as a bearer token
	TimeoutS  float64           `toml:"timeout_s" json:"timeout_s,omitempty"`   // of one call, s; 30 unless set, at most 300
	Tools     map[string]Rule   `toml:"tools" json:"tools"`                     // by the server's own name of the tool
	Stop      *StopRule         `toml:"stop" json:"stop,omitempty"`             // what a stop does there; nil: a stop ends its calls and no more
}

// Rule is what the manifest says of one tool.
type Rule struct {
	Tier        *int64            `toml:"tier" json:"tier"`
	Kind        Kind              `toml:"kind" json:"kind"`
	Description string            `toml:"description" json:"description"`             // fixed English, for the model
	Effect      string            `toml:"effect" json:"effect,omitempty"`             // one English sentence for the approver; the description unless set
	Arguments   map[string]string `toml:"arguments" json:"arguments,omitempty"`       // what each argument means
	URLArgument string            `toml:"url_argument" json:"url_argument,omitempty"` // of a fetching tool
	Allow       []string          `toml:"allow" json:"allow,omitempty"`               // addresses that a fetching tool may start from
}

// StopRule names the tool that a stop calls. It needs no tier: stopping is allowed.
type StopRule struct {
	Tool      string `toml:"tool" json:"tool"`
	Arguments string `toml:"arguments" json:"arguments,omitempty"` // a JSON object
}

// Check refuses a manifest that isn't one. Its error names the key.
func (m *Manifest) Check() error {
	bad := func(key, format string, args ...any) error {
		return gate.Errf(gate.CodeInvalidArgument, "mount "+m.Name+"."+key, format, args...)
	}
	if !mountName.MatchString(m.Name) {
		return gate.Errf(gate.CodeInvalidArgument, "mount.name", "%q: want a lower-case letter and then at most 15 lower-case letters and digits", m.Name)
	}
	switch {
	case (len(m.Command) > 0) == (m.URL != ""):
		return bad("command", "either a command or a url says where the server is")
	case len(m.Command) > 0 && m.Command[0] == "":
		return bad("command", "names no program")
	case m.URL == "" && m.TokenFile != "":
		return bad("token_file", "is for a url")
	case m.URL != "" && len(m.Env) > 0:
		return bad("env", "is for a command")
	case !(m.TimeoutS >= 0 && m.TimeoutS <= maxTimeout.Seconds()):
		return bad("timeout_s", "%g: want more than 0 and at most %g", m.TimeoutS, maxTimeout.Seconds())
	case len(m.Tools) == 0:
		return bad("tools", "lists none, so nothing would be mounted")
	case len(m.Tools) > maxTools:
		return bad("tools", "%d; at most %d", len(m.Tools), maxTools)
	}
	if m.URL != "" {
		if err := checkEndpoint(m.URL); err != nil {
			return bad("url", "%w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Tools)) {
		r := m.Tools[name]
		if err := r.check(); err != nil {
			return bad("tools."+name, "%w", err)
		}
	}
	if m.Stop != nil {
		if m.Stop.Tool == "" {
			return bad("stop.tool", "names no tool")
		}
		if _, err := gate.DecodeStrict(nil, []byte(m.Stop.Arguments)); err != nil {
			return bad("stop.arguments", "%w", err)
		}
	}
	return nil
}

func (r *Rule) check() error {
	low, ok := r.Kind.lowest()
	if !ok {
		return fmt.Errorf("kind %q: want read, fetch, note, write, file or shell", r.Kind)
	}
	if r.Tier == nil {
		return fmt.Errorf("tier is missing: 0 reads, 1 writes notes, 2 is asked about each time")
	}
	tier, ok := tierOf(*r.Tier)
	if !ok {
		return fmt.Errorf("tier %d: want 0, 1 or 2", *r.Tier)
	}
	if tier.Number() < low.Number() {
		return fmt.Errorf("tier %d: a tool of kind %s is tier %d at least", *r.Tier, r.Kind, low.Number())
	}
	if strings.TrimSpace(r.Description) == "" {
		return fmt.Errorf("description is missing: what the server says of the tool isn't used")
	}
	if r.Kind != KindFetch {
		if r.URLArgument != "" || len(r.Allow) > 0 {
			return fmt.Errorf("url_argument and allow are for kind fetch")
		}
		return nil
	}
	if r.URLArgument == "" || len(r.Allow) == 0 {
		return fmt.Errorf("a fetching tool needs url_argument and a list allow of the addresses that it may fetch")
	}
	for _, a := range r.Allow {
		if _, err := parseAddress(a); err != nil {
			return fmt.Errorf("allow %q: %w", a, err)
		}
	}
	return nil
}

func tierOf(n int64) (gate.Tier, bool) {
	for _, t := range []gate.Tier{gate.TierRead, gate.TierWrite, gate.TierPhysical} {
		if int64(t.Number()) == n {
			return t, true
		}
	}
	return 0, false
}

func (m *Manifest) timeout() time.Duration {
	if m.TimeoutS == 0 {
		return defaultTimeout
	}
	return time.Duration(m.TimeoutS * float64(time.Second))
}

// checkEndpoint refuses an address that a token or a call shouldn't be sent to in the open.
func checkEndpoint(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return fmt.Errorf("%q is no address", s)
	case u.User != nil:
		return fmt.Errorf("has a user name or password in it; use token_file")
	case u.Scheme == "https" && u.Host != "":
		return nil
	case u.Scheme == "http" && conns.IsLoopbackHost(u.Hostname()):
		return nil
	}
	return fmt.Errorf("%q: want https, or http on loopback", s)
}

// parseAddress reads an address in the one form in which two can be compared: https
// (http on loopback), a host, a path without dots, and nothing that could hide another.
func parseAddress(s string) (*url.URL, error) {
	for _, r := range s {
		if r <= ' ' || r == '\\' || r >= 0x7f {
			return nil, fmt.Errorf("has the character %U", r)
		}
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("is no address")
	}
	if err := checkEndpoint(s); err != nil {
		return nil, err
	}
	if u.Opaque != "" || u.Fragment != "" {
		return nil, fmt.Errorf("has a part that an address to fetch doesn't have")
	}
	if u.Path == "" {
		u.Path = "/"
	}
	clean := path.Clean(u.Path)
	if clean != "/" && strings.HasSuffix(u.Path, "/") {
		clean += "/"
	}
	if clean != u.Path || strings.Contains(strings.ToLower(u.EscapedPath()), "%2f") || strings.Contains(strings.ToLower(u.EscapedPath()), "%2e") {
		return nil, fmt.Errorf("has a path that can be read in more than one way")
	}
	u.Host = strings.ToLower(u.Host)
	return u, nil
}

// allowed reports whether an address begins with one of the list: the same scheme and
// host, and a path at or below the listed one. A listed query is compared whole.
func allowed(list []string, address string) error {
	u, err := parseAddress(address)
	if err != nil {
		return err
	}
	for _, a := range list {
		p, err := parseAddress(a)
		if err != nil {
			continue // Check has refused it
		}
		if p.Scheme != u.Scheme || port(p) != port(u) || p.Hostname() != u.Hostname() {
			continue
		}
		if p.RawQuery != "" && p.RawQuery != u.RawQuery {
			continue
		}
		if u.Path == p.Path || strings.HasPrefix(u.Path, strings.TrimSuffix(p.Path, "/")+"/") {
			return nil
		}
	}
	return fmt.Errorf("isn't in the manifest's list of addresses")
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
