package corpus

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Buckets is the size of a sketch.
const Buckets = 16

// Sketch sums the elements of a tensor in buckets, each with a sign that its
// global index decides, so that the distance of two sketches estimates that of
// their tensors: the expectation of its square is the square of the distance.
func Sketch(x []float32) []float32 {
	sums := make([]float64, Buckets)
	var h uint64
	for g, v := range x {
		l := uint64(g) & (Buckets - 1) //nolint:gosec // an index
		if l == 0 {
			h = scramble((uint64(g)/Buckets+1)*0x9E3779B97F4A7C15 + scramble(1)) //nolint:gosec // an index
		}
		if h>>(16+l)&1 == 1 {
			v = -v
		}
		sums[l^h&(Buckets-1)] += float64(v)
	}
	sketch := make([]float32, Buckets)
	for i, sum := range sums {
		sketch[i] = float32(sum)
	}
	return sketch
}

// scramble is the finaliser of SplitMix64.
func scramble(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// sketched is a small model whose tensors are known element by element.
type sketched struct {
	outputs [][]float32 // of its layers; the input of each is the output before
}

const (
	sketchedLayers   = 6
	sketchedElements = 4096
	faultyLayer      = 2
)

func newSketched() *sketched {
	random := rand.New(rand.NewPCG(4, 2)) //nolint:gosec // the same numbers every time
	s := &sketched{}
	for range sketchedLayers {
		x := make([]float32, sketchedElements)
		for i := range x {
			x[i] = float32(random.NormFloat64())
		}
		s.outputs = append(s.outputs, x)
	}
	return s
}

// noisy adds noise of that relative error to the outputs from a layer on.
func (s *sketched) noisy(from int, relative float64) {
	random := rand.New(rand.NewPCG(8, 3)) //nolint:gosec // the same numbers every time
	for _, x := range s.outputs[from:] {
		for i := range x {
			x[i] += float32(relative * random.NormFloat64())
		}
	}
}

func (s *sketched) faulty() []float32 { return s.outputs[faultyLayer] }

func sketchedOp(layer int) string {
	return fmt.Sprintf("Module.layers.%d.Linear.forward.0", layer)
}

// side writes the model's statistics as a dump, and keeps the tensors beside it.
func (s *sketched) side(name string, digests bool) Side {
	data, construct := object(), object()
	vectors := map[Site][]float32{}
	for i, x := range s.outputs {
		op := sketchedOp(i)
		data.Set(op, forward([]*Node{statisticsOf(s.outputs[max(i-1, 0)])}, statisticsOf(x)))
		construct.Set(op, Scalar("null"))
		vectors[Site{0, 0, op, "input", "0"}] = s.outputs[max(i-1, 0)]
		vectors[Site{0, 0, op, "output", "0"}] = x
	}
	return Side{Name: name, Vectors: vectors, Digests: digests, Run: &Run{Parts: []*Part{{Folder: "rank0", Dump: dump(data), Program: construct}}}}
}

// dump is a dump.json of these ops.
func dump(data *Node) *Node {
	return object("task", Quoted("statistics"), "level", Quoted("mix"), "framework", Quoted("pytorch"), "dump_data_dir", Scalar("null"), "data", data)
}

// statisticsOf is a vector as msProbe records it.
func statisticsOf(x []float32) *Node {
	sum, squares := 0., 0.
	for _, v := range x {
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	return row(float64(slices.Max(x)), float64(slices.Min(x)), sum/float64(len(x)), math.Sqrt(squares), fmt.Sprint(len(x)))
}

// row is a float32 tensor.
func row(most, least, mean, norm float64, sizes ...string) *Node {
	n := object("type", Quoted("torch.Tensor"), "dtype", Quoted("torch.float32"), "shape", list(),
		"Max", decimal(most), "Min", decimal(least), "Mean", decimal(mean), "Norm", decimal(norm), "requires_grad", Scalar("false"))
	shaped(sizes...)(n)
	return n
}

// sketchRecipe says what becomes of the model's tensors.
type sketchRecipe struct {
	id, what string
	harmless bool
	hidden   string
	digests  bool
	make     func(s *sketched)
}

// Sketched are the cases of tensors with sketches, and with digests where told.
func Sketched() []Case {
	var cases []Case
	for _, r := range sketchRecipes() {
		s := newSketched()
		r.make(s)
		c := Case{
			ID: r.id, What: r.what, Mode: "statistics with sketch", Harmless: r.harmless, Hidden: r.hidden,
			Problem: s.side("corpus "+r.id, r.digests), Bench: newSketched().side(fmt.Sprintf("corpus sketched %v", r.digests), r.digests),
		}
		if !r.harmless {
			c.Touched = []Site{{0, 0, sketchedOp(faultyLayer), "output", "0"}}
		}
		if !r.harmless && r.hidden == "" {
			c.Origin = single(sketchedOp(faultyLayer))
		}
		cases = append(cases, c)
	}
	return cases
}

func sketchRecipes() []sketchRecipe {
	return []sketchRecipe{
		{id: "sketch-same", what: "equal tensors with equal digests", harmless: true, digests: true, make: func(*sketched) {}},
		{id: "sketch-same-no-digest", what: "equal tensors without digests", harmless: true, make: func(*sketched) {}},
		{id: "sketch-noise", what: "noise of 5e-8", harmless: true, make: func(s *sketched) { s.noisy(0, 5e-8) }},
		{id: "sketch-noise-above", what: "noise of one in a thousand from layers.2 on", make: func(s *sketched) { s.noisy(faultyLayer, 1e-3) }},
		{id: "sketch-swapped", what: "two elements of the output of layers.2 swapped, and what follows", make: func(s *sketched) {
			x := s.faulty()
			j := apart(x)
			x[0], x[j] = x[j], x[0]
			s.noisy(faultyLayer+1, 1e-2)
		}},
		{id: "sketch-permuted", what: "the elements of the output of layers.2 reversed", make: func(s *sketched) {
			slices.Reverse(s.faulty())
			s.noisy(faultyLayer+1, 1e-2)
		}},
		{id: "sketch-blind", what: "two elements swapped that the sketch adds up alike, nothing follows", hidden: "statistics and sketch are the same", make: swapAlike},
		{id: "sketch-blind-digest", what: "the same, with digests, which differ", digests: true, hidden: "statistics and sketch are the same; that bits differ does not say how far", make: swapAlike},
	}
}

// apart is an element that is unlike the first.
func apart(x []float32) int {
	return slices.IndexFunc(x, func(v float32) bool { return math.Abs(float64(v-x[0])) > 2 })
}

// swapAlike swaps two elements of one bucket and sign.
func swapAlike(s *sketched) {
	x := s.faulty()
	before := Sketch(x)
	for j := 1; j < len(x); j++ {
		x[0], x[j] = x[j], x[0]
		if x[0] != x[j] && slices.Equal(Sketch(x), before) {
			return
		}
		x[0], x[j] = x[j], x[0]
	}
}
