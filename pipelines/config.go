package pipelines

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/tensortap/tensortap/schemas"
)

// Names of the streams, bucket and consumers of Prepare.
const (
	StreamName     = "TAP"
	DeadStreamName = "TAP_DEAD"
	SourceBucket   = "tap_sources"
)

const (
	// headerRoom is the greatest size of a message's headers.
	headerRoom = 64 << 10
	// maxWireBytes is the largest message, with headers, that the stream takes.
	maxWireBytes = schemas.MaxMessageBytes + headerRoom
	// minPullBytes holds one message of that size with its subjects: with less,
	// the server never delivers it, nor anything behind it.
	minPullBytes = maxWireBytes + 64<<10
	// leastAge of a stream: events may not vanish before a store that was down
	// over a weekend is back.
	leastAge = 72 * time.Hour
)

// Config has the limits of the whole way from publisher to sink.
type Config struct {
	Stream  StreamConfig
	Publish PublishConfig
	Deliver DeliverConfig
}

// StreamConfig says how much the stream keeps.
type StreamConfig struct {
	MaxBytes        int64         // disk for TAP; once full, publishers wait
	MaxAge          time.Duration // how long TAP keeps events, at least 72 h
	DeadMaxBytes    int64         // disk for TAP_DEAD
	DeadMaxAge      time.Duration // how long TAP_DEAD keeps messages, at least 72 h
	DuplicateWindow time.Duration // time for which the stream itself knows an id; sinks recognise later copies
	Consumers       []string      // names of the durable consumers
	AckWait         time.Duration // how long the server waits for a sign of life before it delivers again
	MaxAckPending   int           // messages out at a consumer at once; Deliver.HeldBytes should bind first
	Replicas        int           // servers that keep each message, at least; 0 leaves that to their administrator
	Sharded         bool          // messages are put into shards as they come
	Subjects        []string      // what the consumers are given; none for all
	Forget          time.Duration // a consumer that nobody asked for messages for as long is gone; 0 for never
}

// PublishConfig has the limits of a Publisher.
type PublishConfig struct {
	WindowBytes    int           // sent and not yet acknowledged, less than 64 MiB
	WindowMessages int           // the same as a count
	AckTimeout     time.Duration // after which an unacknowledged message is sent again
	RetryMin       time.Duration // first pause after a failure
	RetryMax       time.Duration // longest pause
	SpillDir       string        // folder for messages that no stream takes
	Jitter         Jitter        // of the pauses
	Metrics        *Metrics      // counts the work, also that of other publishers; nil for counts of its own
	Tracer         trace.Tracer  // tells of messages that are followed; nil for none
}

// DeliverConfig has the limits of a Delivery.
type DeliverConfig struct {
	PullBytes  int           // asked of the server at once
	HeldBytes  int           // received and not yet acknowledged; PullBytes may come on top
	BatchRows  int           // rows of one kind in one write
	BatchBytes int           // bytes of messages of one kind in one write
	RowBytes   int           // bytes of one write once decompressed, at least one message
	WriteBytes int           // bytes of all writes at once, once decompressed: one counts for 64 MiB at most, as sinks take its messages one after the other
	BatchAge   time.Duration // longest wait for a batch to fill
	Spacing    time.Duration // least time from one write of a kind to the next, unless a batch has 1,000 rows: a store that rests wakes for every write
	Grace      time.Duration // for writes under way, and for held messages, once the context has ended
	RetryMin   time.Duration // first pause after a failed write
	RetryMax   time.Duration // longest pause
	LogEvery   time.Duration // least time between two log lines about the same outage
	PullAge    time.Duration // for which the server keeps a request for messages; 0 for half a minute
	Jitter     Jitter        // of the pauses
	Tracer     trace.Tracer  // tells of writes with messages that are followed; nil for none
}

// Jitter is a random time below a limit, so that many who wait for the same do not all come at once. Nil is chance.
type Jitter func(below time.Duration) time.Duration

// DefaultConfig suits one machine. Publish.SpillDir is empty: the caller knows the data folder.
func DefaultConfig() Config {
	return Config{
		Stream: StreamConfig{
			MaxBytes: 10 << 30, MaxAge: leastAge, DeadMaxBytes: 1 << 30, DeadMaxAge: 30 * 24 * time.Hour,
			DuplicateWindow: 10 * time.Minute, Consumers: []string{"clickhouse", "parquet"},
			AckWait: time.Minute, MaxAckPending: 1 << 18,
		},
		Publish: PublishConfig{
			WindowBytes: 48 << 20, WindowMessages: 4096, AckTimeout: 15 * time.Second,
			RetryMin: 50 * time.Millisecond, RetryMax: 2 * time.Second,
		},
		Deliver: DeliverConfig{
			PullBytes: 16 << 20, HeldBytes: 128 << 20,
			BatchRows: 524_288, BatchBytes: 32 << 20, RowBytes: 128 << 20, WriteBytes: 128 << 20, BatchAge: 200 * time.Millisecond,
			Grace: 10 * time.Second, RetryMin: 100 * time.Millisecond, RetryMax: 10 * time.Second,
			LogEvery: 30 * time.Second,
		},
	}
}

// Validate says everything that is wrong with the configuration.
func (c Config) Validate() error {
	return errors.Join(c.Stream.validate(), c.Publish.validate(), c.Deliver.validate())
}

// rule is a condition on a setting, with the text of its error.
type rule struct {
	holds  bool
	words  string
	values []any
}

func broken(rules []rule) error {
	var all []error
	for _, r := range rules {
		if !r.holds {
			all = append(all, fmt.Errorf(r.words, r.values...))
		}
	}
	return errors.Join(all...)
}

func (c StreamConfig) validate() error {
	return broken([]rule{
		{c.MaxBytes >= maxWireBytes, "stream of %d bytes, want at least one message of %d", []any{c.MaxBytes, maxWireBytes}},
		{c.DeadMaxBytes >= maxWireBytes, "dead-letter stream of %d bytes, want at least one message of %d", []any{c.DeadMaxBytes, maxWireBytes}},
		{c.MaxAge >= leastAge, "stream keeps %v, want at least %v", []any{c.MaxAge, leastAge}},
		{c.DeadMaxAge >= leastAge, "dead-letter stream keeps %v, want at least %v", []any{c.DeadMaxAge, leastAge}},
		{c.DuplicateWindow > 0 && c.DuplicateWindow <= c.MaxAge, "duplicate window %v, want up to %v", []any{c.DuplicateWindow, c.MaxAge}},
		{c.AckWait >= 100*time.Millisecond, "ack wait %v, want at least 100ms", []any{c.AckWait}},
		{c.MaxAckPending > 0, "%d messages pending, want at least 1", []any{c.MaxAckPending}},
		{c.Replicas >= 0 && c.Replicas <= 5, "%d replicas, want 1 to 5, or 0 to leave that to the servers' administrator", []any{c.Replicas}},
		{c.Forget == 0 || c.Forget >= c.MaxAge, "a consumer is forgotten after %v, want at least the %v that the stream keeps", []any{c.Forget, c.MaxAge}},
	})
}

func (c PublishConfig) validate() error {
	return broken([]rule{
		{c.WindowBytes > 0 && c.WindowBytes < 64<<20, "publish window %d bytes, want less than 64 MiB", []any{c.WindowBytes}},
		{c.WindowMessages > 0, "publish window %d messages, want at least 1", []any{c.WindowMessages}},
		{c.SpillDir != "", "no spill folder", nil},
		{c.AckTimeout > 0, "ack timeout %v, want more than 0", []any{c.AckTimeout}},
		{c.RetryMin > 0 && c.RetryMin <= c.RetryMax, "publish again after %v to %v", []any{c.RetryMin, c.RetryMax}},
	})
}

func (c DeliverConfig) validate() error {
	return broken([]rule{
		{c.PullBytes >= minPullBytes, "pull %d bytes, want at least %d, the largest message", []any{c.PullBytes, minPullBytes}},
		{c.HeldBytes >= c.BatchBytes, "hold %d bytes, want at least a batch of %d", []any{c.HeldBytes, c.BatchBytes}},
		{c.BatchRows > 0 && c.BatchBytes > 0, "batch of %d rows, %d bytes, want more than 0", []any{c.BatchRows, c.BatchBytes}},
		{c.RowBytes >= schemas.MaxStreamBytes && c.WriteBytes >= schemas.MaxStreamBytes, "rows of %d bytes in a write and %d in all, want at least %d, the largest message", []any{c.RowBytes, c.WriteBytes, schemas.MaxStreamBytes}},
		{c.BatchAge > 0, "batch age %v, want more than 0", []any{c.BatchAge}},
		{c.Spacing >= 0, "spacing %v of writes, want 0 or more", []any{c.Spacing}},
		{c.Grace > 0, "grace %v, want more than 0", []any{c.Grace}},
		{c.PullAge == 0 || c.PullAge >= time.Second, "requests for messages live %v, want at least 1s", []any{c.PullAge}},
		{c.RetryMin > 0 && c.RetryMin <= c.RetryMax, "write again after %v to %v", []any{c.RetryMin, c.RetryMax}},
	})
}
