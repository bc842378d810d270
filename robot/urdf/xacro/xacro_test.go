package xacro_test

import (
	"encoding/xml"
	"errors"
	"io"
	"sort"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf/xacro"
)

const ns = `xmlns:xacro="http://www.ros.org/wiki/xacro"`

// doc puts a robot element of one line around s.
func doc(s string) string { return `<robot ` + ns + ` name="r">` + s + `</robot>` }

func files(m map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range m {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// expand returns what is inside the root element of an expansion in a canonical
// form: attributes sorted, no blank text.
func expand(t *testing.T, s string, opt xacro.Options) string {
	t.Helper()
	res, err := xacro.Expand("top.xacro", []byte(doc(s)), opt)
	require.NoError(t, err, s)
	return canonical(t, res.Data)
}

func canonical(t *testing.T, data []byte) string {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(string(data)))
	var b strings.Builder
	depth := 0
	for {
		tok, err := dec.RawToken()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		require.NoError(t, err, "%s", data)
		switch e := tok.(type) {
		case xml.StartElement:
			if depth++; depth == 1 {
				continue
			}
			b.WriteString("<" + e.Name.Local)
			sort.Slice(e.Attr, func(i, k int) bool { return e.Attr[i].Name.Local < e.Attr[k].Name.Local })
			for _, a := range e.Attr {
				b.WriteString(" " + a.Name.Local + "=" + a.Value)
			}
			b.WriteString(">")
		case xml.EndElement:
			if depth--; depth > 0 {
				b.WriteString("</>")
			}
		case xml.CharData:
			b.WriteString(strings.TrimSpace(string(e)))
		}
	}
}

// refused expands s, which stands on line 1 of top.xacro, and wants an error of
// that place that says every text.
func refused(t *testing.T, where, s string, opt xacro.Options, texts ...string) {
	t.Helper()
	_, err := xacro.Expand("top.xacro", []byte(s), opt)
	var e *robot.Error
	require.ErrorAs(t, err, &e, "%s", s)
	require.Equal(t, robot.CodeInvalidArgument, e.Code)
	require.Equal(t, where, e.Where, "%v", e)
	for _, text := range texts {
		require.Contains(t, e.Text, text)
	}
}

type row struct{ in, want string }

func run(t *testing.T, opt xacro.Options, rows []row) {
	t.Helper()
	for _, r := range rows {
		require.Equal(t, r.want, expand(t, r.in, opt), r.in)
	}
}

func TestProperties(t *testing.T) {
	run(t, xacro.Options{}, []row{
		// A text that is one expression keeps its type; anything else is text.
		{`<xacro:property name="w" value="0.25"/><a v="${w*2} ${w}m"/>`, `<a v=0.5 0.25m></>`},
		{`<xacro:property name="l" value="${[1,2.5,'x']}"/><a v="${l[1]} ${l[-1]} ${l}"/>`, `<a v=2.5 x [1, 2.5, 'x']></>`},
		// Numbers and truth values are recognized, an underscore keeps a text one, single quotes go.
		{`<xacro:property name="p" value=" 3 "/><xacro:property name="q" value="1_0"/><xacro:property name="z" value="'x '"/><a v="${p+1} ${q+'1'} ${z+'5'}"/>`, `<a v=4 1_01 x 5></>`},
		{`<xacro:property name="p" value="true"/><a v="${p} ${1 if p else 2}"/>`, `<a v=True 1></>`},
		{`<xacro:property name="p" value=""/><a v="[${p}]"/>`, `<a v=[]></>`},
		// A value is evaluated at its first use and stays that.
		{`<xacro:property name="y" value="${x}"/><xacro:property name="x" value="2"/><a v="${y}"/><xacro:property name="x" value="3"/><a v="${y}"/>`, `<a v=2></><a v=2></>`},
		{`<xacro:property name="x" value="1"/><xacro:property name="y" value="${x}" lazy_eval="false"/><xacro:property name="x" value="2"/><a v="${y}"/>`, `<a v=1></>`},
		// default counts where nothing was said, remove unsays.
		{`<xacro:property name="x" default="1"/><xacro:property name="x" default="2"/><a v="${x}"/>`, `<a v=1></>`},
		{`<xacro:property name="x" value="1"/><xacro:property name="x" remove="true"/><xacro:property name="x" default="2"/><a v="${x}"/>`, `<a v=2></>`},
		{`<xacro:property name="n" value="x"/><xacro:property name="${n}1" value="5"/><a v="${x1}"/>`, `<a v=5></>`},
		// Escapes: one $ goes.
		{`<a v="$${x} $$${x} $$(arg y) a$b $"/>`, `<a v=${x} $${x} $(arg y) a$b $></>`},
		// Blocks are evaluated where they are inserted, as often as they are.
		{`<xacro:property name="b"><o v="${w}"/>t</xacro:property><xacro:property name="w" value="3"/><k><xacro:insert_block name="b"/></k><xacro:insert_block name="b"/>`, `<k><o v=3></>t</><o v=3></>t`},
		{`<xacro:property name="b"/><k><xacro:insert_block name="b"/></k>`, `<k></>`},
		{`<!-- ${nope} --><a>${1+1} x</a>`, `<a>2 x</>`},
	})
}

func TestScopes(t *testing.T) {
	run(t, xacro.Options{}, []row{
		{`<xacro:property name="x" value="1"/><xacro:macro name="m"><xacro:property name="x" value="5"/><c v="${x}"/></xacro:macro><xacro:m/><a v="${x}"/>`, `<c v=5></><a v=1></>`},
		{`<xacro:property name="x" value="1"/><xacro:macro name="m"><xacro:property name="x" value="5" scope="global"/></xacro:macro><xacro:macro name="w"><xacro:m/></xacro:macro><xacro:w/><a v="${x}"/>`, `<a v=5></>`},
		// What goes to the parent is evaluated first: it may need names of this scope.
		{`<xacro:macro name="m" params="k"><xacro:property name="x" value="${k*2}" scope="parent"/></xacro:macro><xacro:macro name="w"><xacro:m k="4"/><a v="${x}"/></xacro:macro><xacro:w/><xacro:property name="x" default="0"/><a v="${x}"/>`, `<a v=8></><a v=0></>`},
		{`<xacro:macro name="m" params="k"><xacro:property name="x" value="${k*2}" scope="global"/></xacro:macro><xacro:m k="4"/><a v="${x}"/>`, `<a v=8></>`},
		// A macro sees its caller's properties.
		{`<xacro:macro name="n"><a v="${y}"/></xacro:macro><xacro:macro name="w"><xacro:property name="y" value="3"/><xacro:n/></xacro:macro><xacro:w/>`, `<a v=3></>`},
		{`<xacro:macro name="w"><xacro:property name="y" default="3"/><a v="${y}"/></xacro:macro><xacro:property name="y" value="2"/><xacro:w/>`, `<a v=2></>`},
		// A macro defined in a macro ends with it; one defined in an element doesn't.
		{`<a><xacro:macro name="i"><z/></xacro:macro></a><xacro:i/>`, `<a></><z></>`},
	})
	refused(t, "top.xacro:1", doc(`<xacro:macro name="o"><xacro:macro name="i"><z/></xacro:macro><xacro:i/></xacro:macro><xacro:o/><xacro:i/>`), xacro.Options{}, `no macro "i"`)
}

func TestMacros(t *testing.T) {
	run(t, xacro.Options{}, []row{
		{`<xacro:macro name="m" params="a b:='' c:=${ 1 + 2 } d = x,y"><k a="${a}" b="${b}" c="${c+1}" d="${d}"/></xacro:macro><xacro:m a="0.50"/>`, `<k a=0.5 b= c=4 d=x,y></>`},
		{`<xacro:macro name="m" params="a:='p q' b:=$(arg v)/z"><k a="${a}" b="${b}"/></xacro:macro><xacro:arg name="v" default="7"/><xacro:m/>`, `<k a=p q b=7/z></>`},
		// ^ takes the caller's property; the other defaults are the caller's words too.
		{`<xacro:property name="x" value="1"/><xacro:macro name="m" params="x:=^|5 y:=${x+1} z:=^|9"><b x="${x}" y="${y}" z="${z}"/></xacro:macro><xacro:m/><xacro:m x="7"/>`, `<b x=1 y=2 z=9></><b x=7 y=2 z=9></>`},
		{`<xacro:macro name="m" params="*a **b"><x><xacro:insert_block name="a"/></x><y><xacro:insert_block name="b"/></y></xacro:macro><xacro:m><p q="${1+1}"/><c><d/><e/>tt</c></xacro:m>`, `<x><p q=2></></><y><d></><e></>tt</>`},
		// Blocks are the caller's: its names count, and macros and conditions in them.
		{`<xacro:macro name="m" params="v *a"><xacro:insert_block name="a"/><xacro:insert_block name="a"/></xacro:macro><xacro:macro name="n"><w v="${v}"/></xacro:macro><xacro:property name="v" value="1"/><xacro:m v="2"><xacro:if value="1"><xacro:n/></xacro:if></xacro:m>`, `<w v=1></><w v=1></>`},
		{`<xacro:macro name="m" params="*b"><xacro:property name="b" value="3"/><xacro:insert_block name="b"/></xacro:macro><xacro:m><q/></xacro:m>`, `<q></>`},
		{`<xacro:macro name="loop" params="n"><c v="${n}"/><xacro:if value="${n > 0}"><xacro:loop n="${n-1}"/></xacro:if></xacro:macro><xacro:loop n="2"/>`, `<c v=2></><c v=1></><c v=0></>`},
		{`<xacro:property name="n" value="m"/><xacro:macro name="m" params="x"><c v="${x}"/></xacro:macro><xacro:call macro="${n}" x="3"/>`, `<c v=3></>`},
		{`<xacro:macro name="m"><a/></xacro:macro><xacro:macro name="xacro:m"><b/></xacro:macro><xacro:m/>`, `<b></>`},
		{`<xacro:macro name="m" params="x"><c v="${x}"/></xacro:macro><xacro:m x="$${a}"/>`, `<c v=${a}></>`},
		{`<xacro:macro name="m" params="a"><k v="${a}"/></xacro:macro><xacro:m a="001"/><xacro:m a="1e3"/><xacro:m a="0x10"/><xacro:m a="1."/><xacro:m a="92233720368547758070"/>`, `<k v=1></><k v=1000.0></><k v=0x10></><k v=1.0></><k v=92233720368547758070></>`},
	})
}

func TestConditions(t *testing.T) {
	run(t, xacro.Options{}, []row{
		{`<xacro:if value="True"><x/></xacro:if><xacro:unless value="0"><y/></xacro:unless><xacro:if value="false"><z/></xacro:if><xacro:unless value="${1 == 1.0}"><w/></xacro:unless>`, `<x></><y></>`},
		{`<xacro:if value="${0.5}"><x/></xacro:if><xacro:if value="${[]}"><y/></xacro:if><xacro:if value="${'a' in 'abc'}"><z/></xacro:if>`, `<x></><z></>`},
		// No new scope, and what isn't taken isn't evaluated.
		{`<xacro:if value="1"><xacro:property name="p" value="2"/></xacro:if><xacro:if value="0"><q v="${nope}"/></xacro:if><a v="${p}"/>`, `<a v=2></>`},
	})
	for _, v := range []string{"yes", "1.5", "", "${'x'}"} {
		refused(t, "top.xacro:1", doc(`<xacro:if value="`+v+`"><x/></xacro:if>`), xacro.Options{}, "neither true nor false")
	}
}

func TestArguments(t *testing.T) {
	opt := xacro.Options{Args: map[string]string{"given": "9", "flag": "false", "spare": "1"}}
	run(t, opt, []row{
		{`<xacro:arg name="given" default="1"/><xacro:arg name="other" default="${2+1}"/><a v="$(arg given) $(arg other)"/>`, `<a v=9 3></>`},
		{`<xacro:property name="p" value="$(arg given)"/><a v="${p+1} ${xacro.arg('given')+'1'} $(eval given*2)"/>`, `<a v=10 91 18></>`},
		{`<xacro:if value="$(arg flag)"><y/></xacro:if><xacro:unless value="$(arg flag)"><z/></xacro:unless>`, `<z></>`},
		{`<xacro:property name="n" value="given"/><a v="$(arg ${n})"/>`, `<a v=9></>`},
	})
	res, err := xacro.Expand("top.xacro", []byte(doc(`<xacro:arg name="flag" default="1"/><a v="$(arg given)"/>`)), opt)
	require.NoError(t, err)
	require.Equal(t, []string{"spare"}, res.Unused)
	require.Len(t, opt.Args, 3, "the caller's map was changed")
	refused(t, "top.xacro:1", doc(`<a v="$(arg late)"/><xacro:arg name="late" default="1"/>`), xacro.Options{}, `argument "late"`)
	refused(t, "top.xacro:1", doc(`<xacro:arg name="must"/>`), xacro.Options{}, "must be given")
}

func TestElementsAndAttributes(t *testing.T) {
	run(t, xacro.Options{}, []row{
		{`<xacro:property name="s" value="box"/><xacro:element xacro:name="${s}" size="1"><c/></xacro:element>`, `<box size=1><c></></>`},
		{`<d a="1"><xacro:attribute name="z" value="x${3*2}"/><xacro:if value="1"><xacro:attribute name="a" value="2"/></xacro:if></d>`, `<d a=2 z=x6></>`},
		{`<a xacro:foo="1" v="2"/>`, `<a v=2></>`},
		{`<a v="&lt;&amp;&quot;>&#10;x">&lt;&amp;</a>`, "<a v=<&\">\nx><&</>"},
	})
}
