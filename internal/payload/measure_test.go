package payload_test

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/payload"
	"github.com/tensortap/tensortap/internal/torchfile"
)

// TestStatisticsAreThoseOfTheCollector compares them with the collector's for the very same tensors.
func TestStatisticsAreThoseOfTheCollector(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("testdata/statistics.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(table)), "\n")
	if len(lines) < 20 {
		t.Fatalf("%d tensors", len(lines))
	}
	for _, line := range lines {
		fields := strings.Split(line, "\t")
		t.Run(fields[0], func(t *testing.T) {
			t.Parallel()
			requireStatistics(t, measured(t, filepath.Join("testdata/statistics", fields[0]+".pt")), fields[1:])
		})
	}
}

func measured(tb testing.TB, path string) payload.Statistics {
	tb.Helper()
	file, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	if err != nil {
		tb.Fatal(err)
	}
	tensor, err := torchfile.Open(file, info.Size())
	if err != nil {
		tb.Fatal(err)
	}
	got, err := payload.Measure(tb.Context(), tensor)
	if err != nil {
		tb.Fatal(err)
	}
	return got
}

// requireStatistics checks counts, extremes and digest exactly, and sums to the precision of the collector's float32
// blocks.
func requireStatistics(t *testing.T, got payload.Statistics, fields []string) {
	t.Helper()
	want := make([]float64, len(fields)-1)
	for i := range want {
		var err error
		if want[i], err = strconv.ParseFloat(fields[i], 64); err != nil {
			t.Fatal(err)
		}
	}
	counts := []uint64{got.NaN, got.PositiveInfinity, got.NegativeInfinity, got.Subnormal, got.Zero}
	for i, count := range counts {
		if float64(count) != want[i] {
			t.Errorf("count %d: %d, want %v", i, count, want[i])
		}
	}
	if hasFinite := want[5] == 1; hasFinite != (got.Finite > 0) {
		t.Errorf("%d finite elements, want some: %v", got.Finite, hasFinite)
	}
	for i, value := range []float64{got.Min, got.Max} {
		if value != want[6+i] {
			t.Errorf("extreme %d: %v, want %v", i, value, want[6+i])
		}
	}
	for i, value := range []float64{got.Mean, got.M2, got.L1} {
		if scale := math.Abs(want[8+i]) + math.Abs(want[6]) + math.Abs(want[7]); math.Abs(value-want[8+i]) > 1e-6*scale && value != want[8+i] {
			t.Errorf("sum %d: %v, want %v", i, value, want[8+i])
		}
	}
	if digest := strconv.FormatUint(got.Digest, 10); digest != fields[len(fields)-1] {
		t.Errorf("digest %s, want %s", digest, fields[len(fields)-1])
	}
}
