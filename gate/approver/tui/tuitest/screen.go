// Package tuitest is a terminal for tests: what is written to it is laid out as a
// terminal of the xterm kind would. Attributes are counted, not kept. Only tests
// import it.
package tuitest

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Screen is a terminal's screen. Its methods may be called from any goroutine.
type Screen struct {
	mu       sync.Mutex
	w, h     int
	cells    [][]rune // 0 behind a wide character
	x, y     int
	wrapNext bool // the last column was written: the next character wraps
	top, bot int  // scroll region, rows
	saved    [2]int
	held     []byte // an unfinished sequence
	last     rune
	alt      bool
	main     [][]rune
	paste    bool
	unknown  []string // sequences that it doesn't know
	colored  bool
	changed  chan struct{}
}

// New makes an empty screen.
func New(w, h int) *Screen {
	s := &Screen{changed: make(chan struct{})}
	s.size(w, h)
	return s
}

func blank(w, h int) [][]rune {
	cells := make([][]rune, h)
	for y := range cells {
		cells[y] = []rune(strings.Repeat(" ", w))
	}
	return cells
}

func (s *Screen) size(w, h int) {
	old := s.cells
	s.cells = blank(w, h)
	for y := range min(h, len(old)) {
		copy(s.cells[y], old[y])
	}
	s.w, s.h, s.top, s.bot = w, h, 0, h-1
	s.x, s.y, s.wrapNext = min(s.x, w-1), min(s.y, h-1), false
}

// Resize makes it another size; what doesn't fit is cut off.
func (s *Screen) Resize(w, h int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size(w, h)
	s.tell()
}

// Size returns its size in columns and rows.
func (s *Screen) Size() (w, h int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w, s.h
}

// Changed is closed when something is written next.
func (s *Screen) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *Screen) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// String returns the rows, without the blanks at their ends.
func (s *Screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, row := range s.cells {
		line := strings.ReplaceAll(string(row), "\x00", "")
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// Alt reports whether the alternate screen is shown.
func (s *Screen) Alt() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.alt
}

// Paste reports whether pastes are to be marked.
func (s *Screen) Paste() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paste
}

// Colored reports whether a colour was ever used.
func (s *Screen) Colored() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.colored
}

// Unknown lists what was written and isn't understood.
func (s *Screen) Unknown() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.unknown...)
}

// Write lays p out. It never fails.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	buf := slices.Concat(s.held, p)
	s.held = nil
	for len(buf) > 0 {
		n := s.step(buf)
		if n == 0 {
			s.held = append(s.held, buf...)
			break
		}
		buf = buf[n:]
	}
	s.tell()
	return len(p), nil
}

// step takes the first thing of buf; 0: its rest isn't there.
func (s *Screen) step(buf []byte) int {
	switch c := buf[0]; {
	case c == 0x1b:
		return s.escape(buf)
	case c == '\r':
		s.x, s.wrapNext = 0, false
	case c == '\n':
		s.feed()
	case c == '\b':
		s.x, s.wrapNext = max(0, s.x-1), false
	case c == '\t':
		s.x = min(s.w-1, (s.x/8+1)*8)
	case c < ' ' || c == 0x7f:
	default:
		if !utf8.FullRune(buf) {
			return 0
		}
		r, n := utf8.DecodeRune(buf)
		s.put(r)
		return n
	}
	return 1
}

// Width is how many columns this terminal gives a character.
func Width(r rune) int {
	switch {
	case unicode.Is(unicode.M, r):
		return 0
	case r >= 0x1100 && r < 0x1160, r >= 0x2e80 && r < 0xa4d0, r >= 0xac00 && r < 0xd7a4, r >= 0xf900 && r < 0xfb00,
		r >= 0xff00 && r < 0xff61, r >= 0x1f300 && r < 0x1fb00, r >= 0x20000 && r < 0x40000:
		return 2
	}
	return 1
}

func (s *Screen) put(r rune) {
	n := Width(r)
	if n == 0 {
		return // joins the character before it
	}
	if s.wrapNext || s.x+n > s.w {
		s.x, s.wrapNext = 0, false
		s.feed()
	}
	s.cells[s.y][s.x] = r
	if n == 2 {
		s.cells[s.y][s.x+1] = 0
	}
	s.last = r
	if s.x += n; s.x >= s.w {
		s.x, s.wrapNext = s.w-1, true
	}
}

func (s *Screen) feed() {
	s.wrapNext = false
	if s.y == s.bot {
		s.scroll(1)
	} else if s.y < s.h-1 {
		s.y++
	}
}

// scroll moves the region up by n rows, or down.
func (s *Screen) scroll(n int) { s.shift(s.top, n) }

// shift takes n rows out at row from and adds blank ones at the region's end, or the
// other way round.
func (s *Screen) shift(from, n int) {
	for ; n > 0; n-- {
		copy(s.cells[from:s.bot], s.cells[from+1:s.bot+1])
		s.cells[s.bot] = []rune(strings.Repeat(" ", s.w))
	}
	for ; n < 0; n++ {
		copy(s.cells[from+1:s.bot+1], s.cells[from:s.bot])
		s.cells[from] = []rune(strings.Repeat(" ", s.w))
	}
}

func (s *Screen) escape(buf []byte) int {
	if len(buf) < 2 {
		return 0
	}
	switch buf[1] {
	case '[':
		for i := 2; i < len(buf); i++ {
			if buf[i] >= 0x40 && buf[i] <= 0x7e {
				s.control(string(buf[2:i]), buf[i])
				return i + 1
			}
		}
		return 0
	case ']', 'P', '_', '^', 'X':
		for i := 2; i < len(buf); i++ {
			if buf[i] == 7 {
				return i + 1
			}
			if buf[i] == 0x1b && i+1 < len(buf) && buf[i+1] == '\\' {
				return i + 2
			}
		}
		return 0
	case '(', ')', '#':
		if len(buf) < 3 {
			return 0
		}
		return 3
	case '7':
		s.saved = [2]int{s.x, s.y}
	case '8':
		s.x, s.y = min(s.saved[0], s.w-1), min(s.saved[1], s.h-1)
	case 'M':
		if s.y == s.top {
			s.scroll(-1)
		} else if s.y > 0 {
			s.y--
		}
	case 'D':
		s.feed()
	case 'E':
		s.x = 0
		s.feed()
	case '=', '>':
	default:
		s.unknown = append(s.unknown, string(buf[:2]))
	}
	return 2
}

// control does a control sequence.
func (s *Screen) control(params string, final byte) {
	if params != "" && strings.ContainsAny(params[:1], "?><=") {
		s.private(params, final)
		return
	}
	var ps []int
	for _, p := range strings.FieldsFunc(params, func(r rune) bool { return r == ';' }) {
		n, err := strconv.Atoi(p)
		if err != nil {
			s.unknown = append(s.unknown, "CSI "+params+string(final))
			return
		}
		ps = append(ps, n)
	}
	arg := func(i, def int) int {
		if i < len(ps) && ps[i] != 0 {
			return ps[i]
		}
		return def
	}
	n := arg(0, 1)
	if final != 'm' && final != 'b' {
		s.wrapNext = false
	}
	switch final {
	case 'A':
		s.y = max(0, s.y-n)
	case 'B', 'e':
		s.y = min(s.h-1, s.y+n)
	case 'C', 'a':
		s.x = min(s.w-1, s.x+n)
	case 'D':
		s.x = max(0, s.x-n)
	case 'E':
		s.x, s.y = 0, min(s.h-1, s.y+n)
	case 'F':
		s.x, s.y = 0, max(0, s.y-n)
	case 'G', '`':
		s.x = min(s.w, n) - 1
	case 'H', 'f':
		s.y, s.x = min(s.h, n)-1, min(s.w, arg(1, 1))-1
	case 'd':
		s.y = min(s.h, n) - 1
	case 'J':
		s.erase(arg(0, 0))
	case 'K':
		s.eraseLine(arg(0, 0))
	case 'X':
		s.fill(s.y, s.x, min(s.w, s.x+n))
	case 'L':
		s.shift(s.y, -n)
	case 'M':
		s.shift(s.y, n)
	case 'P':
		row := s.cells[s.y]
		n = min(n, s.w-s.x)
		copy(row[s.x:], row[s.x+n:])
		s.fill(s.y, s.w-n, s.w)
	case '@':
		row := s.cells[s.y]
		n = min(n, s.w-s.x)
		copy(row[s.x+n:], row[s.x:s.w-n])
		s.fill(s.y, s.x, s.x+n)
	case 'S':
		s.scroll(n)
	case 'T':
		s.scroll(-n)
	case 'r':
		if s.top, s.bot = n-1, min(arg(1, s.h), s.h)-1; s.top >= s.bot { // of another size
			s.top, s.bot = 0, s.h-1
		}
		s.x, s.y = 0, 0
	case 'b':
		for range n {
			s.put(s.last)
		}
	case 'm':
		for _, p := range ps {
			s.colored = s.colored || p >= 30 && p < 50 || p >= 90 && p < 108
		}
	default:
		s.unknown = append(s.unknown, "CSI "+params+string(final))
	}
}

func (s *Screen) private(params string, final byte) {
	set := final == 'h'
	if params[0] != '?' || final != 'h' && final != 'l' {
		if final != 'm' && final != 'u' { // keyboard protocols
			s.unknown = append(s.unknown, "CSI "+params+string(final))
		}
		return
	}
	for _, p := range strings.Split(params[1:], ";") {
		switch p {
		case "1049":
			if set && !s.alt {
				s.main, s.cells = s.cells, blank(s.w, s.h)
			} else if !set && s.alt {
				s.cells = s.main
				s.size(s.w, s.h)
			}
			s.alt = set
		case "2004":
			s.paste = set
		}
	}
}

func (s *Screen) fill(y, from, to int) {
	for x := from; x < to; x++ {
		s.cells[y][x] = ' '
	}
}

func (s *Screen) eraseLine(how int) {
	switch how {
	case 0:
		s.fill(s.y, s.x, s.w)
	case 1:
		s.fill(s.y, 0, s.x+1)
	default:
		s.fill(s.y, 0, s.w)
	}
}

func (s *Screen) erase(how int) {
	from, to := 0, s.h
	switch how {
	case 0:
		s.eraseLine(0)
		from = s.y + 1
	case 1:
		s.eraseLine(1)
		to = s.y
	}
	for y := from; y < to; y++ {
		s.fill(y, 0, s.w)
	}
}
