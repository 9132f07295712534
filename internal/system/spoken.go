package system

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/logs"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/producers/follow"
	"github.com/tensortap/tensortap/schemas"
)

const (
	launchesLook   = 500 * time.Millisecond // how often launches are looked for
	launchesFailed = 5 * time.Second        // pause before one is followed again that could not be
)

// spoken publishes what is written in files that come and go: what processes below `tensortap run` print, whoever ran that
// on the data folder of this host, and records of logging beside the spools.
type spoken struct {
	client    *Client
	tell      func(string)
	host      string
	publisher func() (closingPublisher, error)
	list      func() []string
	begun     func(path string) bool // there may be something to follow
	config    func(cfg follow.Config, path string) (follow.Config, error)
	whole     func(path string) error // all is published of it

	known map[string]time.Time // when each is looked at again; never, where the time is zero
	ended chan ending
}

type closingPublisher interface {
	follow.Publisher
	Close()
}

// ending is how the following of a path ended.
type ending struct {
	path  string
	again bool
	err   error
}

// followLaunches goes on until ctx ends.
func (c *Client) followLaunches(ctx context.Context, r ServeRequest) error { //nolint:gocritic // as Serve has it
	s := &spoken{client: c, tell: r.Tell}
	s.list = func() []string {
		found, _ := filepath.Glob(filepath.Join(string(c.Endpoint.Folder), "logs", "*", "*")) // a good pattern, if no folder has a star
		return found
	}
	s.begun = func(path string) bool { return logs.Launch(path).Begun() }
	s.config = func(cfg follow.Config, path string) (follow.Config, error) {
		var err error
		cfg.RunID, err = strconv.ParseUint(filepath.Base(filepath.Dir(path)), 16, 64)
		return follow.Launch(cfg, logs.Launch(path)), err
	}
	s.whole = func(string) error { return nil }
	return s.run(ctx, r)
}

// followRecords goes on until ctx ends. Records are of the rank that their process was given, once it is.
func (c *Client) followRecords(ctx context.Context, r ServeRequest, serving *agent.Agent) error { //nolint:gocritic // as Serve has it
	s := &spoken{client: c, tell: r.Tell}
	s.list = func() []string { return records(r.Spool) }
	s.begun = func(path string) bool {
		_, known := serving.RankOf(folderOfRecords(path))
		_, err := os.Stat(filepath.Join(r.Spool, folderOfRecords(path)))
		return (known || err != nil) && follow.RunOfRecords(path) != ""
	}
	s.config = func(cfg follow.Config, path string) (follow.Config, error) {
		cfg, err := follow.Records(cfg, path)
		if rank, known := serving.RankOf(folderOfRecords(path)); known {
			cfg.Rank = &rank
		}
		return cfg, err
	}
	s.whole = func(path string) error {
		return errors.Join(os.Remove(path), os.Remove(path+".published"))
	}
	return s.run(ctx, r)
}

// records are the files of records of logging beside the spools.
func records(spool string) []string {
	found, _ := filepath.Glob(filepath.Join(spool, follow.RecordsPattern))
	return found
}

// folderOfRecords is the name of the process's folder that the file is beside.
func folderOfRecords(path string) string {
	folder, _, _ := strings.Cut(filepath.Base(path), ".")
	return folder
}

func (s *spoken) run(ctx context.Context, r ServeRequest) error { //nolint:gocritic // as Serve has it
	var err error
	if s.host, err = os.Hostname(); err != nil {
		return err
	}
	p := &publishing{client: s.client, request: PublishRequest{Waiting: r.Waiting}}
	s.publisher = func() (closingPublisher, error) { return p.newPublisher() }
	s.known, s.ended = map[string]time.Time{}, make(chan ending)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { s.look(ctx, group); return nil })
	return group.Wait()
}

func (s *spoken) look(ctx context.Context, group *errgroup.Group) {
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

// begin follows what nobody is known to follow.
func (s *spoken) begin(ctx context.Context, group *errgroup.Group) {
	for _, path := range s.list() {
		if at, known := s.known[path]; known && (at.IsZero() || s.client.now().Before(at)) || !s.begun(path) {
			continue
		}
		s.known[path] = time.Time{}
		group.Go(func() error {
			again, err := s.follow(ctx, path)
			select {
			case s.ended <- ending{path, again, err}:
			case <-ctx.Done():
			}
			return nil
		})
	}
}

func (s *spoken) note(e ending) {
	if e.err != nil {
		s.tell(fmt.Sprintf("not all that is written is published, of %s: %v", e.path, e.err))
	}
	if e.again || e.err != nil {
		s.known[e.path] = s.client.now().Add(launchesFailed)
	}
}

func (s *spoken) follow(ctx context.Context, path string) (held bool, err error) {
	cfg, err := s.config(follow.Config{Host: s.host, Now: s.client.now}, path)
	if err != nil {
		return false, err
	}
	if !follow.Done(cfg.State) {
		publisher, err := s.publisher()
		if err != nil {
			return false, err
		}
		defer publisher.Close()
		cfg.Publisher = publisher
		if held, err := follow.Run(ctx, cfg); held || err != nil || !follow.Done(cfg.State) {
			return held, err
		}
	}
	return false, s.whole(path)
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

// WaitRecords waits until records of logging of the run's processes that are gone are in the stream.
func WaitRecords(ctx context.Context, spool, run string) error {
	patience := time.NewTimer(spokenPatience)
	defer patience.Stop()
	for {
		left := slices.DeleteFunc(records(spool), func(path string) bool { return follow.RunOfRecords(path) != run || follow.IsWritten(path) })
		if len(left) == 0 {
			return nil
		}
		select {
		case <-time.After(publishedLook):
		case <-patience.C:
			return fmt.Errorf("publish records of logging: %s of %s %s not in the stream yet; an agent goes on with them: tensortap agent",
				plural.Of(len(left), "file"), spool, plural.Verb(len(left), "is", "are"))
		case <-ctx.Done():
			return fmt.Errorf("publish records of logging: %w; an agent goes on with it: tensortap agent", context.Cause(ctx))
		}
	}
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
			return nil // or it was removed: nothing was printed
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
