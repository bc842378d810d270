package gate

// OwnSpecs are the gate's own tools, in no order: those that New adds to each catalog,
// and those that it adds where grants and routines can be kept. A policy needs them
// before there is a gate.
func OwnSpecs() []Spec {
	g := &Gate{}
	tools := append(g.ownTools(), g.permitTools(true, true)...)
	out := make([]Spec, 0, len(tools))
	for _, t := range tools {
		spec := safeSpec(t)
		if spec.Effect == "" {
			spec.Effect = spec.Description
		}
		out = append(out, spec)
	}
	return out
}
