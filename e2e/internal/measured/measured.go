// Package measured has the figures of long tests: how they go, and what folders take.
package measured

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Samples are figures in the order in which they were taken. Its methods may be called at the same time.
type Samples struct {
	begin time.Time
	file  *os.File

	mutex sync.Mutex
	of    map[string][]float64
}

// NewSamples begins now, and writes each sample as a line of CSV into that file too; into one that goes with the test where
// the path is empty.
func NewSamples(tb testing.TB, path string) *Samples {
	tb.Helper()
	if path == "" {
		path = filepath.Join(tb.TempDir(), "samples.csv")
	}
	file, err := os.Create(path) //nolint:gosec // as who started the test wants it
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = file.Close() })
	_, _ = fmt.Fprintln(file, "seconds,figure,value")
	return &Samples{begin: time.Now(), file: file, of: map[string][]float64{}}
}

// Add takes a sample.
func (s *Samples) Add(figure string, value float64) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.of[figure] = append(s.of[figure], value)
	_, err := fmt.Fprintf(s.file, "%.0f,%s,%g\n", time.Since(s.begin).Seconds(), figure, value)
	return err
}

// Last are the newest of some figures, in words.
func (s *Samples) Last(figures ...string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var said []string
	for _, figure := range figures {
		if all := s.of[figure]; len(all) > 0 {
			said = append(said, fmt.Sprintf("%s %.0f", figure, all[len(all)-1]))
		}
	}
	return strings.Join(said, ", ")
}

// Growth is how a figure went: its median early and late.
type Growth struct {
	Figure      string
	Early, Late float64
}

// Within says whether it grew by no more than a factor and a constant.
func (g Growth) Within(factor, more float64) bool { return g.Late <= factor*g.Early+more }

// Span is a part of the samples of a figure: those from First up to, and without, End.
type Span struct{ First, End int }

// Growths are those of all figures with samples in both spans, by name. The spans are of so many samples.
func (s *Samples) Growths(spans func(samples int) (early, late Span)) []Growth {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var found []Growth
	for figure, all := range s.of {
		early, late := spans(len(all))
		if early.First < early.End && late.First < late.End && late.End <= len(all) {
			found = append(found, Growth{figure, median(all[early.First:early.End]), median(all[late.First:late.End])})
		}
	}
	slices.SortFunc(found, func(a, b Growth) int { return strings.Compare(a.Figure, b.Figure) })
	return found
}

func median(samples []float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[len(sorted)/2]
}

// Folder is what all files of a folder take, in bytes; some vanish meanwhile.
func Folder(dir string) int64 {
	var size int64
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // it is gone
		}
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return size
}
