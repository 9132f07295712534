// Package conditions reads which steps a user means, as
// request=cmpl-7, phase=decode or loss>10. It is pure. The collector, in
// Python, reads the same text; producers/torch/tests/testdata/conditions.json
// has the cases that both must pass.
package conditions

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Difference is the word that a live comparison fulfils, and no step of itself.
const Difference = "difference"

// mostTerms is a limit on alternatives: to hold several texts together multiplies them.
const mostTerms = 64

// word is one of the language, as it is written.
type word struct{ name, example string }

// words are all, in the order in which they are named to users.
func words() []word {
	return []word{
		{"request", "request=cmpl-7*"},
		{"prompt", `prompt="the blue sky"`},
		{"prompt-hash", "prompt-hash=00000000000004d2"},
		{"step", "step=0|10-20"},
		{"phase", "phase=decode"},
		{"loss", "loss>10"},
		{"memory", "memory>70GiB"},
		{"host-memory", "host-memory>200GiB"},
		{Difference, Difference},
	}
}

// sign is what stands between the word and its value; empty for none.
func (w word) sign() string {
	rest := strings.TrimPrefix(w.example, w.name)
	return rest[:min(1, len(rest))]
}

// Condition is a word and the values of which one is to hold. Those of memory are in bytes.
type Condition struct {
	Word   string
	Values []string
}

// When is conditions: all of a term are to hold, and one of the terms.
type When struct{ terms [][]Condition }

// Always is what every step fulfils.
func Always() When { return When{terms: [][]Condition{nil}} }

// OneOf is fulfilled by one of the words with one of its values; words without values are left out, and without any it is Always.
func OneOf(alternatives ...Condition) When {
	var w When
	for _, c := range alternatives {
		if len(c.Values) > 0 {
			w.terms = append(w.terms, []Condition{c})
		}
	}
	if len(w.terms) == 0 {
		return Always()
	}
	return w
}

// Parse reads conditions. Its error says at which character what is wrong, and what is meant.
func Parse(text string) (When, error) {
	r := reader{text: []rune(text)}
	return r.read()
}

// ParseAll reads texts that are to hold together; none are fulfilled always.
func ParseAll(texts []string) (When, error) {
	all := Always()
	for _, text := range texts {
		w, err := Parse(text)
		if err == nil {
			all, err = all.And(w)
		}
		if err != nil {
			return When{}, err
		}
	}
	return all, nil
}

var errMany = fmt.Errorf("more than %d alternatives", mostTerms)

// And is what fulfils both.
func (w When) And(o When) (When, error) {
	if len(w.terms)*len(o.terms) > mostTerms {
		return When{}, errMany
	}
	var both When
	for _, one := range w.terms {
		for _, further := range o.terms {
			both.terms = append(both.terms, slices.Concat(one, further))
		}
	}
	return both, nil
}

// IsAlways says whether there is nothing to fulfil.
func (w When) IsAlways() bool {
	return slices.ContainsFunc(w.terms, func(term []Condition) bool { return len(term) == 0 })
}

// Has says whether the word is asked about.
func (w When) Has(word string) bool {
	return slices.ContainsFunc(w.terms, func(term []Condition) bool { return has(term, word) })
}

func has(term []Condition, word string) bool {
	return slices.ContainsFunc(term, func(c Condition) bool { return c.Word == word })
}

// ErrSomeDifference says that a difference is asked for in some alternatives only, which cannot be told apart then.
var ErrSomeDifference = errors.New("difference stands in each alternative, or in none")

// WithoutDifference is the rest, and whether a difference was asked for.
func (w When) WithoutDifference() (rest When, asked bool, err error) {
	if !w.Has(Difference) {
		return w, false, nil
	}
	for _, term := range w.terms {
		if !has(term, Difference) {
			return When{}, true, ErrSomeDifference
		}
		kept := slices.DeleteFunc(slices.Clone(term), func(c Condition) bool { return c.Word == Difference })
		rest.terms = append(rest.terms, kept)
	}
	return rest, true, nil
}

// String is the text that means the same; empty for what is always fulfilled.
func (w When) String() string {
	if w.IsAlways() {
		return ""
	}
	terms := make([]string, len(w.terms))
	for i, term := range w.terms {
		texts := make([]string, len(term))
		for j, c := range term {
			texts[j] = c.String()
		}
		terms[i] = strings.Join(texts, ", ")
	}
	return strings.Join(terms, " or ")
}

// String is the condition as it is written.
func (c Condition) String() string {
	values := make([]string, len(c.Values))
	for i, value := range c.Values {
		values[i] = written(value)
	}
	known, _ := lookUp(c.Word)
	return c.Word + known.sign() + strings.Join(values, "|")
}

func written(value string) string {
	if value != "" && !strings.ContainsFunc(value, endsBare) {
		return value
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

func lookUp(name string) (word, bool) {
	all := words()
	at := slices.IndexFunc(all, func(w word) bool { return w.name == name })
	if at < 0 {
		return word{}, false
	}
	return all[at], true
}
