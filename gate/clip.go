package gate

import "unicode/utf8"

// Clip bounds a text to n bytes and marks with "…", which comes on top, that it did. It
// cuts in front of a character, never inside one; in what isn't UTF-8 it cuts anywhere.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for k := n; k > max(0, n-utf8.UTFMax); k-- {
		if utf8.RuneStart(s[k]) {
			return s[:k] + "…"
		}
	}
	if n < utf8.UTFMax {
		return "…"
	}
	return s[:n] + "…"
}

// clip is Clip.
func clip(s string, n int) string { return Clip(s, n) }
