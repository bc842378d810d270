package urdf

import (
	"math"
	"strconv"
	"strings"
)

// parseNumber reads one decimal number as xs:double spells it, without INF and
// NaN: an optional sign, digits with an optional point, an optional exponent.
// strconv.ParseFloat alone would take hexadecimal, underscores, "inf" and "nan".
// The second result says what is wrong, "" for nothing. Go reads numbers the
// same in every locale.
func parseNumber(s string) (float64, string) {
	if !isDecimal(s) {
		switch strings.ToLower(strings.TrimLeft(s, "+-")) {
		case "nan", ".nan", "inf", ".inf", "infinity":
			return 0, strconv.Quote(s) + " is not finite"
		}
		return 0, strconv.Quote(s) + " is not a decimal number"
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, strconv.Quote(s) + " is out of range"
	}
	return v, ""
}

func isDecimal(s string) bool {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	whole := countDigits(s)
	s = s[whole:]
	frac := 0
	if s != "" && s[0] == '.' {
		frac = countDigits(s[1:])
		s = s[1+frac:]
	}
	if whole+frac == 0 {
		return false
	}
	if s == "" {
		return true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return false
	}
	s = s[1:]
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	return s != "" && countDigits(s) == len(s)
}

func countDigits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
