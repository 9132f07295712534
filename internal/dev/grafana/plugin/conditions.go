package plugin

import (
	"fmt"
	"regexp"
	"strings"
)

const conditionalAll = "$__conditionalAll("

// conditions puts 1=1 for each condition whose variable has all values, from the last to the first.
func (r Request) conditions(text string) (string, error) {
	for at := strings.LastIndex(text, conditionalAll); at >= 0; at = strings.LastIndex(text, conditionalAll) {
		open := at + len(conditionalAll) - 1
		arguments, end, err := plainArguments(text, open)
		if err != nil || len(arguments) != 2 {
			return "", fmt.Errorf("$__conditionalAll wants a condition and a variable, got %q", text[at:])
		}
		condition := arguments[0]
		if m := regexp.MustCompile(`\$\{?(\w+)`).FindStringSubmatch(arguments[1]); m != nil {
			if values, known := r.Variables[m[1]]; known && (strings.Join(values, ",") == "" || strings.Join(values, ",") == All) {
				condition = "1=1"
			}
		}
		text = text[:at] + condition + text[end:]
	}
	return text, nil
}

// plainArguments splits at commas as the front end does, which knows brackets and no quotes.
func plainArguments(text string, open int) (arguments []string, end int, err error) {
	depth, begin := 0, open+1
	for i := open; i < len(text); i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if text[i] == ',' && depth == 1 || depth == 0 {
			arguments = append(arguments, text[begin:i])
			begin = i + 1
		}
		if depth == 0 {
			return arguments, i + 1, nil
		}
	}
	return nil, 0, fmt.Errorf("bracket without end in %q", text[open:])
}
