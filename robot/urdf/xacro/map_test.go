package xacro_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot/urdf/xacro"
)

// Each line of an expansion knows where it came from.
func TestLineMap(t *testing.T) {
	const top = `<robot ` + ns + ` name="r">
  <xacro:include filename="inc.xacro"/>
  <a one="1"
     two="2"/>
  <xacro:outer>
    <block/>
  </xacro:outer>
  <t>

    first
    second
  </t>
  <b><xacro:attribute name="late" value="x"/></b>
</robot>`
	const inc = `<r ` + ns + `>
  <xacro:macro name="outer" params="*b"><xacro:inner v="7"/>
    <xacro:insert_block name="b"/>
  </xacro:macro>
  <xacro:macro name="inner" params="v">
    <c
      v="${v}"/>
  </xacro:macro>
</r>`
	res, err := xacro.Expand("d/top.xacro", []byte(top), xacro.Options{Files: files(map[string]string{"inc.xacro": inc})})
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(res.Data), "\n"), "\n")
	find := func(text string) xacro.Place {
		for i, l := range lines {
			if strings.Contains(l, text) {
				return res.Where(i + 1)
			}
		}
		t.Fatalf("%q is not in %s", text, res.Data)
		return xacro.Place{}
	}
	at := func(file string, line int, calls ...xacro.Call) xacro.Place {
		return xacro.Place{File: file, Line: line, Calls: calls}
	}
	outer := xacro.Call{Macro: "outer", File: "d/top.xacro", Line: 5}
	inner := xacro.Call{Macro: "inner", File: "d/inc.xacro", Line: 2}
	require.Equal(t, at("d/top.xacro", 1), find("<robot"))
	require.Equal(t, at("d/top.xacro", 3), find(`one="1"`))
	require.Equal(t, at("d/top.xacro", 4), find(`two="2"`))
	require.Equal(t, at("d/inc.xacro", 6, inner, outer), find("<c"))
	require.Equal(t, at("d/inc.xacro", 7, inner, outer), find(`v="7"`))
	require.Equal(t, at("d/top.xacro", 6), find("<block"))
	require.Equal(t, at("d/top.xacro", 10), find("first"))
	require.Equal(t, at("d/top.xacro", 11), find("second"))
	require.Equal(t, at("d/top.xacro", 13), find("late"))
	require.Equal(t, res.Where(1), res.Where(-5))
	require.Equal(t, res.Where(len(lines)), res.Where(1<<40))
}
