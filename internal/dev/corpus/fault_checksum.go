package corpus

func checksumFaults() []recipe {
	const (
		update = "Tensor.add_.38.forward"
		xor    = "A_llama_mix_xor"
	)
	return []recipe{
		{id: "md5-weight", what: "weight of layers.1.mlp.down_proj × 1.02", base: sums, mode: "md5", make: func(m *making) {
			m.change(0, mlp1, by(1.02, all()...), "input 1")
		}},
		{id: "md5-elements-swapped", what: "two elements of the weight of layers.1.mlp.down_proj swapped: checksum differs, statistics do not", base: sums, mode: "md5", make: func(m *making) {
			m.error = 1e-3
			m.change(0, mlp1, again, "input 1")
		}},
		{
			id: "md5-last-elements-swapped", what: "two elements of the last updated weight swapped: only its checksum tells", base: sums, mode: "md5",
			hidden: "msProbe's checksum alone proves neither way; the statistics are the same", make: func(m *making) {
				m.alter(update, again, "output 0")
			},
		},
		{
			id: "md5-missing", what: "no checksum of the last updated weight in the problem", base: sums, mode: "md5",
			hidden: "the statistics are the same", make: func(m *making) {
				m.alter(update, func(n *Node) { n.unset("md5") }, "output 0")
			},
		},
		{id: "md5-nan", what: "NaN from layers.1.mlp.down_proj on", base: sums, mode: "md5", make: func(m *making) {
			m.spoil = nan
			m.change(0, mlp1, nans, "output 0")
		}},
		{id: "xor-weight", what: "another weight of layers.1.mlp.down_proj", base: xor, mode: "xor", make: func(m *making) {
			m.change(0, mlp1, again, "input 1")
		}},
		{
			id: "xor-elements-swapped", what: "two elements of the last updated weight swapped", base: xor, mode: "xor",
			hidden: "this checksum is blind to order", make: func(m *making) {
				m.alter(update, unchanged, "output 0")
			},
		},
	}
}

// unset takes a member out of an object.
func (n *Node) unset(key string) {
	var p Part
	p.drop(n, key)
}
