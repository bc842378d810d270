package port

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

const someLocks = `1: POSIX  ADVISORY  WRITE 11015 fe:00:9995276 1073741826 1073742335
2: FLOCK  ADVISORY  READ  20 00:05:88 0 EOF
2: -> FLOCK  ADVISORY  WRITE 21 00:05:88 0 EOF
3: FLOCK  ADVISORY  WRITE 708 00:05:88 0 EOF
4: FLOCK  ADVISORY  WRITE 709 00:05:88888 0 EOF
5: FLOCK  ADVISORY  WRITE 710 fe:00:88 0 EOF
6: FLOCK  ADVISORY  WRITE -1 00:06:88 0 EOF
7: FLOCK  ADVISORY  WRITE
8: OFDLCK ADVISORY  WRITE 711 00:07:88 0 EOF
`

func TestTheHolderOfALockIsFound(t *testing.T) {
	for _, c := range []struct {
		major, minor uint32
		inode        uint64
		pid          int
	}{
		{0, 5, 88, 708}, {0, 5, 88888, 709}, {0xfe, 0, 88, 710},
		{0, 6, 88, 0}, // a holder that can't be seen from here
		{0, 7, 88, 0}, {0xfe, 0, 9995276, 0}, {1, 5, 88, 0}, {0, 5, 8, 0},
	} {
		pid, found := parseLocks(someLocks, c.major, c.minor, c.inode)
		require.Equal(t, c.pid, pid)
		require.Equal(t, c.pid != 0, found)
	}
}

func TestTextsOfOthersArePrintable(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		" Uno \n":                 "Uno",
		"a\x1b[31m\rb\nc":         "a?[31m?b?c",
		"Ünø 机":                   "Ünø 机",
		"\xff\xfe":                "??",
		"a\u202eb\u200bc":         "a?b?c",
		strings.Repeat("x", 80):   strings.Repeat("x", 80),
		strings.Repeat("机", 1000): strings.Repeat("机", 80) + "…",
	} {
		require.Equal(t, want, printable(in))
	}
	require.Equal(t, "tau robot real", commandLine([]byte("tau\x00robot\x00real\x00")))
	require.Equal(t, "", commandLine(nil))
	require.Equal(t, "12 (tau)", Holder{PID: 12, Command: "tau"}.String())
	require.Equal(t, "12", Holder{PID: 12}.String())
	require.Equal(t, "not a USB device", identity{}.String())
}

func TestUSBNumbersAreFourHexDigits(t *testing.T) {
	for in, want := range map[string]uint16{"2341\n": 0x2341, "0043": 0x43, "FFFF": 0xffff} {
		got, ok := usbID(in)
		require.True(t, ok, in)
		require.Equal(t, want, got)
	}
	for _, in := range []string{"", "1", "12345", "-123", "+123", "0x12", "zzzz"} {
		_, ok := usbID(in)
		require.False(t, ok, in)
	}
}

func FuzzParseLocks(f *testing.F) {
	f.Add(someLocks, uint32(0), uint32(5), uint64(88))
	f.Add("1: FLOCK ADVISORY WRITE 1 ::1 0 EOF", uint32(0), uint32(0), uint64(1))
	f.Add("", uint32(0), uint32(0), uint64(0))
	f.Fuzz(func(t *testing.T, text string, major, minor uint32, inode uint64) {
		pid, found := parseLocks(text, major, minor, inode)
		if found != (pid > 0) {
			t.Fatalf("process %d, found %t", pid, found)
		}
		if found && !strings.Contains(text, "FLOCK") {
			t.Fatal("found a lock that isn't there")
		}
	})
}

func FuzzPrintable(f *testing.F) {
	f.Add("Uno\x1b]0;title\a")
	f.Add("\x00\xff\u2028")
	f.Fuzz(func(t *testing.T, s string) {
		got := printable(s)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > maxPrintable+1 {
			t.Fatalf("%q", got)
		}
		for _, r := range got {
			if unicode.IsControl(r) || !unicode.IsPrint(r) {
				t.Fatalf("%q has %U", got, r)
			}
		}
		if _, ok := usbID(s); ok && len(strings.TrimSpace(s)) != 4 {
			t.Fatalf("%q is a USB number", s)
		}
	})
}
