package report

import (
	"strconv"
	"strings"
	"unicode"
)

// Argument is a word of a command as a shell reads it.
func Argument(word string) string {
	plain := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./", r) }
	switch {
	case word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0:
		return word
	case strings.IndexFunc(word, func(r rune) bool { return !unicode.IsPrint(r) }) < 0:
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	// The form of bash and zsh for characters that would spoil a terminal.
	text := strconv.Quote(word)
	return "$'" + strings.NewReplacer(`\"`, `"`, `'`, `\'`).Replace(text[1:len(text)-1]) + "'"
}
