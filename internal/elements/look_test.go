package elements_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/elements"
	"github.com/tensortap/tensortap/internal/torchfile"
)

// TestEveryTypeIsLookedAt reads what torch, numpy and safetensors have written.
func TestEveryTypeIsLookedAt(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../torchfile/testdata/dtype_*")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../torchfile/testdata/[lns]*_*") // layout_, legacy_, numpy_ and st_
	if err != nil {
		t.Fatal(err)
	}
	if paths = append(paths, more...); len(paths) < 30 {
		t.Fatalf("%d files", len(paths))
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			tensor := opened(t, path)
			look, err := elements.At(t.Context(), tensor)
			if err != nil {
				t.Fatal(err)
			}
			var counted uint64
			for _, bin := range look.Histogram {
				counted += bin.Count
			}
			if counted != look.Statistics.Finite || int64(look.Statistics.Count) != tensor.Count {
				t.Errorf("the histogram has %d elements of %d finite ones", counted, look.Statistics.Finite)
			}
			if d := diff(t, tensor, opened(t, path), -1); !d.Same {
				t.Errorf("beside itself: %s", d.Result())
			}
			written(t, look)
		})
	}
}

func opened(tb testing.TB, path string) *torchfile.Tensor {
	tb.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	tensor, err := torchfile.Open(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		tb.Fatal(err)
	}
	return tensor
}

// written writes a look in every form.
func written(tb testing.TB, look *elements.Look) {
	tb.Helper()
	var text bytes.Buffer
	if err := look.WriteText(&text, 80); err != nil {
		tb.Fatal(err)
	}
	if !strings.Contains(text.String(), look.Dtype.String()) {
		tb.Errorf("the text does not name the type: %s", &text)
	}
	if err := report.WriteObject(&text, look); err != nil {
		tb.Fatal(err)
	}
	for _, format := range []report.Format{report.CSV, report.Arrow, report.Parquet} {
		if err := report.WriteRecord(&text, report.Style{Format: format}, look.Record()); err != nil {
			tb.Errorf("%s: %v", format, err)
		}
	}
}

func TestPlacesThatAreNotFinite(t *testing.T) {
	t.Parallel()
	values := make([]float32, 40)
	for i := range 12 {
		values[3*i] = float32(math.NaN())
	}
	values[1] = float32(math.Inf(-1))
	look, err := elements.At(t.Context(), made(t, []int64{4, 10}, values))
	if err != nil {
		t.Fatal(err)
	}
	if places := look.NotFinite[elements.NaN]; places.Count != 12 || len(places.First) != elements.Shown || !slices.Equal(places.First[4], []int64{1, 2}) {
		t.Errorf("NaN at %+v", places)
	}
	if places := look.NotFinite[elements.NegativeInfinity]; places.Count != 1 || !slices.Equal(places.First[0], []int64{0, 1}) {
		t.Errorf("-Inf at %+v", places)
	}
}
