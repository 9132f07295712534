package report

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
)

// WriteObject writes an answer as one JSON object that people can read too.
func WriteObject(to io.Writer, object any) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	return encoder.Encode(object)
}

// writeJSON writes one object: {"rows":[{column:value,…},…]}, a row a line.
func writeJSON(to io.Writer, answer records) error {
	w := bufio.NewWriter(to)
	line := []byte(`{"rows":[`)
	first := true
	_, err := answer(func(record arrow.RecordBatch) error {
		for i := range int(record.NumRows()) {
			if !first {
				line = append(line, ',')
			}
			first = false
			line = appendJSONRow(append(line, '\n'), record, i)
			if _, err := w.Write(line); err != nil {
				return err
			}
			line = line[:0]
		}
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := w.Write(append(line, "\n]}\n"...)); err != nil {
		return err
	}
	return w.Flush()
}

func appendJSONRow(to []byte, record arrow.RecordBatch, i int) []byte {
	to = append(to, '{')
	for c, column := range record.Columns() {
		if c > 0 {
			to = append(to, ',')
		}
		name := record.ColumnName(c)
		to = append(appendJSONString(to, name), ':')
		to = appendJSON(to, name, column, i)
	}
	return append(to, '}')
}
