package system

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/logs"
	"github.com/tensortap/tensortap/producers/follow"
	"github.com/tensortap/tensortap/schemas"
)

const (
	launchesLook   = 500 * time.Millisecond // how often launches are looked for
	launchesFailed = 5 * time.Second        // pause before one is followed again that could not be
)

// spoken publishes what processes below `tensortap run` print, whoever ran that on the data folder of this host.
type spoken struct {
	client    *Client
	request   ServeRequest
	host      string
	publisher func() (closingPublisher, error)
	known     map[logs.Launch]time.Time // when each is looked at again; never, where the time is zero
	ended     chan ending
}

type closingPublisher interface {
	follow.Publisher
	Close()
}

// ending is how the following of a launch ended.
type ending struct {
	launch logs.Launch
	again  bool
	err    error
}

// followLaunches goes on until ctx ends.
func (c *Client) followLaunches(ctx context.Context, r ServeRequest) error { //nolint:gocritic // as Serve has it
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	p := &publishing{client: c, request: PublishRequest{Waiting: r.Waiting}}
	s := &spoken{client: c, request: r, host: host, known: map[logs.Launch]time.Time{}, ended: make(chan ending)}
	s.publisher = func() (closingPublisher, error) { return p.newPublisher() }
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { s.run(ctx, group); return nil })
	return group.Wait()
}

func (s *spoken) run(ctx context.Context, group *errgroup.Group) {
	ticker := time.NewTicker(launchesLook)
	defer ticker.Stop()
	for {
		s.begin(ctx, group)
		select {
		case <-ctx.Done():
			return
		case e := <-s.ended:
			s.note(e)
		case <-ticker.C:
		}
	}
}

// begin follows launches that nobody is known to follow.
func (s *spoken) begin(ctx context.Context, group *errgroup.Group) {
	launches, _ := filepath.Glob(filepath.Join(string(s.client.Endpoint.Folder), "logs", "*", "*")) // the pattern is good, if no folder has a star
	for _, path := range launches {
		launch := logs.Launch(path)
		if at, known := s.known[launch]; known && (at.IsZero() || s.client.now().Before(at)) {
			continue
		}
		if s.known[launch] = (time.Time{}); !launch.Begun() || follow.Done(follow.StateOf(launch)) {
			if !launch.Begun() {
				delete(s.known, launch) // it may be about to
			}
			continue
		}
		group.Go(func() error {
			again, err := s.follow(ctx, launch)
			select {
			case s.ended <- ending{launch, again, err}:
			case <-ctx.Done():
			}
			return nil
		})
	}
}

func (s *spoken) note(e ending) {
	if e.err != nil {
		s.request.Tell(fmt.Sprintf("not all that is printed is published, of %s: %v", e.launch, e.err))
	}
	if e.again || e.err != nil {
		s.known[e.launch] = s.client.now().Add(launchesFailed)
	}
}

func (s *spoken) follow(ctx context.Context, launch logs.Launch) (held bool, err error) {
	run, err := strconv.ParseUint(filepath.Base(filepath.Dir(string(launch))), 16, 64)
	if err != nil {
		return false, nil //nolint:nilerr // no folder of ours
	}
	publisher, err := s.publisher()
	if err != nil {
		return false, err
	}
	defer publisher.Close()
	return follow.Run(ctx, follow.Launch(follow.Config{RunID: run, Host: s.host, Publisher: publisher, Now: s.client.now}, launch))
}

// Following says which files of lines are followed, and of which run they are.
type Following struct {
	Patterns []string
	Run      string
}

// followFiles goes on until ctx ends.
func (c *Client) followFiles(ctx context.Context, r ServeRequest) error { //nolint:gocritic // as Serve has it
	if len(r.Follow.Patterns) == 0 {
		return nil
	}
	cfg, err := c.following(r.Follow)
	if err != nil {
		return err
	}
	p := &publishing{client: c, request: PublishRequest{Waiting: r.Waiting}}
	publisher, err := p.newPublisher()
	if err != nil {
		return err
	}
	defer publisher.Close()
	cfg.Publisher = publisher
	held, err := follow.Run(ctx, cfg)
	if held {
		err = fmt.Errorf("follow the files of run %s: another agent on this data folder does", r.Follow.Run)
	}
	return err
}

func (c *Client) following(f Following) (follow.Config, error) {
	if err := schemas.CheckRunName(f.Run); err != nil {
		return follow.Config{}, fmt.Errorf("name of run %q: %w", f.Run, err)
	}
	host, err := os.Hostname()
	if err != nil {
		return follow.Config{}, err
	}
	run := schemas.RunID(f.Run)
	folder := filepath.Join(string(c.Endpoint.Folder), "followed")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return follow.Config{}, err
	}
	cfg := follow.Config{State: filepath.Join(folder, schemas.FormatID(run)), RunID: run, Host: host, Now: c.now}
	patterns := make([]string, len(f.Patterns))
	for i, pattern := range f.Patterns {
		if patterns[i], err = filepath.Abs(pattern); err != nil {
			return cfg, err
		}
	}
	return follow.Patterns(cfg, patterns)
}

const (
	spokenPatience = time.Minute
	spokenAfter    = 3 * time.Second // for which processes are waited for that outlive their launcher
)

// WaitSpoken waits until what the processes of a launch that has ended have printed is in the stream, but not for those
// that outlive it.
func WaitSpoken(ctx context.Context, launch logs.Launch) error {
	outlived := time.Now().Add(spokenAfter) //nolint:forbidigo // as long as people wait
	patience := time.NewTimer(spokenPatience)
	defer patience.Stop()
	for {
		if _, err := os.Stat(string(launch)); err != nil || follow.Done(follow.StateOf(launch)) {
			return nil //nolint:nilerr // it was removed: nothing was printed
		}
		if time.Now().After(outlived) && launch.Outlived() { //nolint:forbidigo // as above
			return nil
		}
		select {
		case <-time.After(publishedLook):
		case <-patience.C:
			return fmt.Errorf("publish what the processes printed: not all of %s is in the stream yet; an agent goes on with it: tensortap agent", launch)
		case <-ctx.Done():
			return fmt.Errorf("publish what the processes printed: %w; an agent goes on with it: tensortap agent", context.Cause(ctx))
		}
	}
}
