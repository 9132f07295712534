package merge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/internal/cases"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
)

// side is one of the runs of a case, and the tensors beside its leaders'.
type side struct {
	run, other *rows.Run
	beside     func(leader rows.Place) Beside
}

func sideOf(c *cases.Case, r *cases.Runs) side {
	steps := pair.PairSteps(r.Problem, r.Bench, pair.PairRanks(r.Problem, r.Bench), 0)
	ofBench := c.Parameters["side"] == "bench"
	find := func(leader rows.Place) Beside {
		for _, s := range steps {
			p, b := r.Tensors(r.Problem, s.Rank, s.Step), r.Tensors(r.Bench, s.BenchRank, s.BenchStep)
			matches := pair.Build(p, b, nil).Matches(p, b)
			switch {
			case !s.InProblem || !s.InBench:
			case ofBench && (rows.Place{Rank: s.BenchRank, Step: s.BenchStep}) == leader:
				return BesideBench(p, b, matches)
			case !ofBench && (rows.Place{Rank: s.Rank, Step: s.Step}) == leader:
				return BesideProblem(p, b, matches)
			}
		}
		return Beside{}
	}
	if ofBench {
		return side{r.Bench, r.Problem, find}
	}
	return side{r.Problem, r.Bench, find}
}

func TestMergeAnswersItsCases(t *testing.T) {
	t.Parallel()
	for _, c := range cases.In(t, "testdata/merged_tensors") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			r := cases.RunsOf(t, c)
			s := sideOf(c, r)
			m := New(s.run, s.other, 0, r.Definitions)
			var got []string
			for _, step := range m.Run().Steps {
				got = append(got, mergedRows(m, r, rows.Place{Rank: step.Rank, Step: step.Step}, s)...)
			}
			want := strings.SplitAfter(c.Want.Text(), "\n")[1:]
			want = want[:len(want)-1]
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got\n%swant\n%s", strings.Join(got, ""), strings.Join(want, ""))
			}
		})
	}
}

// mergedRows are the rows that a case wants of a place.
func mergedRows(m *Merger, r *cases.Runs, at rows.Place, s side) (list []string) {
	tensors := map[rows.Place]*rows.Tensors{}
	for _, part := range m.Parts(at) {
		tensors[part] = r.Tensors(s.run, part.Rank, part.Step)
	}
	group := m.members[at.Rank]
	table := gather(group, at.Step, tensors)
	for i := range table.len() {
		p := table.parts(i, m.definitions)
		p.members, p.otherSize = int64(group.Size), m.otherSize
		p.beside(s.beside(at), table.leaderRow(i), m.definitions)
		w := p.whole()
		var means float64
		for _, part := range p.list {
			means += part.Mean
		}
		counts := 0
		if p.meanCounts(means, p.measured()) {
			counts = 1
		}
		list = append(list, line(at.Rank, at.Step, w.MicroStep, w.SiteID, w.Seq, w.LayoutID, sortName(w.sort), len(p.list), p.members, w.shape, w.Measured,
			w.ElementCount, w.ValueMin, w.ValueMax, w.ValueMean, w.ValueM2, w.ValueL2, w.ValueL1, w.NaNCount, w.PositiveInfinityCount, w.NegativeInfinityCount,
			w.ZeroCount, w.SubnormalCount, w.Digest, w.DigestKind, w.Sketch, counts))
	}
	return list
}

func sortName(s sort) string {
	return [...]string{"shards", "copies", "sums", "argument", "pieces", "pending"}[s]
}

// line writes values as the database does.
func line(values ...any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = strings.ReplaceAll(fmt.Sprint(v), " ", ",")
		if number, ok := v.(float64); ok {
			words[i] = strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(number, 'g', -1, 64), "+"))
		}
	}
	return strings.Join(words, "\t") + "\n"
}
