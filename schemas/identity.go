package schemas

import "fmt"

// Identity names a batch for ever: the same rows are published under the same
// identity on every retry, and every measurement row carries it. Batches are
// counted from 0 without gaps per kind, so a missing one is seen.
type Identity struct {
	RunID uint64 // xxh3 of the run's name
	Rank  uint32
	Epoch uint64 // one start of a live producer, or the content of a file
	Batch uint64
}

// String is the identity as it stands in message ids and errors.
func (id Identity) String() string {
	return fmt.Sprintf("%016x/%d/%016x/%d", id.RunID, id.Rank, id.Epoch, id.Batch)
}

// identityColumns stand first in every measurement.
func identityColumns() []Column {
	return []Column{
		{Name: "run_id", Type: Uint64, Unit: Hash, Doc: "Run, as the hash of its name."},
		{Name: "rank", Type: Uint32, Unit: Ordinal, Doc: "Global rank of the process within the run."},
		{Name: "epoch", Type: Uint64, Unit: Hash, Doc: "Start of the producer, or hash of the content, step and generation of the file that the row was read from."},
		{Name: "batch", Type: Uint64, Unit: Ordinal, Doc: "Batch within (run, rank, epoch) and kind, counted from 0 without gaps."},
		{Name: "event_time_ns", Type: Int64, Unit: Nanoseconds, Doc: "Time of the event by the rank's clock; of a file, its modification time when first published."},
	}
}

// measurement puts the identity before the columns of a measurement.
func measurement(columns ...Column) []Column {
	return append(identityColumns(), columns...)
}
