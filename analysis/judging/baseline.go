package judging

import "github.com/tensortap/tensortap/schemas"

// Baseline is the row by which every run with these labels is held against the benches of the comparison, by its rules. Its
// problem counts for nothing.
func (c Comparison) Baseline(name string, labels map[string]string, now int64) schemas.BaselineRow {
	row := c.row(now)
	return schemas.BaselineRow{
		Name: name, ChangedTimeNs: now, Benches: row.Benches, Labels: labels, Tolerance: row.Tolerance, Tolerances: row.Tolerances,
		Exceptions: row.Exceptions, StepOffset: row.StepOffset, Mapping: row.Mapping, Strict: row.Strict,
	}
}
