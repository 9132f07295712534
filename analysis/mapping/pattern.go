package mapping

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// pattern is a dotted name with captures: <n> stands for one part of it, or a piece of one, <path..> for one or more
// parts. The last part may be a list, [q_proj, k_proj, v_proj], of parts that are joined.
type pattern struct {
	text     string
	head     string   // before the list
	parts    []string // of the list; empty where there is none
	along    int      // the dimension along which parameters are joined
	captures []string
	prefixes []*regexp.Regexp // of the whole, or of each part of the list
}

const defaultAlong = 0

func parsePattern(text string) (*pattern, error) {
	p := &pattern{text: text, along: defaultAlong}
	if err := p.cutList(text); err != nil {
		return nil, err
	}
	names := []string{p.head}
	if p.joins() {
		names = p.names()
	}
	for i, name := range names {
		prefix, captures, err := compile(name)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			p.captures = captures
		}
		p.prefixes = append(p.prefixes, prefix)
	}
	return p, nil
}

// cutList reads head.[a, b] along 1.
func (p *pattern) cutList(text string) error {
	before, after, ok := strings.Cut(text, "[")
	if !ok {
		p.head = text
		return nil
	}
	list, behind, closed := strings.Cut(after, "]")
	if !closed {
		return fmt.Errorf("%q: the list has no end", text)
	}
	if before != "" && !strings.HasSuffix(before, ".") {
		return fmt.Errorf("%q: a list stands for the last part of a name", text)
	}
	if behind = strings.TrimSpace(behind); behind != "" {
		dimension, err := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(behind, "along")), 10, 8)
		if err != nil || !strings.HasPrefix(behind, "along") {
			return fmt.Errorf("%q: behind the list stands nothing, or along and a dimension", text)
		}
		p.along = int(dimension) //nolint:gosec // 8 bits
	}
	p.head = strings.TrimSuffix(before, ".")
	for part := range strings.SplitSeq(list, ",") {
		p.parts = append(p.parts, strings.TrimSpace(part))
	}
	if len(p.parts) < 2 || slices.Contains(p.parts, "") || strings.ContainsAny(list, "<>[") {
		return fmt.Errorf("%q: a list holds two names or more", text)
	}
	return nil
}

func (p *pattern) joins() bool { return len(p.parts) > 0 }

// names are the patterns of all parts.
func (p *pattern) names() []string {
	names := make([]string, len(p.parts))
	for i, part := range p.parts {
		names[i] = below(p.head, part)
	}
	return names
}

func below(head, last string) string {
	if head == "" {
		return last
	}
	return head + "." + last
}

func cutLast(name string) (head, last string) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name
	}
	return name[:i], name[i+1:]
}

// compile makes a pattern that also takes names below a name, as its last group.
func compile(name string) (*regexp.Regexp, []string, error) {
	var b strings.Builder
	var captures []string
	for rest := name; rest != ""; {
		literal, after, found := strings.Cut(rest, "<")
		b.WriteString(regexp.QuoteMeta(literal))
		if !found {
			break
		}
		capture, behind, closed := strings.Cut(after, ">")
		word := strings.TrimSuffix(capture, "..")
		if !closed || word == "" || strings.ContainsAny(word, ".<") {
			return nil, nil, fmt.Errorf("%q: a capture is written <name>, or <name..> for several parts", name)
		}
		if slices.Contains(captures, word) {
			return nil, nil, fmt.Errorf("%q: capture <%s> stands twice", name, word)
		}
		captures = append(captures, word)
		b.WriteString(map[bool]string{false: `([^.]+?)`, true: `(.+?)`}[word != capture])
		rest = behind
	}
	if name == "" {
		return nil, nil, errors.New("a name is missing")
	}
	compiled, err := regexp.Compile(`\A` + b.String() + `(\..*)?\z`)
	return compiled, captures, err
}

// match has the captured texts and the rest below the match; part is the matched entry of the list.
type match struct {
	texts map[string]string
	part  int
	rest  string // empty, or from its dot on
}

// find matches a name, or a name below one.
func (p *pattern) find(name string) (match, bool) {
	for part, prefix := range p.prefixes {
		groups := prefix.FindStringSubmatch(name)
		if groups == nil {
			continue
		}
		m := match{texts: make(map[string]string, len(p.captures)), part: part, rest: groups[len(groups)-1]}
		for i, capture := range p.captures {
			m.texts[capture] = groups[i+1]
		}
		return m, true
	}
	return match{}, false
}

// fill puts the captured texts into a name.
func fill(name string, texts map[string]string) string {
	var b strings.Builder
	for {
		literal, after, found := strings.Cut(name, "<")
		b.WriteString(literal)
		if !found {
			return b.String()
		}
		capture, behind, _ := strings.Cut(after, ">")
		b.WriteString(texts[strings.TrimSuffix(capture, "..")])
		name = behind
	}
}

// pairPatterns reads both sides of a line, which must capture the same.
func pairPatterns(problem, bench string) (p, b *pattern, err error) {
	if p, err = parsePattern(problem); err != nil {
		return nil, nil, err
	}
	if b, err = parsePattern(bench); err != nil {
		return nil, nil, err
	}
	left, right := slices.Sorted(slices.Values(p.captures)), slices.Sorted(slices.Values(b.captures))
	if !slices.Equal(left, right) {
		return nil, nil, fmt.Errorf("%q captures %s and %q captures %s: want the same on both sides", problem, list(left), bench, list(right))
	}
	return p, b, nil
}

func list(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return "<" + strings.Join(names, ">, <") + ">"
}
