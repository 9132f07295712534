package system

import (
	"context"
	"fmt"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/msprobe"
	"github.com/tensortap/tensortap/schemas"
)

// PublishRequest says what to publish as which run.
type PublishRequest struct {
	Path    string
	Run     string
	Labels  map[string]string
	Replace bool // other content of the same run, step and rank takes the place of what is there
	// Waiting is told why the stream takes nothing, as often as that is found,
	// and nil when it does again. It may be nil; calls may overlap.
	Waiting func(error)
}

// validate refuses bytes that are no text, which readers of the archive refuse in turn.
func (r PublishRequest) validate() error {
	if err := schemas.CheckRunName(r.Run); err != nil && r.Run != "" { // labels alone are checked for baselines
		return fmt.Errorf("name of run %q: %w", r.Run, err)
	}
	for name, value := range r.Labels {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return fmt.Errorf("label %q=%q is not UTF-8", name, value)
		}
	}
	return nil
}

// PublishResult is what came of it.
type PublishResult struct {
	Run          string
	Dumps        int      // steps of ranks that were found
	Already      int      // of those, published before with the same content, and stored
	Again        int      // of those, published before and lost by the tables since
	Unchecked    error    // why it is not known whether the tables hold those that were published before
	Messages     int64    // acknowledged by the stream
	Rows         int64    // of the dumps; definitions that several of them share are sent once
	Oversized    int64    // messages that no stream takes, put aside as dead letters
	Refused      Refused  // by the stores
	Unconfirmed  error    // why it is not known what the tables took
	Problems     []string // what could not be read, the first ones
	ProblemCount int
}

// readers is how many dumps are read at a time.
const readers = 2

// Publish publishes every dump of the tool that the path leads to, and
// returns when the stream has acknowledged all of it. After an error it can be
// called again: what is there already is not published twice.
func (c *Client) Publish(ctx context.Context, tool producers.Tool, r PublishRequest, progress func(done, all int64)) (PublishResult, error) {
	if err := r.validate(); err != nil {
		return PublishResult{}, err
	}
	found, err := tool.Find(r.Path)
	if err != nil {
		return PublishResult{}, err
	}
	job := &publishing{client: c, request: r, found: found, progress: progress}
	job.result = PublishResult{Run: r.Run, Dumps: len(found.Dumps)}
	job.note(found.Problems)
	if err := job.run(ctx); err != nil {
		return job.result, fmt.Errorf("publish %s as run %s: %w", r.Path, r.Run, err)
	}
	return job.result, nil
}

// publishing is the publishing of one path.
type publishing struct {
	client   *Client
	request  PublishRequest
	found    producers.Found
	progress func(done, all int64)

	publisher *pipelines.Publisher
	bucket    *pipelines.Claims
	parcel    *parcel
	sources   []producers.Source
	claims    []pipelines.Claim
	epochs    map[uint64]bool // of all that was found
	rows      atomic.Int64
	read      atomic.Int64
	all       int64
	result    PublishResult
}

func (p *publishing) run(ctx context.Context) error {
	var err error
	if p.publisher, err = p.newPublisher(); err != nil {
		return err
	}
	defer p.publisher.Close()
	p.parcel = newParcel(p.publisher)
	if err := p.open(ctx); err != nil {
		return err
	}
	if err := p.describe(ctx); err != nil {
		return err
	}
	group, readCtx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for i := range p.sources {
		group.Go(func() error { return p.publish(readCtx, i) })
	}
	err = group.Wait()
	if err == nil {
		err = p.finish(ctx, p.parcel.rest())
	}
	for _, s := range p.sources {
		p.note(s.Problems())
	}
	count := p.publisher.Metrics().Snapshot()
	p.result.Messages, p.result.Rows = count.Published+count.Duplicates, p.rows.Load()
	p.result.Oversized = count.DeadLetters
	if err != nil {
		return err
	}
	if err := p.checkAgain(ctx); err != nil {
		return err
	}
	p.confirm(ctx)
	return nil
}

// reader adds the progress of one source to that of all.
func (p *publishing) reader() func(int64) {
	var before int64
	return func(read int64) {
		p.progress(p.read.Add(read-before), p.all)
		before = read
	}
}

// describe publishes what is known of the run as a whole.
func (p *publishing) describe(ctx context.Context) error {
	if known, err := p.describedBetter(ctx); known || err != nil {
		return err
	}
	row := p.found.Describe(p.request.Run, p.found.Labels(p.request.Labels))
	message, err := msprobe.RunMessage(&row)
	if err != nil {
		return err
	}
	if err := p.publisher.Publish(ctx, message); err != nil {
		return err
	}
	return p.publisher.Flush(ctx)
}

// describedBetter says whether the run is recorded and only something beside it is published.
func (p *publishing) describedBetter(ctx context.Context) (bool, error) {
	for i := range p.found.Dumps {
		if !p.found.Dumps[i].Beside {
			return false, nil
		}
	}
	ranks, err := p.client.RecordedRanks(ctx, p.request.Run)
	return ranks > 0, err
}

// publish reads a dump. What it becomes leaves with its parcel.
func (p *publishing) publish(ctx context.Context, i int) error {
	for message, err := range p.sources[i].Content.Batches(ctx) {
		if err != nil {
			return err
		}
		if err := p.parcel.add(ctx, message); err != nil {
			return err
		}
		p.rows.Add(int64(message.Header.Rows))
	}
	return p.finish(ctx, p.parcel.whole(i, p.sources[i].Bytes))
}

func (p *publishing) note(problems producers.Problems) {
	p.result.Problems = append(p.result.Problems, problems.First...)
	p.result.ProblemCount += problems.Count
}
