package pair_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/producers/msprobe"
	"github.com/tensortap/tensortap/schemas"
)

// recording is a recorded run, its tensors by place.
type recording struct {
	*rows.Run
	tensors map[rows.Place]*rows.Tensors
}

// readRecording reads all dumps of a recording, with their definitions.
func readRecording(t *testing.T, name string, d *rows.Definitions) recording {
	t.Helper()
	r := recording{&rows.Run{Name: name, ID: schemas.RunID(name)}, map[rows.Place]*rows.Tensors{}}
	found, err := msprobe.Find(recorded.Unpack(t, name))
	if err != nil {
		t.Fatal(err)
	}
	for _, dump := range found.Dumps {
		source, err := msprobe.Open(dump, msprobe.DefaultOptions(name))
		if err != nil {
			t.Fatal(err)
		}
		for message, err := range source.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			r.add(t, message, d)
		}
	}
	for _, list := range d.Programs {
		slices.SortFunc(list, func(a, b schemas.ProgramRow) int { return cmp.Compare(a.Position, b.Position) })
	}
	return r
}

func (r *recording) add(t *testing.T, message schemas.Message, d *rows.Definitions) {
	t.Helper()
	switch message.Header.Kind {
	case "op":
		each(t, message, func(row *schemas.OpRow) { d.Ops[row.OpID] = row })
	case "site":
		each(t, message, func(row *schemas.SiteRow) { d.Sites[row.SiteID] = *row })
	case "layout":
		each(t, message, func(row *schemas.LayoutRow) { d.Layouts[row.LayoutID] = row })
	case "program":
		each(t, message, func(row *schemas.ProgramRow) {
			if len(d.Programs[row.ProgramID]) == int(row.Position) {
				d.Programs[row.ProgramID] = append(d.Programs[row.ProgramID], *row)
			}
		})
	case "step":
		each(t, message, func(row *schemas.StepRow) { r.Steps = append(r.Steps, *row) })
	case "tensor":
		each(t, message, func(row *schemas.TensorRow) {
			at := rows.Place{Rank: row.Rank, Step: row.Step}
			if r.tensors[at] == nil {
				r.tensors[at] = &rows.Tensors{}
			}
			r.tensors[at].Append(row)
		})
	}
}

func each[R any, P schemas.Row[R]](t *testing.T, message schemas.Message, call func(*R)) {
	t.Helper()
	list, err := schemas.DecodeRows[R, P](message)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		call(&list[i])
	}
}

// alignerOf is an aligner of two recordings that has seen its samples.
func alignerOf(t *testing.T, problem, bench recording, d *rows.Definitions) (*pair.Aligner, []pair.Step) {
	t.Helper()
	steps := pair.PairSteps(problem.Run, bench.Run, pair.PairRanks(problem.Run, bench.Run), 0)
	aligner, err := pair.NewAligner(problem.Run, bench.Run, steps, d)
	if err != nil {
		t.Fatal(err)
	}
	ofProblem, ofBench := aligner.Samples()
	for _, at := range ofProblem {
		aligner.SeeProblem(at, problem.tensors[at])
	}
	for _, at := range ofBench {
		aligner.SeeBench(at, bench.tensors[at])
	}
	return aligner, steps
}

// The alignments are those that were stored before this package aligned programs, but for the last one: parents
// that have no position were not read then, so that 39 pairs, the same ones, had another reason. The hashes hold the
// version of the rules, too.
func TestAlignerAlignsRecordedProgramsAsEver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		problem string
		content uint64
		matches int // of all steps
		paired  int
	}{
		{"B05_extra_op_mix", 5407020641903914509, 3638, 1815},
		{"B06_extra_op_and_weight_mix", 5407020641903914509, 3638, 1815},
		{"B09_gelu_l3_mix", 13760975091501416017, 3635, 1811},
		{"B10_eager_attn_mix", 13068712010752308018, 3806, 1767},
		{"B03_bf16_mix", 14504789669951834855, 3630, 1806},
		{"B00_golden_L1", 16544617615226368748, 3638, 1450},
	} {
		t.Run(c.problem, func(t *testing.T) {
			t.Parallel()
			d := rows.NewDefinitions()
			problem, bench := readRecording(t, c.problem, d), readRecording(t, "B00_golden_mix", d)
			aligner, steps := alignerOf(t, problem, bench, d)
			alignments := aligner.Alignments()
			if len(alignments) != 1 || alignments[0].Stored()[0].Content != c.content {
				t.Errorf("%d alignments, of content %d, want one of %d", len(alignments), alignments[0].Stored()[0].Content, c.content)
			}
			planner := pair.NewPlanner(aligner)
			matches, paired := 0, 0
			for _, s := range steps {
				p, b := sides(s, problem, bench)
				for _, m := range planner.Plan(s, p, b).Matches(p, b) {
					matches++
					if m.Problem >= 0 && m.Bench >= 0 {
						paired++
					}
				}
			}
			if matches != c.matches || paired != c.paired {
				t.Errorf("%d rows, %d of them paired, want %d and %d", matches, paired, c.matches, c.paired)
			}
		})
	}
}

// sides are the tensors of a step in both runs.
func sides(s pair.Step, problem, bench recording) (p, b *rows.Tensors) {
	if s.InProblem {
		p = problem.tensors[rows.Place{Rank: s.Rank, Step: s.Step}]
	}
	if s.InBench {
		b = bench.tensors[rows.Place{Rank: s.BenchRank, Step: s.BenchStep}]
	}
	return p, b
}
