package compare

import (
	"slices"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
)

// Fill puts the answer into the form that people and programs read.
func (a *Answer) Fill(c *report.Comparison) {
	for name, into := range map[string]*report.Table{
		"divergence_summary": &c.Summary, "divergence": &c.Divergence, "origin": &c.Origins, "layers": &c.Layers, "jump": &c.Jumps,
	} {
		*into = a.table(name)
	}
	if len(a.Unpaired) > 0 {
		c.Unpaired = a.table("unpaired")
	}
	c.RunDifferences = report.TableOf(result.RunDifferenceTable(a.Differences))
	c.Completeness = report.TableOf(result.CompletenessTable(slices.Concat([]*rows.Run{a.Problem}, a.Benches, lacking(a.Merges), a.Calibrating)))
	c.StepOffset, c.LeftOut = a.StepOffset, a.LeftOut
	c.Recorded = [2]report.Recorded{recordedAs(a.Problem), recordedAs(a.Benches[0])}
	for i := range a.Summary {
		c.BadAlone[0] += a.Summary[i].BadAloneCounts[0]
		c.BadAlone[1] += a.Summary[i].BadAloneCounts[1]
	}
	c.Warnings = append(c.Warnings, a.Warnings...)
	c.WarningCount += len(a.Warnings)
	c.Mapped, c.Calibrated = a.Mapped, a.Calibrated
	a.fillMerges(c)
}

func (a *Answer) table(name string) report.Table {
	record, known := a.Table(name)
	if !known {
		return report.Table{}
	}
	return report.TableOf(record)
}

// recordedAs is how a run was recorded, as far as its rows tell.
func recordedAs(run *rows.Run) report.Recorded {
	d := &run.Described
	steps := make([]uint32, len(run.Steps))
	for i := range run.Steps {
		steps[i] = run.Steps[i].Step
	}
	slices.Sort(steps)
	return report.Recorded{Source: d.Source, Level: d.Level, Task: d.Task, Steps: slices.Compact(steps), Hidden: hiddenOf(run)}
}
