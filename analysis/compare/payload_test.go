package compare

import (
	"slices"
	"strconv"
	"testing"

	"github.com/tensortap/tensortap/analysis/internal/cases"
	"github.com/tensortap/tensortap/schemas"
)

func TestRawTensorsPairAsTheCasesSay(t *testing.T) {
	t.Parallel()
	for _, c := range cases.In(t, "testdata/payload_pairs") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			r := request("problem", "bench")
			r.Rank, r.StepOffset = c.Integer(t, "rank", -1), c.Integer(t, "step_offset", 0)
			job, err := Open(t.Context(), cases.Source{Runs: cases.RunsOf(t, c)}, r)
			if err != nil {
				t.Fatal(err)
			}
			kept := cases.RowsOf[schemas.PayloadRow](t, c)
			pairs, err := job.PayloadPairs(t.Context(), keptBy(kept, "problem"), keptBy(kept, "bench"))
			if err != nil {
				t.Fatal(err)
			}
			got := cases.Table{Columns: c.Want.Columns}
			for _, p := range pairs {
				got.Rows = append(got.Rows, pairText(p))
			}
			if got.Text() != c.Want.Text() {
				t.Errorf("got\n%swant\n%s", got.Text(), c.Want.Text())
			}
		})
	}
}

func keptBy(kept []schemas.PayloadRow, run string) []schemas.PayloadRow {
	return slices.DeleteFunc(slices.Clone(kept), func(p schemas.PayloadRow) bool { return p.RunID != schemas.RunID(run) })
}

func pairText(p PayloadPair) []string {
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	return []string{
		number(uint64(p.Rank)), number(uint64(p.BenchRank)), number(uint64(p.Step)), number(p.ProblemSite), number(p.BenchSite),
		p.Locations[0], p.Locations[1],
	}
}
