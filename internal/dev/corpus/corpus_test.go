package corpus_test

import (
	"context"
	"flag"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/dev/corpus"
)

var (
	update = flag.Bool("update", false, "write docs/corpus.md")                  //nolint:gochecknoglobals // a flag of the test
	only   = flag.String("case", "", "only cases whose name contains this text") //nolint:gochecknoglobals // a flag of the test
)

// rightOrigins is how often the first suspect has to be where the fault began.
const rightOrigins = 0.95

// TestFaultsAreFoundAndHarmlessPairsAreNot is the corpus as a whole: every case is compared, held against what is known
// of it, and written into the table of docs/corpus.md.
func TestFaultsAreFoundAndHarmlessPairsAreNot(t *testing.T) {
	t.Parallel()
	var lines table
	withBench(t, func(ctx context.Context, b *bench) error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(2)
		for i, c := range everyCase(t) {
			if !strings.Contains(c.ID, *only) {
				continue
			}
			group.Go(func() error {
				a, err := ask(ctx, b, c)
				if err == nil {
					lines.add(i, c, a)
					check(t, c, a)
				}
				return err
			})
		}
		return group.Wait()
	})
	shown, right := lines.origins()
	t.Logf("%d of %d origins are right", right, shown)
	if float64(right) < rightOrigins*float64(shown) {
		t.Errorf("%d of %d origins are right, want %.0f %%", right, shown, 100*rightOrigins)
	}
	const document = "../../../docs/corpus.md"
	switch {
	case *only != "":
	case *update:
		lines.write(t, document)
	default:
		lines.compare(t, document)
	}
}

// everyCase yields all cases with their number.
func everyCase(t *testing.T) func(yield func(int, corpus.Case) bool) {
	t.Helper()
	return func(yield func(int, corpus.Case) bool) {
		number := 0
		for c, err := range library(t).Cases() {
			if err != nil {
				t.Error(err)
				return
			}
			if !yield(number, c) {
				return
			}
			number++
		}
		for _, c := range corpus.Sketched() {
			if !yield(number, c) {
				return
			}
			number++
		}
	}
}

func check(t *testing.T, c corpus.Case, a answer) {
	t.Helper()
	if c.Harmless {
		if wrong := a.alarm(c); wrong != "" {
			t.Errorf("%s is harmless, but %s; differing are %q", c.ID, wrong, a.differing)
		}
		return
	}
	for _, wrong := range a.faults(c) {
		t.Errorf("%s (%s): %s", c.ID, c.What, wrong)
	}
	if (line{c, a}).hasOrigin() && !a.originIsRight(c) {
		t.Logf("%s (%s): origins %v, want %+v", c.ID, c.What, a.suspects, c.Origin)
	}
}

// table is the lines of docs/corpus.md.
type table struct {
	mutex sync.Mutex
	lines map[int]line
}

type line struct {
	corpus.Case
	answer
}

func (l *table) add(number int, c corpus.Case, a answer) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.lines == nil {
		l.lines = map[int]line{}
	}
	c.Problem, c.Bench = corpus.Side{}, corpus.Side{} // runs are large
	l.lines[number] = line{c, a}
}

// hasOrigin says whether the evidence shows where the fault began.
func (l line) hasOrigin() bool { return !l.Harmless && l.Hidden == "" && l.OfRun == "" }

// origins counts the cases whose evidence shows where they began, and those in which that was found.
func (l *table) origins() (shown, right int) {
	for _, line := range l.lines {
		if !line.hasOrigin() {
			continue
		}
		shown++
		if line.originIsRight(line.Case) {
			right++
		}
	}
	return shown, right
}
