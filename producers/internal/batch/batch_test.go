package batch_test

import (
	"context"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

const dayNs = 24 * 3600 * 1_000_000_000

// TestABatchOfMeasurementsIsOfOneDay adds rows of days that come in any order, also beside full batches.
func TestABatchOfMeasurementsIsOfOneDay(t *testing.T) {
	t.Parallel()
	days := []int64{0, 0, 0, 1, 0, 2, 2, -1, -1, -1, -1, 2}
	read := func(_ context.Context, out *batch.Set) error {
		for i, day := range days {
			if err := batch.AddMeasured(out, out.Log, &schemas.LogRow{EventTimeNs: (day+1)*dayNs - 1, Seq: uint64(i)}, 0); err != nil {
				return err
			}
		}
		return out.Rest()
	}
	var sizes []int
	seq := uint64(0)
	for m, err := range batch.Messages(t.Context(), func() schemas.Identity { return schemas.Identity{} }, 3, read) {
		if err != nil {
			t.Fatal(err)
		}
		rows, err := schemas.DecodeRows[schemas.LogRow](m)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if row.Batch != m.Header.Identity.Batch || row.Batch != uint64(len(sizes)) || row.Seq != seq || schemas.Day(row.EventTimeNs) != days[seq] {
				t.Errorf("row %d of day %d has batch %d, in batch %d of the message, the %d. message", row.Seq, schemas.Day(row.EventTimeNs), row.Batch, m.Header.Identity.Batch, len(sizes))
			}
			seq++
		}
		sizes = append(sizes, len(rows))
	}
	if want := []int{3, 1, 1, 2, 3, 1, 1}; !slices.Equal(sizes, want) {
		t.Errorf("rows of the batches %v, want %v", sizes, want)
	}
}
