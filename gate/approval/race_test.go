//go:build race

package approval_test

// underRace: SQLite in Go is some ten times slower there, and its own code isn't
// what is looked for; the same tests run a part of their rounds.
const underRace = true
