// Package words is the table of what is said to a person: notices, the labels of a
// card, keys and buttons, in English and Turkish (G53). What a model reads is English
// and doesn't come from here. It imports nothing of ours.
//
// Each message is a method of Lang with typed arguments; each channel has its own file
// of them. A test calls every one in both languages.
package words

import "fmt"

// Lang is a language. The zero value is English.
type Lang uint8

// The languages.
const (
	English Lang = iota
	Turkish
)

// Parse reads a language's name: "en" or "tr"; false: it is neither.
func Parse(name string) (Lang, bool) {
	switch name {
	case "en":
		return English, true
	case "tr":
		return Turkish, true
	}
	return English, false
}

func (l Lang) String() string {
	if l == Turkish {
		return "tr"
	}
	return "en"
}

// pick writes a text in the language; both are formats for the same arguments, which
// have been escaped where they come from elsewhere.
func (l Lang) pick(en, tr string, args ...any) string {
	format := en
	if l == Turkish {
		format = tr
	}
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}
