package pyrepr

import (
	"bufio"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// What is wanted is what CPython 3.11 prints.
func TestFloatsAreAsPythonPrintsThem(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0.0", 1: "1.0", -2.5: "-2.5", 0.1: "0.1", 1e-4: "0.0001", 9.9e-5: "9.9e-05",
		1e15: "1000000000000000.0", 1e16: "1e+16", 5e-324: "5e-324", 1e300: "1e+300", math.Inf(1): "inf", math.Inf(-1): "-inf",
	} {
		if got := Float(v); got != want {
			t.Errorf("Float(%g) = %q, want %q", v, got, want)
		}
	}
	if got := Float(math.Copysign(0, -1)); got != "-0.0" {
		t.Errorf("Float(-0) = %q, want -0.0", got)
	}
	if got := Float(math.NaN()); got != "nan" {
		t.Errorf("Float(NaN) = %q, want nan", got)
	}
}

func TestTextsAreAsPythonPrintsThem(t *testing.T) {
	t.Parallel()
	got := Texts([]string{"plain", "it's", `it's "quoted"`, "a\n\t\\", "名", "\x1b", "\u200b", "\U000e0001"})
	const want = `['plain', "it's", 'it\'s "quoted"', 'a\n\t\\', '名', '\x1b', '\u200b', '\U000e0001']`
	if got != want {
		t.Errorf("Texts = %s, want %s", got, want)
	}
}

// What is wanted is what CPython wrote into testdata by the script beside it.
func TestJSONIsAsPythonWritesIt(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/dumped.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	lines := 0
	for scan := bufio.NewScanner(file); scan.Scan(); lines++ {
		points, want, _ := strings.Cut(scan.Text(), "\t")
		if got := JSON(textOf(t, points)); got != want {
			t.Errorf("JSON of %s = %s, want %s", points, got, want)
		}
	}
	if lines < 0x100 {
		t.Errorf("%d lines, want one for each of the first characters at least", lines)
	}
}

// textOf is the text of these code points, in hexadecimal.
func textOf(t *testing.T, points string) string {
	t.Helper()
	var text strings.Builder
	for point := range strings.FieldsSeq(points) {
		r, err := strconv.ParseInt(point, 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteRune(rune(r))
	}
	return text.String()
}
