package sql

import (
	"strings"
)

// Columns are the names of the columns of its answer, in their order.
func (o Object) Columns() []string {
	_, text, found := strings.Cut("\n"+withoutComments(o.Query), "\nSELECT")
	if !found {
		return nil
	}
	var names []string
	for _, expression := range expressions(text) {
		names = append(names, columnName(expression))
	}
	return names
}

// expressions are those between the SELECT and the next clause, which begins a line.
func expressions(text string) []string {
	var list []string
	depth, quoted, begin := 0, false, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '\'':
			quoted = !quoted
		case quoted:
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ',' && depth == 0:
			list = append(list, text[begin:i])
			begin = i + 1
		case c == '\n' && depth == 0 && i+1 < len(text) && text[i+1] >= 'A' && text[i+1] <= 'Z':
			return append(list, text[begin:i])
		}
	}
	return append(list, strings.TrimRight(text[begin:], " \n;"))
}

// columnName is the alias of an expression, or the column that it is.
func columnName(expression string) string {
	words := strings.Fields(expression)
	if len(words) == 0 {
		return ""
	}
	last := words[len(words)-1]
	if dot := strings.LastIndexByte(last, '.'); dot >= 0 {
		last = last[dot+1:]
	}
	return strings.Trim(last, "`")
}
