package sql

import (
	"fmt"
	"strings"
)

// Inline is a query in which views stand as subqueries. A database plans a view
// again for each one that stands above it, so that four of them above each other
// cost several times what they cost as one text, and it reads all columns of it.
// Of the views in made, by name, a table holds the answer: that is read.
func Inline(query string, made map[string]string) (string, error) {
	views, err := Views()
	if err != nil {
		return "", err
	}
	byName := make(map[string]Object, len(views))
	for _, v := range views {
		byName[v.Name] = v
	}
	return inline(withoutComments(query), byName, made)
}

func inline(query string, views map[string]Object, made map[string]string) (string, error) {
	var inlined strings.Builder
	for {
		begin, end := nextView(query)
		if begin < 0 {
			inlined.WriteString(query)
			return inlined.String(), nil
		}
		name, arguments := query[begin+len(viewPrefix):end], ""
		if end < len(query) && query[end] == '(' {
			open := end
			if end = closing(query, open) + 1; end > 0 {
				arguments = query[open+1 : end-1]
			}
		}
		view, found := views[name]
		if !found || end == 0 {
			return "", fmt.Errorf("inline tap.%s: it is no view", name)
		}
		text, err := view.inline(arguments, views, made)
		if err != nil {
			return "", err
		}
		inlined.WriteString(query[:begin] + text)
		if query = query[end:]; !isNamed(query) {
			inlined.WriteString(" AS " + name) // by which its columns may be called
		}
	}
}

// inline is what stands in the place of a call of the view.
func (o Object) inline(arguments string, views map[string]Object, made map[string]string) (string, error) {
	text, err := o.with(arguments)
	if table, ok := made[o.Name]; ok || err != nil {
		return table, err
	}
	text, err = inline(text, views, made)
	return "(\n" + text + "\n)", err
}

// viewPrefix begins the name of a view.
const viewPrefix = "tap."

// nextView is where the name of a view begins and ends; -1 where there is none. Texts are long, and there are many of
// them in a comparison: to look for it with a regular expression takes longer than the database takes for a quick answer.
func nextView(query string) (begin, end int) {
	for end < len(query) {
		at := strings.Index(query[end:], viewPrefix)
		if at < 0 {
			break
		}
		begin = end + at
		end = begin + len(viewPrefix)
		for end < len(query) && isWord(query[end]) {
			end++
		}
		if (begin == 0 || !isWord(query[begin-1])) && end > begin+len(viewPrefix) {
			return begin, end
		}
	}
	return -1, -1
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// isNamed says whether an alias follows.
func isNamed(rest string) bool {
	words := strings.TrimLeft(rest, blanks)
	return len(words) < len(rest) && len(words) > 2 && words[:2] == "AS" && strings.ContainsRune(blanks, rune(words[2]))
}

const blanks = " \t\n"

// with is the view's query with the arguments of a call in the place of its parameters.
func (o Object) with(arguments string) (string, error) {
	given := map[string]string{}
	for _, argument := range splitArguments(arguments) {
		name, value, ok := strings.Cut(argument, "=")
		if !ok {
			return "", fmt.Errorf("inline tap.%s: argument %q has no name", o.Name, argument)
		}
		given[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	var replaced []string // all at once: an argument may name a parameter of its own view as one of this view's is named
	for _, p := range o.Parameters {
		value, ok := given[p.Name]
		if !ok {
			return "", fmt.Errorf("inline tap.%s: parameter %s is not given", o.Name, p.Name)
		}
		if !strings.HasPrefix(value, "{") {
			value = "CAST(" + value + " AS " + p.Type + ")"
		}
		replaced = append(replaced, "{"+p.Name+":"+p.Type+"}", value)
	}
	return strings.NewReplacer(replaced...).Replace(withoutComments(o.Query)), nil
}

// splitArguments splits at the commas that stand in no brackets.
func splitArguments(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var arguments []string
	begin, open := 0, 0
	for i, c := range text {
		switch {
		case strings.ContainsRune("([{", c):
			open++
		case strings.ContainsRune(")]}", c):
			open--
		case c == ',' && open == 0:
			arguments = append(arguments, text[begin:i])
			begin = i + 1
		}
	}
	return append(arguments, text[begin:])
}

// closing is where the bracket that opens at begin closes, or -1.
func closing(text string, begin int) int {
	open := 0
	for i := begin; i < len(text); i++ {
		switch text[i] {
		case '\'', '"', '`':
			i = endOfQuoted(text, i)
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				return i
			}
		}
	}
	return -1
}

// endOfQuoted is where what is quoted from begin on ends; the text's length where it does not.
func endOfQuoted(text string, begin int) int {
	for i := begin + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[begin]:
			return i
		}
	}
	return len(text)
}
