package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

// halfPublished are two spools of which an agent has published the first steps; a later one is to do the rest.
func halfPublished(t *testing.T, root string, l *log) (one, other *testbed.Spool) {
	t.Helper()
	one = testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1, SegmentRows: 64})
	other = testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Rank: 1, Epoch: 2, SegmentRows: 64})
	for _, s := range []*testbed.Spool{one, other} {
		s.Step(0, 10)
		s.Step(1, 12)
	}
	serveUntil(t, config(t, root, l), func() bool { return len(rows[schemas.StepRow](l)) == 4 })
	for _, s := range []*testbed.Spool{one, other} {
		s.Step(2, 10)
		s.Close()
	}
	return one, other
}

func TestASpoolWithFilesOfAnotherIsLeftAloneUntilItHasItsOwn(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{
		"header": "header is that of another process", "definitions": "definitions are those of another process",
		"cuts": "what was published of it is not known",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, l, told := t.TempDir(), newLog(t), &tellings{}
			one, other := halfPublished(t, root, l)
			before := len(rows[schemas.TensorRow](l))
			exchange(t, filepath.Join(one.Dir, name), filepath.Join(other.Dir, name))
			cfg := config(t, root, l)
			cfg.Tell = told.add
			serveUntil(t, cfg, func() bool { return told.count(says) == 2 })
			if n := len(rows[schemas.TensorRow](l)); n != before {
				t.Errorf("%d tensors are published by the files of others", n-before)
			}
			exchange(t, filepath.Join(one.Dir, name), filepath.Join(other.Dir, name))
			serveUntil(t, config(t, root, l), empty(t, root))
			requireThreeSteps(t, l)
		})
	}
}

// requireThreeSteps checks that each rank's steps are there, once.
func requireThreeSteps(t *testing.T, l *log) {
	t.Helper()
	contiguous(t, l)
	seen := map[string]int{}
	for _, row := range rows[schemas.TensorRow](l) {
		seen[fmt.Sprint(row.Rank, row.Step)]++
	}
	if want := "map[0 0:20 0 1:24 0 2:20 1 0:20 1 1:24 1 2:20]"; fmt.Sprint(seen) != want {
		t.Errorf("tensors by rank and step: %v, want %s", seen, want)
	}
}

func TestExchangedPositionsCostNothing(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	one, other := halfPublished(t, root, l)
	exchange(t, filepath.Join(one.Dir, "position"), filepath.Join(other.Dir, "position"))
	serveUntil(t, config(t, root, l), empty(t, root))
	requireThreeSteps(t, l)
}

func TestASpoolWhoseCutsAreLostOrDamagedIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(tb testing.TB, path string){
		"removed":     func(tb testing.TB, path string) { tb.Helper(); overwrite(tb, path, nil) },
		"flipped bit": func(tb testing.TB, path string) { tb.Helper(); flipByte(tb, path, 20) },
		"cut short":   func(tb testing.TB, path string) { tb.Helper(); overwrite(tb, path, readFile(tb, path)[:100]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, l, told := t.TempDir(), newLog(t), &tellings{}
			one, _ := halfPublished(t, root, l)
			harm(t, filepath.Join(one.Dir, "cuts"))
			before := len(rows[schemas.TensorRow](l))
			cfg := config(t, root, l)
			cfg.Tell = told.add
			serveUntil(t, cfg, func() bool {
				_, err := os.Stat(filepath.Join(root, filepath.Base(one.Dir)))
				left, _ := filepath.Glob(filepath.Join(root, "*-*"))
				return err == nil && len(left) == 1 && told.count("what was published of it is not known") == 1
			})
			if n := len(rows[schemas.TensorRow](l)) - before; n != 20 {
				t.Errorf("%d tensors more are published, want the 20 of its neighbour", n)
			}
		})
	}
}

func flipByte(tb testing.TB, path string, at int) {
	tb.Helper()
	data := readFile(tb, path)
	data[at] ^= 1
	overwrite(tb, path, data)
}
