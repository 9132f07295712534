package jobs

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// Verdict is the answer to a comparison.
type Verdict string

// The verdicts, the best first.
const (
	Same    Verdict = "same"
	Differs Verdict = "differs"
	Unknown Verdict = "unknown" // nothing can be said
	Failed  Verdict = "error"   // the comparison itself could not be made
	Skipped Verdict = "skipped" // it was judged before, and was not asked for again
)

// Outcome is the answer to one comparison.
type Outcome struct {
	Verdict Verdict
	Because string   // why nothing can be said
	Origins []Origin // where it began; empty where nothing differs
	Counts  Counts
	Report  string // the answer as compare prints it

	Warnings []string // what could not be read, or matched, as it should
}

// Origin is a place where a difference began.
type Origin struct {
	Rank      uint32
	Step      uint32
	Op        string
	Module    string // path of the module; may be empty
	Role      string
	Path      string
	Kind      string // parameter, argument, data, computed or operation
	Verdict   string // of the pair of tensors
	Error     float64
	Tolerance float64
}

// Counts are of tensors and other arguments.
type Counts struct {
	Paired, OnlyProblem, OnlyBench, Unknown, Differing uint64
}

// Result is a pair with its outcome.
type Result struct {
	Pair
	Outcome
	Err     error // why there is no outcome
	Elapsed time.Duration
}

// Config says how pairs are run.
type Config struct {
	Parallel int              // how many at the same time, at least 1
	Now      func() time.Time // the clock that comparisons are timed by
}

// Run compares all pairs, in their order, some at the same time. A pair that fails does not stop the others; once ctx
// ends, the remaining ones fail.
func Run(ctx context.Context, pairs []Pair, cfg Config, compare func(context.Context, Pair) (Outcome, error)) []Result {
	results := make([]Result, len(pairs))
	var group errgroup.Group
	group.SetLimit(max(1, cfg.Parallel))
	for i, pair := range pairs {
		group.Go(func() error {
			results[i] = run(ctx, pair, cfg, compare)
			return nil
		})
	}
	_ = group.Wait() // no function of it fails
	return results
}

func run(ctx context.Context, pair Pair, cfg Config, compare func(context.Context, Pair) (Outcome, error)) Result {
	r := Result{Pair: pair, Err: pair.Fault}
	if r.Err == nil {
		r.Err = ctx.Err()
	}
	if r.Err == nil {
		began := cfg.Now()
		r.Outcome, r.Err = compare(ctx, pair)
		r.Elapsed = cfg.Now().Sub(began)
	}
	if r.Err != nil {
		r.Verdict = Failed
	}
	return r
}

// Status is the exit status of all: that of the worst, 2 where there is none.
func Status(results []Result) int {
	if len(results) == 0 {
		return statusUnknown
	}
	worst := 0
	for i := range results {
		worst = max(worst, results[i].status())
	}
	return worst
}

const statusUnknown = 2

func (r *Result) status() int {
	switch r.Verdict {
	case Same, Skipped:
		return 0
	case Differs:
		return 1
	case Unknown, Failed:
	}
	return statusUnknown
}

// Summary says in one line how many pairs came out how.
func Summary(results []Result) string {
	counts := map[Verdict]int{}
	for i := range results {
		counts[results[i].Verdict]++
	}
	summary := fmt.Sprintf("%d compared: %d same, %d differ, %d unknown, %d failed",
		len(results)-counts[Skipped], counts[Same], counts[Differs], counts[Unknown], counts[Failed])
	if counts[Skipped] > 0 {
		summary += fmt.Sprintf("; %d skipped", counts[Skipped])
	}
	return summary
}
