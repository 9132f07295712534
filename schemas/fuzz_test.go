package schemas_test

import (
	"testing"

	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/schemas"
)

func FuzzMessageIsDecodedOrRefused(f *testing.F) {
	var decoder schemas.Decoder
	consumertest.Fuzz(f, func(_ *testing.T, m schemas.Message) error {
		record, err := decoder.Record(m)
		if err != nil {
			return err
		}
		for _, column := range record.Columns() {
			for row := range column.Len() {
				_ = column.ValueStr(row) // every value can be read
			}
		}
		return nil
	})
}
