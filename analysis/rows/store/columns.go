package store

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// The functions here read a column of an answer, whose types the query says: another type is a fault of the query.

func uint64s(record arrow.RecordBatch, column int) []uint64 {
	return uint64Values(record.Column(column))
}

func uint32s(record arrow.RecordBatch, column int) []uint32 {
	return uint32Values(record.Column(column))
}

func texts(record arrow.RecordBatch, column int) *array.String {
	return record.Column(column).(*array.String) //nolint:errcheck // the query says so
}

func uint64Values(c arrow.Array) []uint64   { return c.(*array.Uint64).Uint64Values() }   //nolint:errcheck // the query says so
func uint32Values(c arrow.Array) []uint32   { return c.(*array.Uint32).Uint32Values() }   //nolint:errcheck // the query says so
func uint16Values(c arrow.Array) []uint16   { return c.(*array.Uint16).Uint16Values() }   //nolint:errcheck // the query says so
func uint8Values(c arrow.Array) []uint8     { return c.(*array.Uint8).Uint8Values() }     //nolint:errcheck // the query says so
func float64Values(c arrow.Array) []float64 { return c.(*array.Float64).Float64Values() } //nolint:errcheck // the query says so
