package parquet

import (
	"testing"

	"github.com/tensortap/tensortap/schemas"
)

func TestEveryTableCanBeReadBack(t *testing.T) {
	t.Parallel()
	for _, table := range schemas.Tables() {
		if _, known := readers()[table.Kind()]; !known {
			t.Errorf("files of %s are written and cannot be read back", table.Kind())
		}
	}
}
