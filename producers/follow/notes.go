package follow

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

const (
	levelInfo = 20
	mostSaid  = 4 << 10 // bytes of a note's text, whose fields are whole
	exact     = -1      // decimals of a number that was not printed
)

// noted turns what the program says of itself into a record as others are: its numbers are fields, too.
func noted(r *record) {
	r.Level = levelInfo
	if r.Fields == nil {
		r.Fields = map[string]string{}
	}
	maps.Copy(r.Fields, r.Numbers)
	said := []string{r.Kind}
	for _, name := range slices.Sorted(maps.Keys(r.Fields)) {
		said = append(said, name+"="+r.Fields[name])
	}
	if r.Text = strings.Join(said, " "); len(r.Text) > mostSaid {
		r.Text = strings.ToValidUTF8(r.Text[:mostSaid], "") + "…"
	}
}

// numbers hands over a row for each number of a note.
func (p *part) numbers(out *batch.Set, of *schemas.LogRow, r *record) error {
	for _, name := range slices.Sorted(maps.Keys(r.Numbers)) {
		value, err := strconv.ParseFloat(r.Numbers[name], 64)
		if err != nil {
			return p.lost(out, fmt.Sprintf("the number %q of a note is damaged: %q", name, r.Numbers[name]))
		}
		row := &schemas.MetricRow{
			RunID: of.RunID, Rank: of.Rank, Epoch: of.Epoch, EventTimeNs: of.EventTimeNs,
			Step: of.Step, Seq: of.Seq, Name: name, Value: value, Digits: exact, Source: of.Kind, Request: of.Request,
		}
		if err := batch.AddMeasured(out, out.Metric, row, len(name)); err != nil {
			return err
		}
	}
	return nil
}
