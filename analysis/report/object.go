package report

import (
	"slices"
	"strings"
)

// Object is a comparison as one JSON object. Its fields stay; more may come.
type Object struct {
	Verdict        Verdict          `json:"verdict"` // same, differs or unknown
	Problem        string           `json:"problem"`
	Bench          string           `json:"bench"`   // the run that the problem was paired with
	Benches        []string         `json:"benches"` // all bench runs
	Tolerance      string           `json:"tolerance"`
	Strict         bool             `json:"strict"`
	StepOffset     int64            `json:"step_offset"`         // added to a step of the problem for that of the bench
	LeftOut        LeftOut          `json:"left_out"`            // steps that a run left out for its budget or conditions
	Counts         map[string]int64 `json:"counts"`              // of tensors and other arguments, by class and by verdict
	Incomplete     string           `json:"incomplete"`          // empty when nothing is missing
	UnknownBecause string           `json:"unknown_because"`     // why nothing can be said; empty with other verdicts
	Origins        Rows             `json:"origins"`             // where it began, in order
	Divergence     Rows             `json:"divergence"`          // what differs, in execution order
	Unlisted       uint64           `json:"divergence_unlisted"` // how many more differ
	Unpaired       Rows             `json:"unpaired"`            // the first ops of one run only
	Layers         Rows             `json:"layers"`              // errors by layer, in the first step that differs
	Jumps          Rows             `json:"jumps"`               // where errors grow by orders of magnitude
	Summary        Rows             `json:"summary"`             // per rank and step
	RunDifferences Rows             `json:"run_differences"`
	Observed       string           `json:"observed"` // what the runs' levels see and do not see; empty where it is not known
	Hidden         HiddenParts      `json:"hidden"`   // what of the runs' models no hook saw
	RawTensors     RawTensors       `json:"raw_tensors"`
	Merged         []Merge          `json:"merged"`     // runs whose ranks were merged before they were judged
	Calibrated     *Calibration     `json:"calibrated"` // what another run of the bench's program says of the tolerance; null without one
	Mapped         *Mapped          `json:"mapped"`     // what was compared under a map of two implementations; null without one
	Tokens         TokenRows        `json:"tokens"`
	Completeness   Rows             `json:"completeness"`
	Failures       Rows             `json:"failures"` // ops of the runs that raised
	Next           []string         `json:"next"`     // what to do now, the most useful first; empty where all is proved
}

// Rows is a table that is encoded as a list of objects.
type Rows struct{ table Table }

// Object is the comparison for programs. The style says how its commands call this program.
func (c *Comparison) Object(style Style) Object {
	object := Object{
		Verdict: c.Verdict, Problem: c.Problem, Bench: c.Bench(), Benches: c.Benches, Tolerance: c.Tolerance, Strict: c.Strict, StepOffset: c.StepOffset,
		LeftOut: c.LeftOut, Counts: c.counts(), Incomplete: c.incomplete(), Origins: Rows{c.Origins.withSite().withParts(c.Parts)}, Divergence: Rows{c.Divergence},
		Unlisted: c.Unlisted(), Unpaired: Rows{c.Unpaired}, Layers: Rows{c.Layers}, Jumps: Rows{c.Jumps}, Summary: Rows{c.Summary},
		RunDifferences: Rows{c.RunDifferences}, Observed: c.observed(), Hidden: c.hiddenParts(), RawTensors: c.Raw, Merged: append([]Merge{}, c.Merges...), Calibrated: c.Calibrated, Mapped: c.Mapped, Tokens: c.Tokens, Completeness: Rows{c.Completeness},
		Failures: Rows{c.Failures}, Next: append([]string{}, c.Next(style)...),
	}
	if c.Verdict == Unknown {
		object.UnknownBecause = c.unknown()
	}
	return object
}

// withSite is the table with role and path of each row as one text, as output.0.
func (t Table) withSite() Table {
	with := Table{Columns: append(slices.Clone(t.Columns), "site"), numeric: append(slices.Clone(t.numeric), false)}
	for i, row := range t.Rows {
		site := t.Get(i, "role").Exact + "." + t.Get(i, "path").Exact
		with.Rows = append(with.Rows, append(slices.Clone(row), textValue(site)))
	}
	return with
}

// counts are the sums of the counted columns of the summary.
func (c *Comparison) counts() map[string]int64 {
	counts := map[string]int64{}
	for _, name := range c.Summary.Columns {
		if short, counted := strings.CutSuffix(name, "_count"); counted {
			counts[short] = int64(c.Summary.Sum(name)) //nolint:gosec // counts of rows
		}
	}
	return counts
}

// MarshalJSON implements json.Marshaler.
func (r Rows) MarshalJSON() ([]byte, error) {
	to := []byte{'['}
	for i, row := range r.table.Rows {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(to, '{')
		for c, v := range row {
			if c > 0 {
				to = append(to, ',')
			}
			to = append(appendJSONString(to, r.table.Columns[c]), ':')
			to = append(to, v.JSON...)
		}
		to = append(to, '}')
	}
	return append(to, ']'), nil
}
