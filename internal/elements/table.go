package elements

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// table is an answer as rows for programs: one for each fact, place, element and bin.
type table struct{ *array.RecordBuilder }

func newTable() table {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "part", Type: arrow.BinaryTypes.String},
		{Name: "name", Type: arrow.BinaryTypes.String},
		{Name: "index", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "problem", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "bench", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "value", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "count", Type: arrow.PrimitiveTypes.Uint64, Nullable: true},
	}, nil)
	return table{array.NewRecordBuilder(memory.DefaultAllocator, schema)}
}

// row is one row; what is nil or empty is null.
type row struct {
	part, name     string
	index          []int64
	problem, bench string
	value          *float64
	count          *uint64
}

func (t table) add(r row) {
	t.Field(0).(*array.StringBuilder).Append(r.part) //nolint:forcetypeassert,errcheck // as in the schema
	t.Field(1).(*array.StringBuilder).Append(r.name) //nolint:forcetypeassert,errcheck // as in the schema
	index := ""
	if r.index != nil {
		index = indexText(r.index)
	}
	for i, text := range []string{index, r.problem, r.bench} {
		to := t.Field(2 + i).(*array.StringBuilder) //nolint:forcetypeassert,errcheck // as in the schema
		if text == "" {
			to.AppendNull()
			continue
		}
		to.Append(text)
	}
	t.addNumbers(r)
}

func (t table) addNumbers(r row) {
	value, count := t.Field(5).(*array.Float64Builder), t.Field(6).(*array.Uint64Builder) //nolint:forcetypeassert,errcheck // as in the schema
	if r.value == nil {
		value.AppendNull()
	} else {
		value.Append(*r.value)
	}
	if r.count == nil {
		count.AppendNull()
	} else {
		count.Append(*r.count)
	}
}

// fact adds a number.
func (t table) fact(part, name string, value float64) {
	t.add(row{part: part, name: name, value: &value})
}

// bins adds a histogram: the value is where a bin begins.
func (t table) bins(of []Bin) {
	for _, bin := range of {
		t.add(row{part: "histogram", name: "from", value: &bin.From, count: &bin.Count})
	}
	if len(of) > 0 {
		t.fact("histogram", "to", of[len(of)-1].To)
	}
}

func (t table) places(part, side string, p *Places) {
	if p.Count == 0 {
		return
	}
	t.add(row{part: part, name: side, count: &p.Count})
	for _, index := range p.First {
		t.add(row{part: part, name: side, index: index})
	}
}

func (t table) side(name string, s *Side) {
	t.add(row{part: name, name: "name", problem: s.Name})
	t.add(row{part: name, name: "dtype", problem: s.Dtype.String()})
	t.add(row{part: name, name: "shape", index: append([]int64{}, s.Shape...)})
	of := &s.Statistics
	for _, one := range []struct {
		name  string
		count uint64
	}{
		{"elements", of.Count},
		{"finite", of.Finite},
		{"nan", of.NaN},
		{"positive_infinity", of.PositiveInfinity},
		{"negative_infinity", of.NegativeInfinity},
		{"zero", of.Zero},
		{"subnormal", of.Subnormal},
	} {
		t.add(row{part: name, name: one.name, count: &one.count})
	}
	if of.Finite == 0 {
		return
	}
	deviation := math.Sqrt(of.M2 / float64(of.Finite))
	l2 := of.L2()
	for _, one := range []fact{{"min", &of.Min}, {"max", &of.Max}, {"mean", &of.Mean}, {"std", &deviation}, {"l1", &of.L1}, {"l2", &l2}} {
		t.add(row{part: name, name: one.name, value: one.value})
	}
}

// Record is a look as a table.
func (l *Look) Record() arrow.RecordBatch {
	t := newTable()
	t.side("tensor", &l.Side)
	for kind := range l.NotFinite {
		t.places(Kind(kind).String(), "problem", &l.NotFinite[kind])
	}
	for _, one := range l.Greatest {
		t.add(row{part: "greatest", name: "element", index: one.Index, problem: one.Text, value: &one.Value})
	}
	t.bins(l.Histogram)
	return t.NewRecordBatch()
}

// Record is a difference as a table.
func (d *Difference) Record() arrow.RecordBatch {
	t := newTable()
	t.side("problem", &d.Problem)
	t.side("bench", &d.Bench)
	for _, one := range [][2]string{{"said", d.Result()}, {"where", d.Where}, {"how", d.How}} {
		t.add(row{part: "result", name: one[0], problem: one[1]})
	}
	for _, one := range numbers(&d.Distance) {
		t.add(row{part: "distance", name: one.name, value: one.value})
	}
	for i, a := range d.Axes {
		count := uint64(a.Differ) //nolint:gosec // never negative
		t.add(row{part: "axis", name: axisLabel(i), problem: a.List(mostRanges), count: &count})
	}
	for kind := range d.NotFinite {
		t.places(Kind(kind).String(), "problem", &d.NotFinite[kind].Problem)
		t.places(Kind(kind).String(), "bench", &d.NotFinite[kind].Bench)
	}
	for _, p := range d.Worst {
		t.add(row{part: "worst", name: "element", index: p.Index, problem: p.Problem, bench: p.Bench, value: &p.Apart})
	}
	t.bins(d.Histogram)
	return t.NewRecordBatch()
}
