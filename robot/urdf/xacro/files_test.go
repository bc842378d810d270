package xacro_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot/urdf/xacro"
)

const included = `<robot xmlns:xacro="http://wiki.ros.org/xacro" xmlns:g="urn:g" name="other">
<xacro:property name="k" value="11"/>
<xacro:if value="${out_too}"><xacro:property name="out" value="1" scope="parent"/></xacro:if>
<xacro:macro name="m" params="q:=^|4"><h v="${k} ${q}"/><xacro:property name="up" value="1" scope="parent"/></xacro:macro>
<xacro:macro name="two"><xacro:m q="2"/></xacro:macro>
<in v="${k}"/>
</robot>`

func tree() xacro.Options {
	return xacro.Options{
		Dir: "urdf",
		Files: files(map[string]string{
			"urdf/inc/a.xacro": included,
			"urdf/inc/b.xacro": `<r ` + ns + `><xacro:include filename="../c/c.xacro"/><b/></r>`,
			"urdf/c/c.xacro":   `<r ` + ns + `><c/></r>`,
			"urdf/self.xacro":  `<r ` + ns + `><xacro:include filename="self.xacro"/></r>`,
			"urdf/w.xacro":     `<r ` + ns + `><xacro:macro name="load"><f v="${xacro.load_yaml('q.yaml')}"/></xacro:macro></r>`,
			"urdf/q.yaml":      "a: [1, 2.5, yes, \"no\", ~, 1e3, 0x1F, -7, text, 2020-01-01]\nb: {c: !degrees 180, d: !radians pi/2, e: !millimeters 5, f: !inches 1, g: !foot 1, h: !meters -2}\n",
			"urdf/broken.xacro": `<r>
  <a></b></r>`,
			"top.xacro": `<r ` + ns + `><top/></r>`,
		}),
		Packages: map[string]fs.FS{
			"arm":      files(map[string]string{"x.xacro": `<r ` + ns + `><x/><xacro:include filename="sub/y.xacro"/></r>`, "sub/y.xacro": `<r ` + ns + `><y/><xacro:include filename="../x2.xacro"/></r>`, "x2.xacro": `<r><x2/></r>`}),
			"arm/deep": files(map[string]string{"z.xacro": `<r><z/></r>`}),
		},
	}
}

func TestIncludes(t *testing.T) {
	run(t, tree(), []row{
		{`<xacro:property name="out_too" value="0"/><xacro:include filename="inc/a.xacro"/><a v="${k}"/><xacro:m/>`, `<in v=11></><a v=11></><h v=11 4></>`},
		// Relative names start from the file that they are in.
		{`<xacro:include filename="inc/b.xacro"/>`, `<c></><b></>`},
		{`<xacro:include filename="../top.xacro"/>`, `<top></>`},
		{`<xacro:include filename="$(find arm)/x.xacro"/>`, `<x></><y></><x2></>`},
		{`<xacro:include filename="package://arm/deep/z.xacro"/>`, `<z></>`},
		{`<xacro:include filename="nope.xacro" optional="true"/><xacro:include filename="no*.xacro"/><xacro:include filename="?/*.xacro"/>`, `<c></>`},
		// A namespace keeps names apart; from inside, the outside is visible.
		{`<xacro:property name="out_too" value="1"/><xacro:include filename="inc/a.xacro" ns="n"/><a v="${n.k}"/><xacro:n.m/><xacro:property name="q" value="9"/><xacro:n.m/><xacro:n.two/><a v="${n.up} ${up} ${n.q} ${out}"/>`,
			`<in v=11></><a v=11></><h v=11 4></><h v=11 9></><h v=11 2></><a v=1 1 9 1></>`},
		// A package's name stands for its folder; no path of the machine shows.
		{`<mesh f="file://$(find arm)/m.stl" g="package://arm/m.stl"/><xacro:property name="p" value="$(find arm)"/><mesh f="file://${p}/m.stl"/>`,
			`<mesh f=package://arm/m.stl g=package://arm/m.stl></><mesh f=package://arm/m.stl></>`},
	})
	res, err := xacro.Expand("top.xacro", []byte(doc(`<xacro:property name="out_too" value="0"/><xacro:include filename="inc/a.xacro"/>`)), tree())
	require.NoError(t, err)
	require.Contains(t, string(res.Data), `xmlns:g="urn:g"`)
	require.NotContains(t, string(res.Data), "other")
}

func TestIncludesRefused(t *testing.T) {
	opt := tree()
	for name, text := range map[string]string{
		"nope.xacro": "no", "../../x.xacro": "leaves the folder", "/etc/passwd": "neither relative nor in a package", "file:///etc/passwd": "neither relative nor in a package",
		"http://x/y": "neither relative", "package://arm/../x": "leaves the folder", "package://arm": "leaves the folder", "package://legs/x": "folder xacro isn't given",
		"inc": "not a regular file", `..\x`: "leaves the folder", "": "not a regular file", "../": "leaves the folder", "[": "syntax error",
	} {
		refused(t, "top.xacro:1", doc(`<xacro:include filename="`+name+`"/>`), opt, text)
	}
	refused(t, "top.xacro:1", doc(`<a v="$(find legs)"/>`), opt, `the package "legs"`)
	refused(t, "top.xacro:1", doc(`<xacro:include filename="a"/>`), xacro.Options{}, "no folder was given")
	refused(t, "self.xacro:1", doc(`<xacro:include filename="self.xacro"/>`), opt, "does a file include itself?")
	refused(t, "broken.xacro:2", doc(`<xacro:include filename="broken.xacro"/>`), opt, "</b> where </a>", "included at top.xacro:1")
	refused(t, "top.xacro:1", doc(`<xacro:property name="out_too" value="0"/><xacro:include filename="inc/a.xacro" ns="n"/><a v="${k}"/>`), opt, `"k" is not defined`)
	refused(t, "top.xacro:1", doc(`<xacro:property name="out_too" value="0"/><xacro:include filename="inc/a.xacro" ns="n"/><a v="${n.nope}"/>`), opt, `"nope" is not defined in the namespace n`)
	refused(t, "top.xacro:1", doc(`<xacro:property name="out_too" value="0"/><xacro:include filename="inc/a.xacro" ns="n"/><xacro:x.m/>`), opt, `no macro "x.m"`)
	refused(t, "top.xacro:1", doc(strings.Repeat(`<xacro:include filename="c/c.xacro"/>`, xacro.MaxIncludes+1)), opt, "more than 1024 includes")
}

// Links that leave the folder, pipes and folders are not read.
func TestIncludesStayInTheirFolder(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret.xacro")
	require.NoError(t, os.WriteFile(outside, []byte(`<r><secret/></r>`), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link.xacro")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.xacro"), 0o600))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer func() { _ = root.Close() }()
	for _, name := range []string{"link.xacro", "pipe.xacro", "l*.xacro"} {
		refused(t, "top.xacro:1", doc(`<xacro:include filename="`+name+`"/>`), xacro.Options{Files: root.FS()})
	}
}

func TestYAML(t *testing.T) {
	run(t, tree(), []row{
		{`<xacro:property name="y" value="${xacro.load_yaml('q.yaml')}"/><a v="${y['a']} ${y.b.c} ${y['b']['d']*2} ${y.b.e} ${y.b.f} ${y.b.g} ${y.b.h}"/>`,
			`<a v=[1, 2.5, True, 'no', None, 1000.0, 31, -7, 'text', '2020-01-01'] 3.141592653589793 3.141592653589793 0.005 0.0254 0.3048 -2.0></>`},
		// A name in a macro is the caller's file's.
		{`<xacro:include filename="w.xacro"/><xacro:load/>`, `<f v={'a': [1, 2.5, True, 'no', None, 1000.0, 31, -7, 'text', '2020-01-01'], 'b': {'c': 3.141592653589793, 'd': 1.5707963267948966, 'e': 0.005, 'f': 0.0254, 'g': 0.3048, 'h': -2.0}}></>`},
	})
	load := doc(`<a v="${xacro.load_yaml('f.yaml')}"/>`)
	for _, r := range []struct{ yaml, where, text string }{
		{"a: 1\nb: 010\n", "f.yaml:2", "YAML 1.1"},
		{"a: 1:30", "f.yaml:1", "YAML 1.1"}, {"a: 1_000", "f.yaml:1", "YAML 1.1"}, {"a: 0o17", "f.yaml:1", "YAML 1.1"},
		{"a: 1\na: 2", "f.yaml:2", "twice"},
		{"a: &x 1\nb: *x", "f.yaml:1", "anchors"},
		{"a: 1\n---\nb: 2", "f.yaml:2", "second document"},
		{"a: !degrees x", "f.yaml:1", `"x" is not defined`}, {"a: !degrees '1' ", "f.yaml:1", ""}, {"\na: !degrees [1]", "f.yaml:2", "tag"},
		{"a: !python/object x", "f.yaml:1", "not supported"}, {"a: !degrees xacro", "f.yaml:1", "a number is due"},
		{"a: .nan", "f.yaml:1", "not finite"}, {"", "f.yaml:1", "holds nothing"}, {"# only\n", "f.yaml:1", "holds nothing"},
		{"a: [1\nb: 2", "f.yaml:", "not well-formed"}, {"[1]: 2", "f.yaml:1", "can't be a key"},
		{strings.Repeat("[", 40) + strings.Repeat("]", 40), "f.yaml:1", "nested"},
	} {
		_, err := xacro.Expand("top.xacro", []byte(load), xacro.Options{Files: files(map[string]string{"f.yaml": r.yaml})})
		if r.text == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, r.where, r.yaml)
		require.ErrorContains(t, err, r.text, r.yaml)
		require.ErrorContains(t, err, "loaded at top.xacro:1", r.yaml)
	}
	refused(t, "top.xacro:1", load, xacro.Options{Files: files(nil)}, "not exist")
	refused(t, "top.xacro:1", doc(`<a v="${xacro.load_yaml('f.yaml').b}"/>`), xacro.Options{Files: files(map[string]string{"f.yaml": "a: 1"})}, `no key "b"`)
}

// failing is a file system that can't read.
type failing struct{}

func (failing) Open(string) (fs.File, error) { return nil, errors.New("the disk is gone") }

func TestReadErrorsSayWhere(t *testing.T) {
	refused(t, "top.xacro:1", doc(`<xacro:include filename="a.xacro" optional="true"/>`), xacro.Options{Files: failing{}}, "the disk is gone")
}
