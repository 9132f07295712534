package logline

import (
	"strconv"
	"strings"
)

// pairs reads "key: value, key: value, ".
func (r *Record) pairs(s, between, within string) {
	for s != "" {
		var one string
		one, s, _ = strings.Cut(s, between)
		if key, value, found := strings.Cut(one, within); found {
			r.pair(strings.TrimSpace(key), withoutEnds(value))
		}
	}
}

// withoutEnds has no blanks and commas around it.
func withoutEnds(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == ',') {
		s = s[1:]
	}
	for s != "" && (s[len(s)-1] == ' ' || s[len(s)-1] == ',') {
		s = s[:len(s)-1]
	}
	return s
}

func (r *Record) pair(key, value string) {
	if key == "" || value == "" {
		return
	}
	r.Pairs = append(r.Pairs, Pair{Key: key, Value: value})
	digits := strings.TrimSuffix(value, "%")
	if digits == "" || !isDigit(digits[0]) && strings.IndexByte("-+.nNiI", digits[0]) < 0 {
		return
	}
	if f, err := strconv.ParseFloat(digits, 64); err == nil {
		p := &r.Pairs[len(r.Pairs)-1]
		p.Number, p.Float, p.Digits = true, f, decimalsOf(digits)
	}
}

// decimalsOf counts the decimals of a number as it is written.
func decimalsOf(text string) int16 {
	mantissa, exponent := text, 0
	if at := exponentAt(text); at >= 0 {
		mantissa = text[:at]
		exponent, _ = strconv.Atoi(text[at+1:])
	}
	at := strings.IndexByte(mantissa, '.')
	if at < 0 && exponent >= 0 {
		return Unknown
	}
	decimals := -exponent
	if at >= 0 {
		decimals += len(mantissa) - at - 1
	}
	return int16(max(0, min(decimals, 1000)))
}

func exponentAt(text string) int {
	for i := range len(text) {
		if text[i]|' ' == 'e' {
			return i
		}
	}
	return -1
}

func between(s, from string) string {
	_, rest, _ := strings.Cut(s, from)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
