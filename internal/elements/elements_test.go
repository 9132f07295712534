package elements_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/elements"
	"github.com/tensortap/tensortap/internal/torchfile"
)

// made is a tensor of float32 in a file of safetensors.
func made(tb testing.TB, shape []int64, values []float32) *torchfile.Tensor {
	tb.Helper()
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return madeOf(tb, "F32", shape, raw)
}

// madeOf is a tensor of a type that safetensors calls so.
func madeOf(tb testing.TB, dtype string, shape []int64, raw []byte) *torchfile.Tensor {
	tb.Helper()
	text, err := json.Marshal(shape)
	if err != nil {
		tb.Fatal(err)
	}
	header := fmt.Sprintf(`{"x":{"dtype":%q,"shape":%s,"data_offsets":[0,%d]}}`, dtype, text, len(raw))
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	file = append(file, raw...)
	tensor, err := torchfile.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		tb.Fatal(err)
	}
	return tensor
}

// random is normally distributed, and always the same.
func random(n int64) []float32 {
	dice := rand.New(rand.NewPCG(3, 4))
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(dice.NormFloat64())
	}
	return values
}

func product(shape []int64) int64 {
	n := int64(1)
	for _, size := range shape {
		n *= size
	}
	return n
}

// at is the number of an element by its index.
func at(shape []int64, index ...int64) (number int64) {
	for i, n := range shape {
		number = number*n + index[i]
	}
	return number
}

// each visits all indices.
func each(shape []int64, visit func(number int64, index []int64)) {
	for number := range product(shape) {
		index, rest := make([]int64, len(shape)), number
		for i, n := range slices.Backward(shape) {
			index[i], rest = rest%n, rest/n
		}
		visit(number, index)
	}
}

// planted changes a copy of the bench at some places.
func planted(shape []int64, bench []float32, change func(index []int64, old float32) float32) []float32 {
	problem := slices.Clone(bench)
	each(shape, func(number int64, index []int64) { problem[number] = change(index, bench[number]) })
	return problem
}

func diff(tb testing.TB, problem, bench *torchfile.Tensor, within float64) *elements.Difference {
	tb.Helper()
	d, err := elements.Diff(tb.Context(), problem, bench, elements.Options{Within: within})
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func TestPlantedPatternsAreRecognised(t *testing.T) {
	t.Parallel()
	four, three, two := []int64{2, 8, 16, 32}, []int64{5, 24, 64}, []int64{48, 64}
	cases := []struct {
		name       string
		shape      []int64
		change     func(bench []float32, index []int64, old float32) float32
		where, how string
	}{
		{"one head scaled", four, func(_ []float32, i []int64, v float32) float32 {
			if i[1] == 3 {
				return 2 * v
			}
			return v
		}, "one slice: index 3 of axis 1, of 8, as of one head", "scaled: problem = 2 × bench"},
		{"one expert zero", three, func(_ []float32, i []int64, v float32) float32 {
			if i[0] == 2 {
				return 0
			}
			return v
		}, "one slice: index 2 of axis 0, of 5, as of one expert or one sample", "the problem is zero there"},
		{"one head of fused columns", two, func(_ []float32, i []int64, v float32) float32 {
			if i[1]/16 == 2 {
				return v + 3
			}
			return v
		}, "one part: indices 32 to 47 of axis 1 (columns), part 2 of 4 equal ones (from 0)", "offset: problem = bench + 3"},
		{"a block", two, func(_ []float32, i []int64, v float32) float32 {
			if i[0] >= 3 && i[0] < 9 && i[1] >= 10 && i[1] < 21 {
				return float32(math.Sin(float64(100 * v)))
			}
			return v
		}, "one block: [3:9, 10:21]", ""},
		{"shifted rows", two, func(bench []float32, i []int64, v float32) float32 {
			if i[0] >= 20 {
				return bench[at(two, i[0]-1, i[1])]
			}
			return v
		}, "one block: indices 20 to 47 of axis 0 (rows), of 48", "shifted: index i of axis 0 (rows) in the problem is index i-1 of the bench"},
		{"rolled", three, func(bench []float32, i []int64, _ float32) float32 {
			return bench[at(three, i[0], (i[1]+3)%24, i[2])]
		}, "everywhere", "shifted around: index i of axis 1 in the problem is index i+3 of the bench, modulo 24"},
		{"sign", two, func(_ []float32, i []int64, v float32) float32 {
			if i[0] == 5 || i[0] == 9 {
				return -v
			}
			return v
		}, "2 slices: axis 0 (rows) 5, 9", "the sign is turned"},
		{"turned around", two, func(bench []float32, i []int64, _ float32) float32 {
			return bench[at(two, i[0], 63-i[1])]
		}, "everywhere", "turned around: axis 1 (columns)"},
		{"two experts swapped", three, func(bench []float32, i []int64, v float32) float32 {
			if i[0] == 1 || i[0] == 2 {
				return bench[at(three, 3-i[0], i[1], i[2])]
			}
			return v
		}, "one block: indices 1 to 2 of axis 0, of 5", "1 is the bench's 2, 2 is the bench's 1"},
		{"one part, and an element elsewhere", two, func(_ []float32, i []int64, v float32) float32 {
			if i[1]/16 == 2 || i[0] == 4 && i[1] == 5 {
				return 2 * v
			}
			return v
		}, "one part: indices 32 to 47 of axis 1 (columns), part 2 of 4 equal ones (from 0), as of one head, one expert or one shard; and one element elsewhere", "scaled: problem = 2 × bench"},
		{"one element", two, func(_ []float32, i []int64, v float32) float32 {
			if i[0] == 5 && i[1] == 6 {
				return 100
			}
			return v
		}, "one element, at [5, 6]", ""},
		{"rounding", two, func(_ []float32, _ []int64, v float32) float32 { return v * (1 + 3e-7) }, "everywhere", "all differences are about the rounding of float32"},
		{"NaN in rows", two, func(_ []float32, i []int64, v float32) float32 {
			if i[0] == 7 {
				return float32(math.NaN())
			}
			return v
		}, "one slice: index 7 of axis 0 (rows)", "the problem is NaN there"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bench := random(product(c.shape))
			problem := planted(c.shape, bench, func(index []int64, old float32) float32 { return c.change(bench, index, old) })
			d := diff(t, made(t, c.shape, problem), made(t, c.shape, bench), -1)
			if d.Same || !strings.HasPrefix(d.Where, c.where) || !strings.Contains(d.How, c.how) || c.how == "" && d.How != "" {
				t.Errorf("Diff() = same %v, where %q, how %q; want where %q, how %q", d.Same, d.Where, d.How, c.where, c.how)
			}
		})
	}
}

func TestAxesInAnotherOrderAreRecognised(t *testing.T) {
	t.Parallel()
	square, cube := []int64{32, 32}, []int64{6, 10, 14}
	bench := random(1024)
	problem := planted(square, bench, func(i []int64, _ float32) float32 { return bench[at(square, i[1], i[0])] })
	if d := diff(t, made(t, square, problem), made(t, square, bench), -1); !strings.Contains(d.How, "transposed") {
		t.Errorf("a transposed square: how %q", d.How)
	}
	bench = random(product(cube))
	turned := []int64{14, 6, 10}
	problem = make([]float32, len(bench))
	each(turned, func(number int64, i []int64) { problem[number] = bench[at(cube, i[1], i[2], i[0])] })
	d := diff(t, made(t, turned, problem), made(t, cube, bench), -1)
	if d.Same || d.How != "permuted axes: problem = bench.permute(2, 0, 1)" || !strings.HasPrefix(d.Result(), "differs: the shapes are") {
		t.Errorf("permuted axes: %q, how %q", d.Result(), d.How)
	}
	d = diff(t, made(t, []int64{60, 14}, bench), made(t, cube, bench), -1)
	if d.How != "the same elements in the same order, in another shape" {
		t.Errorf("another shape: how %q", d.How)
	}
}

// TestOneElementOfEveryKindOfTypeDiffers changes the least that the type can tell.
func TestOneElementOfEveryKindOfTypeDiffers(t *testing.T) {
	t.Parallel()
	long := func(n int64) []byte { return binary.LittleEndian.AppendUint64(make([]byte, 8), uint64(n)) }
	for _, c := range []struct {
		dtype          string
		bench, problem []byte // of two elements, of which the second differs
		shown          string
	}{
		{"BOOL", []byte{0, 1}, []byte{0, 0}, "true"},
		{"U8", []byte{0, 7}, []byte{0, 8}, "7"},
		{"I64", long(1<<62 + 1), long(1 << 62), "4611686018427387905"},
		{"U64", long(-1), long(-2), "18446744073709551615"},
		{"BF16", []byte{0, 0, 0x80, 0x3f}, []byte{0, 0, 0x81, 0x3f}, "1"},
		{"F8_E4M3", []byte{0, 0x38}, []byte{0, 0x39}, "1"},
		{"C64", append(make([]byte, 8), 0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x3f), append(make([]byte, 8), 0, 0, 0x80, 0x3f, 0, 0, 0x80, 0xbf), "1+1j"},
	} {
		d := diff(t, madeOf(t, c.dtype, []int64{2}, c.problem), madeOf(t, c.dtype, []int64{2}, c.bench), -1)
		if d.Same || d.Changed != 1 || len(d.Axes) != 1 || d.Axes[0].List(3) != "1" {
			t.Errorf("%s: %s, axes %+v", c.dtype, d.Result(), d.Axes)
		}
		if shown := len(d.Worst) == 1 && d.Worst[0].Bench == c.shown; !shown && c.dtype != "I64" && c.dtype != "U64" { // of these, float64 does not know the difference
			t.Errorf("%s: worst %+v, want the bench's %s", c.dtype, d.Worst, c.shown)
		}
	}
}

func TestDtypesThatDifferAreADifference(t *testing.T) {
	t.Parallel()
	bench := madeOf(t, "BF16", []int64{2}, []byte{0x80, 0x3f, 0, 0x40})
	d := diff(t, made(t, []int64{2}, []float32{1, 2}), bench, -1)
	if d.Same || d.Result() != "differs: all 2 elements are equal, the dtypes are not" {
		t.Errorf("Diff() = %s", d.Result())
	}
	if d := diff(t, made(t, []int64{1, 2}, []float32{1, 2}), bench, 0); !d.Same {
		t.Errorf("within 0, with a dimension of size 1 more: %s", d.Result())
	}
	if d := diff(t, madeOf(t, "F32", []int64{0, 3}, nil), madeOf(t, "F32", []int64{0, 3}, nil), -1); !d.Same {
		t.Errorf("empty tensors: %s", d.Result())
	}
	if d := diff(t, made(t, []int64{}, []float32{1}), made(t, []int64{}, []float32{2}), -1); d.Same || d.Where != "the only element" {
		t.Errorf("tensors of no dimension: %s, %q", d.Result(), d.Where)
	}
}

func TestNaNIsEqualToNaNAtTheSameIndex(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	bench := []float32{1, nan, inf, -inf, 5, 6}
	shape := []int64{2, 3}
	if d := diff(t, made(t, shape, bench), made(t, shape, append([]float32{}, bench...)), -1); !d.Same {
		t.Errorf("the same elements: %s", d.Result())
	}
	d := diff(t, made(t, shape, []float32{1, nan, inf, inf, nan, 6}), made(t, shape, bench), -1)
	if d.Changed != 2 || d.NotFinite[elements.NaN].Problem.Count != 1 || d.NotFinite[elements.NegativeInfinity].Bench.Count != 1 ||
		!slices.Equal(d.NotFinite[elements.NaN].Problem.First[0], []int64{1, 1}) {
		t.Errorf("Diff() = %d changed, not finite %+v", d.Changed, d.NotFinite)
	}
}

func TestWithinATolerance(t *testing.T) {
	t.Parallel()
	shape := []int64{2}
	if d := diff(t, made(t, shape, []float32{1, 2.001}), made(t, shape, []float32{1, 2}), 0.01); !d.Same || d.Changed != 1 {
		t.Errorf("Diff() = %s", d.Result())
	}
	if d := diff(t, made(t, shape, []float32{1, 2.1}), made(t, shape, []float32{1, 2}), 0.01); d.Same {
		t.Errorf("Diff() = %s", d.Result())
	}
}
