package script

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A stop stops wherever its name is in a line that is too long, and however it is
// written.
func TestG6_AStopInALineThatIsTooLongStops(t *testing.T) {
	x := strings.Repeat("x", 2*maxLine)
	for text, want := range map[string]string{
		`{"arguments":{"reason":"` + x + `"},"tool":"stop"}`:                        "stop",
		`{"arguments":{"reason":"` + x + `"},"tool":"\u0065stop"}`:                  "estop",
		`{"arguments":{"reason":"` + x + `"},"t\u006Fol":"\u0073top"}`:              "stop",
		`{"tool":"stop","arguments":{"reason":"` + x + `"}}`:                        "stop",
		`{"arguments":"` + x + `","tool":` + strings.Repeat(" ", 1<<18) + `"stop"}`: "stop",
		`{"arguments":"` + x[:maxLine-25] + `","tool":"stop"}` + x:                  "stop",
		`{"tool":"stop","a":"` + x + `","tool":"estop"}`:                            "estop",
		"stop" + strings.Repeat(" ", 2*maxLine):                                     "stop",
		`{"arguments":{"reason":"` + x + `"},"tool":"move"}`:                        "",
		`{"arguments":{"reason":"\"tool\":\"stop\"` + x + `"},"tool":"move"}`:       "",
	} {
		_, err := readLine(bufio.NewReaderSize(strings.NewReader(text+"\n"), 64<<10))
		var long *tooLongError
		require.ErrorAs(t, err, &long)
		require.Equal(t, want, long.stop, "%.60s … %s", text, text[len(text)-20:])
	}
}

func TestG6_AMalformedStopWithEscapesStops(t *testing.T) {
	for text, want := range map[string]string{
		`{"tool":"\u0073top","arguments":`:          "stop",
		`{"tool" : "est\u006fp","what":1}`:          "estop",
		`{"tool":"stopp","arguments":`:              "",
		`{"tool":"\u0065\u0073\u0074\u006f\u0070",`: "estop",
	} {
		_, err := parse(1, []byte(text))
		var le *lineError
		require.ErrorAs(t, err, &le)
		require.Equal(t, want, le.stop, text)
	}
}
