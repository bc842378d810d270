package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const list = `# a comment

= G9: zero allows
file a.go
- 	x != 1
- 	y
+ 	x != 1 && x != 0
file a.go
- z
test ./gate ^TestG9_
`

func TestParse(t *testing.T) {
	all, err := parse("l.txt", list)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	m := all[0]
	if m.clause != "G9" || m.name != "zero allows" || m.pkg != "./gate" || !m.tests.MatchString("TestG9_X") || m.at != "l.txt:3" {
		t.Fatalf("%+v", m)
	}
	if want := (edit{"a.go", "\tx != 1\n\ty", "\tx != 1 && x != 0"}); m.edits[0] != want {
		t.Fatalf("%q", m.edits[0])
	}
	if want := (edit{"a.go", "z", ""}); m.edits[1] != want {
		t.Fatalf("%q", m.edits[1])
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no clause":    "= zero allows\n",
		"no mutant":    "file a.go\n",
		"no test":      "= G1: a\nfile a.go\n- x\n",
		"no file":      "= G1: a\n- x\n",
		"no old text":  "= G1: a\nfile a.go\n+ x\ntest ./a T\n",
		"no change":    "= G1: a\nfile a.go\n- x\n+ x\ntest ./a T\n",
		"no package":   "= G1: a\nfile a.go\n- x\ntest T\n",
		"bad regexp":   "= G1: a\nfile a.go\n- x\ntest ./a (\n",
		"outside":      "= G1: a\nfile ../a.go\n",
		"odd line":     "= G1: a\nnonsense\n",
		"after test":   "= G1: a\nfile a.go\n- x\ntest ./a T\n+ y\n",
		"twice":        list + list,
		"mixed up":     "= G1: a\nfile a.go\n- x\n+ y\n- z\n",
		"last lacking": list + "= G1: a\n",
	} {
		if all, err := parse("l.txt", text); err == nil {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

func TestApplyWantsTheTextOnce(t *testing.T) {
	all, err := parse("l.txt", list)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"a\n\tx != 1\n\ty\nz":           "a\n\tx != 1 && x != 0\n",
		"a\nz":                          "",
		"\tx != 1\n\tyz\n\tx != 1\n\ty": "",
		"\tx != 1\n\ty zz":              "",
	} {
		root := t.TempDir()
		if err := os.WriteFile(filepath.Join(root, "a.go"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files, err := all[0].apply(root)
		if want == "" && (err == nil || !strings.Contains(err.Error(), "l.txt:3: stale")) || want != "" && (err != nil || files["a.go"] != want) {
			t.Errorf("%q: %q, %v", text, files, err)
		}
	}
	if _, err := all[0].apply(t.TempDir()); err == nil {
		t.Error("no file")
	}
}

func TestJudge(t *testing.T) {
	const run = `{"Action":"run","Test":"TestA"}` + "\n"
	for name, c := range map[string]struct {
		out    string
		passed bool
		built  bool
		failed string
	}{
		"passes":        {run + `{"Action":"pass","Test":"TestA"}`, true, true, ""},
		"fails":         {run + `{"Action":"fail","Test":"TestA/sub"}` + "\n" + `{"Action":"fail","Test":"TestA"}`, false, true, "TestA"},
		"panics":        {run + `{"Action":"output","Output":"panic: x\n"}`, false, true, "TestA"},
		"skips":         {run + `{"Action":"skip","Test":"TestA"}`, true, true, ""},
		"leaks":         {run + `{"Action":"pass","Test":"TestA"}` + "\n" + `{"Action":"fail"}`, false, true, ""},
		"doesn't build": {`{"ImportPath":"p","Action":"build-fail"}`, false, false, ""},
		"no package":    {"FAIL\t./x [setup failed]\n", false, false, ""},
	} {
		o := judge(c.out, c.passed)
		if o.passed != c.passed || o.built != c.built || strings.Join(o.failed, " ") != c.failed {
			t.Errorf("%s: %+v", name, o)
		}
	}
}
