package producers_test

import (
	"math"
	"testing"
	"time"

	"github.com/tensortap/tensortap/producers"
)

func TestAFileTimeThatDoesNotFitIsTheNearestThatDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		ns   int64
		fits bool
	}{
		"1970-01-01T00:00:00.000000001Z": {1, true},
		"1969-12-31T23:59:59.999999999Z": {-1, true},
		"2262-04-11T23:47:16.854775807Z": {math.MaxInt64, true},
		"2262-04-11T23:47:16.854775808Z": {math.MaxInt64, false},
		"2446-05-10T22:38:55Z":           {math.MaxInt64, false},
		"9999-12-31T23:59:59Z":           {math.MaxInt64, false},
		"1677-09-21T00:12:43.145224192Z": {math.MinInt64, true},
		"1677-09-21T00:12:43.145224191Z": {math.MinInt64, false},
		"0001-01-01T00:00:00Z":           {math.MinInt64, false},
	} {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := producers.FileTimeNs(at); got != want.ns || (err == nil) != want.fits {
			t.Errorf("FileTimeNs(%s) = %d, %v; want %d, fits %t", text, got, err, want.ns, want.fits)
		}
	}
}
