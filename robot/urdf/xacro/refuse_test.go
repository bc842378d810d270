package xacro_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot/urdf/xacro"
)

func TestRefusals(t *testing.T) {
	for s, text := range map[string]string{
		`<xacro:nope/>`: `no macro "nope"`,
		`<xacro:macro name="m" params="a b"/><xacro:m b="1"/>`:                                        "gives no value for a",
		`<xacro:macro name="m" params="a"/><xacro:m a="1" c="2"/>`:                                    "no parameter c",
		`<xacro:macro name="m" params="*a"/><xacro:m a="1"><b/></xacro:m>`:                            "no parameter a",
		`<xacro:macro name="m" params="*a"/><xacro:m/>`:                                               "no element for the block *a",
		`<xacro:macro name="m"/><xacro:m><z/></xacro:m>`:                                              "no block left for <z>",
		`<xacro:macro name="m"/><xacro:m>t</xacro:m>`:                                                 "text inside the call",
		`<xacro:macro name="m" params="x:=^"/><xacro:m/>`:                                             "gives no value for x",
		`<xacro:macro name="m" params="q r:=${q}"/><xacro:m q="1"/>`:                                  `"q" is not defined`,
		`<xacro:macro name="m" params="a a:=1"/>`:                                                     "there twice",
		`<xacro:macro name="m" params="a *a"/>`:                                                       "there twice",
		`<xacro:macro name="m" params="*a:=1"/>`:                                                      "a block has no default",
		`<xacro:macro name="m" params="a:="/>`:                                                        "empty default",
		`<xacro:macro name="m" params="a-b"/>`:                                                        "name of a parameter",
		`<xacro:macro name="m" params=":=3"/>`:                                                        "name of a parameter",
		`<xacro:macro name="property"/>`:                                                              "name of a macro",
		`<xacro:macro name="a.b"/>`:                                                                   "name of a macro",
		`<xacro:macro/>`:                                                                              "lacks the attribute name",
		`<xacro:macro name="m" parms="a"/>`:                                                           "no attribute parms",
		`<xacro:call x="1"/>`:                                                                         "lacks the attribute macro",
		`<xacro:call macro="nope"/>`:                                                                  `no macro "nope"`,
		`<xacro:property name="x" valeu="1"/>`:                                                        "no attribute valeu",
		`<xacro:property name="x" value="1" default="2"/>`:                                            "exclude each other",
		`<xacro:property name="x" value="1" remove="true"/>`:                                          "exclude each other",
		`<xacro:property name="x" default="1" scope="global"/>`:                                       "no scope but its own",
		`<xacro:property name="x" value="1" scope="parent"/>`:                                         "no parent scope",
		`<xacro:property name="x" value="1" scope="here"/>`:                                           "neither parent nor global",
		`<xacro:property name="a-b" value="1"/>`:                                                      "name of a property",
		`<xacro:property name="__b" value="1"/>`:                                                      "name of a property",
		`<xacro:property name="lambda" value="1"/>`:                                                   "name of a property",
		`<xacro:property name="x" value="${x}"/><a v="${x}"/>`:                                        "needs its own value",
		`<xacro:property name="x" value="${y}"/><xacro:property name="y" value="${x}"/><a v="${x}"/>`: "needs its own value",
		`<xacro:insert_block name="b"/>`:                                                              `no block "b"`,
		`<xacro:if><a/></xacro:if>`:                                                                   "lacks the attribute value",
		`<xacro:include/>`:                                                                            "lacks the attribute filename",
		`<xacro:include filename="a" ns="a.b"/>`:                                                      "name of a namespace",
		`<xacro:arg name="a b" default="1"/>`:                                                         "name of an argument",
		`<xacro:element xacro:name="1x"/>`:                                                            "no element can have",
		`<xacro:element xacro:name="xacro:if"/>`:                                                      "no element can have",
		`<xacro:element/>`:                                                                            "no element can have",
		`<xacro:attribute name="a b" value="1"/>`:                                                     "no attribute can have",
		`<xacro:macro name="m" params="*b"/><xacro:m><xacro:attribute name="a" value="1"/></xacro:m>`: "inside no element",
		`<a v="${1"/>`:                             "isn't closed",
		`<a v="$(arg x"/>`:                         "isn't closed",
		`<a v="${[1)}"/>`:                          "isn't closed",
		`<a v="$$ 5"/>`:                            "only stands before",
		`<a v="$(env HOME)"/>`:                     "not supported",
		`<a v="$(optenv HOME x)"/>`:                "not supported",
		`<a v="$(rm x)"/>`:                         "no command",
		`<a v="$(arg a b)"/>`:                      "takes one name",
		`<a v="$(eval nope)"/>`:                    `"nope" is not defined`,
		`<a>${nope}</a>`:                           `"nope" is not defined`,
		`<a v="${len}"/>`:                          "has no text",
		"<a v='${\"\x01\"}'/>":                     "not well-formed",
		`<!DOCTYPE x>`:                             "DOCTYPE",
		`<a x="1" x="2"/>`:                         "given twice",
		`<a xmlns:x="http://ros.org/wiki/xacro"/>`: "must have the prefix xacro",
		`<a xmlns:xacro="urn:x"/>`:                 "isn't the xacro namespace",
	} {
		refused(t, "top.xacro:1", doc(s), xacro.Options{}, text)
	}
	for s, text := range map[string]string{
		`<robot><xacro:if value="1"/></robot>`: "isn't declared", `<r/><r/>`: "after the end", `<r>`: "never closed", ``: "no element", `<r/>x`: "outside the root",
		"\xff\xfe<": "UTF-16", `<?xml version="1.0" encoding="latin1"?><r/>`: "latin1", `<r/><?xml version="1.0"?>`: "one document", "</r>": "closes nothing",
		`<xacro:if ` + ns + ` value="1"/>`: "root element", "<r v='\xff'/>": "UTF-8",
	} {
		refused(t, "top.xacro:1", s, xacro.Options{}, text)
	}
}

// Errors name the line of the attribute or text that is wrong, and what led there.
func TestErrorsSayWhere(t *testing.T) {
	opt := xacro.Options{Files: files(map[string]string{"inc.xacro": "<r " + ns + ">\n<xacro:macro name='m' params='a'>\n <b\n  x='1'\n  y='${a/0}'/>\n</xacro:macro>\n</r>"})}
	head := "<robot " + ns + ">\n<xacro:include filename='inc.xacro'/>\n"
	refused(t, "inc.xacro:5", head+"<xacro:m a='1'/></robot>", opt, "division by zero", "in the macro m, called at top.xacro:3")
	refused(t, "top.xacro:4", head+"<xacro:property name='p'\n value='${q}'/>\n<xacro:m a='${p}'/></robot>", opt, `"q" is not defined`, "property p is used at top.xacro:5")
	refused(t, "top.xacro:5", head+"<a>\n\n${1/0}</a></robot>", opt, "division by zero")
	_, err := xacro.Expand("dir/top.xacro", []byte(head+"<xacro:m a='1'/></robot>"), opt)
	require.ErrorContains(t, err, ": dir/inc.xacro:5: ")
	opt.Dir, opt.Files = "u", files(map[string]string{"c.xacro": "<r>\n<a"})
	_, err = xacro.Expand("dir/u/top.xacro", []byte(doc("<xacro:include filename='../c.xacro'/>")), opt)
	require.ErrorContains(t, err, ": dir/c.xacro:2: ")
	// A long way to the fault is told in part.
	_, err = xacro.Expand("top.xacro", []byte(doc(`<xacro:macro name="m" params="n"><xacro:if value="${n==0}">${x}</xacro:if><xacro:m n="${n-1}"/></xacro:macro><xacro:m n="20"/>`)), xacro.Options{})
	require.ErrorContains(t, err, "and 17 more")
}

// What a small file can grow into is bounded, and refused soon.
func TestLimits(t *testing.T) {
	double := `<xacro:macro name="d" params="n *b"><xacro:if value="${n==0}"><xacro:insert_block name="b"/></xacro:if><xacro:unless value="${n==0}"><xacro:d n="${n-1}"><x><xacro:insert_block name="b"/><xacro:insert_block name="b"/></x></xacro:d></xacro:unless></xacro:macro>`
	chain := ""
	for i := range 300 {
		chain += fmt.Sprintf(`<xacro:property name="p%d" value="${p%d}"/>`, i, i+1)
	}
	grow, nest := `<xacro:property name="s0" value="aaaaaaaaaaaaaaaa"/>`, `<xacro:property name="s0" value="${[1]}"/>`
	for i := range 40 {
		grow += fmt.Sprintf(`<xacro:property name="s%d" value="${s%d+s%d}"/>`, i+1, i, i)
		nest += fmt.Sprintf(`<xacro:property name="s%d" value="${[s%d,s%d]}"/>`, i+1, i, i)
	}
	for name, c := range map[string]struct{ in, text string }{
		"recursion":        {`<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>`, "nested more than 256 deep"},
		"two of each":      {`<xacro:macro name="m" params="n"><xacro:if value="${n}"><xacro:m n="${n-1}"/><xacro:m n="${n-1}"/></xacro:if></xacro:macro><xacro:m n="200"/>`, "too much work"},
		"chain":            {chain + `<a v="${p0}"/>`, "nested more than 256 deep"},
		"block in itself":  {`<xacro:property name="b"><xacro:insert_block name="b"/></xacro:property><xacro:insert_block name="b"/>`, "nested more than 256 deep"},
		"deep":             {double + `<xacro:d n="100"><e/></xacro:d>`, "elements more than 64 deep"},
		"doubled blocks":   {double + `<xacro:d n="40"><e/></xacro:d>`, "more than 16777216 bytes"},
		"doubled text":     {grow + `<a v="${s40}"/>`, "more than 1048576 bytes"},
		"doubled list":     {nest + `<a v="${s40}"/>`, "more than 1048576 bytes"},
		"compared":         {nest + `<a v="${s40 == s40 + []}"/>`, "too much work"},
		"long text":        {`<xacro:macro name="m" params="n"><t>` + strings.Repeat("y", 100000) + `</t><xacro:if value="${n}"><xacro:m n="${n-1}"/></xacro:if></xacro:macro><xacro:m n="250"/>`, "more than 16777216 bytes"},
		"deep input":       {strings.Repeat("<a>", 70) + strings.Repeat("</a>", 70), "nested more than 64 deep"},
		"many elements":    {strings.Repeat("<a/>", xacro.MaxElements+1), "more than 262144 elements"},
		"nested in chains": {strings.ReplaceAll(chain, `}"`, strings.Repeat("+0", 1000)+`}"`) + `<a v="${p0}"/>`, "nested more than 10000 deep"},
	} {
		start := time.Now()
		_, err := xacro.Expand("f", []byte(doc(c.in)), xacro.Options{})
		require.ErrorContains(t, err, c.text, name)
		t.Logf("%s: %v", name, time.Since(start))
	}
	_, err := xacro.Expand("f", make([]byte, xacro.MaxFileBytes+1), xacro.Options{})
	require.ErrorContains(t, err, "16777217 bytes")
}
