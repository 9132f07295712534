package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/tensortap/tensortap/internal/dev/processes"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// published is what the publishing of a dump took.
type published struct{ took, messages, peak rounds }

// measureRanks publishes one dump of many small ranks, by turns with the program as it was before.
func measureRanks(ctx context.Context, e *env) (section, error) {
	var s section
	ranks := e.pick(2000, 200)
	dump := filepath.Join(e.folder, "ranks")
	if err := recorded.WriteRanks(dump, ranks); err != nil {
		return s, err
	}
	var now, before published
	for round := range e.rounds {
		err := e.publishRanks(ctx, e.binary, dump, round, &now)
		if err == nil && e.before != "" {
			err = e.publishRanks(ctx, e.before, dump, e.rounds+round, &before)
		}
		if err != nil {
			return s, err
		}
		e.say("published in %s", seconds(now.took[round]))
	}
	mark := 20.0
	if e.quick {
		mark = 0
	}
	s.add(now.took.atMost(fmt.Sprintf("`publish` of a dump of %d ranks", ranks), mark, seconds))
	s.add(now.messages.atMost("its messages", 0, whole))
	s.add(now.peak.atMost("most memory of the publisher (PSS)", 0, megabytes))
	if e.before != "" {
		s.add(before.took.atMost("the same before", 0, seconds))
		s.add(before.messages.atMost("its messages before", 0, whole))
		s.add(before.peak.atMost("most memory of the publisher before (PSS)", 0, megabytes))
	}
	s.note("Each rank has %d tensors of the same ops, and values of its own. Each round has a system of its own, which stores meanwhile.", recorded.TensorsOfSmallRank)
	return s, nil
}

func whole(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }

// inMessages is the end of what `publish` says.
var inMessages = regexp.MustCompile(`in (\d+) messages`)

// publishRanks starts the program on a fresh folder, and publishes there.
func (e *env) publishRanks(ctx context.Context, program, dump string, round int, to *published) error {
	started := *e
	started.binary = program
	folder := filepath.Join(e.folder, fmt.Sprintf("ranks%d", round))
	_, err := started.up(ctx, folder, func(*exec.Cmd) error {
		var (
			peak processes.Memory
			said string
		)
		err := take(&to.took, func() (err error) {
			said, _, err = e.runs(ctx, &peak, program, "publish", "msprobe", dump, "--run", "ranks", "--data", folder)
			return err
		})
		found := inMessages.FindStringSubmatch(said)
		if err != nil || found == nil {
			return errors.Join(err, fmt.Errorf("publish: %s", said))
		}
		messages, err := strconv.ParseFloat(found[1], 64)
		to.messages, to.peak = append(to.messages, messages), append(to.peak, peak.Shared)
		return err
	})
	return err
}
