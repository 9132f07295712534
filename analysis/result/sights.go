package result

// sight has the facts about a site, shared by all its pairs.
type sight struct {
	site  uint64
	op    uint64
	layer *layerKey // nil before any site was looked up
}

// sights remember the site of each row of a place. Places of one program have the same sites in the same order, so that
// the next place finds them without a look into maps, which are far larger than a processor's cache.
type sights struct {
	names *names
	rows  []sight
}

// sights are those of an earlier place, if there was any. They are the caller's until it is done.
func (n *names) sights() *sights {
	n.mu.Lock()
	defer n.mu.Unlock()
	last := len(n.seen) - 1
	if last < 0 {
		return &sights{names: n}
	}
	s := n.seen[last]
	n.seen = n.seen[:last]
	return s
}

func (n *names) done(s *sights) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen = append(n.seen, s)
}

// at is the sight of a site, valid until the next call.
func (s *sights) at(row int, site uint64) *sight {
	for len(s.rows) <= row {
		s.rows = append(s.rows, sight{})
	}
	seen := &s.rows[row]
	if seen.site == site && seen.layer != nil {
		return seen
	}
	op := s.names.site(site).OpID
	*seen = sight{site: site, op: op}
	if row > 0 && s.rows[row-1].op == op {
		seen.layer = s.rows[row-1].layer // mostly the last one, as rows of an op follow each other
	}
	if seen.layer == nil {
		layer := s.names.layer(op)
		seen.layer = &layer
	}
	return seen
}
