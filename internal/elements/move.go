package elements

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/internal/payload"
	"github.com/tensortap/tensortap/internal/torchfile"
)

// move is a rule by which an element of the problem stands at another place of the bench. The place is nil where the bench
// has none.
type move struct {
	name string
	from func(index []int64) []int64
}

const (
	farthest = 64 // that a shift along an axis is looked for
	tried    = 16 // elements of the sample, before all are
	chance   = 0.5
)

// moved finds a shift, a turned axis or axes in another order.
func (w *walk) moved() string {
	probe := w.sample.kept[:min(tried, len(w.sample.kept))]
	if len(probe) < 2 || w.byChance(probe) > chance {
		return ""
	}
	for _, m := range slices.Concat(permutations(w.Shape, w.bench.Shape), w.shifts(w.Shape), turned(w.Shape)) {
		if w.follows(m, probe) >= explained-0.15 && w.follows(m, w.sample.kept) >= explained {
			return m.name
		}
	}
	return ""
}

// byChance is the share that equals any other element, as of tensors with few values.
func (w *walk) byChance(of []sampledPair) float64 {
	dice := dice()
	equal, asked := 0, 0
	for _, p := range of {
		for range tried {
			other, err := element(w.bench, indexOf(w.bench.Shape, dice.Int64N(w.bench.Count)))
			asked++
			if err == nil && w.near(p.x, other) {
				equal++
			}
		}
	}
	return float64(equal) / float64(asked)
}

// follows is the share of elements that the move explains, of those that it says something of; 0 where these are few.
func (w *walk) follows(m move, of []sampledPair) float64 {
	placed, equal := 0, 0
	for _, p := range of {
		index := m.from(indexOf(w.problem.Shape, p.number))
		if index == nil {
			continue
		}
		placed++
		if other, err := element(w.bench, index); err == nil && w.near(p.x, other) {
			equal++
		}
	}
	if placed < 2 || placed*4 < len(of) {
		return 0
	}
	return float64(equal) / float64(placed)
}

// element reads one element.
func element(t *torchfile.Tensor, index []int64) ([]float64, error) {
	raw := make([]byte, t.Dtype.Size())
	if err := t.At(raw, index); err != nil {
		return nil, err
	}
	return payload.Numbers(t.Dtype, raw), nil
}

// shifts are those along each axis, the shortest first: those by which some elements that differ come in again at the other
// end, before those by which none does.
func (w *walk) shifts(shape []int64) (moves []move) {
	for by := int64(1); by <= farthest; by++ {
		for axis, n := range shape {
			if by >= n {
				continue
			}
			for _, step := range []int64{by, -by} {
				if w.wraps(axis, step, n) {
					moves = append(moves, rolled(len(shape), axis, step, n))
				}
				moves = append(moves, shifted(len(shape), axis, step, n))
			}
		}
	}
	return moves
}

// wraps says whether a shift takes some element of the sample beyond an end.
func (w *walk) wraps(axis int, by, n int64) bool {
	return slices.ContainsFunc(w.sample.kept, func(p sampledPair) bool {
		from := indexOf(w.problem.Shape, p.number)[axis] + by
		return from < 0 || from >= n
	})
}

func rolled(axes, axis int, by, n int64) move {
	name := fmt.Sprintf("shifted around: index i of %s in the problem is index i%+d of the bench, modulo %d", axisName(axes, axis), by, n)
	return move{name, func(index []int64) []int64 {
		index[axis] = (index[axis] + by + n) % n
		return index
	}}
}

func shifted(axes, axis int, by, n int64) move {
	name := fmt.Sprintf("shifted: index i of %s in the problem is index i%+d of the bench", axisName(axes, axis), by)
	return move{name, func(index []int64) []int64 {
		index[axis] += by
		if index[axis] < 0 || index[axis] >= n {
			return nil
		}
		return index
	}}
}

// turned are axes in the other direction.
func turned(shape []int64) (moves []move) {
	for axis, n := range shape {
		name := fmt.Sprintf("turned around: %s runs in the other direction", axisName(len(shape), axis))
		moves = append(moves, move{name, func(index []int64) []int64 {
			index[axis] = n - 1 - index[axis]
			return index
		}})
	}
	return moves
}

// mostPermuted bounds the axes of which all orders are tried.
const mostPermuted = 5

// permutations are the orders of the bench's axes that give the problem's shape.
func permutations(problem, bench []int64) (moves []move) {
	if len(problem) != len(bench) || len(problem) > mostPermuted {
		return nil
	}
	for _, order := range orders(len(bench)) {
		if !slices.IsSorted(order) && fits(problem, bench, order) {
			moves = append(moves, permutation(order))
		}
	}
	return moves
}

func fits(problem, bench []int64, order []int) bool {
	for i, from := range order {
		if problem[i] != bench[from] {
			return false
		}
	}
	return true
}

// permutation is what bench.permute(order) gives.
func permutation(order []int) move {
	name := fmt.Sprintf("permuted axes: problem = bench.permute%s", tuple(order))
	if len(order) == 2 {
		name = "transposed: problem = bench.T"
	}
	return move{name, func(index []int64) []int64 {
		from := make([]int64, len(index))
		for i, axis := range order {
			from[axis] = index[i]
		}
		return from
	}}
}

func tuple(order []int) string {
	parts := make([]string, len(order))
	for i, axis := range order {
		parts[i] = strconv.Itoa(axis)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// orders are all orders of so many axes.
func orders(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, shorter := range orders(n - 1) {
		for at := range n {
			all = append(all, slices.Insert(slices.Clone(shorter), at, n-1))
		}
	}
	return all
}

// reshaped finds how tensors of different shapes belong together.
func (w *walk) reshaped() {
	if w.problem.Count == 0 || w.problem.Count != w.bench.Count {
		return
	}
	w.sample = anySample(w.problem)
	flat := move{"the same elements in the same order, in another shape", func(index []int64) []int64 {
		return indexOf(w.bench.Shape, numberOf(w.problem.Shape, index))
	}}
	w.Sampled = len(w.sample.kept)
	if w.byChance(w.sample.kept[:min(tried, len(w.sample.kept))]) > chance {
		return
	}
	for _, m := range append([]move{flat}, permutations(w.problem.Shape, w.bench.Shape)...) {
		if w.follows(m, w.sample.kept) >= explained {
			w.How = m.name
			return
		}
	}
}

func numberOf(shape, index []int64) (number int64) {
	for i, n := range shape {
		number = number*n + index[i]
	}
	return number
}

// anySample is some elements of a tensor.
func anySample(t *torchfile.Tensor) sample {
	s := newSample()
	for range min(sampled, t.Count) {
		number := s.dice.Int64N(t.Count)
		if parts, err := element(t, indexOf(t.Shape, number)); err == nil {
			s.add(number, parts, nil)
		}
	}
	return s
}
