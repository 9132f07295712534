package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/schemas"
)

// Limits of what is told of changes.
const (
	lookEvery     = time.Second
	lookFor       = 5 * time.Second  // how long a look at the stream may take
	sayEvery      = 15 * time.Second // a line without news, which shows that the connection lives
	writeFor      = 10 * time.Second // a client that takes no line for so long is let go
	mostListeners = 64
)

const livePath = root + "/live"

// topics are what listeners are told of, with the kinds of events by which it changes.
func topics() map[string][]string {
	return map[string][]string{
		"runs":     {schemas.Run().Kind(), schemas.Rank().Kind(), schemas.Failure().Kind()},
		"verdicts": {schemas.Verdict().Kind(), schemas.JudgedStep().Kind(), schemas.Comparison().Kind(), schemas.Origin().Kind(), schemas.Baseline().Kind()},
		"progress": {schemas.Step().Kind(), schemas.Heartbeat().Kind()},
		"alerts":   {schemas.Alert().Kind()},
	}
}

// change is a line to listeners.
type change struct {
	Changed  []string `json:"changed"`        // topics
	Sequence uint64   `json:"sequence"`       // how far the stream is
	Away     bool     `json:"away,omitempty"` // the stream does not answer
}

// crowd are those who listen.
type crowd struct {
	mutex     sync.Mutex
	listeners map[*listener]bool
}

// listener is one connection. What it has not taken yet becomes one line.
type listener struct {
	mutex   sync.Mutex
	pending map[string]bool
	last    change
	woken   chan struct{} // holds one
}

func (l *listener) tell(c change) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, topic := range c.Changed {
		l.pending[topic] = true
	}
	l.last = c
	select {
	case l.woken <- struct{}{}:
	default:
	}
}

func (l *listener) take() change {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	taken := l.last
	taken.Changed = append([]string{}, slices.Sorted(maps.Keys(l.pending))...)
	clear(l.pending)
	return taken
}

func (c *crowd) join() (*listener, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.listeners) >= mostListeners {
		return nil, &problemError{Status: http.StatusServiceUnavailable, Sentence: fmt.Sprintf("%d listen already, the limit", mostListeners)}
	}
	l := &listener{pending: map[string]bool{}, woken: make(chan struct{}, 1)}
	if c.listeners == nil {
		c.listeners = map[*listener]bool{}
	}
	c.listeners[l] = true
	return l, nil
}

func (c *crowd) leave(l *listener) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.listeners, l)
}

func (c *crowd) count() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return len(c.listeners)
}

func (c *crowd) tell(news change) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for l := range c.listeners {
		l.tell(news)
	}
}

// look tells of changes until ctx ends. While nobody listens the stream is not looked at.
func (a *API) look(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var seen sight
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if a.crowd.count() == 0 {
			seen = sight{}
			continue
		}
		if news, some := seen.look(ctx, a.client.Load()); some && ctx.Err() == nil {
			a.crowd.tell(news)
		}
	}
}

// sight is what was seen of the stream.
type sight struct {
	sequence uint64
	places   map[string]uint64
	away     bool
}

// look says what has changed since the last look. The first says how far the stream is.
func (s *sight) look(ctx context.Context, client *system.Client) (news change, some bool) {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	end, places, err := s.seek(ctx, client)
	if err != nil {
		some, s.away = !s.away, true
		return change{Changed: []string{}, Sequence: s.sequence, Away: true}, some
	}
	if places == nil && !s.away {
		return change{}, false
	}
	news = change{Changed: changed(s.places, places), Sequence: end}
	if s.away && s.places == nil { // nobody knows what there was before
		news.Changed = slices.Sorted(maps.Keys(topics()))
	}
	some = s.away || s.places == nil || len(news.Changed) > 0
	s.sequence, s.away = end, false
	if places != nil {
		s.places = places
	}
	return news, some
}

// seek looks for the last messages of the kinds where the stream has gone on.
func (s *sight) seek(ctx context.Context, client *system.Client) (end uint64, places map[string]uint64, err error) {
	if client == nil {
		return 0, nil, context.DeadlineExceeded
	}
	if end, err = client.StreamEnd(ctx); err != nil || s.places != nil && end == s.sequence {
		return end, nil, err
	}
	var kinds []string
	for _, of := range topics() {
		kinds = append(kinds, of...)
	}
	places, err = client.LastOf(ctx, kinds)
	return end, places, err
}

// changed are the topics of which a kind has another last message.
func changed(before, now map[string]uint64) []string {
	found := []string{}
	if before == nil || now == nil {
		return found
	}
	for topic, kinds := range topics() {
		if slices.ContainsFunc(kinds, func(kind string) bool { return before[kind] != now[kind] }) {
			found = append(found, topic)
		}
	}
	slices.Sort(found)
	return found
}

// live sends a line for each change, as server-sent events, until who listens is gone.
func (a *API) live(w http.ResponseWriter, r *http.Request) error {
	l, err := a.crowd.join()
	if err != nil {
		return err
	}
	defer a.crowd.leave(l)
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	say := time.NewTicker(sayEvery)
	defer say.Stop()
	line := ": changes of runs, verdicts, progress and alerts\n\n"
	for {
		if err := a.sayLine(w, line); err != nil {
			return nil // who listened is gone, or too slow
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-a.over:
			return nil
		case <-say.C:
			line = ":\n\n"
		case <-l.woken:
			text, err := json.Marshal(l.take())
			if err != nil {
				return err
			}
			line = "event: change\ndata: " + string(text) + "\n\n"
		}
	}
}

// sayLine sends a line at once.
func (a *API) sayLine(w http.ResponseWriter, line string) error {
	control := http.NewResponseController(w)
	if err := control.SetWriteDeadline(a.cfg.Now().Add(writeFor)); err != nil {
		return err
	}
	if _, err := w.Write([]byte(line)); err != nil {
		return err
	}
	return control.Flush()
}
