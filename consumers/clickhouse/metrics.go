package clickhouse

import "sync/atomic"

// Counts is the work of a Writer since it began.
type Counts struct {
	Inserts    uint64 // INSERTs that went through
	Messages   uint64 // messages stored by them
	Rows       uint64 // rows of stored messages
	Duplicates uint64 // messages that were stored before, or stood twice in a call
	Rejected   uint64 // messages that can never be stored
	Doubts     uint64 // INSERTs with an unknown outcome
	Resolved   uint64 // messages of those INSERTs that turned out to be stored
}

type counters struct {
	inserts, messages, rows, duplicates, rejected, doubts, resolved atomic.Uint64
}

func (c *counters) read() Counts {
	return Counts{
		Inserts:    c.inserts.Load(),
		Messages:   c.messages.Load(),
		Rows:       c.rows.Load(),
		Duplicates: c.duplicates.Load(),
		Rejected:   c.rejected.Load(),
		Doubts:     c.doubts.Load(),
		Resolved:   c.resolved.Load(),
	}
}
