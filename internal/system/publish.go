package system

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/pipelines"
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
	if !utf8.ValidString(r.Run) {
		return fmt.Errorf("name of run %q is not UTF-8", r.Run)
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
	Dumps        int   // steps of ranks that were found
	Already      int   // of those, published before with the same content
	Messages     int64 // acknowledged by the stream
	Rows         int64
	Oversized    int64    // messages that no stream takes, put aside as dead letters
	Problems     []string // what could not be read, the first ones
	ProblemCount int
}

// readers is how many dumps are read at a time.
const readers = 2

// PublishMsprobe publishes every dump that the path leads to, and returns when
// the stream has acknowledged all of it. After an error it can be called
// again: what is there already is not published twice.
func (c *Client) PublishMsprobe(ctx context.Context, r PublishRequest, progress func(done, all int64)) (PublishResult, error) {
	if err := r.validate(); err != nil {
		return PublishResult{}, err
	}
	found, err := msprobe.Find(r.Path)
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

// publishing is one call of PublishMsprobe.
type publishing struct {
	client   *Client
	request  PublishRequest
	found    msprobe.Found
	progress func(done, all int64)

	publisher *pipelines.Publisher
	sources   []*msprobe.Source
	claims    []pipelines.Claim
	dirs      []string
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
	for i, s := range p.sources {
		p.note(inFolder(p.dirs[i], s.Problems()))
	}
	count := p.publisher.Metrics().Snapshot()
	p.result.Messages, p.result.Rows = count.Published+count.Duplicates, p.rows.Load()
	p.result.Oversized = count.DeadLetters
	return err
}

// open claims every dump before a row of any is published, so that other
// content is refused as a whole.
func (p *publishing) open(ctx context.Context) error {
	for _, dump := range p.found.Dumps {
		source, claim, err := p.claim(ctx, dump)
		if err != nil {
			return err
		}
		if claim.Done {
			p.result.Already++
			continue
		}
		p.sources, p.claims, p.dirs = append(p.sources, source), append(p.claims, claim), append(p.dirs, dump.Dir)
		p.all += source.Bytes()
	}
	return nil
}

func (p *publishing) claim(ctx context.Context, dump msprobe.Dump) (*msprobe.Source, pipelines.Claim, error) {
	options := msprobe.DefaultOptions(p.request.Run)
	options.Progress = p.reader()
	source, err := msprobe.Open(dump, options)
	if err != nil {
		return nil, pipelines.Claim{}, err
	}
	want := pipelines.ClaimRequest{
		RunID: schemas.RunID(p.request.Run), Rank: dump.Rank, Step: dump.Step,
		Content: source.Epoch(), EventTimeNs: dump.ModTimeNs, Replace: p.request.Replace,
	}
	var claim pipelines.Claim
	err = p.patiently(ctx, func() error {
		var err error
		claim, err = pipelines.MakeClaim(ctx, p.client.stream, want)
		return err
	})
	if errors.Is(err, pipelines.ErrOtherContent) {
		return nil, claim, fmt.Errorf("step %d of rank %d holds other content: %s differs from what was published; "+
			"choose another --run, or --replace what is there", dump.Step, dump.Rank, dump.Dir)
	}
	if err != nil || claim.Done {
		return source, claim, err
	}
	source.Reissue(claim.Epoch, claim.Generation, claim.EventTimeNs)
	return source, claim, nil
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
	row := msprobe.RunRow(p.found, p.request.Run, p.labels())
	message, err := msprobe.RunMessage(&row)
	if err != nil {
		return err
	}
	if err := p.publisher.Publish(ctx, message); err != nil {
		return err
	}
	return p.publisher.Flush(ctx)
}

func (p *publishing) labels() map[string]string {
	if !p.found.RanksGuessed {
		return p.request.Labels
	}
	labels := map[string]string{"ranks": "guessed"}
	maps.Copy(labels, p.request.Labels)
	return labels
}

func (p *publishing) publish(ctx context.Context, i int) error {
	for message, err := range p.sources[i].Batches(ctx) {
		if err != nil {
			return err
		}
		if err := p.publisher.Publish(ctx, message); err != nil {
			return err
		}
		p.rows.Add(int64(message.Header.Rows))
	}
	if err := p.publisher.Flush(ctx); err != nil {
		return err
	}
	return p.patiently(ctx, func() error { return p.claims[i].Finish(ctx, p.client.stream) })
}

// inFolder gives the files of problems their folder: those of every step and rank have the same names.
func inFolder(dir string, problems msprobe.Problems) msprobe.Problems {
	problems.First = slices.Clone(problems.First)
	for i, problem := range problems.First {
		if !filepath.IsAbs(problem.File) {
			problems.First[i].File = filepath.Join(dir, problem.File)
		}
	}
	return problems
}

func (p *publishing) note(problems msprobe.Problems) {
	for _, problem := range problems.First {
		p.result.Problems = append(p.result.Problems, problem.String())
	}
	p.result.ProblemCount += problems.Count
}
