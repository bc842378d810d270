package shell

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tau-robot/tau/gate/words"
)

// Names are what a robot's own things are called: for completion, and for hints.
type Names struct {
	Joints    []string // that can be commanded
	Links     []string
	Actuators []string // beside the joints
	// Bodies returns those of the scene as it is now; nil: there are none. It is called
	// at each completion of one, from the goroutine that reads the terminal, and mustn't
	// wait for a motion.
	Bodies func() []string
}

// spelled are numbers with a unit behind them, or a comma for the point.
var spelled = regexp.MustCompile(`^([-+]?[0-9]*[.,]?[0-9]+(?:[eE][-+]?[0-9]+)?) ?([A-Za-z°%]*)$`)

// factors turn what people write into SI units.
var factors = map[string]struct {
	factor float64
	says   string
}{
	"deg": {math.Pi / 180, "is in degrees; angles are in radians here"}, "degrees": {math.Pi / 180, "is in degrees; angles are in radians here"},
	"degree": {math.Pi / 180, "is in degrees; angles are in radians here"}, "°": {math.Pi / 180, "is in degrees; angles are in radians here"},
	"mm": {1e-3, "is in millimetres; lengths are in metres here"}, "cm": {1e-2, "is in centimetres; lengths are in metres here"},
	"rad": {1, "has a unit; numbers have none here, angles are in radians"}, "m": {1, "has a unit; numbers have none here, lengths are in metres"},
	"s": {1, "has a unit; numbers have none here, times are in seconds"}, "ms": {1e-3, "is in milliseconds; times are in seconds here"},
	"%": {1e-2, "is in per cent; fractions are from 0 to 1 here"},
	"":  {1, "isn't a number as it is written here"},
}

// misspelt says what number is meant by text that isn't one; nil: it can't be told.
func misspelt(text string) error {
	m := spelled.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	unit, known := factors[strings.ToLower(m[2])]
	x, ok := float(strings.Replace(m[1], ",", ".", 1))
	if !known || !ok {
		return nil
	}
	says := unit.says
	if strings.Contains(m[1], ",") && m[2] == "" {
		says = "has a decimal comma; numbers have a point here"
	}
	return fmt.Errorf("%q %s: write %s", text, says, strconv.FormatFloat(x*unit.factor, 'g', 5, 64))
}

func float(s string) (float64, bool) {
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil && !math.IsInf(x, 0)
}

// didYouMean names the nearest of several words, if one is near.
func didYouMean(l words.Lang, word string, known []string) string {
	best, at := "", min(utf8.RuneCountInString(word)/3+1, 3)
	for _, k := range known {
		if d := distance(word, k); d < at || d == at && best == "" {
			best, at = k, d
		}
	}
	if best == "" {
		return ""
	}
	return " " + l.DidYouMean(best)
}

// maxWord bounds the words that are compared, in characters.
const maxWord = 64

// distance is how many characters have to be inserted, left out, replaced, or swapped
// with the next one, to make one word of the other (optimal string alignment).
func distance(a, b string) int {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	if len(x) > maxWord || len(y) > maxWord {
		return maxWord
	}
	var before []int
	last := make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			replace := last[j-1]
			if x[i-1] != y[j-1] {
				replace++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(y)]
}
