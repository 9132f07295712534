package simulated

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Server is a NATS server with the streams of the program. It syncs each message before it acknowledges it.
type Server struct {
	fate *Fate
	dice *Dice

	// Now is the server's time of day, by which it remembers ids and waits for acknowledgements.
	Now func() time.Time
	// OnStore is told each message that a stream keeps, and OnAck each that a consumer is done with.
	OnStore func(stream string, m Stored)
	OnAck   func(consumer string, m Stored, verb string)

	mutex     sync.Mutex
	down      bool
	links     map[*link]bool
	logs      map[string]*log
	consumers []*consumer
}

// Stored is a message of a stream.
type Stored struct {
	Subject  string
	Header   nats.Header
	Data     []byte
	Sequence uint64
	Time     time.Time
}

// log is a stream.
type log struct {
	name     string
	messages []Stored
	last     map[string]uint64 // of each subject
	ids      map[string]uint64
}

const duplicateWindow = 10 * time.Minute

// NewServer makes a server whose streams and consumers are there, and empty.
func NewServer(fate *Fate, consumers ...string) *Server {
	s := &Server{fate: fate, dice: fate.Of("server"), Now: time.Now, links: map[*link]bool{}, logs: map[string]*log{}}
	for _, name := range []string{"TAP", "TAP_DEAD", "KV_tap_sources"} {
		s.logs[name] = &log{name: name, last: map[string]uint64{}, ids: map[string]uint64{}}
	}
	for _, name := range consumers {
		s.consumers = append(s.consumers, &consumer{
			name: name, server: s, log: s.logs["TAP"], pending: map[uint64]time.Time{}, done: map[uint64]bool{}, tries: map[uint64]int{},
		})
	}
	return s
}

func (s *Server) away() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.down
}

func (s *Server) add(l *link) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.links[l] = true
}

func (s *Server) remove(l *link) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.links, l)
	for _, c := range s.consumers {
		c.leave(l)
	}
}

// Kill ends the server, which starts again after a while. A consumer's state is synced now and then, not each time: some
// acknowledgements are forgotten.
func (s *Server) Kill(away time.Duration) {
	s.mutex.Lock()
	links := s.links
	s.down, s.links = true, map[*link]bool{}
	for _, c := range s.consumers {
		c.restore(s.dice.Upto(3 * time.Second))
	}
	s.mutex.Unlock()
	for l := range links {
		l.cut()
	}
	time.Sleep(away)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.down = false
}

// Run lets the server's time pass until stop is closed.
func (s *Server) Run(stop <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			s.mutex.Lock()
			for _, c := range s.consumers {
				c.tick()
			}
			s.mutex.Unlock()
		}
	}
}

// Messages returns the messages of a stream.
func (s *Server) Messages(stream string) []Stored {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]Stored(nil), s.logs[stream].messages...)
}

// Pending is the number of messages that the consumers are not done with.
func (s *Server) Pending() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	pending := 0
	for _, c := range s.consumers {
		pending += len(c.log.messages) - len(c.done)
	}
	return pending
}

// consumer is the one of that name.
func (s *Server) consumer(name string) *consumer {
	for _, c := range s.consumers {
		if c.name == name {
			return c
		}
	}
	return &consumer{log: &log{}} // nobody's: what it is told has no effect
}

func (s *Server) push() {
	for _, c := range s.consumers {
		c.push()
	}
}

func (s *Server) handle(l *link, m *nats.Msg) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	answer := ""
	switch {
	case strings.HasPrefix(m.Subject, "$JS.ACK."):
		s.consumer(strings.Split(m.Subject, ".")[3]).acknowledge(m)
	case strings.HasPrefix(m.Subject, "$JS.API.CONSUMER.MSG.NEXT."):
		s.consumer(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]).ask(l, m)
		return
	case strings.HasPrefix(m.Subject, "$JS.API."):
		answer = s.api(m)
	default:
		answer = s.store(m)
	}
	if m.Reply != "" {
		l.deliver(m.Reply, nil, "", []byte(answer))
	}
	s.push()
}

func (s *Server) logOf(subject string) *log {
	switch {
	case strings.HasPrefix(subject, "tap."):
		return s.logs["TAP"]
	case strings.HasPrefix(subject, "dead."):
		return s.logs["TAP_DEAD"]
	case strings.HasPrefix(subject, "$KV.tap_sources."):
		return s.logs["KV_tap_sources"]
	}
	return nil
}

// store is what a stream does with a message: first it looks whether it knows the id, then at what the publisher expects.
func (s *Server) store(m *nats.Msg) string {
	l := s.logOf(m.Subject)
	if l == nil {
		return ""
	}
	id, now := m.Header.Get(nats.MsgIdHdr), s.Now().Round(0)
	if known := l.ids[id]; id != "" && known > 0 && now.Sub(l.messages[known-1].Time) < duplicateWindow {
		return fmt.Sprintf(`{"stream":%q,"seq":%d,"duplicate":true}`, l.name, known)
	}
	if want := m.Header.Get(nats.ExpectedLastSubjSeqHdr); want != "" && want != strconv.FormatUint(l.last[m.Subject], 10) {
		return fmt.Sprintf(`{"stream":%q,"seq":0,"error":{"code":400,"err_code":10071,"description":"wrong last sequence: %d"}}`, l.name, l.last[m.Subject])
	}
	kept := Stored{Subject: m.Subject, Header: m.Header, Data: m.Data, Sequence: uint64(len(l.messages) + 1), Time: now}
	l.messages = append(l.messages, kept)
	l.last[m.Subject], l.ids[id] = kept.Sequence, kept.Sequence
	s.OnStore(l.name, kept)
	return fmt.Sprintf(`{"stream":%q,"seq":%d}`, l.name, kept.Sequence)
}

// api answers the requests that the program makes of a server.
func (s *Server) api(m *nats.Msg) string {
	words := strings.Split(strings.TrimPrefix(m.Subject, "$JS.API."), ".")
	switch strings.Join(words[:2], ".") {
	case "STREAM.INFO":
		return fmt.Sprintf(`{"type":"io.nats.jetstream.api.v1.stream_info_response","config":{"name":%q,"max_msgs_per_subject":1,"allow_atomic":false},"created":"2026-01-01T00:00:00Z","state":{}}`, words[2])
	case "STREAM.MSG":
		return s.lastOf(words[3], m.Data)
	case "CONSUMER.INFO":
		return fmt.Sprintf(`{"stream_name":"TAP","name":%q,"created":"2026-01-01T00:00:00Z","config":{},"num_ack_pending":%d}`, words[3], len(s.consumer(words[3]).pending))
	case "CONSUMER.RESET":
		s.consumer(words[3]).reset()
		return fmt.Sprintf(`{"stream_name":"TAP","name":%q,"created":"2026-01-01T00:00:00Z","config":{},"reset_seq":1}`, words[3])
	case "CONSUMER.CREATE":
		return fmt.Sprintf(`{"stream_name":"TAP","name":%q,"created":"2026-01-01T00:00:00Z","config":{}}`, words[3])
	}
	return `{"error":{"code":404,"err_code":10000,"description":"not simulated"}}`
}

func (s *Server) lastOf(stream string, data []byte) string {
	var ask struct {
		LastFor string `json:"last_by_subj"`
	}
	l := s.logs[stream]
	if err := json.Unmarshal(data, &ask); err != nil || l == nil || l.last[ask.LastFor] == 0 {
		return `{"error":{"code":404,"err_code":10037,"description":"no message found"}}`
	}
	m := l.messages[l.last[ask.LastFor]-1]
	text, _ := json.Marshal(map[string]any{"message": map[string]any{"subject": m.Subject, "seq": m.Sequence, "data": m.Data, "time": m.Time}})
	return string(text)
}

// Inject puts a message into a stream, as someone else might.
func (s *Server) Inject(m *nats.Msg) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.store(m)
	s.push()
}

// Close ends all connections.
func (s *Server) Close() {
	s.mutex.Lock()
	links := s.links
	s.down, s.links = true, map[*link]bool{}
	s.mutex.Unlock()
	for l := range links {
		l.cut()
	}
}
