package strictyaml

import (
	"fmt"
	"strings"
)

// Hint says which known name the written one may mean, or lists all where none is near.
func Hint(written string, known []string) string {
	if near := Nearest(written, known); near != "" {
		return fmt.Sprintf(": is %q meant?", near)
	}
	return "; known are " + strings.Join(known, ", ")
}

// Nearest is the known name with the fewest edits from the written one; empty where none is near.
func Nearest(written string, known []string) string {
	best, fewest := "", max(1, len(written)/3)
	for _, name := range known {
		if edits := distance(plain(written), plain(name)); edits < fewest || edits == fewest && best == "" {
			best, fewest = name, edits
		}
	}
	return best
}

// plain removes differences that do not make another name.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(name))
}

// distance is the number of letters to insert, remove, replace, or swap with a neighbour.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			next[j+1] = min(replaced, last[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, last = last, next
	}
	return last[len(b)]
}
