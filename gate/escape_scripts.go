package gate

import (
	"slices"
	"unicode"
)

// script is one writing system as MixedScripts tells them apart.
type script uint16

// The scripts. Han, kana, Hangul and Bopomofo are written together and with
// Latin, so they share a bit.
const (
	scriptLatin script = 1 << iota
	scriptEastAsian
	scriptCyrillic
	scriptGreek
	scriptArmenian
	scriptHebrew
	scriptArabic
	scriptCherokee
	scriptGeorgian
	scriptCoptic
	scriptStyled // letters of other looks: full width, mathematical, enclosed
	scriptOther
)

// MixedScripts returns the words of s, in order and as they are (unescaped),
// whose letters come from scripts that aren't written together: Latin with
// Cyrillic or Greek above all, where one letter passes for another. A word is a
// run of letters, marks, digits, '_' and '-'. Latin with Han, kana, Hangul or
// Bopomofo isn't mixed (the "highly restrictive" level of Unicode Technical
// Standard #39, section 5.2). Each word is given once; nil: none.
func MixedScripts(s string) []string {
	var words []string
	start, seen := -1, script(0)
	end := func(to int) {
		if start >= 0 && mixed(seen) && !slices.Contains(words, s[start:to]) {
			words = append(words, s[start:to])
		}
		start, seen = -1, 0
	}
	for i, r := range s {
		if !wordRune(r) {
			end(i)
			continue
		}
		if start < 0 {
			start = i
		}
		seen |= scriptOf(r)
	}
	end(len(s))
	return words
}

// RightToLeft reports whether s has letters that are written from right to left:
// they are shown as they are, but a terminal may put their neighbours in another
// order than they have, which a card says.
func RightToLeft(s string) bool {
	for _, r := range s {
		if r >= 0x590 && unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko,
			unicode.Samaritan, unicode.Mandaic, unicode.Adlam, unicode.Hanifi_Rohingya, unicode.Mende_Kikakui) {
			return true
		}
	}
	return false
}

// mixed reports a set of scripts that aren't written together.
func mixed(seen script) bool {
	return seen&(seen-1) != 0 && seen != scriptLatin|scriptEastAsian
}

func wordRune(r rune) bool {
	return r == '_' || r == '-' || unicode.In(r, unicode.L, unicode.M, unicode.N) || styled(r)
}

// styled reports letters that are drawn in another style and read as the plain ones.
func styled(r rune) bool {
	return r >= 0xFF21 && r <= 0xFF5A || // full width
		r >= 0x1D400 && r <= 0x1D7FF || // mathematical
		r >= 0x2460 && r <= 0x24FF || // enclosed
		r >= 0x1F130 && r <= 0x1F189
}

// scriptOf returns r's script, 0 for what belongs to none.
func scriptOf(r rune) script {
	switch {
	case r < 0x80:
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return scriptLatin
		}
		return 0
	case styled(r):
		return scriptStyled
	case unicode.In(r, unicode.Common, unicode.Inherited):
		return 0
	case unicode.Is(unicode.Latin, r):
		return scriptLatin
	case unicode.Is(unicode.Cyrillic, r):
		return scriptCyrillic
	case unicode.Is(unicode.Greek, r):
		return scriptGreek
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo):
		return scriptEastAsian
	case unicode.Is(unicode.Armenian, r):
		return scriptArmenian
	case unicode.Is(unicode.Hebrew, r):
		return scriptHebrew
	case unicode.Is(unicode.Arabic, r):
		return scriptArabic
	case unicode.Is(unicode.Cherokee, r):
		return scriptCherokee
	case unicode.Is(unicode.Georgian, r):
		return scriptGeorgian
	case unicode.Is(unicode.Coptic, r):
		return scriptCoptic
	}
	return scriptOther
}
