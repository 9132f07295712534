package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// rounds is one figure measured several times.
type rounds []float64

func (r rounds) sorted() rounds {
	s := slices.Clone(r)
	slices.Sort(s)
	return s
}

func (r rounds) median() float64 {
	s := r.sorted()
	if len(s) == 0 {
		return 0
	}
	return (s[len(s)/2] + s[(len(s)-1)/2]) / 2
}

// quantile is the value that this share of all does not exceed.
func (r rounds) quantile(share float64) float64 {
	s := r.sorted()
	if len(s) == 0 {
		return 0
	}
	return s[min(len(s)-1, int(share*float64(len(s))))]
}

func (r rounds) least() float64    { return slices.Min(r) }
func (r rounds) greatest() float64 { return slices.Max(r) }

// span is the least and the greatest, in the form that the median is shown in.
func (r rounds) span(form func(float64) string) string {
	if len(r) < 2 {
		return "one round"
	}
	return form(r.least()) + " to " + form(r.greatest())
}

// atMost is a figure that should not exceed its mark (0 for none).
func (r rounds) atMost(what string, mark float64, form func(float64) string) figure {
	f := figure{what: what, value: form(r.median()), detail: r.span(form)}
	if mark > 0 {
		f.mark, f.met = "at most "+form(mark), r.median() <= mark
	}
	return f
}

// atLeast is a figure that should reach its mark (0 for none).
func (r rounds) atLeast(what string, mark float64, form func(float64) string) figure {
	f := figure{what: what, value: form(r.median()), detail: r.span(form)}
	if mark > 0 {
		f.mark, f.met = "at least "+form(mark), r.median() >= mark
	}
	return f
}

// Forms of a figure.
func thousandsPerSecond(v float64) string { return fmt.Sprintf("%.0f k events/s", v/1e3) }
func seconds(v float64) string            { return fmt.Sprintf("%.2f s", v) }
func milliseconds(v float64) string       { return fmt.Sprintf("%.0f ms", v*1e3) }
func bytesEach(v float64) string          { return fmt.Sprintf("%.1f B", v) }
func share(v float64) string              { return fmt.Sprintf("%.0f %%", v*100) }
func times(v float64) string              { return fmt.Sprintf("%.1f×", v) }

// elapsed is how long a call takes, in seconds.
func elapsed(call func() error) (float64, error) {
	begin := time.Now()
	err := call()
	return time.Since(begin).Seconds(), err
}

// repeat collects the figure of each round.
func repeat(ctx context.Context, n int, round func() (float64, error)) (rounds, error) {
	var all rounds
	for range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v, err := round()
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// take adds to the rounds how long a call takes.
func take(to *rounds, call func() error) error {
	took, err := elapsed(call)
	*to = append(*to, took)
	return err
}

// megabytes has a digit behind the point where that says something.
func megabytes(v float64) string {
	if v < 20e6 {
		return fmt.Sprintf("%.1f MB", v/1e6)
	}
	return fmt.Sprintf("%.0f MB", v/1e6)
}
