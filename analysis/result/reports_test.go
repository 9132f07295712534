package result_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/internal/cases"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/result"
)

// reports are those that a result has, by the names of their cases.
func reports() []string {
	return []string{"divergence", "divergence_summary", "judged_steps", "origin", "first_divergence", "layers", "unpaired"}
}

func TestReportsAnswerAsTheDatabaseDoes(t *testing.T) {
	t.Parallel()
	for _, report := range reports() {
		for _, c := range cases.All(t, report+"_report") {
			t.Run(report+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				answer := compare(t, c).finish(t, c)
				table, known := answer.Table(report)
				if !known {
					t.Fatalf("no report %s", report)
				}
				cases.CheckRows(t, cases.TextOf(table), c.Want)
			})
		}
	}
}

func TestAnOpIsExplainedAsTheCasesSay(t *testing.T) {
	t.Parallel()
	for report, answer := range map[string]func(*testing.T, *comparison, *cases.Case) arrow.RecordBatch{
		"explain_op": explainOp, "op_context": opContext, "op_steps": opSteps,
	} {
		for _, c := range cases.In(t, "testdata/"+report) {
			t.Run(report+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				cases.CheckRows(t, cases.TextOf(answer(t, compare(t, c), c)), c.Want)
			})
		}
	}
}

// place is the rank and step that a case asks for.
func (k *comparison) place(t *testing.T, c *cases.Case) pair.Step {
	t.Helper()
	for _, at := range k.steps {
		if int64(at.Rank) == c.Integer(t, "rank", 0) && int64(at.Step) == c.Integer(t, "step", 0) {
			return at
		}
	}
	return pair.Step{}
}

func explainOp(t *testing.T, k *comparison, c *cases.Case) arrow.RecordBatch {
	t.Helper()
	at := k.place(t, c)
	return result.ExplainTable(at, result.ExplainOp(c.Parameters["op"], k.judged(at), k.aligned(at.ProblemProgram, at.BenchProgram), k.Definitions))
}

func opContext(t *testing.T, k *comparison, c *cases.Case) arrow.RecordBatch {
	t.Helper()
	return result.ContextTable(result.OpContext(c.Parameters["op"], k.judged(k.place(t, c)), int(c.Integer(t, "limit", 6)), k.Definitions))
}

func opSteps(t *testing.T, k *comparison, c *cases.Case) arrow.RecordBatch {
	t.Helper()
	steps := result.NewOpSteps(c.Parameters["op"], k.Definitions)
	for _, at := range k.steps {
		steps.Place(at, k.judged(at))
	}
	return result.OpStepTable(steps.Steps(int(c.Integer(t, "limit", 1000))))
}
