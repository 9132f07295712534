package pipelines

import "sync/atomic"

// Metrics counts the work of a Publisher or a Delivery. The zero value is ready; all methods may be
// called at any time.
type Metrics struct {
	published      atomic.Int64
	duplicates     atomic.Int64
	publishedBytes atomic.Int64
	publishRetries atomic.Int64
	lastSequence   atomic.Uint64

	delivered      atomic.Int64
	deliveredBytes atomic.Int64
	redelivered    atomic.Int64
	malformed      atomic.Int64
	rejected       atomic.Int64
	written        atomic.Int64
	writtenRows    atomic.Int64
	writes         atomic.Int64
	writeRetries   atomic.Int64
	deadLetters    atomic.Int64
	unconfirmed    atomic.Int64
	reopened       atomic.Int64
	heldMessages   atomic.Int64
	heldBytes      atomic.Int64
}

// Snapshot is a copy of the counts of Metrics at one moment.
type Snapshot struct {
	Published      int64  // messages acknowledged by the stream as new
	Duplicates     int64  // messages that the stream knew already
	PublishedBytes int64  // published and spilled, with headers
	PublishRetries int64  // messages sent once more
	LastSequence   uint64 // greatest place in the stream of a message published here

	Delivered      int64 // messages received from the stream
	DeliveredBytes int64 // of their data
	Redelivered    int64 // messages received while still held, and ignored
	Malformed      int64 // messages that could not be read
	Rejected       int64 // messages that the sink refused for good
	Written        int64 // messages that the sink made durable
	WrittenRows    int64 // rows of stored messages
	Writes         int64 // calls of the sink that succeeded
	WriteRetries   int64 // calls of the sink that failed
	DeadLetters    int64 // messages put aside, by a publisher or a consumer
	Unconfirmed    int64 // messages written whose acknowledgement may be lost: they come again and the sink recognises them
	Reopened       int64 // times that the consumer had to be opened anew
	HeldMessages   int64 // received and not yet acknowledged, now
	HeldBytes      int64 // memory of held messages, now
}

// Snapshot reads all counters.
func (m *Metrics) Snapshot() Snapshot {
	return Snapshot{
		Published: m.published.Load(), Duplicates: m.duplicates.Load(), PublishedBytes: m.publishedBytes.Load(),
		PublishRetries: m.publishRetries.Load(), LastSequence: m.lastSequence.Load(),
		Delivered: m.delivered.Load(), DeliveredBytes: m.deliveredBytes.Load(), Redelivered: m.redelivered.Load(),
		Malformed: m.malformed.Load(), Rejected: m.rejected.Load(),
		Written: m.written.Load(), WrittenRows: m.writtenRows.Load(), Writes: m.writes.Load(), WriteRetries: m.writeRetries.Load(),
		DeadLetters: m.deadLetters.Load(), Unconfirmed: m.unconfirmed.Load(), Reopened: m.reopened.Load(),
		HeldMessages: m.heldMessages.Load(), HeldBytes: m.heldBytes.Load(),
	}
}

// saw notes a place in the stream.
func (m *Metrics) saw(sequence uint64) {
	for {
		last := m.lastSequence.Load()
		if sequence <= last || m.lastSequence.CompareAndSwap(last, sequence) {
			return
		}
	}
}
