// Package plural writes numbers of things as people read them.
package plural

import (
	"fmt"
	"strings"
)

// Number is how many there are.
type Number interface {
	~int | ~int64 | ~uint32 | ~uint64
}

// Of is a number with its noun, as 1 step and 2 steps.
func Of[N Number](n N, noun string) string { return fmt.Sprintf("%d %s", n, Noun(n, noun)) }

// Noun is the noun alone, for a number that is written otherwise.
func Noun[N Number](n N, noun string) string {
	if strings.HasSuffix(noun, "s") || strings.HasSuffix(noun, "ch") {
		return Verb(n, noun, noun+"es")
	}
	return Verb(n, noun, noun+"s")
}

// Verb is the word for one thing, or that for many.
func Verb[N Number](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
