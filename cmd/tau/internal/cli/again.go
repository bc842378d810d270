package cli

import (
	"regexp"
	"strings"

	"github.com/tau-robot/tau/cmd/tau/internal/source"
)

// plain are words that no shell reads anything into.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./=:@%+,-]+$`)

// checkCommand is the command line of the check of a robot that was named on
// another one.
func checkCommand(r *source.Robot) string {
	words := []string{"tau", "robot", "check", r.Name}
	for _, f := range []struct{ flag, value string }{{"--srdf", r.SRDF}, {"--limits", r.Limits}, {"--actuators", r.Actuators}} {
		if f.value != "" {
			words = append(words, f.flag, f.value)
		}
	}
	for _, p := range r.Packages {
		words = append(words, "--package", p)
	}
	for _, a := range r.Args {
		words = append(words, "--arg", a)
	}
	for i, w := range words {
		if !plain.MatchString(w) {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
