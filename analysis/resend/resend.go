// Package resend sends recorded requests again, to one server or to two, and says where their answers first differ.
//
// All that was left to chance in a request is taken out of it: it is sent with temperature 0 and a fixed seed, and asks
// for the log probability of each token.
package resend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/producers/requests"
)

// Config says how requests are sent.
type Config struct {
	Servers   []string // addresses as http://localhost:30000: one, or two whose answers are compared
	Recorded  bool     // at the pace of the recording, not one after the other
	Seed      int64
	Timeout   time.Duration // of one answer
	Logprobs  bool          // ask for the log probability of each token
	Model     string        // takes the place of the model that a request names; empty leaves it
	Token     string        // of a server that wants one; empty for none
	MostAtAll int           // requests under way at the pace of the recording
}

// DefaultConfig is one after the other, with patience.
func DefaultConfig() Config {
	return Config{Timeout: 10 * time.Minute, Logprobs: true, MostAtAll: 256}
}

const mostServers = 2

// Validate says what is wrong with it.
func (c *Config) Validate() error {
	switch {
	case len(c.Servers) == 0 || len(c.Servers) > mostServers:
		return fmt.Errorf("%d servers, want one or two", len(c.Servers))
	case len(c.Servers) == mostServers && c.Servers[0] == c.Servers[1]:
		return fmt.Errorf("both servers are %s: answers are compared between two", c.Servers[0])
	case c.Timeout <= 0:
		return fmt.Errorf("a time of %v for an answer, want more than 0", c.Timeout)
	case c.MostAtAll <= 0:
		return fmt.Errorf("%d requests under way, want at least one", c.MostAtAll)
	}
	for _, server := range c.Servers {
		at, err := url.Parse(server)
		if err != nil {
			return fmt.Errorf("address of a server: %w", err)
		}
		if at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
			return fmt.Errorf("address of a server %q: want one as http://localhost:30000", server)
		}
	}
	return nil
}

// Exchange is a request that was sent again, and what came of it.
type Exchange struct {
	Request requests.Recorded
	Replies []Reply // of each server
}

// errDown ends the sending, as a server cannot be reached any more.
var errDown = errors.New("a server is down")

// Run sends requests that have a body, in their order, and returns what came of each. A server that cannot be reached
// ends it: the rest is not sent. Progress is told how many are done.
func Run(ctx context.Context, cfg Config, all []requests.Recorded, progress func(done, all int64)) ([]Exchange, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:errcheck // it is one
	transport.DisableKeepAlives = true                           // a server that stood still has forgotten its connections
	defer transport.CloseIdleConnections()
	s := &sending{Config: cfg, client: &http.Client{Transport: transport}, exchanges: make([]Exchange, len(all)), progress: progress}
	for i := range all {
		s.exchanges[i] = Exchange{Request: all[i], Replies: make([]Reply, len(cfg.Servers))}
	}
	err := s.run(ctx)
	if errors.Is(err, errDown) {
		err = nil
	}
	return s.exchanges, err
}

// sending is the sending of all requests.
type sending struct {
	Config
	client    *http.Client
	exchanges []Exchange
	progress  func(done, all int64)
	done      atomic.Int64
	telling   sync.Mutex
}

func (s *sending) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.atOnce())
	begun := time.Now() //nolint:forbidigo // the pace of the recording, which decides nothing
	for i := range s.exchanges {
		if s.Recorded && s.wait(ctx, begun, i) != nil {
			break
		}
		group.Go(func() error { return s.exchange(ctx, &s.exchanges[i]) })
		if ctx.Err() != nil {
			break
		}
	}
	return group.Wait()
}

func (s *sending) atOnce() int {
	if s.Recorded {
		return s.MostAtAll
	}
	return 1
}

// wait waits until the request's time, counted from the first one's.
func (s *sending) wait(ctx context.Context, begun time.Time, i int) error {
	first, at := s.exchanges[0].Request.AtNs, s.exchanges[i].Request.AtNs
	timer := time.NewTimer(time.Until(begun.Add(time.Duration(at - first))))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// exchange asks all servers at the same time.
func (s *sending) exchange(ctx context.Context, e *Exchange) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	body, err := s.rewrite(e.Request.Route, e.Request.Body)
	if err != nil {
		for i := range e.Replies {
			e.Replies[i] = Reply{State: Refused, Said: err.Error()}
		}
		return nil
	}
	var group errgroup.Group
	for i, server := range s.Servers {
		group.Go(func() error {
			e.Replies[i] = s.ask(ctx, strings.TrimRight(server, "/")+e.Request.Route, body)
			return nil
		})
	}
	_ = group.Wait() // a reply says what failed
	s.tell()
	for i := range e.Replies {
		if e.Replies[i].State == Down {
			return errDown
		}
	}
	return ctx.Err()
}

func (s *sending) tell() {
	s.telling.Lock()
	defer s.telling.Unlock()
	s.progress(s.done.Add(1), int64(len(s.exchanges)))
}
