package elements_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/elements"
	"github.com/tensortap/tensortap/internal/torchfile"
)

// drawn is a picture of so many rows and columns at most.
func drawn(tb testing.TB, slice string, rows, columns int64, problem, bench *torchfile.Tensor) *elements.Picture {
	tb.Helper()
	w, err := elements.ParseWindow(slice, problem.Shape)
	if err != nil {
		tb.Fatal(err)
	}
	picture, err := elements.Draw(tb.Context(), w, rows, columns, problem, bench)
	if err != nil {
		tb.Fatal(err)
	}
	return picture
}

func counting(n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(i)
	}
	return values
}

func TestAPictureHasTheElementsOfItsSlice(t *testing.T) {
	t.Parallel()
	cube := made(t, []int64{2, 3, 4}, counting(24))
	for slice, want := range map[string][]float64{
		"":          {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
		"1,:,:":     {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23},
		"1,1:3,2:4": {18, 19, 22, 23},
		":,2,:":     {8, 9, 10, 11, 20, 21, 22, 23},
		":,:,1":     {1, 5, 9, 13, 17, 21},
		"0, 1, 2:":  {6, 7},
		"1,2,3":     {23},
		"0,1:1,:":   {},
	} {
		if got := drawn(t, slice, 100, 100, cube, nil); !slices.Equal(got.Sides[0].Mean, want) {
			t.Errorf("slice %q is %v, want %v", slice, got.Sides[0].Mean, want)
		}
	}
}

func TestAPictureOfATensorInAnotherOrderIsTheSame(t *testing.T) {
	t.Parallel()
	const rows, columns = 37, 53
	tensor := made(t, []int64{columns, rows}, random(rows*columns)).Permuted([]int{1, 0})
	straight := make([]float32, rows*columns)
	for i, v := range random(rows * columns) {
		straight[i%rows*columns+i/rows] = v
	}
	want := drawn(t, "", 10, 7, made(t, []int64{rows, columns}, straight), nil).Sides[0]
	got := drawn(t, "", 10, 7, tensor, nil).Sides[0]
	if !slices.Equal(got.Least, want.Least) || !slices.Equal(got.Greatest, want.Greatest) {
		t.Errorf("%v to %v, want %v to %v", got.Least, got.Greatest, want.Least, want.Greatest)
	}
}

func TestCellsCountWhatIsNotFiniteApart(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	problem := made(t, []int64{2, 4}, []float32{1, nan, 3, inf, nan, nan, -inf, 2})
	bench := made(t, []int64{2, 4}, []float32{1, 2, 5, inf, nan, 1, inf, 2})
	got := drawn(t, "", 2, 2, problem, bench)
	side := got.Sides[0]
	if !slices.Equal(side.NaN, []int64{1, 0, 2, 0}) || !slices.Equal(side.Infinite, []int64{0, 1, 0, 1}) ||
		side.Mean[0] != 1 || side.Least[1] != 3 || !math.IsNaN(side.Mean[2]) || side.Greatest[3] != 2 {
		t.Errorf("%+v", side)
	}
	if f := got.Apart.Furthest; f[0] != 0 || f[1] != -2 || !math.IsNaN(f[2]) || f[3] != 0 || !slices.Equal(got.Apart.Unlike, []int64{1, 0, 1, 1}) {
		t.Errorf("%+v", got.Apart)
	}
	text, err := json.Marshal(got)
	if err != nil || !strings.Contains(string(text), `"furthest":[0,-2,null,0]`) || !strings.Contains(string(text), `"slice":"0:2,0:4"`) {
		t.Errorf("%s %v", text, err)
	}
}

// TestAPictureOfEveryKindOfTensor has types whose numbers are not float32's, and shapes without rows, columns or elements.
func TestAPictureOfEveryKindOfTensor(t *testing.T) {
	t.Parallel()
	half := func(values ...float32) (raw []byte) {
		for _, v := range values {
			raw = binary.LittleEndian.AppendUint16(raw, uint16(math.Float32bits(v)>>16))
		}
		return raw
	}
	long := binary.LittleEndian.AppendUint64(nil, uint64(1)<<40)
	for name, c := range map[string]struct {
		of   *torchfile.Tensor
		want string
	}{
		"bfloat16": {madeOf(t, "BF16", []int64{1, 2}, half(0.15625, -2)), `"mean":[0.15625,-2],`},
		"bool":     {madeOf(t, "BOOL", []int64{3}, []byte{0, 1, 1}), `"mean":[0,1,1],`},
		"int64":    {madeOf(t, "I64", []int64{1}, long), `"mean":[1.099511627776e+12],`},
		"0-dim":    {made(t, []int64{}, []float32{7}), `"rows":{"axis":-1,"cells":1,"from":0,"to":1},`},
		"empty":    {made(t, []int64{2, 0}, nil), `"mean":[],`},
		"no rows":  {made(t, []int64{0, 4, 4}, nil), `"mean":[],`},
		"huge":     {made(t, []int64{2}, []float32{math.MaxFloat32, -math.MaxFloat32}), `"mean":[3.4028235e+38,-3.4028235e+38],`},
	} {
		text, err := json.Marshal(drawn(t, "", 4, 4, c.of, c.of))
		if err != nil || !strings.Contains(string(text), c.want) {
			t.Errorf("%s: %s %v, want %s", name, text, err, c.want)
		}
	}
	mean := drawn(t, "", 1, 1, made(t, []int64{2}, []float32{math.MaxFloat32, math.MaxFloat32}), nil).Sides[0].Mean[0]
	if mean != math.MaxFloat32 {
		t.Errorf("the mean of two greatest numbers is %g", mean)
	}
}

func TestASliceThatATensorHasNotIsRefused(t *testing.T) {
	t.Parallel()
	for slice, want := range map[string]string{
		"0,:":        "it has 2 parts, and the tensor of shape [2 3 4] has 3 axes",
		":,:,:":      "it has ranges for 3 axes, a picture has two",
		"2,:,:":      `axis 0: "2": want a whole number from 0 to 1`,
		"-1,:,:":     `axis 0: "-1": want`,
		"0,2:1,:":    `axis 1: "1": want a whole number from 2 to 3`,
		"0,:,0:5":    `axis 2: "5": want`,
		"0,:,a":      `axis 2: "a": want`,
		"0,0:1:2,:,": "has 3 axes",
		"0,0:1:2,:":  `axis 1: "1:2": want`,
	} {
		if _, err := elements.ParseWindow(slice, []int64{2, 3, 4}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("slice %q: %v, want %q", slice, err, want)
		}
	}
	small, large := made(t, []int64{1, 2}, counting(2)), made(t, []int64{2, 1}, counting(2))
	w, _ := elements.ParseWindow("", small.Shape)
	if _, err := elements.Draw(t.Context(), w, 1, 1, small, large); !errors.Is(err, elements.ErrShapesDiffer) {
		t.Error(err)
	}
}

// TestAPictureReadsNoMoreThanItsLimit has a tensor that shows its only element more often than anybody waits for.
func TestAPictureReadsNoMoreThanItsLimit(t *testing.T) {
	t.Parallel()
	one := made(t, []int64{1}, counting(1))
	one.Shape, one.Stride, one.Count = []int64{1 << 40}, []int64{1}, 1<<40
	w, _ := elements.ParseWindow("", one.Shape)
	if _, err := elements.Draw(t.Context(), w, 10, 10, one, nil); !errors.Is(err, elements.ErrTooLarge) {
		t.Error(err)
	}
}
