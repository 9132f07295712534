package api

import (
	"fmt"
	"unicode/utf16"
)

// escaped is a character as JSON writes it in ASCII: two halves where it has no single one.
func escaped(r rune) string {
	if high, low := utf16.EncodeRune(r); high != '\uFFFD' {
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}
