// Package xacro expands the part of the xacro macro language that real robot
// descriptions use, and keeps for each line of its output the file and line that
// the line came from.
//
// It takes: xacro:property (values, blocks, default, remove, scope, lazy
// evaluation), xacro:macro with defaults, forwarded and block parameters,
// xacro:call, xacro:insert_block, xacro:arg, xacro:include (relative and package
// names, ns, optional, patterns), xacro:if, xacro:unless, xacro:element and
// xacro:attribute; in values ${…} with Python-like expressions, $(arg …),
// $(find …), $(eval …) and the escapes $${ and $$(. Files for xacro.load_yaml
// may carry the unit tags that xacro knows (!degrees, !millimeters and so on).
//
// The semantics are those of the xacro wiki (Properties, Macros, Conditional
// blocks, Math expressions, YAML support) and were compared with what the
// reference program answers. Where they differ, this package is the stricter:
// unknown attributes of xacro elements, integers beyond 64 bits, $(env …) and
// $(optenv …) (a description must not depend on who reads it) are refused. The
// one liberty: $(find pkg) gives package://pkg, and file:// before it goes, so
// that no path of this machine reaches a description.
//
// Expressions are evaluated by a parser and evaluator of this package; there is
// no way from one to the machine. The only files read are those that an
// include or xacro.load_yaml names inside the file systems of Options. Every
// refusal is a *robot.Error with the code INVALID_ARGUMENT whose Where is
// file:line. Work, sizes and depths are limited by the constants below.
//
// It imports robot and nothing else of ours; never gate, motion, sim, drivers or
// cmd. It keeps no state between calls; calls may run at the same time.
package xacro

// Limits. They stand far above real descriptions and far below what would hurt
// the process.
const (
	MaxFileBytes    = 16 << 20 // bytes of one file that is read
	MaxInputBytes   = 64 << 20 // bytes of all files together
	MaxOutputBytes  = 16 << 20 // bytes of the expansion
	MaxElements     = 1 << 18  // XML elements of one file, and of the expansion
	MaxDepth        = 64       // nesting of XML elements in a file and in the expansion
	MaxIncludes     = 1024     // includes carried out
	MaxIncludeDepth = 32       // nesting of includes
	MaxCallDepth    = 256      // nesting of macro calls, and of properties that need each other
	MaxExpression   = 1 << 14  // bytes of one expression
	MaxValueBytes   = 1 << 20  // bytes of one string value
	MaxWork         = 1 << 23  // steps: an element, a byte or part of an expression, 16 bytes of text
	maxExprDepth    = 64       // nesting within one expression
	maxYAMLDepth    = 32       // nesting within a YAML file
	maxWarnings     = 200      // warnings kept, beyond which they are counted
	maxNotes        = 4        // macro calls and properties named in one error
)
