package sizing

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/marked"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

var update = flag.Bool("update", false, "write the sizes in docs/OPERATIONS.md anew") //nolint:gochecknoglobals // a flag of the tests

// TestTheSizesOfOperationsFollowFromTheFigures holds the table against docs/BENCHMARKS-load.md.
func TestTheSizesOfOperationsFollowFromTheFigures(t *testing.T) {
	t.Parallel()
	measured, err := os.ReadFile(filepath.Join(recorded.Root(), "docs", "BENCHMARKS-load.md"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Read(string(measured))
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(recorded.Root(), "docs", "OPERATIONS.md")
	if *update {
		if err := marked.Write(page, "sizes", f.sizes()); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := marked.Part(string(text), "sizes"); err != nil || got != f.sizes() {
		t.Errorf("docs/OPERATIONS.md has %v\n%s\nthe figures give\n%s\nwrite them by go test ./internal/dev/sizing -update", err, got, f.sizes())
	}
}

func TestFiguresAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	want := &Figures{Rate: 250_000, Bytes: Bytes{40.5, 12, 11.5}}
	for _, name := range []string{NATS, ClickHouse, Tables, Archive, Judge, Alert, Agents} {
		want.Parts = append(want.Parts, Part{name, 1.25, 5e7, 6e7})
	}
	got, err := Read("# Page\n\n" + want.Markdown())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if _, err := Read("| " + rateRow + " | many |"); err == nil {
		t.Error("a document without figures is read")
	}
}

func TestSizesAreFiguresTimesEvents(t *testing.T) {
	t.Parallel()
	f := &Figures{Rate: 200_000, Bytes: Bytes{Stream: 40, Tables: 12, Archive: 10}, Parts: []Part{{Seconds: 1, Shared: 1e8}, {Seconds: 3, Shared: 1e9}, {Seconds: 2, Shared: 2e8}, {Seconds: 0.5, Shared: 2e8}}}
	const want = "| 1,024 | 1000 | 1,024,000 | 5.1 | 1.0 | 3.1 | 2.0 | 0.5 | 9.0 | 3,539 | 1,062 | 885 |\n"
	if got := f.sizes(); !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant in it\n%s", got, want)
	}
	if got := f.memory(1); math.Abs(got-1.5e9) > 1 {
		t.Errorf("memory of a small fleet %v, want that of one process of each part", got)
	}
}
