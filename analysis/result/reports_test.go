package result_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

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
				checkRows(t, without(textOf(table), added(report)), changed(report, c))
			})
		}
	}
}

// changed is what the database answers, but for what is answered otherwise here.
func changed(report string, c *cases.Case) cases.Table {
	if report == "origin" && c.Name == "weight_like" { // an input that autograd follows comes from within the model
		for _, row := range c.Want.Rows {
			if kind := &row[slices.Index(c.Want.Columns, "kind")]; *kind == "data" {
				*kind = "unseen_input"
			}
		}
	}
	return c.Want
}

// added are the columns that a report has here only.
func added(report string) []string {
	switch report {
	case "origin":
		return []string{"at_or_before", "unseen"}
	case "layers":
		return []string{"step"}
	}
	return nil
}

func without(table cases.Table, columns []string) cases.Table {
	for _, name := range columns {
		at := slices.Index(table.Columns, name)
		table.Columns = slices.Delete(table.Columns, at, at+1)
		for i := range table.Rows {
			table.Rows[i] = slices.Delete(table.Rows[i], at, at+1)
		}
	}
	return table
}

func TestExplainAnswersAsTheDatabaseDoes(t *testing.T) {
	t.Parallel()
	for report, answer := range map[string]func(*testing.T, *comparison, *cases.Case) arrow.RecordBatch{
		"explain_op": explainOp, "op_context": opContext, "op_steps": opSteps,
	} {
		for _, c := range cases.All(t, report+"_report") {
			t.Run(report+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				checkRows(t, textOf(answer(t, compare(t, c), c)), c.Want)
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

// textOf is a record as the database writes it in tab-separated text.
func textOf(record arrow.RecordBatch) cases.Table {
	var table cases.Table
	for _, field := range record.Schema().Fields() {
		table.Columns = append(table.Columns, field.Name)
	}
	for i := range int(record.NumRows()) {
		var row []string
		for _, column := range record.Columns() {
			row = append(row, cell(column, i))
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

func cell(column arrow.Array, i int) string {
	if column.IsNull(i) {
		return `\N`
	}
	switch c := column.(type) {
	case *array.Float64:
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(c.Value(i), 'g', -1, 64), "+"))
	case *array.String:
		return strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, `'`, `\'`).Replace(c.Value(i))
	case *array.List:
		return list(c, i)
	}
	return column.ValueStr(i)
}

func list(c *array.List, i int) string {
	begin, end := c.ValueOffsets(i)
	values := []string{}
	for k := begin; k < end; k++ {
		if texts, ok := c.ListValues().(*array.String); ok {
			quoted, _ := json.Marshal(texts.Value(int(k)))
			values = append(values, "'"+strings.Trim(string(quoted), `"`)+"'")
			continue
		}
		values = append(values, c.ListValues().ValueStr(int(k)))
	}
	return "[" + strings.Join(values, ",") + "]"
}
