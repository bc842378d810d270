// Package telegramtest is a stand-in for Telegram's Bot API, for tests: it keeps to the
// rules that the channel depends on (offsets, one poll at a time, lengths of texts and
// of buttons' data, what an edit does), and goes wrong as it is told. Its constructor
// takes a testing.TB, so that a program can't hold one; only tests import it.
package telegramtest
