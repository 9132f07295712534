package system

import (
	"context"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// A parcel is noted as published with so many dumps, or so many bytes of their files: a kill has that much sent again.
const (
	parcelDumps = 256
	parcelBytes = 64 << 20
)

// So much waits to be sent together.
const (
	waitingMessages = 256
	waitingBytes    = 1 << 20
)

// parcel gathers what several dumps become, in the order in which it is added: small dumps share their way to the
// stream's disk, and their definitions. Its methods may be called at the same time.
type parcel struct {
	publisher *pipelines.Publisher
	byContent map[string]bool // kinds whose rows are named by their content

	mutex   sync.Mutex
	waiting []schemas.Message
	size    int                  // of the waiting messages, in bytes
	known   map[definitions]bool // definitions that were added
	done    []int                // dumps that were added whole
	bytes   int64                // of their files
}

// definitions are the content of a message of them: whoever publishes it, it says the same.
type definitions struct {
	kind    string
	content xxh3.Uint128
}

func newParcel(publisher *pipelines.Publisher) *parcel {
	p := &parcel{publisher: publisher, byContent: map[string]bool{}, known: map[definitions]bool{}}
	for _, table := range schemas.Tables() {
		p.byContent[table.Kind()] = table.Class == schemas.Definition
	}
	return p
}

// add sends the message sooner or later, unless it repeats definitions.
func (p *parcel) add(ctx context.Context, m schemas.Message) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.repeats(m) {
		return nil
	}
	p.waiting = append(p.waiting, m)
	p.size += len(m.Data)
	if len(p.waiting) < waitingMessages && p.size < waitingBytes {
		return nil
	}
	return p.sendWaiting(ctx)
}

func (p *parcel) repeats(m schemas.Message) bool {
	if !p.byContent[m.Header.Kind] {
		return false
	}
	content := definitions{kind: m.Header.Kind, content: xxh3.Hash128(m.Data)}
	if p.known[content] {
		return true
	}
	p.known[content] = true
	return false
}

// whole notes that all messages of a dump were added, and returns the dumps of the parcel once it is full.
func (p *parcel) whole(dump int, bytes int64) []int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.done = append(p.done, dump)
	p.bytes += bytes
	if len(p.done) < parcelDumps && p.bytes < parcelBytes {
		return nil
	}
	return p.take()
}

// rest is the dumps of a parcel that is not full.
func (p *parcel) rest() []int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.take()
}

func (p *parcel) take() []int {
	taken := p.done
	p.done, p.bytes = nil, 0
	return taken
}

// send hands all that waits to the publisher: its next Flush is about whole dumps, and the definitions that they share.
func (p *parcel) send(ctx context.Context) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.sendWaiting(ctx)
}

// sendWaiting keeps the mutex: messages leave in their order.
func (p *parcel) sendWaiting(ctx context.Context) error {
	err := p.publisher.PublishTogether(ctx, p.waiting...)
	clear(p.waiting)
	p.waiting, p.size = p.waiting[:0], 0
	return err
}
