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
