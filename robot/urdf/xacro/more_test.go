package xacro_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf/xacro"
)

func TestMethodsAndComparisons(t *testing.T) {
	for e, want := range map[string]string{
		"' a'.lstrip() + 'b '.rstrip() + '|'": "ab|", "'xxa'.lstrip('x')": "a", "'axx'.rstrip('x')": "a", "'abc'.endswith('bc')": "True", "'éab'.find('b')": "2",
		"dict(a=1) == {'a': 1.0}": "True", "dict(a=1) == dict(b=1)": "False", "dict(a=1) == dict(a=2)": "False", "dict(a=1) == dict(a=1,b=2)": "False", "dict(a=[1]) != dict(a=[2])": "True",
		"[1] == (1,)": "False", "[1,2] == [1]": "False", "None == 0": "False", "'a' == 'a'": "True", "1 == 'a'": "False",
		"1 if None else 2": "2", "1 if '' else 2": "2", "1 if dict() else 2": "2", "1 if dict(a=1) else 2": "1", "1 if len else 2": "1",
		"float(' 2 ')": "2.0", "float(True)": "1.0", "int(True)": "1", "str([None, 'a'])": "[None, 'a']", "list(dict(a=1))": "['a']", "bool('x')": "True",
		"nan == nan": "False", "nan < 1": "False", "not nan >= 1": "True", "round(inf, 1)": "inf", "-0.0 == 0": "True",
		"[1,2,3][1:None]": "[2, 3]", "'abc'[-2:]": "bc", "(1,2,3)[:2]": "(1, 2)", "(1,2) + (3,)": "(1, 2, 3)", "[] * -1": "[]",
	} {
		got, err := answer(e)
		require.NoError(t, err, e)
		require.Equal(t, want, got, e)
	}
	for e, text := range map[string]string{
		"float([])": "float of a list", "float('x')": "not a number", "int([])": "int of a list", "int()": "takes 1", "str()": "takes 1", "bool()": "takes 1", "list(1)": "takes 1", "dict(1)": "named arguments",
		"max(1)": "max of a int", "xacro.arg()": "takes an argument", "xacro.load_yaml('a','b')": "takes 1 argument", "round(1,2,3)": "takes 2", "round(1.5,-1)": "digits",
		"'a'['b']": "as the index", "[1]['a':]": "bound of a slice", "1[0]": "can't be indexed", "1[0:1]": "can't be indexed", "1 in 1": `"in" a int`, "1 in 'a'": "a int in a str",
		"'a'.split('')": "split at nothing", "[1].join('a')": "not supported", "','.join('ab')": "join of a str", "'a'.upper(1)": "upper of a int", "len(1)": "len takes",
		"sin(x=1)": "no named arguments", "dict(a=1, 2)": "without a name", "{1}": "where", "[1 2]": "where", "a.1": "unexpected", "a.if": "a name is due", "1 not 2": `"in" is due`, "'a\\q'": "escape",
		"-[]": "unary - of a list", "[] - []": `"-" between`, "'a' * 'b'": `"*" between`, "dict(a=1)[[1]]": "no key",
	} {
		_, err := answer(e)
		require.ErrorContains(t, err, text, e)
	}
}

func TestWarnings(t *testing.T) {
	s := `<xacro:property name="pi" value="3"/><a xacro:x="1" v="${xacro.warning('look', 1)}${xacro.message('said')}${pi}"/>`
	res, err := xacro.Expand("top.xacro", []byte(doc(s)), xacro.Options{})
	require.NoError(t, err)
	require.Equal(t, "<a v=3></>", canonical(t, res.Data))
	var texts []string
	for _, w := range res.Warnings {
		require.Equal(t, robot.Finding{File: "top.xacro", Line: 1, Where: w.Where, Code: robot.CodeInvalidArgument, Text: w.Text}, w)
		texts = append(texts, w.Where+": "+w.Text)
	}
	require.Equal(t, []string{"property pi: it hides what xacro itself calls pi", "<a>: attribute xacro:x is ignored", "xacro.warning: look 1", "xacro.message: said"}, texts)

	res, err = xacro.Expand("top.xacro", []byte(doc(strings.Repeat(`<a xacro:x="1"/>`, 203))), xacro.Options{})
	require.NoError(t, err)
	require.Len(t, res.Warnings, 201)
	require.Equal(t, "3 more warnings", res.Warnings[200].Text)

	// Two files that mean different things by a prefix: the first one stays.
	opt := xacro.Options{Files: files(map[string]string{"a": `<r xmlns:g="urn:a"/>`, "b": `<r xmlns:g="urn:b"/>`})}
	res, err = xacro.Expand("top.xacro", []byte(doc(`<xacro:include filename="a"/><xacro:include filename="b"/>`)), opt)
	require.NoError(t, err)
	require.Contains(t, string(res.Data), `xmlns:g="urn:a"`)
	require.NotContains(t, string(res.Data), "urn:b")
	require.Contains(t, fmt.Sprint(res.Warnings), `xmlns:g is "urn:a" in a:1 already`)
}

// What an expression makes can't be smuggled into the expansion as markup.
func TestValuesAreEscaped(t *testing.T) {
	res, err := xacro.Expand("top.xacro", []byte(doc(`<a v="${'&lt;b&gt;&quot;' + '&amp;lt;'}">${'&lt;/a>&lt;evil/>'}</a>`)), xacro.Options{})
	require.NoError(t, err)
	require.Equal(t, `<a v=<b>"&lt;></a><evil/></>`, canonical(t, res.Data))
	require.NotContains(t, string(res.Data), "<evil")
	y := xacro.Options{Files: files(map[string]string{"f.yaml": `a: "x\0y"`})}
	refused(t, "top.xacro:1", doc(`<a v="${xacro.load_yaml('f.yaml').a}"/>`), y, "XML can't hold")
}
