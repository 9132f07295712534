package conditions

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// checked is the value as it is kept, or what is wrong with it.
func checked(name, value string) (kept, problem string) {
	kept, ok := value, true
	switch name {
	case "prompt":
		problem, ok = "white space alone is in every prompt", strings.TrimSpace(value) != ""
	case "prompt-hash":
		problem, ok = value+" is no prompt_hash as reports show it, 16 hexadecimal digits", hash.MatchString(value)
	case "step":
		problem, ok = value+" is no step: write 3, 3-5, 10-100/10 or 10-", isStep(value)
	case "phase":
		problem, ok = value+" is no phase: "+nearest(value, phases()), slices.Contains(phases(), value)
	case "loss":
		problem, ok = value+" is no number", number.MatchString(value)
	case "memory", "host-memory":
		problem = value + " is no size, as 70GiB, 500MB or a number of bytes"
		kept, ok = bytesOf(value)
	}
	if ok {
		return kept, ""
	}
	return "", problem
}

func phases() []string { return []string{"prefill", "decode", "mixed", "train", "evaluate"} }

func names() []string {
	var all []string
	for _, w := range words() {
		all = append(all, w.name)
	}
	return all
}

var (
	hash   = regexp.MustCompile(`^[0-9a-f]{16}$`)
	number = regexp.MustCompile(`^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?$`)
	span   = regexp.MustCompile(`^([0-9]{1,10})(?:-([0-9]{0,10}))?(?:/([0-9]{1,10}))?$`)
	size   = regexp.MustCompile(`^([0-9]{1,18}(?:\.[0-9]{1,18})?)([A-Za-z]*)$`)
)

// isStep says whether a text is a step, or a range of steps that has some.
func isStep(text string) bool {
	parts := span.FindStringSubmatch(text)
	if parts == nil {
		return false
	}
	var numbers [3]uint64
	for i, part := range parts[1:] {
		n, err := strconv.ParseUint(part, 10, 32)
		if part != "" && err != nil {
			return false
		}
		numbers[i] = n
	}
	first, last, every := numbers[0], numbers[1], numbers[2]
	return (parts[2] == "" || last >= first) && (parts[3] == "" || every > 0)
}

// bytesOf is a size with its unit in bytes.
func bytesOf(text string) (string, bool) {
	parts := size.FindStringSubmatch(text)
	if parts == nil {
		return "", false
	}
	unit, ok := units()[strings.ToLower(parts[2])]
	value, err := strconv.ParseFloat(parts[1], 64)
	if !ok || err != nil {
		return "", false
	}
	return strconv.FormatFloat(math.Trunc(value*unit), 'f', -1, 64), true
}

func units() map[string]float64 {
	all := map[string]float64{"": 1, "b": 1}
	for power, letter := range []string{"k", "m", "g", "t"} {
		all[letter+"b"] = math.Pow(1000, float64(power+1))
		all[letter+"ib"] = math.Pow(1024, float64(power+1))
	}
	return all
}

// nearest is the known word that fewest changes of a letter make of this one, in words; else all that are known.
func nearest(name string, known []string) string {
	given := []rune(strings.ToLower(name))
	near := slices.MinFunc(known, func(a, b string) int { return changes(given, a) - changes(given, b) })
	if changes(given, near) <= len(near)/3+1 {
		return "do you mean " + near + "?"
	}
	return "known are " + strings.Join(known, ", ")
}

// changes counts those of a letter until one word is the other.
func changes(one []rune, other string) int {
	row := make([]int, len(other)+1)
	for i := range row {
		row[i] = i
	}
	for at, letter := range one {
		before := slices.Clone(row)
		row[0] = at + 1
		for place, wanted := range other {
			changed := before[place]
			if letter != wanted {
				changed++
			}
			row[place+1] = min(row[place]+1, before[place+1]+1, changed)
		}
	}
	return row[len(other)]
}
