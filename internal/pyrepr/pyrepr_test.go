package pyrepr

import (
	"math"
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
