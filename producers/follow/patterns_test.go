package follow_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/producers/follow"
)

// texts are all lines, sorted.
func (s *stream) texts() (all []string) {
	for _, row := range s.rows() {
		all = append(all, row.Text)
	}
	slices.Sort(all)
	return all
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		_, err = file.WriteString(text)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestFilesThatMatchAreFollowedThroughRotationTruncationAndRestart(t *testing.T) {
	t.Parallel()
	s, folder := newStream(t), t.TempDir()
	log := filepath.Join(folder, "a.log")
	cfg, err := follow.Patterns(follow.Config{State: filepath.Join(folder, "state"), RunID: 1, Publisher: s, Now: time.Now}, []string{filepath.Join(folder, "*.log")})
	if err != nil {
		t.Fatal(err)
	}
	run := func(until ...string) {
		t.Helper()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		done := make(chan error, 1)
		go func() { _, err := follow.Run(ctx, cfg); done <- err }()
		await(t, func() bool { return slices.Equal(s.texts(), until) })
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	appendTo(t, log, "1 first\n2 seco")
	run("1 first")
	appendTo(t, log, "nd\n")
	if err := os.Rename(log, log+".1"); err != nil { // before its last line was read
		t.Fatal(err)
	}
	appendTo(t, log, "3 of the next\n")
	appendTo(t, filepath.Join(folder, "b.log"), "4 of another\n")
	run("1 first", "2 second", "3 of the next", "4 of another")
	if err := os.Truncate(log, 0); err != nil {
		t.Fatal(err)
	}
	appendTo(t, log, "5 anew\n")
	run("1 first", "2 second", "3 of the next", "4 of another", "5 anew")
}

func TestWhatWasTruncatedUnreadIsCounted(t *testing.T) {
	t.Parallel()
	s, folder := newStream(t), t.TempDir()
	log := filepath.Join(folder, "a.log")
	appendTo(t, log, "first\n"+strings.Repeat("x", 100))
	cfg, err := follow.Patterns(follow.Config{State: filepath.Join(folder, "state"), RunID: 1, Publisher: s, Now: time.Now}, []string{log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	done := make(chan error, 1)
	go func() { _, err := follow.Run(ctx, cfg); done <- err }()
	await(t, func() bool { return len(s.texts()) == 1 }) // the same look has seen the half line behind it
	if err := os.Truncate(log, 0); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool {
		return slices.ContainsFunc(s.texts(), func(text string) bool { return strings.Contains(text, "100 bytes of a.log are lost") })
	})
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestALinesOwnTimeAndRankAreTaken(t *testing.T) {
	t.Parallel()
	s, folder := newStream(t), t.TempDir()
	log := filepath.Join(folder, "a.log")
	appendTo(t, log, "[2026-01-02T03:04:05Z TP3] text\n")
	cfg, err := follow.Patterns(follow.Config{State: filepath.Join(folder, "state"), RunID: 1, Publisher: s, Now: time.Now}, []string{log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	done := make(chan error, 1)
	go func() { _, err := follow.Run(ctx, cfg); done <- err }()
	await(t, func() bool { return len(s.texts()) == 1 })
	stop()
	row := s.rows()[0]
	if err := <-done; err != nil || row.TimeBasis != "line" || row.EventTimeNs != time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano() || fmt.Sprint(row.Fields) != "map[rank:3]" {
		t.Errorf("%v %+v", err, row)
	}
}
