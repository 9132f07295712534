package logline

import (
	"strconv"
	"strings"
)

// mostExact is the number of digits of which every number is a float64, and so is the power of ten to divide it by.
const mostExact = 15

// number is what a text says, and how many decimals. Most are of digits and a point alone.
func (p *Pair) number(text string) {
	if text == "" || !isDigit(text[0]) && strings.IndexByte("-+.nNiI", text[0]) < 0 {
		return
	}
	if p.Float, p.Digits, p.Number = plain(text); p.Number {
		return
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		p.Float, p.Digits, p.Number = f, decimalsOf(text), true
	}
}

// plain is a number of few digits and at most one point, as strconv reads it: a division of two exact numbers rounds once.
func plain(text string) (value float64, decimals int16, known bool) {
	if len(text) > mostExact+1 {
		return 0, 0, false
	}
	whole, power, point := uint64(0), uint64(1), false
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '.' && !point:
			point = true
			continue
		case !isDigit(c):
			return 0, 0, false
		case point:
			power *= 10
			decimals++
		}
		whole = 10*whole + uint64(c-'0')
	}
	if !point {
		return float64(whole), Unknown, text != "" && len(text) <= mostExact
	}
	return float64(whole) / float64(power), decimals, len(text) > 1
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
