package pipelines

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/schemas"
)

// refusedLane has the messages that cannot be stored; no kind has this name.
const refusedLane = ""

// batch is held messages of one kind on their way into one write.
type batch struct {
	kind  string
	items []*held
	rows  int
	bytes int
	grown int       // bytes of the rows once decompressed
	since time.Time // when its first message arrived
}

func (b *batch) add(h *held) {
	b.items = append(b.items, h)
	b.rows += h.message.Header.Rows
	b.bytes += h.size
	b.grown += h.message.StreamBytes()
}

// weight is what a write of the batch counts for among all at once.
func (b *batch) weight() int64 { return int64(min(b.grown, schemas.MaxStreamBytes)) }

// hasRoom says whether the message may join the batch.
func (b *batch) hasRoom(h *held, cfg DeliverConfig) bool {
	return b.rows+h.message.Header.Rows <= cfg.BatchRows && b.bytes+h.size <= cfg.BatchBytes && b.grown+h.message.StreamBytes() <= cfg.RowBytes
}

// lane has the batches of one kind: one being written, full ones waiting, one filling.
type lane struct {
	busy    bool
	began   time.Time // when the last write began
	full    []*batch
	filling *batch
}

// result is the outcome of a write.
type result struct {
	kind    string
	refused []*held
}

// dispatcher groups messages by kind and writes each kind apart, so that a
// slow one does not hold up the others. Its fields belong to the goroutine of
// run. It never blocks on a write; memory is bounded by the receiver.
type dispatcher struct {
	delivery *Delivery
	write    func(*batch) []*held
	start    func(func() error)
	lanes    map[string]*lane
	busy     int
	closing  bool
	finished chan result
}

func newDispatcher(run, work context.Context, d *Delivery, group *errgroup.Group) *dispatcher {
	return &dispatcher{
		delivery: d, lanes: map[string]*lane{}, finished: make(chan result), start: group.Go,
		write: func(b *batch) []*held {
			if b.kind == refusedLane {
				d.putAside(run, work, b)
				return nil
			}
			return d.write(run, work, b)
		},
	}
}

// run ends when the receiver has ended and all that was held was written or given up.
func (p *dispatcher) run(received <-chan *held) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if next, any := p.launch(p.delivery.now()); any {
			timer.Reset(next)
		}
		if p.closing && p.busy == 0 {
			return nil
		}
		select {
		case h, ok := <-received:
			if !ok {
				p.closing, received = true, nil
				continue
			}
			p.sort(h)
		case r := <-p.finished:
			p.busy--
			p.lanes[r.kind].busy = false
			for _, h := range r.refused {
				p.sort(h)
			}
		case <-timer.C:
		case <-p.delivery.pressure:
		}
	}
}

// sort puts the message into the batch of its kind that is filling.
func (p *dispatcher) sort(h *held) {
	kind := h.message.Header.Kind
	if h.reason != "" {
		kind = refusedLane
	}
	l, ok := p.lanes[kind]
	if !ok {
		l = &lane{}
		p.lanes[kind] = l
	}
	cfg := p.delivery.cfg.Deliver
	if b := l.filling; b != nil && !b.hasRoom(h, cfg) {
		l.full, l.filling = append(l.full, b), nil
	}
	if l.filling == nil {
		l.filling = &batch{kind: kind, since: p.delivery.now()}
	}
	l.filling.add(h)
}

// launch starts a writer for each lane with a batch that is due, and returns
// how long to wait until the next one is.
func (p *dispatcher) launch(now time.Time) (next time.Duration, waiting bool) {
	for _, l := range p.lanes {
		if l.busy {
			continue
		}
		b, wait := p.due(l, now)
		if b != nil {
			p.spawn(l, b)
			continue
		}
		if l.filling != nil && (!waiting || wait < next) {
			next, waiting = wait, true
		}
	}
	return next, waiting
}

// worthwhile is how many rows are worth a write of their own, however lately the last one began.
const worthwhile = 1000

// due takes the batch of the lane that is to be written now, if any.
func (p *dispatcher) due(l *lane, now time.Time) (b *batch, wait time.Duration) {
	if len(l.full) > 0 {
		b = l.full[0]
		l.full = l.full[1:]
		return b, 0
	}
	b = l.filling
	if b == nil {
		return nil, 0
	}
	cfg := p.delivery.cfg.Deliver
	wait = cfg.BatchAge - now.Sub(b.since)
	if b.rows < worthwhile {
		wait = max(wait, cfg.Spacing-now.Sub(l.began))
	}
	full := b.rows >= cfg.BatchRows || b.bytes >= cfg.BatchBytes || b.grown >= cfg.RowBytes
	if wait > 0 && !full && !p.closing && b.kind != refusedLane && !p.delivery.paused.Load() {
		return nil, wait
	}
	l.filling = nil
	return b, 0
}

func (p *dispatcher) spawn(l *lane, b *batch) {
	l.busy, l.began = true, p.delivery.now()
	p.busy++
	p.start(func() error {
		refused := p.write(b)
		p.finished <- result{kind: b.kind, refused: refused}
		return nil
	})
}
