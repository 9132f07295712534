package mapping

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// written is a file with a line for each pair whose names differ, unless another line says it already.
func (s *suggestion) written() string {
	lines := s.lines()
	keys := slices.SortedFunc(maps.Keys(lines), func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "."), strings.Count(b, ".")), strings.Compare(a, b))
	})
	made := &Map{Kind: Own}
	var page strings.Builder
	for _, key := range keys {
		l := lines[key]
		p, b, err := pairPatterns(key, l.bench)
		if err != nil || made.says(p, b) {
			continue
		}
		made.modules = append(made.modules, moduleRule{problem: p, bench: b})
		fmt.Fprintf(&page, "  %s: %s # %s\n", written(key), written(l.bench), l.words())
	}
	if page.Len() == 0 {
		return ""
	}
	return sectionModules + ":\n" + page.String() + s.alone()
}

// suggestedLine is a line with how many pairs it stands for, and the least sure of them.
type suggestedLine struct {
	bench string
	evidence
	pairs int
}

func (l suggestedLine) words() string {
	if l.because == byParts {
		return l.because
	}
	return fmt.Sprintf("%s, %d %% sure, %s", l.because, int(100*l.sure), places(l.pairs))
}

func places(n int) string {
	if n == 1 {
		return "1 place"
	}
	return fmt.Sprintf("%d places", n)
}

// lines are the lines by their keys. A pair that is not the same in all layers has its own.
func (s *suggestion) lines() map[string]suggestedLine {
	lines := map[string]suggestedLine{}
	for _, p := range slices.Sorted(maps.Keys(s.pairs)) {
		b := s.pairs[p]
		key, value := general(p, b)
		old, ok := lines[key]
		if ok && old.bench != value {
			key, value, old = p, b, suggestedLine{}
		}
		l := suggestedLine{bench: value, evidence: s.because[p], pairs: old.pairs + 1}
		if old.pairs > 0 && old.sure < l.sure {
			l.evidence = old.evidence
		}
		lines[key] = l
	}
	return lines
}

// alone are comments with the modules of both runs that found no partner.
func (s *suggestion) alone() string {
	var page strings.Builder
	for _, side := range []struct {
		mark, run string
		modules   []module
	}{{"p", "problem", s.problem}, {"b", "bench", s.bench}} {
		var names []string
		for _, m := range side.modules {
			if name, _ := general(m.path, m.path); !s.taken[side.mark+m.path] && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			fmt.Fprintf(&page, "# without partner in the %s: %s\n", side.run, strings.Join(names, ", "))
		}
	}
	return page.String()
}

// says whether the lines so far make a module the partner of another.
func (m *Map) says(p, b *pattern) bool {
	if p.joins() || b.joins() {
		return false
	}
	name, _ := m.matched(plain(p.text))
	return name == plain(b.text)
}

// general has a capture in place of each number that stands in both names, in the same order.
func general(problem, bench string) (p, b string) {
	left, right := strings.Split(problem, "."), strings.Split(bench, ".")
	next, n := 0, 0
	for i, part := range left {
		at := slices.Index(right[next:], part)
		if !isNumber(part) || at < 0 {
			continue
		}
		capture := "<" + string(rune('n'+n)) + ">"
		left[i], right[next+at] = capture, capture
		next, n = next+at+1, n+1
	}
	return strings.Join(left, "."), strings.Join(right, ".")
}

// written is a name as YAML reads it back.
func written(name string) string {
	if strings.HasPrefix(name, "[") || strings.ContainsAny(name, `:#'"\`) || isNumber(name) {
		return "'" + strings.ReplaceAll(name, "'", "''") + "'"
	}
	return name
}
