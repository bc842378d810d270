package urdf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf"
)

// large writes a description of n joints in one of the shapes that could be costly:
// a chain of moving joints with bodies, a comb of links that are all fixed to one,
// a chain of fixed ones, and a master that all others mimic in a chain.
func large(shape string, n int) []byte {
	var b strings.Builder
	b.WriteString("<robot name=\"large\">\n<link name=\"l0\"/>\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "<link name=\"l%d\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" ixy=\"0\" ixz=\"0\" iyy=\"1\" iyz=\"0\" izz=\"1\"/></inertial>"+
			"<collision><geometry><box size=\"0.1 0.1 0.1\"/></geometry></collision></link>\n", i)
		typ, parent, extra := "revolute", i-1, `<limit lower="-1" upper="1" effort="1" velocity="1"/>`
		switch shape {
		case "comb":
			typ, parent = "fixed", 0
		case "fixed":
			typ = "fixed"
		case "mimic":
			if i > 1 {
				extra += fmt.Sprintf(`<mimic joint="j%d"/>`, i-1)
			}
		}
		fmt.Fprintf(&b, "<joint name=\"j%d\" type=\"%s\"><origin xyz=\"0 0 0.001\"/><parent link=\"l%d\"/><child link=\"l%d\"/>%s</joint>\n", i, typ, parent, i, extra)
	}
	b.WriteString("</robot>\n")
	return []byte(b.String())
}

var largeShapes = []string{"chain", "comb", "fixed", "mimic"}

// A description of 2,000 links and joints, read and made a model of.
func BenchmarkLoad2000Links(b *testing.B) {
	for _, shape := range largeShapes {
		data := large(shape, 2000)
		b.Run(shape, func(b *testing.B) {
			for b.Loop() {
				if _, err := urdf.Load(urdf.Source{Name: "large.urdf", Data: data}, urdf.Source{}, urdf.Source{}, urdf.Source{}, urdf.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Each description of the collection as robot check reads it: the file, its meshes,
// and the model that it makes.
func BenchmarkCheckCorpus(b *testing.B) {
	for _, row := range tsv(b, shared(b, "robots", "EXPECT.tsv")) {
		b.Run(strings.ReplaceAll(row[0], "/", "_"), func(b *testing.B) {
			f := urdf.Files{Description: shared(b, "robots", row[0])}
			if row[1] != "load" {
				f = expandable(b, row[0])
			}
			for b.Loop() {
				d, err := urdf.ParseFile(f)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = robot.NewModel(d, nil, nil) // refused where the collection has no meshes
			}
		})
	}
}

// Loading takes work in proportion to the file: what is allocated for four times
// the joints is about four times as much, in each shape that is a chain.
func TestLoadingScalesWithTheFile(t *testing.T) {
	for _, shape := range []string{"chain", "mimic"} {
		allocs := func(n int) float64 {
			data := large(shape, n)
			return testing.AllocsPerRun(1, func() {
				_, err := urdf.Load(urdf.Source{Name: "large.urdf", Data: data}, urdf.Source{}, urdf.Source{}, urdf.Source{}, urdf.Options{})
				require.NoError(t, err)
			})
		}
		small := allocs(250)
		require.Less(t, allocs(1000), 5*small, shape)
	}
}

// What is larger than the stated limits is refused, by line, before it is worked on.
func TestStatedLimits(t *testing.T) {
	_, err := urdf.Parse("l.urdf", large("fixed", urdf.MaxLinks), urdf.Options{})
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	require.Contains(t, err.Error(), fmt.Sprintf("more than %d links", urdf.MaxLinks))
	d, err := urdf.Parse("l.urdf", large("fixed", urdf.MaxLinks-1), urdf.Options{})
	require.NoError(t, err)
	require.Len(t, d.Links, urdf.MaxLinks)

	many := "<robot name='r'>" + strings.Repeat("<a/>", urdf.MaxElements) + "</robot>"
	_, err = urdf.Parse("l.urdf", []byte(many), urdf.Options{})
	require.ErrorContains(t, err, fmt.Sprint(urdf.MaxElements))

	groups := "<robot name='r'>" + strings.Repeat("\n<group name='g'/>", urdf.MaxGroups+1) + "</robot>"
	_, err = urdf.ParseSRDF("l.srdf", []byte(groups))
	require.ErrorContains(t, err, fmt.Sprintf("l.srdf:%d: more than %d groups", urdf.MaxGroups+2, urdf.MaxGroups))
}
