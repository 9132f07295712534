package logline

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestPlainNumbersAreThoseOfStrconv(t *testing.T) {
	t.Parallel()
	texts := []string{"0", "00", "7.", ".5", ".", "", "1.2.3", "0.1", "999999999999999", "9999999999999999", "0.00000000000001", "1e3", "1_0", "12a", "99999999.9999999", "999999999.9999999"}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	for range 10_000 {
		texts = append(texts, fmt.Sprintf("%.*f", random.IntN(10), random.Float64()*float64(random.IntN(1e9))))
	}
	for _, text := range texts {
		got, decimals, known := plain(text)
		want, err := strconv.ParseFloat(text, 64)
		if known && (err != nil || got != want || decimals != decimalsOf(text)) {
			t.Errorf("%q: got %v with %d decimals, want %v with %d, %v", text, got, decimals, want, decimalsOf(text), err)
		}
	}
	if _, _, known := plain("0.12"); !known {
		t.Error("a usual number is none of those")
	}
}
