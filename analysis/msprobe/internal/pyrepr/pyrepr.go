// Package pyrepr prints values as Python does: what msProbe writes is what Python prints.
package pyrepr

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Float is repr of a float.
func Float(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	case v != 0 && (math.Abs(v) < 1e-4 || math.Abs(v) >= 1e16):
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// Texts is repr of a list of texts.
func Texts(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = Text(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// Text is repr of a text: in single quotes, unless only those occur in it.
func Text(text string) string {
	quote := '\''
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range text {
		switch {
		case r == quote || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(escaped(r))
		}
	}
	b.WriteRune(quote)
	return b.String()
}

func escaped(r rune) string {
	switch {
	case r <= 0xff:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// JSON is json.dumps of a text: in ASCII, with a short escape where JSON has one.
func JSON(text string) string {
	var b strings.Builder
	b.Grow(len(text) + 2)
	b.WriteByte('"')
	for _, r := range text {
		if short := shortEscape(r); short != 0 {
			b.WriteString(string([]byte{'\\', short}))
		} else if r >= ' ' && r <= '~' {
			b.WriteByte(byte(r))
		} else {
			writeUnits(&b, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// shortEscape is what follows the backslash of a character that JSON escapes by one letter; 0 for all others.
func shortEscape(r rune) byte {
	switch r {
	case '"', '\\':
		return byte(r)
	case '\b':
		return 'b'
	case '\f':
		return 'f'
	case '\n':
		return 'n'
	case '\r':
		return 'r'
	case '\t':
		return 't'
	}
	return 0
}

// writeUnits writes the units that a character has in UTF-16, one or two.
func writeUnits(b *strings.Builder, r rune) {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		return
	}
	fmt.Fprintf(b, `\u%04x`, r)
}
