package pipelines

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tensortap/tensortap/schemas"
)

// heldOverhead is a generous guess of the memory of a message besides its
// bytes, so that many small ones are bounded too.
const heldOverhead = 2048

// headerBytes is the size of headers, of which a message may have 64 KiB.
func headerBytes(header nats.Header) int {
	n := 0
	for name, values := range header {
		n += len(name)
		for _, value := range values {
			n += len(value)
		}
	}
	return n
}

// held is a message received and not yet acknowledged.
type held struct {
	message  schemas.Message // without a header if reason says it could not be read
	subject  string
	header   nats.Header
	reply    string // where the server waits for the acknowledgement
	life     int64  // of the consumer that delivered it
	sequence uint64 // in the stream
	timeNs   int64  // by the stream's server
	since    time.Time
	size     int
	reason   string // why it can not be stored; empty while nothing speaks against it
}

// holding is the set of held messages. It bounds their memory and keeps the
// server from delivering them again.
type holding struct {
	metrics *Metrics
	freed   chan struct{} // filled when messages left

	mu    sync.Mutex
	items map[heldKey]*held
	bytes int
}

// heldKey keeps the messages of two streams of the same name apart: the stream may have been
// replaced while messages were held.
type heldKey struct {
	life     int64
	sequence uint64
}

func newHolding(metrics *Metrics) *holding {
	return &holding{metrics: metrics, freed: make(chan struct{}, 1), items: map[heldKey]*held{}}
}

// add holds the message, unless it is held already: then its newer reply
// address takes the place of the old one, and add returns false.
func (s *holding) add(h *held) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := heldKey{h.life, h.sequence}
	if have, ok := s.items[key]; ok {
		have.reply, have.since = h.reply, h.since
		return false
	}
	s.items[key] = h
	s.bytes += h.size
	s.report()
	return true
}

func (s *holding) remove(items []*held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range items {
		delete(s.items, heldKey{h.life, h.sequence})
		s.bytes -= h.size
	}
	s.report()
	select {
	case s.freed <- struct{}{}:
	default:
	}
}

func (s *holding) report() {
	s.metrics.heldBytes.Store(int64(s.bytes))
	s.metrics.heldMessages.Store(int64(len(s.items)))
}

func (s *holding) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// waitBelow returns once less than limit bytes are held, or ctx has ended.
func (s *holding) waitBelow(ctx context.Context, limit int) {
	for s.size() >= limit {
		select {
		case <-s.freed:
		case <-ctx.Done():
			return
		}
	}
}

// count is the number of messages.
func (s *holding) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.items)
}

// replies are the addresses of the messages of that life held since before.
func (s *holding) replies(life int64, before time.Time) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var replies []string
	for key, h := range s.items {
		if key.life == life && h.since.Before(before) {
			replies = append(replies, h.reply)
		}
	}
	return replies
}

// replyOf is the newest address of the message.
func (s *holding) replyOf(h *held) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.reply
}
