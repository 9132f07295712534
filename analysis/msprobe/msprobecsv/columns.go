package msprobecsv

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// columns are those of one batch of the answer.
type columns struct {
	rank, step                            *array.Uint32
	mode, result, message, unlike         *array.String
	paired, compared, hasStacks           *array.Boolean
	problem, bench                        sideColumns
	statistics                            [statisticCount]statisticColumns
	cosine, distance, absolute, relative  *array.Float64
	thousandthRatio, fiveThousandthsRatio *array.Float64
	frames                                *array.List
}

// sideColumns are those of one side of the rows.
type sideColumns struct {
	name, dtype, shape, grad, value, checksum, file *array.String
}

// statisticColumns are those of one statistic.
type statisticColumns struct {
	problem, bench, difference, relative *array.Float64
}

func readColumns(record arrow.RecordBatch) (*columns, error) {
	p := &picker{record: record}
	c := &columns{
		rank: pick[*array.Uint32](p, "rank"), step: pick[*array.Uint32](p, "step"),
		mode: pick[*array.String](p, "mode"), result: pick[*array.String](p, "msprobe_result"),
		message: pick[*array.String](p, "msprobe_message"), unlike: pick[*array.String](p, "payload_message"),
		paired: pick[*array.Boolean](p, "paired"), compared: pick[*array.Boolean](p, "compared"),
		hasStacks: pick[*array.Boolean](p, "has_stacks"), frames: pick[*array.List](p, "frames"),
		problem: readSide(p, "problem_", "name"), bench: readSide(p, "bench_", "bench_name"),
		cosine: pick[*array.Float64](p, "cosine"), distance: pick[*array.Float64](p, "l2_distance"),
		absolute: pick[*array.Float64](p, "max_absolute"), relative: pick[*array.Float64](p, "max_relative"),
		thousandthRatio:      pick[*array.Float64](p, "thousandth_ratio"),
		fiveThousandthsRatio: pick[*array.Float64](p, "five_thousandth_ratio"),
	}
	for i, name := range [statisticCount]string{"max", "min", "mean", "norm"} {
		c.statistics[i] = statisticColumns{
			problem: pick[*array.Float64](p, "problem_"+name), bench: pick[*array.Float64](p, "bench_"+name),
			difference: pick[*array.Float64](p, name+"_difference"), relative: pick[*array.Float64](p, name+"_relative_error"),
		}
	}
	return c, p.missing
}

func readSide(p *picker, prefix, name string) sideColumns {
	return sideColumns{
		name: pick[*array.String](p, name), dtype: pick[*array.String](p, prefix+"dtype"),
		shape: pick[*array.String](p, prefix+"shape"), grad: pick[*array.String](p, prefix+"requires_grad"),
		value: pick[*array.String](p, prefix+"value"), checksum: pick[*array.String](p, prefix+"checksum"),
		file: pick[*array.String](p, prefix+"file"),
	}
}

// picker takes columns by name and notes one that is missing or of another type.
type picker struct {
	record  arrow.RecordBatch
	missing error
}

func pick[T arrow.Array](p *picker, name string) T {
	var column T
	for i, f := range p.record.Schema().Fields() {
		if f.Name != name {
			continue
		}
		if found, ok := p.record.Column(i).(T); ok {
			return found
		}
		p.missing = fmt.Errorf("read msProbe's rows: column %s is %s, want %T", name, f.Type, column)
		return column
	}
	p.missing = fmt.Errorf("read msProbe's rows: no column %s", name)
	return column
}

// row is the row at a place in the batch.
func (c *columns) row(i int) row {
	r := row{
		place: Place{Rank: c.rank.Value(i), Step: c.step.Value(i)}, mode: c.mode.Value(i),
		paired: c.paired.Value(i), compared: c.compared.Value(i), hasStacks: c.hasStacks.Value(i),
		problem: c.problem.side(i), bench: c.bench.side(i),
		result: c.result.Value(i), message: c.message.Value(i), unlike: c.unlike.Value(i), frames: c.stack(i),
		cosine: numberAt(c.cosine, i), distance: numberAt(c.distance, i),
		absolute: numberAt(c.absolute, i), relative: numberAt(c.relative, i),
		thousandthRatio: numberAt(c.thousandthRatio, i), fiveThousandthsRatio: numberAt(c.fiveThousandthsRatio, i),
	}
	for s := range c.statistics {
		r.problem.statistics[s] = numberAt(c.statistics[s].problem, i)
		r.bench.statistics[s] = numberAt(c.statistics[s].bench, i)
		r.differences[s] = numberAt(c.statistics[s].difference, i)
		r.relatives[s] = numberAt(c.statistics[s].relative, i)
	}
	return r
}

func (c sideColumns) side(i int) side {
	return side{
		name: c.name.Value(i), dtype: c.dtype.Value(i), shape: c.shape.Value(i), grad: c.grad.Value(i),
		value: c.value.Value(i), checksum: c.checksum.Value(i), file: c.file.Value(i),
	}
}

func (c *columns) stack(i int) []string {
	texts, ok := c.frames.ListValues().(*array.String)
	if !ok {
		return nil
	}
	begin, end := c.frames.ValueOffsets(i)
	frames := make([]string, 0, end-begin)
	for at := begin; at < end; at++ {
		frames = append(frames, texts.Value(int(at)))
	}
	return frames
}

func numberAt(column *array.Float64, i int) number {
	if column.IsNull(i) {
		return number{}
	}
	return number{value: column.Value(i), known: true}
}
