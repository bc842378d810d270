package xacro_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf/xacro"
)

// placed wants a refusal with the code and a place.
func placed(t *testing.T, err error) {
	var e *robot.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, robot.CodeInvalidArgument, e.Code)
	require.Regexp(t, `(?s)^.*:[1-9][0-9]*$`, e.Where)
}

// An expansion is refused with a place, or is one well-formed document without
// anything of xacro's, whose every line has an origin, and the same each time.
func FuzzExpand(f *testing.F) {
	for _, s := range []string{
		`<xacro:property name="x" value="${1+2}"/><a v="${x} $(arg a)"/>`,
		`<xacro:macro name="m" params="a:=^|2 *b **c"><xacro:insert_block name="b"/><k v="${a}"/></xacro:macro><xacro:m a="3"><q/><r>t</r></xacro:m>`,
		`<xacro:include filename="inc/a.xacro" ns="n"/><xacro:n.m/><xacro:include filename="$(find arm)/x.xacro"/>`,
		`<xacro:if value="${'a' in dict(a=1)}"><xacro:element xacro:name="e"><xacro:attribute name="z" value="1"/></xacro:element></xacro:if>`,
		`<a v="${xacro.load_yaml('q.yaml')['b'].c}"/><xacro:unless value="0"><b>$${x}</b></xacro:unless>`,
	} {
		f.Add([]byte(doc(s)))
	}
	opt := tree()
	opt.Args = map[string]string{"a": "1.5", "b": "true"}
	f.Fuzz(func(t *testing.T, data []byte) {
		res, err := xacro.Expand("top.xacro", data, opt)
		if err != nil {
			placed(t, err)
			return
		}
		dec := xml.NewDecoder(bytes.NewReader(res.Data))
		roots, depth := 0, 0
		for {
			tok, err := dec.RawToken()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, "%s", res.Data)
			switch e := tok.(type) {
			case xml.StartElement:
				if depth++; depth == 1 {
					roots++
				}
				require.NotEqual(t, "xacro", e.Name.Space)
			case xml.EndElement:
				depth--
			}
		}
		require.Equal(t, []int{1, 0}, []int{roots, depth})
		for i := range bytes.Count(res.Data, []byte("\n")) {
			p := res.Where(i + 1)
			require.NotEmpty(t, p.File)
			require.Positive(t, p.Line)
		}
		again, err := xacro.Expand("top.xacro", data, opt)
		require.NoError(t, err)
		require.Equal(t, res, again)
	})
}

// An expression is answered or refused, whatever it is.
func FuzzExpression(f *testing.F) {
	for _, s := range []string{"1+2*-3**2//0.5", "'a'.split('b')[0:-1]", "dict(a=[1,(2,)])['a'][1] if not x else None", "math.sin(pi) <= 1 != 2 in [1]", `"\n\'" + str(1e-7)`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || strings.ContainsFunc(s, func(c rune) bool { return c < ' ' }) {
			return // XML would change it
		}
		if _, err := answer(s); err != nil {
			placed(t, err)
		}
	})
}

// So is a YAML file.
func FuzzYAML(f *testing.F) {
	f.Add("a: [1, yes, !degrees 90]\nb: {c: 'x', 1: ~}\n")
	f.Add("&a [*a]")
	f.Add("a: 1:30\n---\n")
	f.Fuzz(func(t *testing.T, s string) {
		_, err := xacro.Expand("top.xacro", []byte(doc(`<a v="${xacro.load_yaml('f.yaml')}"/>`)), xacro.Options{Files: files(map[string]string{"f.yaml": s})})
		if err != nil {
			placed(t, err)
		}
	})
}
