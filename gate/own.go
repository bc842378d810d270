package gate

// OwnSpecs are the gate's own tools, which New adds to each catalog, in no order. A
// policy needs them before there is a gate.
func OwnSpecs() []Spec {
	tools := (&Gate{}).ownTools()
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
