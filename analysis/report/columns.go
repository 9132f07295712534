package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// choose is the answer with those columns, in their order; with all where there are none.
func (answer records) choose(columns []string) records {
	if len(columns) == 0 {
		return answer
	}
	return func(visit func(arrow.RecordBatch) error) (*arrow.Schema, error) {
		schema, err := answer(func(record arrow.RecordBatch) error {
			some, err := chosen(record, columns)
			if err != nil {
				return err
			}
			defer some.Release()
			return visit(some)
		})
		if err != nil {
			return nil, err
		}
		return chosenSchema(schema, columns)
	}
}

func chosen(record arrow.RecordBatch, columns []string) (arrow.RecordBatch, error) {
	schema, err := chosenSchema(record.Schema(), columns)
	if err != nil {
		return nil, err
	}
	arrays := make([]arrow.Array, len(columns))
	for i, name := range columns {
		arrays[i] = record.Column(record.Schema().FieldIndices(name)[0])
	}
	return array.NewRecordBatch(schema, arrays, record.NumRows()), nil
}

func chosenSchema(schema *arrow.Schema, columns []string) (*arrow.Schema, error) {
	all := names(schema)
	fields := make([]arrow.Field, len(columns))
	for i, name := range columns {
		place, err := placeOf(all, name)
		if err != nil {
			return nil, err
		}
		fields[i] = schema.Field(place)
	}
	return arrow.NewSchema(fields, nil), nil
}

// placeOf is where a column is; its error names those there are.
func placeOf(all []string, name string) (int, error) {
	place := slices.Index(all, name)
	if place < 0 {
		return 0, fmt.Errorf("no column is named %q; there are: %s", name, strings.Join(all, ", "))
	}
	return place, nil
}
