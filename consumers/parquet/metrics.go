package parquet

import "sync/atomic"

type counters struct {
	files, rows, bytes, duplicates, rejected atomic.Uint64
}

// Stats counts the work since Open.
type Stats struct {
	Files      uint64 // made
	Rows       uint64 // stored
	Bytes      uint64 // of the files written
	Duplicates uint64 // messages left out since the archive held them already
	Rejected   uint64 // messages that can never be stored
}

// Stats may be called at any time.
func (w *Writer) Stats() Stats {
	c := &w.counters
	return Stats{
		Files: c.files.Load(), Rows: c.rows.Load(), Bytes: c.bytes.Load(),
		Duplicates: c.duplicates.Load(), Rejected: c.rejected.Load(),
	}
}
