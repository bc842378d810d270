package tui

import (
	"strings"
	"unicode"
)

// columns returns how many columns a terminal needs for r at most. Terminals disagree
// on many characters; a row that is laid out by the most that any of them takes fits
// on all, and what follows on the screen is where it should be.
func columns(r rune) int {
	switch {
	case r < 0x300, r >= 0x370 && r < 0x590, r >= 0x1e00 && r < 0x2000: // Latin, Greek, Cyrillic, Armenian
		return 1
	case r >= 0x2500 && r < 0x2580, r >= 0x2800 && r < 0x2900: // our rules and drawings
		return 1
	case unicode.Is(unicode.M, r):
		return 1
	}
	return 2
}

// width returns how many columns s needs at most.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += columns(r)
	}
	return n
}

// wrap cuts s into rows of at most w columns, behind a blank where there is one near
// the end. Nothing is left out: joined, the rows are s. A single character that is
// wider than w has a row of its own.
func wrap(s string, w int) []string {
	var rows []string
	for s != "" {
		n := fits(s, w)
		if n < len(s) {
			if at := strings.LastIndexByte(s[:n], ' '); at >= 0 && width(s[:at+1]) > w*2/3 {
				n = at + 1
			}
		}
		rows = append(rows, s[:n])
		s = s[n:]
	}
	return rows
}

// fits returns how many bytes of s fit into w columns; at least the first character
// with what is combined with it.
func fits(s string, w int) int {
	n := 0
	for i, r := range s {
		n += columns(r)
		if n > w && i > 0 && !(unicode.Is(unicode.M, r) && i == firstLen(s)) {
			return i
		}
	}
	return len(s)
}

func firstLen(s string) int {
	for i := range s {
		if i > 0 {
			return i
		}
	}
	return len(s)
}

// clip cuts s to w columns, and says so with a dot at the end of it.
func clip(s string, w int) string {
	if width(s) <= w {
		return s
	}
	if w < 1 {
		return ""
	}
	cut := s[:fits(s, w-1)]
	if width(cut) > w-1 {
		cut = ""
	}
	return cut + ">"
}

// pad fills s with blanks to w columns, as most terminals count.
func pad(s string, w int) string {
	if n := w - width(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}
