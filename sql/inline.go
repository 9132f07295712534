package sql

import (
	"fmt"
	"regexp"
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
	at := regexp.MustCompile(`\btap\.(\w+)(\(?)`).FindStringSubmatchIndex(query)
	if at == nil {
		return query, nil
	}
	name, arguments, end := query[at[2]:at[3]], "", at[1]
	if at[4] < at[5] {
		if end = closing(query, at[4]) + 1; end > 0 {
			arguments = query[at[5] : end-1]
		}
	}
	view, found := views[name]
	if !found || end == 0 {
		return "", fmt.Errorf("inline tap.%s: it is no view", name)
	}
	text, err := view.with(arguments)
	if err != nil {
		return "", err
	}
	if table, ok := made[name]; ok {
		text = table
	} else if text, err = inline(text, views, made); err == nil {
		text = "(\n" + text + "\n)"
	}
	if err != nil {
		return "", err
	}
	if !regexp.MustCompile(`^\s+AS\s`).MatchString(query[end:]) {
		text += " AS " + name // by which its columns may be called
	}
	rest, err := inline(query[end:], views, made)
	return query[:at[0]] + text + rest, err
}

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
