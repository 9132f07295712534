package corpus_test

import (
	"errors"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/corpus"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/producers/msprobe"
)

// library makes cases out of recorded dumps.
func library(tb testing.TB) *corpus.Library {
	tb.Helper()
	root := tb.TempDir()
	return corpus.NewLibrary(func(name string) (*corpus.Run, error) {
		if err := recorded.Extract(filepath.Join(recorded.Dumps(), name+".tar.gz"), root); err != nil {
			return nil, err
		}
		return corpus.Load(filepath.Join(root, name, "dump"))
	})
}

// TestCasesAreWhatTheySay holds the files of every case against what it says of them.
func TestCasesAreWhatTheySay(t *testing.T) {
	t.Parallel()
	faults, harmless, seen, digests := 0, 0, map[string]bool{}, map[string]uint64{}
	for c, err := range library(t).Cases() {
		if err != nil {
			t.Fatal(err)
		}
		if seen[c.ID] {
			t.Errorf("two cases are called %s", c.ID)
		}
		seen[c.ID], digests[c.ID] = true, digest(c)
		if c.Harmless {
			harmless++
			continue
		}
		faults++
		checkLabels(t, c)
	}
	if faults < 40 || harmless < 10 {
		t.Errorf("%d faults and %d harmless pairs, want at least 40 and 10", faults, harmless)
	}
	for c, err := range library(t).Cases() {
		if err != nil || digest(c) != digests[c.ID] {
			t.Errorf("%s differs when it is made again: %v", c.ID, err)
		}
	}
}

// digest is the hash of all that a case writes.
func digest(c corpus.Case) uint64 {
	h := fnv.New64a()
	for _, run := range []*corpus.Run{c.Problem.Run, c.Bench.Run} {
		for _, p := range run.Parts {
			_, _ = io.WriteString(h, p.Folder+p.Dump.String()+p.Program.String())
		}
	}
	return h.Sum64()
}

func checkLabels(t *testing.T, c corpus.Case) {
	t.Helper()
	if len(c.Touched) == 0 {
		t.Errorf("%s: no row is named as the fault", c.ID)
	}
	if (len(c.Origin.Ops) == 0) != (c.Hidden != "" || c.OfRun != "") {
		t.Errorf("%s: origin %v, hidden %q, of the run %q: want one of them", c.ID, c.Origin, c.Hidden, c.OfRun)
	}
	for _, site := range c.Touched {
		if problem, bench := row(c.Problem.Run, site), row(c.Bench.Run, site); problem == "" && bench == "" {
			t.Errorf("%s: no side has %v", c.ID, site)
		}
	}
	if c.Hidden == "" && slices.EqualFunc(c.Problem.Run.Parts, c.Bench.Run.Parts, samePart) {
		t.Errorf("%s: both sides have the same files, but the fault is not said to be hidden", c.ID)
	}
}

func samePart(a, b *corpus.Part) bool {
	return a.Folder == b.Folder && a.Dump.String() == b.Dump.String()
}

// row is what a run recorded at a site, as text; empty when nothing.
func row(run *corpus.Run, site corpus.Site) string {
	for _, p := range run.Parts {
		if p.Rank() != site.Rank || p.Step != site.Step || p.Ops().Get(site.Op) == nil {
			continue
		}
		for _, l := range corpus.Leaves(site.Op, p.Ops().Get(site.Op)) {
			if l.Role == site.Role && l.Path == site.Path {
				return l.Node.String()
			}
		}
	}
	return ""
}

// TestOurReaderReadsEveryCase also says that the reader and the corpus name the same ops.
func TestOurReaderReadsEveryCase(t *testing.T) {
	t.Parallel()
	written := map[string]bool{}
	for c, err := range library(t).Cases() {
		if err != nil {
			t.Fatal(err)
		}
		for _, side := range []corpus.Side{c.Problem, c.Bench} {
			if !written[side.Name] {
				written[side.Name] = true
				readBack(t, side)
			}
		}
	}
}

func readBack(t *testing.T, side corpus.Side) {
	t.Helper()
	dir := t.TempDir()
	if err := side.Run.Write(dir); err != nil {
		t.Fatal(err)
	}
	found, err := msprobe.Find(dir)
	if err != nil {
		t.Fatalf("%s: %v", side.Name, err)
	}
	if len(found.Dumps) != len(side.Run.Parts) {
		t.Errorf("%s: %d dumps found, want %d", side.Name, len(found.Dumps), len(side.Run.Parts))
	}
	for _, dump := range found.Dumps {
		source, err := msprobe.Open(dump, msprobe.DefaultOptions(side.Name))
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for m, err := range source.Batches(t.Context()) {
			if err != nil {
				t.Fatalf("%s: %v", side.Name, err)
			}
			rows += m.Header.Rows
		}
		if problems := source.Problems(); rows == 0 || (problems.Count > 0 && !strings.Contains(side.Name, "file-cut")) {
			t.Errorf("%s: %d rows, problems %v", side.Name, rows, problems)
		}
	}
}

func TestOtherTextThanJSONIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", `{"a"}`, `{"a": `, `["`, `["\`} {
		if n, err := corpus.Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", text, n)
		}
	}
	if _, err := corpus.Load(t.TempDir()); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("Load of an empty folder: %v", err)
	}
}
