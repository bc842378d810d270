package gate

import (
	"fmt"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"sync"
	"unicode"
)

var toolName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// Catalog holds the registered tools. It is sealed by New; before that its
// methods may be called from any goroutine, afterwards it doesn't change.
type Catalog struct {
	mu     sync.RWMutex
	sealed bool
	tools  map[string]*entry
}

// entry is a tool as it was registered. The schemas are the catalog's own copies,
// so that nothing that a tool does later changes what is checked.
type entry struct {
	tool      Tool
	spec      Spec
	inputHash [32]byte
}

// NewCatalog returns an empty catalog.
func NewCatalog() *Catalog { return &Catalog{tools: map[string]*entry{}} }

// Register adds a set of tools, all or none (G3). It refuses a tool without a
// valid tier (G1), without a name or a one-line English description (G2), with
// a schema that can't be meant, a name that is taken, the gate's own names, and a
// physical tool made by Func.
func (c *Catalog) Register(tools ...Tool) error {
	for _, t := range tools {
		if t != nil && isReserved(safeSpec(t).Name) {
			return Errf(CodeInvalidArgument, safeSpec(t).Name, "is one of the gate's own tools")
		}
	}
	return c.register(tools)
}

func (c *Catalog) register(tools []Tool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sealed {
		return Errf(CodeInvalidArgument, "catalog", "is sealed; no tool can be registered any more")
	}
	add := make(map[string]*entry, len(tools))
	for i, t := range tools {
		e, err := newEntry(t, i)
		if err != nil {
			return err
		}
		if c.tools[e.spec.Name] != nil || add[e.spec.Name] != nil {
			return Errf(CodeInvalidArgument, e.spec.Name, "is registered already; none of the set was registered")
		}
		add[e.spec.Name] = e
	}
	for name, e := range add {
		c.tools[name] = e
	}
	return nil
}

func newEntry(t Tool, i int) (*entry, error) {
	if t == nil || reflect.ValueOf(t).Kind() == reflect.Pointer && reflect.ValueOf(t).IsNil() {
		return nil, Errf(CodeInvalidArgument, fmt.Sprintf("tool %d", i), "is nil")
	}
	spec, err := guard("spec", func() (Spec, error) { return t.Spec(), nil })
	if err != nil {
		return nil, err
	}
	if !toolName.MatchString(spec.Name) {
		return nil, Errf(CodeInvalidArgument, "name", "%q is not a tool's name (a letter, then letters, digits, _ and -, at most 64)", clip(spec.Name, 80))
	}
	if !spec.Tier.Valid() {
		return nil, Errf(CodeInvalidArgument, spec.Name+".tier", "the tool has no tier (0, 1 or 2)")
	}
	if _, isFunc := t.(*funcTool); isFunc && spec.Tier == TierPhysical {
		return nil, Errf(CodeInvalidArgument, spec.Name+".tier", "a physical tool has to prepare, so that a person approves a finished thing")
	}
	if spec.Effect == "" {
		spec.Effect = spec.Description
	}
	for _, f := range []struct{ field, text string }{{"description", spec.Description}, {"effect", spec.Effect}} {
		// A description may have several lines, the effect is one sentence.
		text := f.text
		if f.field == "description" {
			text = strings.ReplaceAll(text, "\n", " ")
		}
		if err := fixedText(text); err != nil {
			return nil, Errf(CodeInvalidArgument, spec.Name+"."+f.field, "%w", err)
		}
	}
	if err := spec.Input.check("", true, 0); err != nil {
		return nil, prefix(err, spec.Name+".input")
	}
	if spec.Input.Kind != KindObject {
		return nil, Errf(CodeInvalidArgument, spec.Name+".input", "schema: arguments are an object")
	}
	if spec.Output != nil {
		if err := spec.Output.check("", false, 0); err != nil {
			return nil, prefix(err, spec.Name+".output")
		}
	}
	spec.Input, spec.Output = spec.Input.Clone(), spec.Output.Clone()
	return &entry{tool: t, spec: spec, inputHash: spec.Input.Hash()}, nil
}

// fixedText refuses what isn't one plain English text: blank, with control or
// other invisible characters, or with letters of another script.
func fixedText(s string) error {
	if strings.TrimSpace(s) == "" {
		return fmt.Errorf("is missing")
	}
	for _, r := range s {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return fmt.Errorf("has the character %U, which can't be read", r)
		}
		if unicode.IsLetter(r) && !unicode.In(r, unicode.Latin, unicode.Greek) {
			return fmt.Errorf("has the letter %q; the model's texts are English", r)
		}
	}
	return nil
}

func safeSpec(t Tool) Spec {
	spec, err := guard("spec", func() (Spec, error) { return t.Spec(), nil })
	if err != nil {
		return Spec{}
	}
	return spec
}

func (c *Catalog) seal() {
	c.mu.Lock()
	c.sealed = true
	c.mu.Unlock()
}

func (c *Catalog) lookup(name string) *entry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.tools[name]
}

// Specs lists the tools by name, as they were registered. The caller owns the list.
func (c *Catalog) Specs() []Spec {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := make([]Spec, 0, len(c.tools))
	for _, e := range c.tools {
		s := e.spec
		s.Input, s.Output = s.Input.Clone(), s.Output.Clone()
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// live compares the tool with what was registered: its tier always, and with all
// set its effect and schema too, which a tool could exchange after it was approved.
func (e *entry) live(all bool) error {
	now, err := guard("spec", func() (Spec, error) { return e.tool.Spec(), nil })
	if err != nil {
		return err
	}
	changed := ""
	switch {
	case !now.Tier.Valid():
		changed = "it has no valid tier any more"
	case now.Tier != e.spec.Tier:
		changed = "its tier changed from " + e.spec.Tier.String() + " to " + now.Tier.String()
	case now.Name != e.spec.Name:
		changed = "its name changed"
	case !all:
	case now.Input == nil || now.Input.Hash() != e.inputHash:
		changed = "its schema changed"
	case now.Effect != e.spec.Effect && (now.Effect != "" || now.Description != e.spec.Effect):
		changed = "its effect changed"
	}
	if changed != "" {
		return Errf(CodeNotApproved, e.spec.Name, "the tool is not what was registered: %s; it was not run", changed)
	}
	return nil
}
