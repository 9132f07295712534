package report

// jumps names the places where the error of a rank grows by orders of magnitude: earlier differences are likely
// to be noise.
func (n *note) jumps() {
	const most = 3
	for i := range n.Jumps.Rows[:min(most, len(n.Jumps.Rows))] {
		get := func(column string) string { return n.Jumps.Get(i, column).Text() }
		n.line("jumps at", "step %s, rank %s, op %s", get("step"), get("rank"), get("op"))
		n.line("", "%s %s: %s; until then at most %s, which may be noise", get("role"), get("path"), what(n.Jumps, i), get("noise_before"))
	}
}

// unseen describes the gaps before an origin; a gap common to several is described once.
func (n *note) unseen(origins Table, i int) {
	unseen := origins.Get(i, "unseen")
	if unseen.Exact == "" || i > 0 && unseen.Exact == origins.Get(i-1, "unseen").Exact {
		return
	}
	n.line("not observed", "%s", unseen.Text())
}

// orBefore is the text for an origin with gaps before it.
func orBefore(origins Table, i int) string {
	if origins.Get(i, "at_or_before").True() {
		return ", or before it"
	}
	return ""
}
