package gate_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/tau-robot/tau/gate"
	"pgregory.net/rapid"
)

func TestCase53_ControlSequencesAreShown(t *testing.T) {
	in := "ok\r\x1b[2K\x1b[1A  Tool: home\n"
	require.Equal(t, `ok\u{d}\u{1b}[2K\u{1b}[1A  Tool: home\u{a}`, gate.Escape(in))
	args, err := json.Marshal(map[string]string{"name": in})
	require.NoError(t, err)
	require.Equal(t, `{"name":"ok\u{d}\u{1b}[2K\u{1b}[1A  Tool: home\u{a}"}`, gate.EscapeJSON(args))
}

func TestCase54_BidiControlsAreShown(t *testing.T) {
	for _, r := range "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c" {
		want := `a\u{` + strconv.FormatInt(int64(r), 16) + `}b`
		require.Equal(t, want, gate.Escape("a"+string(r)+"b"))
		require.Equal(t, `"`+want+`"`, gate.EscapeJSON([]byte(`"a`+string(r)+`b"`)))
	}
}

func TestCase55_JSONEscapesStayEscaped(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"\u001b[2J"}`:     `{"a":"\u{1b}[2J"}`,
		`{"a":"\u001B]0;x\b"}`:  `{"a":"\u{1b}]0;x\u{8}"}`,
		`{"a":"\n\r\t\f"}`:      `{"a":"\u{a}\u{d}\u{9}\u{c}"}`,
		`{"a":"\u202e"}`:        `{"a":"\u{202e}"}`,
		`{"a":"\"\\\/"}`:        `{"a":"\"\\\/"}`,
		`{"a":"\\u{1b}"}`:       `{"a":"\\u{5c}u{1b}"}`,
		`{"a":"\\n"}`:           `{"a":"\\n"}`,
		"{\"\x1b\":\"\\u00":     `{"\u{1b}":"\u00`,
		`{"shoulder_pan":-0.5}`: `{"shoulder_pan":-0.5}`,
		`\n outside`:            `\n outside`,
	} {
		require.Equal(t, want, gate.EscapeJSON([]byte(in)), in)
	}
}

func TestG30_EscapeShowsWhatCannotBeSeen(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain":                   {`move_joints {"a":1} \ ~`, `move_joints {"a":1} \ ~`},
		"letters of many scripts": {"İğüş Ωμ щё 机械臂 ロボット عربي", "İğüş Ωμ щё 机械臂 ロボット عربي"},
		"symbols":                 {"⚠ ✗ ° ² € 😀", "⚠ ✗ ° ² € 😀"},
		"DEL":                     {"\x7f", `\u{7f}`},
		"C1":                      {"\u0080\u009b\u009f", `\u{80}\u{9b}\u{9f}`},
		"NUL and tab":             {"\x00\t", `\u{0}\u{9}`},
		"zero width":              {"a\u200bb\u200cc\u200dd\u2060e\ufeff", `a\u{200b}b\u{200c}c\u{200d}d\u{2060}e\u{feff}`},
		"soft hyphen":             {"a\u00adb", `a\u{ad}b`},
		"separators":              {"\u2028\u2029\u0085", `\u{2028}\u{2029}\u{85}`},
		"other blanks":            {"\u00a0\u2003\u3000", `\u{a0}\u{2003}\u{3000}`},
		"tags":                    {"\U000e0041", `\u{e0041}`},
		"variation selector":      {"a\ufe0f\U000e0100", `a\u{fe0f}\u{e0100}`},
		"Hangul fillers":          {"\u3164\u115f\uffa0", `\u{3164}\u{115f}\u{ffa0}`},
		"grapheme joiner":         {"a\u034fb", `a\u{34f}b`},
		"blank Braille":           {"\u2800", `\u{2800}`},
		"private, noncharacter":   {"\ue000\U0010ffff\ufdd0", `\u{e000}\u{10ffff}\u{fdd0}`},
		"unassigned":              {"\u0378", `\u{378}`},
		"bad bytes":               {"a\xff\xc3(\xe2\x82", `a\u{dcff}\u{dcc3}(\u{dce2}\u{dc82}`},
		"encoded surrogate":       {"\xed\xa0\x80", `\u{dced}\u{dca0}\u{dc80}`},
		"overlong":                {"\xc0\x9b", `\u{dcc0}\u{dc9b}`},
		"a typed escape":          {`\u{202e} \U{1} \u202e`, `\u{5c}u{202e} \U{1} \u202e`},
		"two backslashes":         {`\\u{1b}`, `\\u{5c}u{1b}`},
		"backslash, control":      {"\\\u202e", `\\u{202e}`},
		"mark without a base":     {"\u0301a", `\u{301}a`},
		"mark on a blank":         {" \u0301", ` \u{301}`},
		"pile of marks":           {"a" + strings.Repeat("\u0301", 6), "a" + strings.Repeat("\u0301", 4) + `\u{301}\u{301}`},
		"padding":                 {"a" + strings.Repeat(" ", 6) + "b", `a    \u{20}\u{20}b`},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, gate.Escape(c.in)) })
	}
}

var escaped = regexp.MustCompile(`\\u\{([0-9a-f]+)\}`)

// unescape is the reading that Escape documents.
func unescape(s string) string {
	return escaped.ReplaceAllStringFunc(s, func(m string) string {
		v, err := strconv.ParseUint(m[3:len(m)-1], 16, 32)
		switch {
		case err != nil:
			return m
		case v >= 0xDC80 && v <= 0xDCFF:
			return string([]byte{byte(v - 0xDC00)})
		}
		return string(rune(v))
	})
}

func requireShown(t interface{ Fatalf(string, ...any) }, out string) {
	if !utf8.ValidString(out) {
		t.Fatalf("not UTF-8: %q", out)
	}
	marks := 0
	for _, r := range out {
		if unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) || unicode.Is(unicode.Z, r) && r != ' ' ||
			unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || !unicode.IsGraphic(r) {
			t.Fatalf("%U is in %q", r, out)
		}
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		if marks > 4 {
			t.Fatalf("a pile of marks is in %q", out)
		}
	}
	if strings.Contains(out, "     ") {
		t.Fatalf("five blanks are in %q", out)
	}
}

func TestG30_EscapeIsSafeAndInvertible(t *testing.T) {
	piece := rapid.OneOf(
		rapid.String(),
		rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "bytes")) }),
		rapid.SampledFrom([]string{`\`, `\u`, `\u{`, `u{202e}`, "\u202e", "\u0301", "  ", `"`, "\x1b", "\xdc"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), "")
		out := gate.Escape(s)
		if got := unescape(out); got != s {
			t.Fatalf("%q became %q, which reads %q", s, out, got)
		}
		requireShown(t, out)
		requireShown(t, gate.EscapeJSON([]byte(s)))
	})
}

func TestG30_MixedScriptsAreFlagged(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"Latin":                {"move_joints İstanbul naïve µm", nil},
		"Cyrillic word beside": {"move вверх", nil},
		"Cyrillic in Latin":    {"mоve the аrm", []string{"mоve", "аrm"}},
		"joined by underscore": {"move_сор", []string{"move_сор"}},
		"Greek in Latin":       {"hοme", []string{"hοme"}},
		"digits and marks":     {"e\u0301x2 щ\u0301", nil},
		"East Asian together":  {"USBメモリ用ケーブル 한국어漢字", nil},
		"Cyrillic with Han":    {"щ机", []string{"щ机"}},
		"full width":           {"mｏve", []string{"mｏve"}},
		"mathematical":         {"h𝐨me", []string{"h𝐨me"}},
		"each once":            {"mоve mоve", []string{"mоve"}},
		"JSON":                 {`{"jоint":1}`, []string{"jоint"}},
		"bad bytes":            {"m\xffоve", []string{"оve"}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, gate.MixedScripts(c.in)) })
	}
	require.True(t, gate.RightToLeft("a עבר"))
	require.True(t, gate.RightToLeft("عربي"))
	require.False(t, gate.RightToLeft("Ωщ机 a"))
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a", "\x1b[2K\r", "\u202e", `\u{202e}`, `{"a":"\u001b\\u{1b}"}`, "a\u0301\u0301\u0301\u0301\u0301", "\xed\xa0\x80", `"\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := gate.Escape(s)
		requireShown(t, out)
		if got := unescape(out); got != s {
			t.Fatalf("%q became %q, which reads %q", s, out, got)
		}
		requireShown(t, gate.EscapeJSON([]byte(s)))
		gate.MixedScripts(s)
	})
}
