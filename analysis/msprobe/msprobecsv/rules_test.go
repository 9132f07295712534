package msprobecsv_test

import (
	"slices"
	"strings"
	"testing"
)

// overlooking is a difference of made_statistics, and msProbe's result for it.
type overlooking struct {
	what, row, result string
}

// overlooked is what a reader of msProbe's result should know. The rows are those of ops in the made dumps.
func overlooked() []overlooking {
	return []overlooking{
		{"NaN in an output of the problem alone", "Torch.nan_max.2.forward.output.0", "error"},
		{"+Inf in an output of the problem alone", "Torch.inf_max.3.forward.output.0", "error"},
		{"-Inf in an output of the problem alone", "Torch.ninf_min.4.forward.output.0", "error"},
		{"NaN on both sides", "Torch.nan_both.5.forward.output.0", "pass"},
		{"NaN in the bench alone", "Torch.nan_bench.6.forward.output.0", "pass"},
		{"+Inf against -Inf", "Torch.inf_ninf.8.forward.output.0", "pass"},
		{"norm NaN, greatest and least finite", "Torch.norm_nan.14.forward.output.0", "pass"},
		{"float32 as bfloat16", "Torch.bf16.18.forward.output.0", "error"},
		{"float32 as int64", "Torch.int64.20.forward.output.0", "pass"},
		{"another shape", "Torch.shape.22.forward.output.0", "error"},
		{"another requires_grad", "Torch.grad.23.forward.output.0", "error"},
		{"another scalar argument", "Functional.literal.0.forward.input.1", "error"},
		{"another scalar of another type (1 and 1.0)", "Functional.literal.7.forward.input.1", "pass"},
		{"norm of an output × 1.6, inputs the same", "Torch.norm16.24.forward.output.0", "error"},
		{"norm of an output × 1.2, inputs the same", "Torch.norm12.25.forward.output.0", "warning"},
		{"norm of an output × 1.05, inputs the same", "Torch.norm105.26.forward.output.0", "pass"},
		{"norm 1 where the bench has 0", "Torch.norm_zero_bench.27.forward.output.0", "error"},
		{"inputs × 1.3 and output × 3", "Torch.in13out3.30.forward.output.0", "pass"},
		{"mean and norm null on one side", "Torch.null_stats.32.forward.output.0", "pass"},
		{"greatest null on one side", "Torch.null_max.34.forward.output.0", "pass"},
		{"an op that the bench lacks", "Torch.only_problem.0.forward.output.0", "pass"},
		{"a tensor where the bench has None", "Torch.tensor_null.52.forward.input.1", "pass"},
		{"any difference in an op named empty, to, numpy and so on", "Torch.to.36.forward.output.0", "pass"},
	}
}

func TestTheRulesOverlookWhatMsprobeDoes(t *testing.T) {
	t.Parallel()
	rows := lines(theirs(t, "made_statistics_problem_rank0"))
	column := slices.Index(rows[0], "Result")
	for _, c := range overlooked() {
		at := slices.IndexFunc(rows, func(row []string) bool { return row[0] == c.row })
		if at < 0 {
			t.Errorf("%s: the made dump has no row %s; it has %s", c.what, c.row, near(rows, c.row))
			continue
		}
		if rows[at][column] != c.result {
			t.Errorf("%s (%s): %s, want %s", c.what, c.row, rows[at][column], c.result)
		}
	}
}

// near names the rows of the same API.
func near(rows [][]string, row string) []string {
	api := strings.Split(row, ".")[1]
	var found []string
	for _, r := range rows {
		if strings.Contains(r[0], "."+api+".") {
			found = append(found, r[0])
		}
	}
	return found
}
