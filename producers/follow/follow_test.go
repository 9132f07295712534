package follow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tensortap/tensortap/producers/follow"
	"github.com/tensortap/tensortap/schemas"
)

var errKilled = errors.New("killed")

// stream takes messages, of one id once, and may fail at some of them as if the follower were killed.
type stream struct {
	mutex    sync.Mutex
	messages map[string]schemas.Message
	calls    int
	failAt   int // call at which it fails; 0 for none
	t        *testing.T
}

func (s *stream) Publish(_ context.Context, m schemas.Message) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if before, known := s.messages[m.ID()]; known && !bytes.Equal(before.Data, m.Data) {
		s.t.Errorf("%s comes again with other content", m.ID())
	}
	s.messages[m.ID()] = m
	return s.count()
}

func (s *stream) Flush(context.Context) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.count()
}

func (s *stream) count() error {
	if s.calls++; s.calls == s.failAt {
		return errKilled
	}
	return nil
}

func (s *stream) rows() (rows []schemas.LogRow) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, m := range s.messages {
		if m.Header.Kind != "log" {
			continue
		}
		some, err := schemas.DecodeRows[schemas.LogRow](m)
		if err != nil {
			s.t.Error(err)
		}
		rows = append(rows, some...)
	}
	return rows
}

// told are the lines by file and place.
func (s *stream) told() map[string]string {
	all := map[string]string{}
	for _, row := range s.rows() {
		at := fmt.Sprintf("%s %d", row.Stream, row.Seq)
		if _, twice := all[at]; twice {
			s.t.Errorf("%s comes twice", at)
		}
		all[at] = row.Text
	}
	return all
}

// written is a folder with a file that is followed.
type written struct {
	path  string
	ended bool
	mutex sync.Mutex
	cfg   follow.Config
}

func newWritten(t *testing.T, s *stream) *written {
	t.Helper()
	w := &written{path: filepath.Join(t.TempDir(), "7.out")}
	w.cfg = follow.Config{State: w.path + ".published", RunID: 1, Host: "node", Publisher: s, Now: time.Now}
	w.cfg.Files = func() ([]follow.File, bool, error) {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		return []follow.File{{ID: "7.out", Path: w.path, Stream: "out", PID: 1 << 30}}, w.ended, nil
	}
	return w
}

func (w *written) add(t *testing.T, text string) {
	t.Helper()
	file, err := os.OpenFile(w.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		_, err = file.WriteString(text)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

func (w *written) end() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.ended = true
}

func newStream(t *testing.T) *stream {
	t.Helper()
	return &stream{messages: map[string]schemas.Message{}, t: t}
}

// Whenever a follower is killed, the next one makes the same messages, and each line is there once.
func TestEachLineIsPublishedOnceWhereverTheFollowerIsKilled(t *testing.T) {
	t.Parallel()
	for kill := 1; kill < 12; kill++ {
		s := newStream(t)
		w := newWritten(t, s)
		want := map[string]string{}
		at := 0
		for round := range 3 {
			line := fmt.Sprintf("line %d", round)
			want[fmt.Sprintf("out %d", at)] = line
			metric := "loss: 0.5, step 3"
			want[fmt.Sprintf("out %d", at+len(line)+1)] = metric
			w.add(t, line+"\n"+metric+"\n")
			at += len(line) + len(metric) + 2
			s.failAt = s.calls + kill
			if round == 2 {
				w.end()
			}
			for {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				stopped := make(chan struct{})
				go func() { // until this round's lines are there
					defer close(stopped)
					for ctx.Err() == nil && len(s.told()) < 2*(round+1) {
						time.Sleep(time.Millisecond)
					}
					if round < 2 {
						cancel()
					}
				}()
				_, err := follow.Run(ctx, w.cfg)
				cancel()
				<-stopped
				if err == nil {
					break
				}
				if !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
			}
		}
		if got := s.told(); fmt.Sprint(got) != fmt.Sprint(want) || !follow.Done(w.cfg.State) {
			t.Errorf("killed at %d: %v, want %v", kill, got, want)
		}
	}
}

func TestALineWaitsForItsEndAndTheLastOneForThatOfTheFile(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	w := newWritten(t, s)
	w.add(t, "whole\nhal")
	done := make(chan error, 1)
	go func() { _, err := follow.Run(t.Context(), w.cfg); done <- err }()
	await(t, func() bool { return len(s.told()) == 1 })
	w.add(t, "f\nlast")
	await(t, func() bool { return s.told()["out 6"] == "half" })
	w.end()
	if err := <-done; err != nil || s.told()["out 11"] != "last" {
		t.Errorf("%v %v", err, s.told())
	}
	row := s.rows()[0]
	if row.TimeBasis != "read" || row.Host != "node" || *row.PID != 1<<30 || row.Rank != schemas.NoRank {
		t.Errorf("%+v", row)
	}
}

func TestWhatWasGivenUpIsALineThatSaysSo(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	w := newWritten(t, s)
	w.add(t, "")
	if err := os.Truncate(w.path, 8<<20); err != nil { // a hole
		t.Fatal(err)
	}
	w.add(t, "behind\n")
	w.end()
	if _, err := follow.Run(t.Context(), w.cfg); err != nil {
		t.Fatal(err)
	}
	if got := s.told(); len(got) != 2 || !strings.Contains(got["out 0"], "8388608 bytes of 7.out are lost") || got["out 8388608"] != "behind" {
		t.Errorf("%v", got)
	}
}

func TestTwoFollowersDoNotPublishTheSame(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	w := newWritten(t, s)
	w.add(t, "a\n")
	done := make(chan error, 1)
	go func() { _, err := follow.Run(t.Context(), w.cfg); done <- err }()
	await(t, func() bool { return len(s.told()) == 1 })
	if held, err := follow.Run(t.Context(), w.cfg); !held || err != nil {
		t.Errorf("%v %v", held, err)
	}
	w.end()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func await(t *testing.T, done func() bool) {
	t.Helper()
	for range 6000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("waited in vain")
}
