package simulated

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

const ackWait = time.Minute

// consumer is the durable consumer of the stream. The server's mutex guards it.
type consumer struct {
	name    string
	server  *Server
	log     *log
	next    uint64 // delivered so far
	number  uint64 // of deliveries
	pending map[uint64]time.Time
	done    map[uint64]bool
	tries   map[uint64]int
	pulls   []*pull
	history []event
}

// event is a change that the disk may not have yet.
type event struct {
	at   time.Time
	done uint64
	next uint64
	from uint64 // number before it
}

// pull is a request for messages.
type pull struct {
	link    *link
	inbox   string
	left    int
	ends    time.Time
	beat    time.Duration
	last    time.Time
	expired bool
}

func (c *consumer) ask(l *link, m *nats.Msg) {
	var ask struct {
		Expires time.Duration `json:"expires"`
		Batch   int           `json:"batch"`
		Beat    time.Duration `json:"idle_heartbeat"`
	}
	if json.Unmarshal(m.Data, &ask) != nil {
		return
	}
	now := time.Now()
	c.pulls = append(c.pulls, &pull{link: l, inbox: m.Reply, left: max(1, ask.Batch), ends: now.Add(ask.Expires), beat: ask.Beat, last: now})
	c.push()
}

func (c *consumer) leave(l *link) {
	c.pulls = slices.DeleteFunc(c.pulls, func(p *pull) bool { return p.link == l })
}

// tick delivers again what nobody has acknowledged, and keeps the pulls alive.
func (c *consumer) tick() {
	now := time.Now()
	for _, p := range c.pulls {
		switch {
		case now.After(p.ends):
			p.expired = true
			p.link.deliver(p.inbox, nats.Header{"Nats-Pending-Messages": {strconv.Itoa(p.left)}, "Nats-Pending-Bytes": {"16777216"}}, " 408 Request Timeout", nil)
		case p.beat > 0 && now.Sub(p.last) >= p.beat:
			p.last = now
			p.link.deliver(p.inbox, nil, " 100 Idle Heartbeat", nil)
		}
	}
	c.pulls = slices.DeleteFunc(c.pulls, func(p *pull) bool { return p.expired || p.left == 0 })
	c.push()
}

// push gives to the pulls what there is: first what is to be delivered again.
func (c *consumer) push() {
	now := c.server.Now().Round(0)
	for sequence := uint64(1); sequence <= c.next; sequence++ {
		deadline, pending := c.pending[sequence]
		if c.done[sequence] || pending && now.Before(deadline) {
			continue
		}
		if !c.deliver(sequence, now) {
			return
		}
	}
	for c.next < uint64(len(c.log.messages)) {
		if !c.deliver(c.next+1, now) {
			return
		}
		c.next++
	}
}

func (c *consumer) deliver(sequence uint64, now time.Time) bool {
	for _, p := range c.pulls {
		if p.left == 0 || p.expired {
			continue
		}
		m := c.log.messages[sequence-1]
		c.tries[sequence]++
		reply := fmt.Sprintf("$JS.ACK.TAP.%s.%d.%d.%d.%d.%d", c.name, c.tries[sequence], sequence, c.number+1, m.Time.UnixNano(), uint64(len(c.log.messages))-sequence)
		sent := p.link.deliverAs(p.inbox, m.Subject, reply, m.Header, m.Data)
		if !sent {
			p.expired = true // nobody listens there any more
			continue
		}
		c.history = append(c.history, event{at: time.Now(), next: sequence, from: c.number})
		c.number++
		c.pending[sequence] = now.Add(ackWait)
		p.left--
		p.last = time.Now()
		return true
	}
	return false
}

// acknowledge takes $JS.ACK.<stream>.<consumer>.<tries>.<sequence>.<number>.<time>.<left>.
func (c *consumer) acknowledge(m *nats.Msg) {
	words := strings.Split(m.Subject, ".")
	sequence, _ := strconv.ParseUint(words[5], 10, 64)
	if _, pending := c.pending[sequence]; !pending {
		return
	}
	switch verb := string(m.Data); verb {
	case "+WPI":
		c.pending[sequence] = c.server.Now().Round(0).Add(ackWait)
	case "+ACK", "+TERM":
		delete(c.pending, sequence)
		c.done[sequence] = true
		c.history = append(c.history, event{at: time.Now(), done: sequence})
		c.server.OnAck(c.name, c.log.messages[sequence-1], verb)
	}
}

// reset delivers again all that follows the first messages that are done.
func (c *consumer) reset() {
	floor := uint64(0)
	for c.done[floor+1] {
		floor++
	}
	for sequence := range c.done {
		if sequence > floor {
			delete(c.done, sequence)
		}
	}
	clear(c.pending)
	c.next, c.number, c.history = floor, floor, nil
	c.push()
}

// restore goes back to what the disk had that long ago.
func (c *consumer) restore(ago time.Duration) {
	from := time.Now().Add(-ago)
	for _, e := range c.history {
		if e.at.Before(from) {
			continue
		}
		if e.done > 0 {
			delete(c.done, e.done)
			c.pending[e.done] = time.Now().Add(ackWait)
			continue
		}
		c.number = min(c.number, e.from)
	}
	c.history, c.pulls = nil, nil
}
