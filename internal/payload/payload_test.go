package payload_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/payload"
	"github.com/tensortap/tensortap/internal/torchfile"
)

// numpy is a file of numpy with float64 or float32 elements.
func numpy(tb testing.TB, dtype string, shape []int, values []float64) *torchfile.Tensor {
	tb.Helper()
	sizes := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(shape)), ","), "[]")
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n", dtype, sizes)
	text := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	text = append(text, header...)
	for _, v := range values {
		switch dtype {
		case "<f8":
			text = binary.LittleEndian.AppendUint64(text, math.Float64bits(v))
		case "<f4":
			text = binary.LittleEndian.AppendUint32(text, math.Float32bits(float32(v)))
		case "<f2":
			text = binary.LittleEndian.AppendUint16(text, uint16(math.Float32bits(float32(v))>>16)&0xbfff) // some finite number
		case "<i4":
			text = binary.LittleEndian.AppendUint32(text, uint32(int32(v)))
		}
	}
	t, err := torchfile.Open(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func load(tb testing.TB, path string) *torchfile.Tensor {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	t, err := torchfile.Open(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	return t
}

func compare(tb testing.TB, problem, bench *torchfile.Tensor) payload.Result {
	tb.Helper()
	r, err := payload.Compare(tb.Context(), problem, bench)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// text shows a number to n digits, if it is set.
func text(v *float64, digits int) string {
	if v == nil {
		return "null"
	}
	return strconv.FormatFloat(*v, 'g', digits, 64)
}

func numbers(r payload.Result) string {
	var all []string
	for _, v := range []*float64{r.Cosine, r.RelativeL2, r.L2Distance, r.MaxAbsolute, r.MaxRelative, r.Thousandth, r.FiveThousandth} {
		all = append(all, text(v, 6))
	}
	return strings.Join(all, " ")
}

func TestCompareAgreesWithMsprobe(t *testing.T) {
	t.Parallel()
	lines, err := os.ReadFile("testdata/msprobe_B20.tsv")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := recorded.Extract("testdata/msprobe_B20.tar.gz", folder); err != nil {
		t.Fatal(err)
	}
	rows, matched, total := 0, 0, 0
	for line := range strings.Lines(string(lines)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if fields[0] == "name" {
			continue
		}
		rows++
		if fields[3] == "-" {
			continue // a scalar, which has no file
		}
		r := compare(t, load(t, filepath.Join(folder, "B20", fields[3])), load(t, filepath.Join(folder, "B20", fields[4])))
		for i, got := range []*float64{r.Cosine, r.L2Distance, r.MaxAbsolute, r.MaxRelative, r.Thousandth, r.FiveThousandth} {
			total++
			if printed(got, fields[5+i]) {
				matched++
				continue
			}
			t.Errorf("%s: number %d = %s, msProbe says %s", fields[0], i, text(got, -1), fields[5+i])
		}
	}
	t.Logf("%d of %d numbers in %d rows are those of msProbe", matched, total, rows)
	if rows != 55 {
		t.Errorf("%d rows, want 55", rows)
	}
}

// printed says whether a number is the one that msProbe prints, to 1e-6 or to its 12 decimals.
func printed(got *float64, want string) bool {
	if want == "unsupported" {
		return got == nil
	}
	w, err := strconv.ParseFloat(want, 64)
	if err != nil || got == nil {
		return false
	}
	return math.Abs(*got-w) <= 1e-6*math.Abs(w) || math.Abs(*got-w) <= 0.51e-12
}

func TestCompareByHand(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	type values = []float64
	for name, c := range map[string]struct {
		x, y values
		want string
		same bool
		says string
	}{
		"same":                  {values{1, 2, 2}, values{1, 2, 2}, "1 0 0 0 0 1 1", true, ""},
		"far":                   {values{3, 4}, values{4, 3}, "0.96 0.282843 1.41421 1 0.333333 0 0", false, ""},
		"thousandth":            {values{1.0005, 1.003, 2}, values{1, 1, 1}, "0.943083 0.577353 1 1 1 0.333333 0.666667", false, ""},
		"both zero":             {values{0, 0}, values{0, 0}, "1 0 0 0 0 1 1", true, ""},
		"zero with other sign":  {values{0, 0}, values{0, math.Copysign(0, -1)}, "1 0 0 0 0 1 1", false, ""},
		"zero bench":            {values{1, 0}, values{0, 0}, "NaN +Inf 1 1 4.5036e+15 0.5 0.5", false, payload.ZeroBench},
		"zero problem":          {values{0, 0}, values{1, 0}, "NaN 1 1 1 1 0.5 0.5", false, payload.ZeroProblem},
		"same places":           {values{nan, inf, -inf, 2}, values{nan, inf, -inf, 1}, "1 1 1 1 1 0.75 0.75", false, ""},
		"same places, same":     {values{nan, inf, 1}, values{nan, inf, 1}, "1 0 0 0 0 1 1", true, ""},
		"other places":          {values{nan, 1}, values{1, nan}, "null null null null null null null", false, payload.NotFinite},
		"one side":              {values{nan, 1}, values{1, 1}, "null null null null null null null", false, payload.NotFinite},
		"bench side":            {values{1, 1}, values{1, -inf}, "null null null null null null null", false, payload.NotFinite},
		"NaN for infinity":      {values{nan, 1}, values{inf, 1}, "null null null null null null null", false, payload.NotFinite},
		"other sign":            {values{inf, 1}, values{-inf, 1}, "1 +Inf 0 0 0 1 1", false, payload.OtherSign},
		"one element":           {values{3}, values{2}, "null 0.5 null 1 0.5 null null", false, payload.OneElement},
		"one NaN":               {values{nan}, values{2}, "null null null NaN NaN null null", false, payload.OneElement + "; " + payload.NotFinite},
		"one NaN on both sides": {values{nan}, values{nan}, "null 0 null NaN NaN null null", true, payload.OneElement},
		"one infinity":          {values{inf}, values{2}, "null null null +Inf +Inf null null", false, payload.OneElement + "; " + payload.NotFinite},
		"none":                  {values{}, values{}, "null null null null null null null", true, payload.Empty},
		"huge":                  {values{3e200, 4e200}, values{3e200, 0}, "0.6 1.33333 4e+200 4e+200 1.80144e+216 0.5 0.5", false, ""},
		"tiny":                  {values{3e-200, 4e-200}, values{3e-200, 0}, "1 1.33333 4e-200 4e-200 0 1 1", false, ""},
		"smallest":              {values{5e-324, 5e-324}, values{5e-324, 0}, "1 1 4.94066e-324 4.94066e-324 0 1 1", false, ""},
		"overflow":              {values{1.7e308, 0}, values{-1.7e308, 1}, "-1 +Inf +Inf +Inf +Inf 0 0", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := compare(t, numpy(t, "<f8", []int{len(c.x)}, c.x), numpy(t, "<f8", []int{len(c.y)}, c.y))
			if got := numbers(r); got != c.want || r.SameBits != c.same || r.Message != c.says {
				t.Errorf("Compare(%v, %v) = %s, same %v, %q, want %s, same %v, %q", c.x, c.y, got, r.SameBits, r.Message, c.want, c.same, c.says)
			}
		})
	}
}

func TestShapesAndTypes(t *testing.T) {
	t.Parallel()
	six := []float64{1, 2, 3, 4, 5, 6}
	flat := numpy(t, "<f8", []int{2, 3}, six)
	for name, c := range map[string]struct {
		problem  *torchfile.Tensor
		elements int64
		same     bool
		says     string
	}{
		"squeezed":   {numpy(t, "<f8", []int{1, 2, 1, 3}, six), 6, true, ""},
		"transposed": {numpy(t, "<f8", []int{3, 2}, six), 0, false, "shapes differ: [3 2] and [2 3]"},
		"float32":    {numpy(t, "<f4", []int{2, 3}, six), 6, false, "dtypes differ: float32 and float64"},
		"int32":      {numpy(t, "<i4", []int{2, 3}, six), 6, false, "dtypes differ: int32 and float64"},
		"empty":      {numpy(t, "<f8", []int{0}, nil), 0, false, "no elements"},
	} {
		r := compare(t, c.problem, flat)
		if r.Elements != c.elements || r.SameBits != c.same || r.Message != c.says {
			t.Errorf("%s: %d elements, same %v, %q, want %d, %v, %q", name, r.Elements, r.SameBits, r.Message, c.elements, c.same, c.says)
		}
		if c.elements > 0 && *r.RelativeL2 != 0 {
			t.Errorf("%s: relative error %g, want 0", name, *r.RelativeL2)
		}
	}
}

// naive is the relative error and the cosine in numbers of 300 bits.
func naive(x, y []float64) (relative, cosine float64) {
	exact := func(v float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(v) }
	xx, yy, xy, dd := exact(0), exact(0), exact(0), exact(0)
	product := func(a, b *big.Float) *big.Float { return exact(0).Mul(a, b) }
	for i := range x {
		a, b := exact(x[i]), exact(y[i])
		d := exact(0).Sub(a, b)
		xx.Add(xx, product(a, a))
		yy.Add(yy, product(b, b))
		xy.Add(xy, product(a, b))
		dd.Add(dd, product(d, d))
	}
	relative, _ = exact(0).Quo(dd.Sqrt(dd), exact(0).Sqrt(yy)).Float64()
	cosine, _ = exact(0).Quo(xy, product(xx.Sqrt(xx), yy.Sqrt(yy))).Float64()
	return relative, cosine
}

func TestSumsAreExact(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 3, 255, 256, 257, 1000, 40_000} {
		for _, spread := range []float64{0, 1, 30, 200} {
			x, y := make([]float64, n), make([]float64, n)
			for i := range x {
				y[i] = random.NormFloat64() * math.Pow(10, spread*(random.Float64()-0.5))
				x[i] = y[i] * (1 + 1e-3*random.NormFloat64())
			}
			r := compare(t, numpy(t, "<f8", []int{n}, x), numpy(t, "<f8", []int{n}, y))
			relative, cosine := naive(x, y)
			if math.Abs(*r.RelativeL2-relative) > 1e-12*relative || math.Abs(*r.Cosine-cosine) > 1e-12 {
				t.Errorf("%d elements over 10^%g: relative %g, cosine %g, want %g, %g", n, spread, *r.RelativeL2, *r.Cosine, relative, cosine)
			}
		}
	}
}

func TestEveryTypeOfTorchIsDecoded(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../torchfile/testdata/want.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		raw, err := hex.DecodeString(fields[4])
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float64, len(raw)/8)
		for i := range want {
			want[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
		}
		got := payload.Decode(t, load(t, filepath.Join("../torchfile/testdata", fields[0])))
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s = %v, torch says %v", fields[0], got, want)
		}
	}
}

func TestLayoutsDoNotMatter(t *testing.T) {
	t.Parallel()
	folder := "../torchfile/testdata"
	transposed, legacy := load(t, folder+"/layout_transposed.pt"), load(t, folder+"/legacy_transposed.pt")
	if r := compare(t, transposed, legacy); !r.SameBits || *r.RelativeL2 != 0 {
		t.Errorf("transposed in two forms: %s, same %v", numbers(r), r.SameBits)
	}
	rows, columns := load(t, folder+"/numpy_c_order.npy"), load(t, folder+"/numpy_f_order.npy")
	for _, pair := range [][2]*torchfile.Tensor{{rows, columns}, {columns, rows}} {
		if r := compare(t, pair[0], pair[1]); !r.SameBits || *r.RelativeL2 != 0 || r.Elements != 24 {
			t.Errorf("rows and columns: %s, same %v, %d elements", numbers(r), r.SameBits, r.Elements)
		}
	}
}

func TestComplexPartsCount(t *testing.T) {
	t.Parallel()
	c := load(t, "../torchfile/testdata/dtype_complex64.pt")
	if r := compare(t, c, c); !r.SameBits || *r.RelativeL2 != 0 || r.Elements != 12 || *r.Thousandth != 1 {
		t.Errorf("complex: %s, same %v, %d elements", numbers(r), r.SameBits, r.Elements)
	}
}

// sparse is a file with a large tensor of zeros, except one element in the middle.
func sparse(tb testing.TB, bytes int64, middle byte) *torchfile.Tensor {
	tb.Helper()
	file, err := os.Create(filepath.Join(tb.TempDir(), "large.npy"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = file.Close() })
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", bytes/4)
	header += strings.Repeat(" ", 117-len(header)) + "\n"
	if _, err := file.WriteString("\x93NUMPY\x01\x00" + string([]byte{byte(len(header)), 0}) + header); err != nil {
		tb.Fatal(err)
	}
	size := int64(10+len(header)) + bytes
	if err := file.Truncate(size); err != nil {
		tb.Fatal(err)
	}
	if _, err := file.WriteAt([]byte{0, 0, 0, middle}, size-bytes/2-4); err != nil {
		tb.Fatal(err)
	}
	t, err := torchfile.Open(file, size)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func TestMemoryDoesNotGrowWithTensors(t *testing.T) { //nolint:paralleltest // it measures memory
	problem, bench := sparse(t, 256<<20, 0x40), sparse(t, 256<<20, 0x41)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := compare(t, problem, bench)
	runtime.ReadMemStats(&after)
	if taken := (after.TotalAlloc - before.TotalAlloc) >> 10; taken > 4<<10 {
		t.Errorf("two tensors of 256 MiB took %d KiB, want 4 MiB at most", taken)
	}
	if got := numbers(r); got != "1 0.75 6 6 0.75 1 1" || r.Elements != 64<<20 {
		t.Errorf("2 and 8 among zeros: %s of %d elements", got, r.Elements)
	}
}

func BenchmarkCompare(b *testing.B) {
	const n = 1 << 22
	random := rand.New(rand.NewPCG(1, 2))
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		y[i] = random.NormFloat64()
		x[i] = y[i] + 1e-4*random.NormFloat64()
	}
	for _, c := range []struct {
		name  string
		dtype string
		x, y  []float64
		size  int64
	}{{"float32", "<f4", x, y, 4}, {"float64", "<f8", x, y, 8}, {"same", "<f4", y, y, 4}, {"float16", "<f2", x, y, 2}} {
		problem, bench := numpy(b, c.dtype, []int{n}, c.x), numpy(b, c.dtype, []int{n}, c.y)
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(2 * n * c.size)
			b.ReportAllocs()
			for b.Loop() {
				compare(b, problem, bench)
			}
		})
	}
}
