package ask

import "strings"

// Texts is a list of texts as the database reads an Array(String).
func Texts(texts []string) string {
	literals := make([]string, len(texts))
	for i, text := range texts {
		literals[i] = Text(text)
	}
	return "[" + strings.Join(literals, ",") + "]"
}

// Text is a text within a list that is a parameter. The driver escapes what else the database's reader of lists would
// take for an escape, backslashes too.
func Text(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
