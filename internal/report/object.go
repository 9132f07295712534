package report

// Object is a comparison as one JSON object. Its fields stay; more may come.
type Object struct {
	Verdict        Verdict          `json:"verdict"`
	Problem        string           `json:"problem"`
	Bench          string           `json:"bench"`
	Tolerance      float64          `json:"tolerance"`
	Counts         map[string]int64 `json:"counts"`
	Incomplete     string           `json:"incomplete"` // empty when nothing is missing
	Divergence     Rows             `json:"divergence"` // in execution order
	Summary        Rows             `json:"summary"`    // per rank and step
	RunDifferences Rows             `json:"run_differences"`
	Completeness   Rows             `json:"completeness"`
}

// Rows is a table that is encoded as a list of objects.
type Rows struct{ table Table }

// Object is the comparison for programs.
func (c *Comparison) Object() Object {
	counts := map[string]int64{}
	for _, name := range c.Summary.Columns {
		if len(name) > 6 && name[len(name)-6:] == "_count" {
			counts[name[:len(name)-6]] = int64(c.Summary.Sum(name)) //nolint:gosec // counts of rows
		}
	}
	return Object{
		Verdict: c.Verdict, Problem: c.Problem, Bench: c.Bench, Tolerance: c.Tolerance, Counts: counts,
		Incomplete: c.incomplete(), Divergence: Rows{c.Divergence}, Summary: Rows{c.Summary},
		RunDifferences: Rows{c.RunDifferences}, Completeness: Rows{c.Completeness},
	}
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
