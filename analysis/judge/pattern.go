package judge

import "strings"

// pattern is a text in which * stands for any text; it fits whole texts.
type pattern struct{ parts []string }

func newPattern(text string) pattern { return pattern{parts: strings.Split(text, "*")} }

func (p pattern) fits(text string) bool {
	last := len(p.parts) - 1
	if last == 0 {
		return text == p.parts[0]
	}
	text, ok := strings.CutPrefix(text, p.parts[0])
	if !ok {
		return false
	}
	for _, part := range p.parts[1:last] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return strings.HasSuffix(text, p.parts[last])
}
