package stopscan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate/stopscan"
)

func TestG6_AScriptsBrokenLineThatNamesAStop(t *testing.T) {
	for text, want := range map[string]string{
		`stop`:                                           "stop",
		` e s t o p `:                                    "estop",
		`{"tool":"stop","arguments":`:                    "stop",
		`{"tool":"\u0073top","arguments":`:               "stop",
		`{"tool" : "est\u006fp","what":1}`:               "estop",
		`{"\u0074ool":"\u0065\u0073\u0074\u006F\u0070",`: "estop",
		`{"tool":"stop"}{"tool":"estop"}`:                "estop",
		`{"tool":"estop"}{"tool":"stop"}`:                "estop",
		`{"tool":"stopp","arguments":`:                   "",
		`{"name":"stop"`:                                 "",
		`stop x`:                                         "",
		``:                                               "",
	} {
		require.Equal(t, want, stopscan.In(stopscan.Script(), []byte(text)), text)
	}
}

func TestG6_AnMCPMessageThatNamesAStop(t *testing.T) {
	for text, want := range map[string]string{
		`{"method":"tools/call","params":{"name":"stop","arguments":{`:                               "stop",
		`{"params":{"arguments":{x},"name" : "\u0065stop"},"method" :"tools\/call"}`:                 "estop",
		`"method":"\u0074\u006F\u006F\u006C\u0073\u002F\u0063\u0061\u006C\u006C" "name":"\u0073top"`: "stop",
		`{"method":"prompts/get","params":{"name":"stop","arguments":{`:                              "",
		`{"method":"tools/call","params":{"name":"Stop","arguments":{`:                               "",
		`{"method":"tools/call","params":{"name":"scene_add","arguments":{"reason":"name: stop"}`:    "",
		`{"method":"tools/call"},{"method":"tools/call","params":{"name":"stop"}},{"name":"estop"}]`: "estop",
		`stop`: "",
	} {
		require.Equal(t, want, stopscan.In(stopscan.MCP(), []byte(text)), text)
	}
}

// However a stop is escaped, spaced and cut into parts, and whatever stands around
// it, it is found, and the memory stays bounded.
func TestG6_AStopIsFoundInWhateverParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tool := rapid.SampledFrom([]string{stopscan.Stop, stopscan.EStop}).Draw(t, "tool")
		spaces := func() string { return rapid.StringMatching(`[ \t\r\n]{0,3}`).Draw(t, "space") }
		text := rapid.SampledFrom([]string{"", strings.Repeat("x", 40_000), `{"a":[`}).Draw(t, "before") +
			quoted(t, "method") + spaces() + ":" + spaces() + quoted(t, "tools/call") + "," +
			rapid.SampledFrom([]string{"", strings.Repeat("y ", 70_000), `"arguments":{"a":`}).Draw(t, "between") +
			quoted(t, "name") + spaces() + ":" + spaces() + quoted(t, tool) +
			rapid.SampledFrom([]string{"", "}}", strings.Repeat(`"`, 200)}).Draw(t, "after")
		s := stopscan.New(stopscan.MCP())
		for rest := []byte(text); len(rest) > 0; {
			n := min(rapid.SampledFrom([]int{1, 7, 100, 4096, 1 << 20}).Draw(t, "part"), len(rest))
			s.Feed(rest[:n])
			rest = rest[n:]
		}
		require.Equal(t, tool, s.Found())
	})
}

// Wherever a part ends, the stop across its end is found.
func TestG6_AStopAcrossTwoPartsIsFound(t *testing.T) {
	call := []byte(`"method":"tools/call","params":{"name":"stop"`)
	for before := range 300 {
		text := append(bytes.Repeat([]byte("x"), before), call...)
		for _, size := range []int{1, 50} {
			s := stopscan.New(stopscan.MCP())
			for rest := text; len(rest) > 0; rest = rest[min(size, len(rest)):] {
				s.Feed(rest[:min(size, len(rest))])
			}
			require.Equal(t, stopscan.Stop, s.Found(), "%d bytes before it, parts of %d", before, size)
		}
	}
}

// quoted writes a word as JSON with some letters escaped.
func quoted(t *rapid.T, word string) string {
	var b bytes.Buffer
	for _, c := range word {
		switch rapid.IntRange(0, 3).Draw(t, "escape") {
		case 0:
			fmt.Fprintf(&b, `\u%04x`, c)
		case 1:
			fmt.Fprintf(&b, `\u%04X`, c)
		default:
			b.WriteRune(c)
		}
	}
	return `"` + b.String() + `"`
}

// A stop that a JSON decoder reads in a message is found in the message's bytes.
func FuzzStopScan(f *testing.F) {
	for _, s := range []string{
		`{"tool":"stop"}`, `{"tool":"\u0065stop","id":"1"}`, `{"method":"tools/call","params":{"name":"stop"}}`,
		`{"method":"tools\/call","params":{"arguments":{},"name":"est\u006Fp"}}`, `stop`, "\tstop\r\n", `"\`, `{"tool":"\u00`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var m struct {
			Tool   string `json:"tool"`
			Method string `json:"method"`
			Params struct {
				Name string `json:"name"`
			} `json:"params"`
		}
		got := stopscan.In(stopscan.Script(), text)
		mcp := stopscan.In(stopscan.MCP(), text)
		require.Contains(t, []string{"", "stop", "estop"}, got)
		require.Contains(t, []string{"", "stop", "estop"}, mcp)
		if !exactNames(text) || json.Unmarshal(text, &m) != nil {
			return
		}
		if m.Tool == stopscan.Stop || m.Tool == stopscan.EStop {
			require.False(t, stopscan.Stronger(m.Tool, got), "%s in %s", m.Tool, text)
		}
		if m.Method == "tools/call" && (m.Params.Name == stopscan.Stop || m.Params.Name == stopscan.EStop) {
			require.False(t, stopscan.Stronger(m.Params.Name, mcp), "%s in %s", m.Params.Name, text)
		}
	})
}

// exactNames leaves out what encoding/json takes and no parser of ours does: names
// in other cases.
func exactNames(text []byte) bool {
	lower := bytes.ToLower(text)
	for _, name := range []string{"tool", "name", "method", "params"} {
		if bytes.Count(lower, []byte(name)) != bytes.Count(text, []byte(name)) {
			return false
		}
	}
	return !bytes.Contains(lower, []byte(`\u017f`)) && !bytes.ContainsRune(text, 'ſ') && !bytes.ContainsRune(text, 'K') &&
		!escapedUpper(lower)
}

func escapedUpper(lower []byte) bool {
	for c := 'A'; c <= 'Z'; c++ {
		if bytes.Contains(lower, fmt.Appendf(nil, `\u%04x`, c)) {
			return true
		}
	}
	return bytes.Contains(lower, []byte(`\u212a`))
}
