package conditions

import (
	"fmt"
	"strings"
	"unicode"
)

// reader reads from the first character to the last.
type reader struct {
	text []rune
	at   int
}

func (r *reader) read() (When, error) {
	first, err := r.condition()
	w := When{terms: [][]Condition{{first}}}
	for err == nil && r.skip() {
		var c Condition
		last := len(w.terms) - 1
		switch {
		case r.takes("or"):
			c, err = r.condition()
			w.terms = append(w.terms, []Condition{c})
		case r.takes(",") || r.takes("and"):
			c, err = r.condition()
			w.terms[last] = append(w.terms[last], c)
		default:
			err = wrong(r.at, "want a comma, and, or; text with white space stands in quotation marks")
		}
	}
	if err == nil && len(w.terms) > mostTerms {
		err = errMany
	}
	return w, err
}

func (r *reader) condition() (Condition, error) {
	r.skip()
	begin := r.at
	name := r.while(isOfWord)
	if name == "" {
		return Condition{}, wrong(begin, "want a condition, as request=cmpl-7 or loss>10; several values stand as a|b")
	}
	known, ok := lookUp(name)
	if !ok {
		return Condition{}, wrong(begin, name+" is no condition: "+nearest(name, names()))
	}
	values, err := r.values(known)
	return Condition{Word: name, Values: values}, err
}

func (r *reader) values(w word) ([]string, error) {
	sign := w.sign()
	if sign == "" {
		return nil, nil
	}
	r.skip()
	if !r.takes(sign) {
		return nil, wrong(r.at, fmt.Sprintf("%s goes with %s, as %s", w.name, sign, w.example))
	}
	first, err := r.value(w)
	values := []string{first}
	for err == nil && sign == "=" && r.skip() && r.takes("|") {
		var further string
		further, err = r.value(w)
		values = append(values, further)
	}
	return values, err
}

func (r *reader) value(w word) (value string, err error) {
	r.skip()
	begin := r.at
	if begin < len(r.text) && strings.ContainsRune(`'"`, r.text[begin]) {
		value, err = r.quoted()
	} else {
		value = r.while(func(_ int, c rune) bool { return !endsBare(c) })
	}
	if err == nil && value == "" {
		err = wrong(begin, fmt.Sprintf("%s has no value, as %s", w.name, w.example))
	}
	if err != nil {
		return "", err
	}
	value, problem := checked(w.name, value)
	if problem != "" {
		return "", wrong(begin, problem)
	}
	return value, nil
}

func (r *reader) quoted() (string, error) {
	begin, mark := r.at, r.text[r.at]
	var value strings.Builder
	for at := begin + 1; at < len(r.text); at++ {
		switch c := r.text[at]; {
		case c == mark:
			r.at = at + 1
			return value.String(), nil
		case c == '\\' && at+1 < len(r.text):
			at++
			value.WriteRune(r.text[at])
		default:
			value.WriteRune(c)
		}
	}
	return "", wrong(begin, "the quotation has no second "+string(mark))
}

// while takes characters as long as they are wanted.
func (r *reader) while(wanted func(place int, c rune) bool) string {
	begin := r.at
	for r.at < len(r.text) && wanted(r.at-begin, r.text[r.at]) {
		r.at++
	}
	return string(r.text[begin:r.at])
}

func (r *reader) takes(mark string) bool {
	end := r.at + len(mark)
	if end > len(r.text) || string(r.text[r.at:end]) != mark {
		return false
	}
	if isLetter(rune(mark[0])) && end < len(r.text) && !unicode.IsSpace(r.text[end]) {
		return false
	}
	r.at = end
	return true
}

// skip passes over white space, and says whether anything is left.
func (r *reader) skip() bool {
	for r.at < len(r.text) && unicode.IsSpace(r.text[r.at]) {
		r.at++
	}
	return r.at < len(r.text)
}

func wrong(at int, what string) error { return fmt.Errorf("at character %d: %s", at+1, what) }

func isLetter(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

func isOfWord(place int, c rune) bool {
	return isLetter(c) || place > 0 && (c >= '0' && c <= '9' || c == '-')
}

// endsBare says that a value without quotation marks cannot have the character.
func endsBare(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune(`,|"'\`, c) }
