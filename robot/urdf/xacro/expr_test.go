package xacro_test

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot/urdf/xacro"
)

// answer evaluates one expression inside a text.
func answer(e string) (string, error) {
	var esc bytes.Buffer
	if err := xml.EscapeText(&esc, []byte(e)); err != nil {
		return "", err
	}
	res, err := xacro.Expand("e", []byte(doc(`<a>x${`+esc.String()+`}x</a>`)), xacro.Options{})
	if err != nil {
		return "", err
	}
	var out struct {
		A string `xml:"a"`
	}
	err = xml.Unmarshal(res.Data, &out)
	return strings.TrimSuffix(strings.TrimPrefix(out.A, "x"), "x"), err
}

// The table holds what the reference program, xacro 2.1.1 on Python 3.11,
// answers; the second half of it are random expressions.
func TestExpressionsAgainstReference(t *testing.T) {
	f, err := os.Open("testdata/expressions.tsv")
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	s := bufio.NewScanner(f)
	require.True(t, s.Scan())
	n := 0
	for ; s.Scan(); n++ {
		e, want, ok := strings.Cut(s.Text(), "\t")
		require.True(t, ok)
		got, err := answer(e)
		if want == "refused" {
			require.Error(t, err, "%s gives %s", e, got)
			continue
		}
		require.NoError(t, err, e)
		require.Equal(t, want, got, e)
	}
	require.NoError(t, s.Err())
	require.Greater(t, n, 400)
}

func TestFunctionsOfMath(t *testing.T) {
	for e, want := range map[string]float64{
		"sin(pi)": 0, "tan(1)": math.Tan(1), "math.sin(pi/6)": 0.5, "atan(1)": math.Pi / 4, "cosh(1)": math.Cosh(1), "log10(1000)": 3, "log2(8)": 3,
		"acosh(1)": 0, "asinh(0)": 0, "atanh(0)": 0, "expm1(0)": 0, "log1p(0)": 0, "tanh(0)": 0, "radians(180)": math.Pi, "degrees(pi)": 180,
	} {
		got, err := answer(e)
		require.NoError(t, err, e)
		v, err := strconv.ParseFloat(got, 64)
		require.NoError(t, err)
		require.InDelta(t, want, v, 1e-15*(1+math.Abs(want)), e)
	}
}

// What Python would do and this evaluator won't, each with a reason.
func TestExpressionsRefused(t *testing.T) {
	for e, text := range map[string]string{
		"10**19": "beyond 64 bits", "9223372036854775807+1": "beyond 64 bits", "3000000000*-3100000000": "beyond 64 bits", "-(-9223372036854775807-1)": "beyond 64 bits",
		"int(1e300)": "beyond 64 bits", "2**63": "beyond 64 bits",
		"(-8)**(1/3)": "not a real number", "0x1": "not a decimal number", "lambda: 1": `unexpected "lambda"`, "[x for x in [1]]": "comprehensions", "'%d' % 1": "formatting",
		"f'a'": "prefix", "[1,2][::2]": "step", "open('/etc/passwd')": `"open" is not defined`, "__import__('os')": `"__import__" is not defined`,
		"''.__class__": "no member", "(1).real": "no member", "xacro.abs_filename('x')": "not supported", "python.open('x')": "not supported", "math.os": "not supported",
		"xacro.fatal('no', 1)": "refuses itself: no 1", "xacro.error('no')": "refuses itself", "dict(a=1,a=2)": "twice", "{[1]:2}": "can't be a key",
		"'a'.format('b')": "not supported", "pi()": "can't be called", "1 is 1": "only supported with None", "min()": "nothing", "sin(1,2)": "takes 1", "sin('a')": "a number is due",
		"'a' * 2000000": "more than", "[0] * 2000000": "more than", "'a'.replace('','" + strings.Repeat("b", 9000) + "') * 500": "more than",
		strings.Repeat("(", 70) + "1" + strings.Repeat(")", 70): "nested", strings.Repeat("-", 70) + "1": "nested", strings.Repeat("not ", 70) + "1": "nested",
		strings.Repeat("1+", 2000) + "1": "terms in a row", strings.Repeat("1 ", 9000): "more than",
		"len": "has no text", "": "empty",
	} {
		_, err := answer(e)
		require.ErrorContains(t, err, text, e)
		require.ErrorContains(t, err, "e:1: ", e)
	}
}

func TestDictionaryLiterals(t *testing.T) {
	for e, want := range map[string]string{
		"{'a': [1, {'b': 2}]}['a'][1]['b']": "2", "{1: 'x', True: 'y'}": "{1: 'y'}", "len({})": "0", "{'a':1}.keys()": "['a']", "dict(a=1).items()": "[('a', 1)]",
		"dict(a=1).values()": "[1]", "dict(a=dict(b=3)).a.b": "3", "'}'": "}", "None": "None", "dict()": "{}", "list()": "[]", "list('ab')": "['a', 'b']",
	} {
		got, err := answer(e)
		require.NoError(t, err, e)
		require.Equal(t, want, got, e)
	}
}
