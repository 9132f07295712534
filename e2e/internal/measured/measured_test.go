package measured

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestAGrowthIsOfTheMediansOfItsSpans(t *testing.T) {
	t.Parallel()
	s := NewSamples(t, "")
	for _, value := range []float64{900, 10, 11, 500, 12, 13, 900, 14} {
		if err := s.Add("disk", value); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Add("seen once", 1); err != nil {
		t.Fatal(err)
	}
	spans := func(int) (early, late Span) { return Span{1, 4}, Span{5, 8} }
	if got, want := s.Growths(spans), []Growth{{"disk", 11, 14}}; !slices.Equal(got, want) {
		t.Fatalf("growths %v, want %v", got, want)
	}
	g := Growth{"disk", 100, 130}
	for _, c := range []struct {
		factor, more float64
		want         bool
	}{{1.3, 0, true}, {1.2, 9, false}, {1.2, 10, true}} {
		if g.Within(c.factor, c.more) != c.want {
			t.Errorf("%v within %v times and %v: want %v", g, c.factor, c.more, c.want)
		}
	}
	if got := s.Last("disk", "unknown"); got != "disk 14" {
		t.Errorf("last %q", got)
	}
}

func TestAFolderIsMeasured(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if size := Folder(dir); size != 1000 {
		t.Errorf("the folder takes %d bytes, want 1000", size)
	}
}
