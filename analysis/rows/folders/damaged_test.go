package folders

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/producers/msprobe"
)

// dumpText is a dump of ops; each has one tensor with these statistics.
func dumpText(statistics string, ops ...string) string {
	var b strings.Builder
	b.WriteString("{\n \"task\": \"statistics\",\n \"level\": \"L1\",\n \"framework\": \"pytorch\",\n \"data\": {")
	for i, op := range ops {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "\n  %q: {\n   \"input_args\": [\n    {\n     \"type\": \"torch.Tensor\",\n     \"dtype\": \"torch.float32\",\n     \"shape\": [\n      2\n     ],\n     %s\n    }\n   ],\n   \"output\": []\n  }", op, statistics)
	}
	b.WriteString("\n }\n}\n")
	return b.String()
}

const plainStatistics = `"Max": 1.5, "Min": -0.0, "Mean": NaN, "Norm": -Infinity`

// place writes the dump of one rank and step.
func place(tb testing.TB, root string, step, rank int, text string) {
	tb.Helper()
	dir := filepath.Join(root, fmt.Sprintf("step%d", step), fmt.Sprintf("rank%d", rank))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "dump.json"), []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func open(tb testing.TB, path string) (*Source, *rows.Run) {
	tb.Helper()
	s, err := Open(tb.Context(), []Folder{{"a run", path}}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	run, err := s.Run(tb.Context(), "a run")
	if err != nil {
		tb.Fatal(err)
	}
	return s, run
}

func TestSignsOfZeroAndWhatIsNotFiniteAreKept(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for step := range 3 {
		place(t, root, step, 0, dumpText(plainStatistics, "Functional.a.0.forward", "Functional.b.0.forward"))
	}
	s, run := open(t, root)
	tensors, err := s.Tensors(t.Context(), run, []rows.Place{{Rank: 0, Step: 2}})
	if err != nil || len(tensors) != 1 {
		t.Fatal(tensors, err)
	}
	o := tensors[rows.Place{Rank: 0, Step: 2}].At(1)
	if o.Min != 0 || !math.Signbit(o.Min) || !math.IsNaN(o.Mean) || !math.IsInf(o.L2, -1) || o.Max != 1.5 {
		t.Errorf("%+v", o)
	}
	compare(t, root)
}

func TestDamagedDumpsGiveWhatTheirMessagesHold(t *testing.T) {
	t.Parallel()
	whole := dumpText(plainStatistics, "Functional.a.0.forward", "Functional.b.0.forward", "Functional.c.0.forward")
	for name, damaged := range map[string]string{
		"cut":         whole[:len(whole)*2/3],
		"twice":       dumpText(plainStatistics, "Functional.a.0.forward", "Functional.a.0.forward", "Functional.b.0.forward"),
		"a hole":      strings.Replace(whole, `"dtype": "torch.float32"`, `"dtype": torch.`, 2),
		"empty":       "",
		"nothing":     "{}",
		"hostile":     dumpText(plainStatistics, "名前.0.forward", "../../etc/passwd", "\x1b[31m", `a"b\c`, "", "Functional.\xff.0.forward"),
		"no number":   dumpText(`"Max": "much", "Min": null, "Mean": [1], "md5": "xyz"`, "Functional.a.0.forward", "Functional.b.0.forward"),
		"not closed":  strings.Replace(whole, "\n  },", "", 1),
		"other order": dumpText(plainStatistics, "Functional.c.0.forward", "Functional.a.0.forward"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for step, text := range []string{whole, damaged, whole, damaged, damaged, whole} {
				place(t, root, step, 0, text)
			}
			compare(t, root)
		})
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	whole := dumpText(plainStatistics, "Functional.a.0.forward", "Functional.b.0.forward")
	place(t, root, 0, 0, whole)
	place(t, root, 0, 1, dumpText(plainStatistics, "Functional.a.0.forward", "Functional.a.0.forward"))
	place(t, root, 1, 1, whole[:len(whole)*2/3])
	_, run := open(t, root)
	if len(run.Missing) != 2 || !run.Missing[0].Complete || run.Missing[0].Explanation != "" || run.Missing[0].Stored != 2 {
		t.Fatalf("missing: %+v", run.Missing)
	}
	m := run.Missing[1]
	if want := "the rank dropped 2 (op that appears twice; unreadable op), 1 steps were cut short"; m.Explanation != want || m.Complete {
		t.Errorf("rank 1: %q, want %q", m.Explanation, want)
	}
	if m.Steps != 2 || m.IncompleteSteps != 1 || m.Produced != 2 || m.Stored != 2 || m.Dropped != 2 || len(m.DropReasons) != 2 || m.LastEventTimeNs == nil {
		t.Errorf("rank 1: %+v", m)
	}
	if run.MainDtype != "torch.float32" {
		t.Errorf("main dtype %q", run.MainDtype)
	}
}

func TestSeveralFoldersAreOneSourceForManyAtATime(t *testing.T) {
	t.Parallel()
	var folders []Folder
	for side := range 3 {
		root := t.TempDir()
		for i := range 12 {
			place(t, root, i/4, i%4, dumpText(plainStatistics, "Functional.a.0.forward", fmt.Sprintf("Functional.of%d.0.forward", side)))
		}
		folders = append(folders, Folder{fmt.Sprint("run ", side), root})
	}
	var told sync.Mutex
	var done, all int64
	s, err := Open(t.Context(), folders, func(d, a int64) {
		told.Lock()
		defer told.Unlock()
		done, all = max(done, d), a
	})
	if err != nil || done != all || all == 0 {
		t.Fatalf("%d of %d bytes, %v", done, all, err)
	}
	var group sync.WaitGroup
	for _, f := range folders {
		group.Go(func() {
			run, err := s.Run(t.Context(), f.Name)
			if err != nil || len(run.Steps) != 12 || len(run.Ranks) != 4 || len(run.Missing) != 4 {
				t.Errorf("%s: %v, %v", f.Name, run, err)
				return
			}
			tensors, err := s.Tensors(t.Context(), run, []rows.Place{{Rank: 3, Step: 2}, {Rank: 4, Step: 2}})
			if err != nil || len(tensors) != 1 {
				t.Errorf("%s: %v, %v", f.Name, tensors, err)
			}
		})
	}
	group.Wait()
	if n := len(s.Definitions().Ops); n != 4 {
		t.Errorf("%d ops, want 4", n)
	}
	if _, err := s.Run(t.Context(), "another"); err == nil {
		t.Error("a run of no folder is no error")
	}
}

func TestFoldersWithoutDumpsAreErrors(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	_, err := Open(t.Context(), []Folder{{"a run", empty}}, nil)
	if !errors.Is(err, msprobe.ErrNoDump) || !strings.Contains(err.Error(), "nor is there a file of SGLang's dumper") {
		t.Error(err)
	}
}
