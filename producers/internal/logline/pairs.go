package logline

import "strings"

// pairs reads "key: value, key: value, ".
func (r *Record) pairs(s, between, within string) {
	for s != "" {
		one := s
		if end := find(s, between); end >= 0 {
			one, s = s[:end], s[end+len(between):]
		} else {
			s = ""
		}
		if at := find(one, within); at >= 0 {
			r.pair(strings.TrimSpace(one[:at]), withoutEnds(one[at+len(within):]))
		}
	}
}

// find is strings.Index where the text is a few bytes away.
func find(s, text string) int {
	for i := 0; i+len(text) <= len(s); i++ {
		if s[i] == text[0] && s[i:i+len(text)] == text {
			return i
		}
	}
	return -1
}

// withoutEnds has no blanks and commas around it.
func withoutEnds(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == ',') {
		s = s[1:]
	}
	for s != "" && (s[len(s)-1] == ' ' || s[len(s)-1] == ',') {
		s = s[:len(s)-1]
	}
	return s
}

func (r *Record) pair(key, value string) {
	if key == "" || value == "" {
		return
	}
	r.Pairs = append(r.Pairs, Pair{Key: key, Value: value})
	r.Pairs[len(r.Pairs)-1].number(strings.TrimSuffix(value, "%"))
}

func between(s, from string) string {
	_, rest, _ := strings.Cut(s, from)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
