package gate

// The builders below make a Schema in one expression:
//
//	gate.Obj(
//		gate.Req("positions", gate.MapOf(gate.Num().In("rad"), 1, 32).Desc("Target by joint")),
//		gate.Opt("speed_scale", gate.Num().MoreThan(0).AtMost(1).Def("0.5")),
//	)
//
// Each method returns a changed copy, so a common part may be shared.

// Obj returns an object of exactly these properties. Obj() takes no arguments at all.
func Obj(props ...Property) *Schema {
	return &Schema{Kind: KindObject, Properties: append([]Property(nil), props...)}
}

// Req is a required property.
func Req(name string, s *Schema) Property { return Property{Name: name, Required: true, Schema: s} }

// Opt is an optional property.
func Opt(name string, s *Schema) Property { return Property{Name: name, Schema: s} }

// Num is a finite number.
func Num() *Schema { return &Schema{Kind: KindNumber} }

// Int is an integer that a float64 holds exactly.
func Int() *Schema { return &Schema{Kind: KindInteger} }

// Str is a string of at most maxBytes bytes; 0 sets no bound.
func Str(maxBytes int) *Schema { return &Schema{Kind: KindString, MaxLength: maxBytes} }

// Enum is one of these strings.
func Enum(values ...string) *Schema {
	return &Schema{Kind: KindString, Enum: append([]string(nil), values...)}
}

// Bool is true or false.
func Bool() *Schema { return &Schema{Kind: KindBool} }

func freeObject() *Schema { return &Schema{Kind: kindFree} }

// Any is any JSON value; only an output may contain it.
func Any() *Schema { return &Schema{Kind: KindAny} }

// Arr is an array of minItems to maxItems elements; maxItems 0 sets no bound.
func Arr(elem *Schema, minItems, maxItems int) *Schema {
	return &Schema{Kind: KindArray, Elem: elem, MinItems: minItems, MaxItems: maxItems}
}

// Vec is an array of exactly n elements.
func Vec(elem *Schema, n int) *Schema { return Arr(elem, n, n) }

// MapOf is an object with any names (or, after OneOf, only those) and values as
// elem, with minItems to maxItems members; maxItems 0 sets no bound.
func MapOf(elem *Schema, minItems, maxItems int) *Schema {
	return &Schema{Kind: KindMap, Elem: elem, MinItems: minItems, MaxItems: maxItems}
}

func (s *Schema) with(change func(*Schema)) *Schema {
	c := *s
	change(&c)
	return &c
}

// Desc sets the description.
func (s *Schema) Desc(text string) *Schema { return s.with(func(c *Schema) { c.Description = text }) }

// In sets the unit.
func (s *Schema) In(unit string) *Schema { return s.with(func(c *Schema) { c.Unit = unit }) }

// AtLeast sets the inclusive lower bound.
func (s *Schema) AtLeast(v float64) *Schema { return s.with(func(c *Schema) { c.Min = &v }) }

// AtMost sets the inclusive upper bound.
func (s *Schema) AtMost(v float64) *Schema { return s.with(func(c *Schema) { c.Max = &v }) }

// Between sets both inclusive bounds.
func (s *Schema) Between(lo, hi float64) *Schema {
	return s.with(func(c *Schema) { c.Min, c.Max = &lo, &hi })
}

// MoreThan sets the exclusive lower bound.
func (s *Schema) MoreThan(v float64) *Schema { return s.with(func(c *Schema) { c.Above = &v }) }

// OneOf bounds a string to these values, or a map to these names.
func (s *Schema) OneOf(values ...string) *Schema {
	return s.with(func(c *Schema) { c.Enum = append([]string(nil), values...) })
}

// Def states the default that the tool uses, as JSON. It is only told, never filled in.
func (s *Schema) Def(json string) *Schema { return s.with(func(c *Schema) { c.Default = json }) }

// Clone returns a deep copy; a nil Schema gives nil.
func (s *Schema) Clone() *Schema {
	if s == nil {
		return nil
	}
	c := *s
	c.Enum = append([]string(nil), s.Enum...)
	c.Elem = s.Elem.Clone()
	c.Min, c.Max, c.Above = cloneFloat(s.Min), cloneFloat(s.Max), cloneFloat(s.Above)
	c.Properties = nil
	for _, p := range s.Properties {
		p.Schema = p.Schema.Clone()
		c.Properties = append(c.Properties, p)
	}
	return &c
}

func cloneFloat(p *float64) *float64 {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
