package msprobe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestDecimalsAreTheNearestFloats(t *testing.T) {
	t.Parallel()
	d := newDecimals()
	check := func(text string) {
		t.Helper()
		want, _ := strconv.ParseFloat(text, 64)
		got, size := d.read([]byte(text + ","))
		if size != len(text) || math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%s is %v of %d bytes, want %v", text, got, size, want)
		}
	}
	for _, text := range []string{
		"0", "-0", "-0.0", "0.0e-5", "1", "-1.", ".5", "9007199254740993", "9007199254740992.5", "18446744073709551615", "18446744073709551616",
		"1e22", "1e23", "8.5e-60", "1e-61", "1e31", "1e400", "-1e400", "5e-324", "1e-400", "0.1", "0.30000000000000004", "1E+2", "00012.50",
		"123456789012345678901234567890", "2.2250738585072014e-308", "1e99999999999999999999", "4503599627370496.5", "4503599627370497.5",
	} {
		check(text)
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // for a test
	for range 300_000 {
		single := math.Float32frombits(random.Uint32())
		if single-single != 0 {
			continue // not finite
		}
		check(strconv.FormatFloat(float64(single), 'g', -1, 64))
		check(strconv.FormatFloat(float64(single), 'f', 6, 64))
		check(strconv.FormatFloat(random.NormFloat64(), 'g', -1, 64))
		check(fmt.Sprintf("%d.%de%d", random.IntN(1000), random.Uint64()>>random.IntN(60), random.IntN(100)-60))
	}
}

func TestDecimalsEndWhereTheScannerEndsThem(t *testing.T) {
	t.Parallel()
	d := newDecimals()
	for text, want := range map[string]int{
		"NaN,": 3, "Infinity}": 8, "-Infinity\n": 9, "NaN": 0, "nan,": 0, "-,": 0, "": 0, "-": 0, "12": 0, "1e,": 0, "1e+,": 0, ".,": 0, "e5,": 0,
		"1.5.3,": 3, "1-2,": 1, "0x10,": 1, "+1,": 0, "1e5e6,": 3,
	} {
		if _, size := d.read([]byte(text)); size != want {
			t.Errorf("%q: %d bytes, want %d", text, size, want)
		}
	}
	if v, _ := d.read([]byte("NaN,")); !math.IsNaN(v) {
		t.Error("NaN is none")
	}
	if v, _ := d.read([]byte("-Infinity,")); !math.IsInf(v, -1) {
		t.Error("-Infinity is none")
	}
}
