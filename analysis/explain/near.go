package explain

// gram is how many letters are looked at at a time.
const gram = 4

// mostLetters bounds how much of a name is looked at.
const mostLetters = 1000

// distance says how far names are from one: what part of their groups of four letters is not the same, from 0 to 1.
type distance struct {
	grams map[string]int
	count int
}

func newDistance(name string) distance {
	d := distance{grams: map[string]int{}}
	for _, group := range gramsOf(name) {
		d.grams[group]++
		d.count++
	}
	return d
}

func gramsOf(name string) []string {
	text := lower(name[:min(len(name), mostLetters)])
	var groups []string
	for i := 0; i+gram <= len(text); i++ {
		groups = append(groups, text[i:i+gram])
	}
	return groups
}

func (d distance) to(name string) float64 {
	groups := gramsOf(name)
	common, left := 0, map[string]int{}
	for _, group := range groups {
		if left[group] < d.grams[group] {
			left[group]++
			common++
		}
	}
	all := d.count + len(groups)
	return float64(all-2*common) / float64(max(all, 1))
}
