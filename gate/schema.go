package gate

// SchemaKind is the kind of a value.
type SchemaKind uint8

// The kinds. The zero value accepts nothing.
const (
	KindObject SchemaKind = iota + 1 // exactly Properties
	KindMap                          // any names, each value as Elem
	KindArray                        // elements as Elem
	KindNumber                       // a finite JSON number
	KindInteger
	KindString
	KindBool
	KindAny // output schemas only
	// kindFree is an object of any shape, for the gate's own tools: another schema is
	// held against it before anything is done with it.
	kindFree
)

// Schema describes a tool's arguments or result: a small, strict part of JSON
// Schema 2020-12. Objects never take unknown fields.
type Schema struct {
	Kind        SchemaKind
	Description string
	Unit        string // "rad", "m", "s", …; shown in the description
	Properties  []Property
	Elem        *Schema
	MinItems    int // arrays and maps
	MaxItems    int // arrays and maps; 0: no bound
	Min, Max    *float64
	Above       *float64 // exclusive minimum
	Enum        []string
	MaxLength   int    // strings, in bytes; 0: no bound
	Default     string // JSON of the default, for the description only
}

// Property is one field of an object.
type Property struct {
	Name     string
	Required bool
	Schema   *Schema
}
