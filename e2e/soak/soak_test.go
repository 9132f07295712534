// Package soak has one test: a system under load for an hour, in which every part is killed, every store is damaged and
// the database is away, and which loses nothing and stores nothing twice. `make soak` runs it.
package soak

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// settings are what `make soak` was asked for.
type settings struct {
	length, outage time.Duration
	kills          int
	seed           uint64
}

// soak is a system under load.
type soak struct {
	settings

	t       *testing.T
	begin   time.Time
	data    string
	far     string // the root of the spools that an agent beside up serves
	far2    bool   // that is a small disk of its own
	engine  string // where up finds the engine's library, which can be taken away
	load    *load
	parts   *parts
	measure *measure
	random  *rand.Rand
	events  []string // what was done and found, in words
}

// TestSoak is the hour. It runs where TENSORTAP_SOAK_MINUTES says how long.
func TestSoak(t *testing.T) {
	t.Parallel()
	s := &soak{settings: asked(t), t: t, data: t.TempDir(), far: t.TempDir()}
	t.Logf("%v, %d kills, an outage of %v; TENSORTAP_SOAK_SEED=%d", s.length, s.kills, s.outage, s.seed)
	s.prepare()
	work := &crew{over: make(chan struct{})}
	s.load.run(work)
	work.begin(func() error { return s.measure.run(work.over, s.parts) })
	work.begin(func() error {
		defer work.end()
		return s.destroy(work.over)
	})
	if err := work.group.Wait(); err != nil {
		t.Fatalf("%v\nup: %s\nagent: %s\njudge: %s", err, lastLines(s.parts.up.Stderr), lastLines(s.parts.agent.Stderr), lastLines(s.parts.judge.Stderr))
	}
	s.settle()
	s.check()
	s.report()
}

// crew is who works at the same time: until one fails, or all is over.
type crew struct {
	group  errgroup.Group
	once   sync.Once
	over   chan struct{}
	failed atomic.Bool
}

func (c *crew) end() { c.once.Do(func() { close(c.over) }) }

func (c *crew) begin(job func() error) {
	c.group.Go(func() error {
		err := job()
		if err != nil {
			c.failed.Store(true)
			c.end()
		}
		return err
	})
}

// asked reads the environment.
func asked(t *testing.T) settings {
	t.Helper()
	text := os.Getenv("TENSORTAP_SOAK_MINUTES")
	if text == "" {
		t.Skip("SKIPPED: an hour's soak runs as `make soak`, which sets TENSORTAP_SOAK_MINUTES")
	}
	minutes, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("TENSORTAP_SOAK_MINUTES: %v", err)
	}
	outage, err := time.ParseDuration(os.Getenv("TENSORTAP_SOAK_OUTAGE"))
	if err != nil {
		t.Fatalf("TENSORTAP_SOAK_OUTAGE: %v", err)
	}
	s := settings{length: time.Duration(minutes * float64(time.Minute)), outage: outage, seed: uint64(time.Now().UnixNano())}
	s.kills = number(t, "TENSORTAP_SOAK_TOTAL")
	if text := os.Getenv("TENSORTAP_SOAK_SEED"); text != "" {
		s.seed = uint64(number(t, "TENSORTAP_SOAK_SEED"))
	}
	return s
}

func number(t *testing.T, variable string) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv(variable))
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// prepare starts all parts and stores what later runs are held against.
func (s *soak) prepare() {
	s.random = rand.New(rand.NewPCG(s.seed, 0))
	s.engine = filepath.Join(s.t.TempDir(), "libchdb.so")
	if err := os.Symlink(testbed.Library(s.t), s.engine); err != nil {
		s.t.Fatal(err)
	}
	s.far2 = mountSmall(s.t, s.far)
	setting := program.Setting{Data: s.data, Env: []string{"TENSORTAP_ENGINE=" + s.engine, "GOTRACEBACK=all"}}
	s.parts = startParts(s.t, setting, s.far)
	s.load = newLoad(s.t, s.parts, filepath.Join(s.data, "spool"), s.far)
	s.load.references()
	s.begin = time.Now()
	s.measure = newMeasure(s.t, s.data, s.load)
}

// destroy kills and damages until the time is over and everything was killed often enough.
func (s *soak) destroy(over <-chan struct{}) error {
	trouble := s.trouble()
	said := time.Now()
	enough := func(done int) bool {
		return done == len(trouble) && s.parts.total() >= s.kills && time.Since(s.begin) >= s.length
	}
	for done := 0; !closed(over) && !enough(done); {
		passed := float64(time.Since(s.begin)) / float64(s.length)
		if done < len(trouble) && passed > float64(done+1)/float64(len(trouble)+1) {
			if err := trouble[done](over); err != nil {
				return err
			}
			done++
		}
		if err := s.killNext(over); err != nil {
			return err
		}
		if time.Since(said) >= time.Minute {
			said = time.Now()
			s.t.Log(s.progress())
		}
	}
	return nil
}

// trouble is what happens besides kills, at even distances: each store is damaged once an hour, and at least once.
func (s *soak) trouble() []func(over <-chan struct{}) error {
	var all []func(over <-chan struct{}) error
	for range max(1, int(s.length/time.Hour)) {
		all = append(all, s.damageArchive, s.fillSpool, s.damageTables, s.away, s.damageStream)
	}
	return all
}

// killNext kills the next part, once its time has come: kills are spread over the time.
func (s *soak) killNext(over <-chan struct{}) error {
	due := s.begin.Add(s.length * time.Duration(s.parts.total()) / time.Duration(s.kills))
	pause(over, max(time.Until(due), 0)+time.Duration(s.random.Int64N(int64(200*time.Millisecond))))
	return s.parts.killOne(over, s.random)
}

// closed says whether all is over.
func closed(over <-chan struct{}) bool {
	select {
	case <-over:
		return true
	default:
		return false
	}
}

// pause waits, or until all is over.
func pause(over <-chan struct{}, d time.Duration) {
	select {
	case <-over:
	case <-time.After(d):
	}
}

func (s *soak) note(format string, args ...any) {
	line := fmt.Sprintf("%5.1f min  ", time.Since(s.begin).Minutes()) + fmt.Sprintf(format, args...)
	s.events = append(s.events, line)
	s.t.Log(line)
}

func (s *soak) progress() string {
	return fmt.Sprintf("%5.1f min  kills: %s; %s; %s", time.Since(s.begin).Minutes(), s.parts, s.load.account, s.measure.last())
}
