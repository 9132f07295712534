package logline

import (
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

const mostText = 64 << 10 // bytes of a row

// Rows makes rows of records. It is not safe for use by several goroutines.
type Rows struct {
	Out    *batch.Set
	Stream string
	Time   func(Line) (ns int64, basis string)
	Fill   func(*schemas.LogRow) // what is known of all lines; may be nil
	Placed bool                  // the rank is a field of the line: the rows themselves are of none

	row    schemas.LogRow
	metric schemas.MetricRow
	fields map[string]string
	step   uint32
	pid    int64
}

// Add hands over the row of a record, and those of its numbers.
func (w *Rows) Add(l Line) error {
	row := &w.row
	*row = schemas.LogRow{RunID: w.Out.ID.RunID, Rank: w.Out.ID.Rank, Epoch: w.Out.ID.Epoch, Stream: w.Stream}
	row.EventTimeNs, row.TimeBasis = w.Time(l)
	row.Seq = uint64(l.At) //nolint:gosec // never negative
	row.Host, row.Role, row.Level, row.Logger, row.Kind, row.Request = l.Host, l.Role, l.Level, l.Logger, l.Kind, l.Request
	row.Text, row.Exception = l.Text, l.Exception
	if !l.sound || len(l.Text) > mostText {
		mend(row)
	}
	if l.PID != Unknown {
		w.pid = l.PID
		row.PID = &w.pid
	}
	if l.Step != Unknown {
		w.step = uint32(l.Step) //nolint:gosec // of 32 bits
	}
	row.Fields = w.fieldsOf(l)
	if w.Fill != nil {
		w.Fill(row)
	}
	if err := batch.AddMeasured(w.Out, w.Out.Log, row, len(row.Text)+len(row.Exception)); err != nil {
		return err
	}
	return w.numbers(l)
}

func (w *Rows) fieldsOf(l Line) map[string]string {
	rank := int32(Unknown)
	if w.Placed {
		rank = l.Where.rank()
	}
	if len(l.Pairs) == 0 && rank == Unknown {
		return nil
	}
	if w.fields == nil {
		w.fields = map[string]string{}
	}
	clear(w.fields)
	for i := range l.Pairs {
		w.fields[l.valid(l.Pairs[i].Key)] = l.valid(l.Pairs[i].Value)
	}
	if rank != Unknown {
		w.fields["rank"] = strconv.Itoa(int(rank))
	}
	return w.fields
}

// rank is that of a place as far as one line tells: of stages or replicas nobody knows the size.
func (w Where) rank() int32 {
	switch {
	case w.Rank >= 0:
		return w.Rank
	case w.PP > 0 || w.DP >= 0:
		return Unknown
	case w.TP >= 0:
		return w.TP
	}
	return w.GPU
}

// numbers are a row each.
func (w *Rows) numbers(l Line) error {
	if len(l.Pairs) == 0 {
		return nil
	}
	m := &w.metric
	*m = schemas.MetricRow{
		RunID: w.row.RunID, Rank: w.row.Rank, Epoch: w.row.Epoch, EventTimeNs: w.row.EventTimeNs,
		Seq: w.row.Seq, Source: w.row.Kind, Request: w.row.Request,
	}
	if l.Step != Unknown {
		m.Step = &w.step
	}
	for i := range l.Pairs {
		p := &l.Pairs[i]
		if !p.Number {
			continue
		}
		m.Name, m.Value, m.Digits = l.valid(p.Key), p.Float, p.Digits
		if err := batch.AddMeasured(w.Out, w.Out.Metric, m, len(m.Name)); err != nil {
			return err
		}
	}
	return nil
}

// mend cuts texts that are too long, and replaces what is no UTF-8.
func mend(row *schemas.LogRow) {
	row.Host, row.Role, row.Logger, row.Kind, row.Request = valid(row.Host), valid(row.Role), valid(row.Logger), valid(row.Kind), valid(row.Request)
	row.Text, row.Exception = cut(row.Text), cut(row.Exception)
}

func (r *Record) valid(text string) string {
	if r.sound {
		return text
	}
	return valid(text)
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func cut(text string) string {
	if len(text) > mostText {
		text = strings.ToValidUTF8(text[:mostText], "") + "…"
	}
	return valid(text)
}
