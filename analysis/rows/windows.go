package rows

// mostWindowRows bounds the tensors that are held at a time, about 100 bytes each, unless one step of one rank has more.
const mostWindowRows = 1_000_000

// openRows is the assumed number of tensors of a step that has not ended.
const openRows = 10_000

// Windows cuts the places to read, in order, into parts that fit into memory. Weigh gives the number of tensors of a
// place.
func Windows[T any](all []T, weigh func(T) uint64) [][]T {
	var parts [][]T
	begin, held := 0, uint64(0)
	for i, one := range all {
		weight := weigh(one)
		if i > begin && held+weight > mostWindowRows {
			parts = append(parts, all[begin:i])
			begin, held = i, 0
		}
		held += weight
	}
	if begin < len(all) {
		parts = append(parts, all[begin:])
	}
	return parts
}

// Weights is the number of tensors of each place of a run.
func (r *Run) Weights() map[Place]uint64 {
	weight := make(map[Place]uint64, len(r.Steps)+len(r.Open))
	for _, place := range r.Open {
		weight[place] = openRows
	}
	for i := range r.Steps {
		weight[Place{Rank: r.Steps[i].Rank, Step: r.Steps[i].Step}] = r.Steps[i].TensorCount
	}
	return weight
}
