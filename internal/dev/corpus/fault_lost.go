package corpus

import "slices"

func lostFaults() []recipe {
	const after = "Functional.linear.9.forward"
	site := Site{1, 0, after, "input", "0"}
	return []recipe{
		{
			id: "rank-died", what: "rank 1 was killed after the first flush: its files end in the middle of the forward", base: shards,
			hidden: "its files are whole, and none says that more was to come: what it lacks is counted as only in the bench, which differs where --strict is given",
			make: func(m *making) {
				m.Problem.Run.Part(1, 0).keepUntil(after)
				m.touch(site)
			},
		},
		{id: "file-cut", what: "dump.json of rank 1 was cut in the middle of a write", base: shards, hidden: "what rank 1 wrote is lost from there on", make: func(m *making) {
			part := m.Problem.Run.Part(1, 0)
			part.CutAt = len(part.Dump.Indented()) / 4
			m.Missing = true
			m.touch(site)
		}},
		{id: "rank-missing", what: "rank 1 wrote nothing", base: shards, hidden: "there is nothing to compare", make: func(m *making) {
			m.Problem.Run.Parts = slices.DeleteFunc(m.Problem.Run.Parts, func(p *Part) bool { return p.Rank() == 1 })
			m.Missing = true
			m.touch(site)
		}},
		{id: "step-missing", what: "the problem has only the first of two steps", base: llama, hidden: "there is nothing to compare", make: func(m *making) {
			m.Problem.Run.Parts = slices.DeleteFunc(m.Problem.Run.Parts, func(p *Part) bool { return p.Step == 1 })
			m.Missing = true
			m.touch(Site{0, 1, mlp1, "input", "0"})
		}},
	}
}

// keepUntil drops an op and all after it, in all three files.
func (p *Part) keepUntil(op string) {
	ops := p.Ops()
	gone := slices.Clone(ops.Keys[slices.Index(ops.Keys, op):])
	p.remove(gone...)
}
