package folders

import (
	"cmp"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/dumps"
	"github.com/tensortap/tensortap/schemas"
)

const producersFolder = "../../../producers"

// published is the rows of a folder as messages have them.
type published struct {
	run          schemas.RunRow
	ops          map[uint64]*schemas.OpRow
	sites        map[uint64]schemas.SiteRow
	layouts      map[uint64]*schemas.LayoutRow
	stacks       map[uint64][]string
	programs     map[uint64][]schemas.ProgramRow
	calls        map[rows.Call]uint64
	ranks        []schemas.RankRow
	steps        []schemas.StepRow
	tensors      map[rows.Place][]schemas.TensorRow
	payloads     []schemas.PayloadRow
	problems     []string
	problemCount int
}

func decode[R any, P schemas.Row[R]](tb testing.TB, m schemas.Message) []R {
	tb.Helper()
	all, err := schemas.DecodeRows[R, P](m)
	if err != nil {
		tb.Fatalf("decode %s: %v", m.ID(), err)
	}
	return all
}

func publish(tb testing.TB, name, path string) *published {
	tb.Helper()
	found, err := dumps.Find(path)
	if err != nil {
		tb.Fatal(err)
	}
	definitions := rows.NewDefinitions()
	p := &published{
		run: found.Describe(name, found.Labels(nil)), ops: definitions.Ops, sites: definitions.Sites, layouts: definitions.Layouts,
		stacks: definitions.Stacks, programs: definitions.Programs, calls: map[rows.Call]uint64{}, tensors: map[rows.Place][]schemas.TensorRow{},
	}
	p.tell(found.Problems)
	for _, d := range found.Dumps {
		source, err := d.Open(name, nil)
		if err != nil {
			tb.Fatal(err)
		}
		p.programs = map[uint64][]schemas.ProgramRow{}
		for m, err := range source.Content.Batches(tb.Context()) {
			if err != nil {
				tb.Fatal(err)
			}
			p.add(tb, m)
		}
		maps.Copy(definitions.Programs, p.programs)
		p.tell(source.Problems())
	}
	p.programs = definitions.Programs
	return p
}

func (p *published) tell(problems producers.Problems) {
	p.problems, p.problemCount = append(p.problems, problems.First...), p.problemCount+problems.Count
}

func (p *published) add(tb testing.TB, m schemas.Message) {
	tb.Helper()
	switch m.Header.Kind {
	case "op":
		for _, r := range decode[schemas.OpRow](tb, m) {
			if p.ops[r.OpID] == nil {
				p.ops[r.OpID] = &r
			}
		}
	case "site":
		for _, r := range decode[schemas.SiteRow](tb, m) {
			p.sites[r.SiteID] = r
		}
	case "layout":
		for _, r := range decode[schemas.LayoutRow](tb, m) {
			p.layouts[r.LayoutID] = &r
		}
	case "stack":
		for _, r := range decode[schemas.StackRow](tb, m) {
			p.stacks[r.StackID] = r.Frames
		}
	case "program":
		for _, r := range decode[schemas.ProgramRow](tb, m) {
			p.programs[r.ProgramID] = append(p.programs[r.ProgramID], r)
		}
	case "program_stack":
		addStacks(p.calls, decode[schemas.ProgramStackRow](tb, m))
	case "rank":
		p.ranks = append(p.ranks, decode[schemas.RankRow](tb, m)...)
	case "step":
		p.steps = append(p.steps, decode[schemas.StepRow](tb, m)...)
	case "tensor":
		for _, r := range decode[schemas.TensorRow](tb, m) {
			at := rows.Place{Rank: r.Rank, Step: r.Step}
			p.tensors[at] = append(p.tensors[at], r)
		}
	case "payload":
		p.payloads = append(p.payloads, decode[schemas.PayloadRow](tb, m)...)
	default:
		tb.Fatalf("message of kind %q", m.Header.Kind)
	}
}

// check compares the rows of a folder with its messages, one by one.
func (p *published) check(t *testing.T, s *Source, name string) {
	t.Helper()
	run, err := s.Run(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(run.Described, p.run) {
		t.Errorf("run %+v, want %+v", run.Described, p.run)
	}
	for i := range p.ranks {
		p.ranks[i].Epoch = 0
	}
	same(t, "ranks", run.Ranks, latest(p.ranks))
	for i := range p.steps {
		p.steps[i].Epoch, p.steps[i].Batch = 0, 0
	}
	slices.SortFunc(p.steps, func(a, b schemas.StepRow) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step))
	})
	same(t, "steps", run.Steps, p.steps)
	if !reflect.DeepEqual(run.Stacks, p.calls) {
		t.Errorf("%d calls have stacks, want %d, or others", len(run.Stacks), len(p.calls))
	}
	p.checkDefinitions(t, s.Definitions())
	p.checkTensors(t, s, run)
	payloads, err := s.Payloads(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.payloads {
		p.payloads[i].Epoch, p.payloads[i].Batch = 0, 0
	}
	sortPayloads(p.payloads)
	same(t, "payloads", payloads, p.payloads)
	if first, count := s.Problems(); !slices.Equal(first, p.problems) || count != p.problemCount {
		t.Errorf("%d problems %q, want %d: %q", count, first, p.problemCount, p.problems)
	}
}

func same[R any](t *testing.T, what string, got, want []R) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d %s, want %d", len(got), what, len(want))
		return
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("%s: row %d is %+v, want %+v", what, i, got[i], want[i])
			return
		}
	}
}

func (p *published) checkDefinitions(t *testing.T, got *rows.Definitions) {
	t.Helper()
	for _, d := range []struct {
		what      string
		got, want any
	}{
		{"ops", got.Ops, p.ops},
		{"sites", got.Sites, p.sites},
		{"layouts", got.Layouts, p.layouts},
		{"stacks", got.Stacks, p.stacks},
		{"programs", got.Programs, p.programs},
	} {
		if !reflect.DeepEqual(d.got, d.want) {
			t.Errorf("%s: %d, want %d, or others", d.what, reflect.ValueOf(d.got).Len(), reflect.ValueOf(d.want).Len())
		}
	}
}

func (p *published) checkTensors(t *testing.T, s *Source, run *rows.Run) {
	t.Helper()
	var places []rows.Place
	for _, step := range run.Steps {
		places = append(places, rows.Place{Rank: step.Rank, Step: step.Step})
	}
	got, err := s.Tensors(t.Context(), run, places)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(p.tensors) {
		t.Errorf("tensors of %d places, want %d", len(got), len(p.tensors))
	}
	for place, want := range p.tensors {
		tensors := got[place]
		if tensors.Len() != len(want) {
			t.Errorf("%d tensors at %v, want %d", tensors.Len(), place, len(want))
			continue
		}
		for i := range want {
			if !equal(tensors.At(i), &want[i]) {
				t.Errorf("tensor %d at %v is %+v, want %+v", i, place, tensors.At(i), want[i])
				return
			}
		}
	}
}

func equal(a rows.Observation, r *schemas.TensorRow) bool {
	var one rows.Tensors
	one.Append(r)
	b := one.At(0)
	for _, pair := range [][2]*float64{{&a.Min, &b.Min}, {&a.Max, &b.Max}, {&a.Mean, &b.Mean}, {&a.M2, &b.M2}, {&a.L2, &b.L2}, {&a.L1, &b.L1}} {
		if math.Float64bits(*pair[0]) != math.Float64bits(*pair[1]) {
			return false
		}
		*pair[0], *pair[1] = 0, 0
	}
	return reflect.DeepEqual(a, b)
}

func unpack(tb testing.TB, archive string) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := recorded.Extract(archive, dir); err != nil {
		tb.Fatalf("unpack %s: %v", archive, err)
	}
	return dir
}

func TestRowsOfEveryRecordedDumpAreThoseOfItsMessages(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob(producersFolder + "/msprobe/testdata/dumps/*.tar.gz")
	if err != nil || len(archives) < 40 {
		t.Fatalf("%d dumps, %v", len(archives), err)
	}
	more, _ := filepath.Glob(producersFolder + "/sglangdumper/testdata/*.tar.gz")
	paths := map[string]string{"kinds": producersFolder + "/msprobe/testdata/kinds", "kinds of SGLang": producersFolder + "/sglangdumper/testdata/kinds"}
	for _, archive := range append(archives, more...) {
		paths[strings.TrimSuffix(filepath.Base(archive), ".tar.gz")] = archive
	}
	for name, path := range paths {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.HasSuffix(path, ".tar.gz") {
				path = unpack(t, path)
			}
			compare(t, path)
		})
	}
}

// compare reads a folder both ways.
func compare(t *testing.T, path string) *Source {
	t.Helper()
	s, err := Open(t.Context(), []Folder{{"a run", path}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, "a run", path).check(t, s, "a run")
	return s
}
