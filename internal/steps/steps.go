// Package steps reads which steps, or ranks, a user means: 0,3-5,10-100/10.
// It is pure, and all commands write steps so; the collector, in Python, reads
// the same text.
package steps

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Set is a set of numbers of steps. Its zero value holds every step.
type Set struct{ parts []part }

// part is every every-th step from first to last; last may be endless.
type part struct{ first, last, every int64 }

// endless is the last step of a part that has no end.
const endless = math.MaxInt64

// everywhere is the text of a set of all steps.
const everywhere = "all"

// Range is steps that follow each other, both ends included.
type Range struct{ First, Last int64 } // Last is -1 for no end

// All is the set of all steps.
func All() Set { return Set{} }

// Between is the set of the steps of a range.
func Between(r Range) Set {
	if r.Last < 0 {
		r.Last = endless
	}
	return Set{parts: []part{{first: r.First, last: r.Last, every: 1}}}
}

// Of is the set of those steps.
func Of(numbers []int64) Set {
	parts := make([]part, len(numbers))
	for i, n := range numbers {
		parts[i] = part{first: n, last: n, every: 1}
	}
	return Set{parts: joined(parts)}
}

// Parse reads numbers and ranges, as 0,3-5,10-100/10 or 5-, or all. Its error
// says how steps are written; the caller names the text.
func Parse(text string) (Set, error) {
	if trimmed := strings.TrimSpace(text); trimmed == "" || trimmed == everywhere {
		return All(), nil
	}
	if written, old := withoutColon(text); old {
		return Set{}, fmt.Errorf("a range is written with a hyphen: %s", written)
	}
	var set Set
	for word := range strings.SplitSeq(text, ",") {
		p, ok := parsePart(strings.TrimSpace(word))
		if !ok {
			return Set{}, fmt.Errorf("want numbers and ranges, as 0,3-5,10-100/10 or 5-, from 0 to %d", math.MaxUint32)
		}
		set.parts = append(set.parts, p)
	}
	set.parts = joined(set.parts)
	return set, nil
}

// withoutColon is the present form of a range A:B; either end may be missing.
func withoutColon(text string) (written string, old bool) {
	first, last, old := strings.Cut(text, ":")
	if first == "" && last == "" {
		return everywhere, old
	}
	return cmp.Or(first, "0") + "-" + last, old
}

// parsePart reads 3, 3-5, 3-, 10-100/10, 10-/10 or 10/10.
func parsePart(word string) (p part, ok bool) {
	span, every, strided := strings.Cut(word, "/")
	first, last, ranged := strings.Cut(span, "-")
	p = part{every: 1, last: endless}
	if p.first, ok = number(first); !ok {
		return p, false
	}
	if strided {
		if p.every, ok = number(every); !ok || p.every == 0 {
			return p, false
		}
	}
	switch {
	case !ranged && !strided:
		p.last = p.first
	case last != "":
		p.last, ok = number(last)
	}
	return p, ok && p.last >= p.first
}

func number(text string) (int64, bool) {
	n, err := strconv.ParseUint(text, 10, 32)
	return int64(n), err == nil && text[0] != '+' //nolint:gosec // 32 bits
}

// joined are the parts in order; ranges that overlap or follow each other are one.
func joined(parts []part) []part {
	slices.SortFunc(parts, func(a, b part) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last)) })
	var kept []part
	for _, p := range parts {
		if p.last != endless {
			p.last -= (p.last - p.first) % p.every
		}
		if p.first == p.last {
			p.every = 1
		}
		if last := len(kept) - 1; last >= 0 && kept[last].takes(p) {
			kept[last].last = max(kept[last].last, p.last)
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// takes says whether a part that begins no earlier goes on with this one.
func (p part) takes(next part) bool {
	return p.every == 1 && next.every == 1 && (p.last == endless || next.first <= p.last+1)
}

// All says whether the set holds every step.
func (s Set) All() bool {
	return s.parts == nil || s.parts[0] == part{first: 0, last: endless, every: 1}
}

// Contains says whether the set holds a step.
func (s Set) Contains(step int64) bool {
	if s.parts == nil {
		return step >= 0
	}
	for _, p := range s.parts {
		if step >= p.first && step <= p.last && (step-p.first)%p.every == 0 {
			return true
		}
	}
	return false
}

// First is the first step of the set.
func (s Set) First() int64 {
	if s.parts == nil {
		return 0
	}
	return s.parts[0].first
}

// Last is the last step of the set, -1 where it has no end.
func (s Set) Last() int64 {
	var last int64
	for _, p := range s.parts {
		last = max(last, p.last)
	}
	if s.parts == nil || last == endless {
		return -1
	}
	return last
}

// Range is the set as steps that follow each other; ok is false where it has gaps.
func (s Set) Range() (r Range, ok bool) {
	return Range{First: s.First(), Last: s.Last()}, s.parts == nil || len(s.parts) == 1 && s.parts[0].every == 1
}

// String writes the set as Parse reads it.
func (s Set) String() string {
	if s.All() {
		return everywhere
	}
	words := make([]string, len(s.parts))
	for i, p := range s.parts {
		words[i] = p.String()
	}
	return strings.Join(words, ",")
}

func (p part) String() string {
	word := strconv.FormatInt(p.first, 10)
	switch {
	case p.last == endless:
		word += "-"
	case p.last != p.first:
		word += "-" + strconv.FormatInt(p.last, 10)
	}
	if p.every > 1 {
		word += "/" + strconv.FormatInt(p.every, 10)
	}
	return word
}
