package system

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/tensortap/tensortap/pipelines"
)

// TestWhatTheServerHadNoTimeForIsDoneAgain has a server take too long twice, and then refuse for good.
func TestWhatTheServerHadNoTimeForIsDoneAgain(t *testing.T) {
	t.Parallel()
	late := fmt.Errorf("prepare bucket tap_runs: %w", context.DeadlineExceeded)
	var told []error
	answers := []error{late, late, nil}
	next := func() error {
		answer := answers[0]
		answers = answers[1:]
		return answer
	}
	tell := func(err error) { told = append(told, err) }
	if err := unhurried(t.Context(), tell, next); err != nil || len(answers) != 0 || len(told) != 3 || !errors.Is(told[1], late) || told[2] != nil {
		t.Errorf("%v; %d answers are left, told %v", err, len(answers), told)
	}
	answers = []error{late, pipelines.ErrTooFewServers, nil}
	if err := unhurried(t.Context(), tell, next); !errors.Is(err, pipelines.ErrTooFewServers) {
		t.Errorf("%v, want what the server refuses", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	answers = []error{late}
	if err := unhurried(stopped, tell, next); !errors.Is(err, late) {
		t.Errorf("%v, want to end with who is stopped", err)
	}
}

func TestTheStreamIsGivenNoMoreThanTheDiskHas(t *testing.T) {
	t.Parallel()
	const gigabyte = 1_000_000_000
	for name, c := range map[string]struct{ size, free, has, want int64 }{
		"large":              {4000 * gigabyte, 3000 * gigabyte, 0, 50 * gigabyte},
		"middling":           {100 * gigabyte, 60 * gigabyte, 0, 10 * gigabyte},
		"nearly full":        {100 * gigabyte, 6 * gigabyte, 0, 3 * gigabyte},
		"filled by it":       {100 * gigabyte, gigabyte, 9 * gigabyte, 9 * gigabyte},
		"partly filled":      {100 * gigabyte, 6 * gigabyte, 2 * gigabyte, 4 * gigabyte},
		"as good as full":    {100 * gigabyte, 0, 0, leastStream},
		"as small as a disk": {2 * gigabyte, gigabyte, 0, 2 * gigabyte / 10},
	} {
		if got := streamShare(c.size, c.free, c.has); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
