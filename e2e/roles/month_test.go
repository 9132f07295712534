package roles

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/e2e/internal/measured"
	"github.com/tensortap/tensortap/e2e/internal/program"
)

// month is a fleet at work for some days, each as long as it was asked for. What takes days in a fleet takes as many of these:
// the times of the configuration are that much shorter, and no clock is a false one.
type month struct {
	t      *testing.T
	days   int
	day    time.Duration
	seed   uint64
	random *rand.Rand
	begin  time.Time
	late   time.Duration // by how much the longest day was longer than a day

	staff   *staff
	stores  *stores
	ranks   *ranksOfFleet
	heard   *heard
	samples *measured.Samples
}

// When things are done in a day, as parts of it.
const (
	workEnds = 0.7  // the run of the day is over, and so are the deaths
	evening  = 0.85 // what is stored is held against what was written
)

// TestMonth is the month. It runs where TENSORTAP_MONTH_DAYS says how many days, and TENSORTAP_MONTH_MINUTES how long each is.
func TestMonth(t *testing.T) {
	t.Parallel()
	m := askedMonth(t)
	t.Logf("%d days of %v; TENSORTAP_MONTH_SEED=%d", m.days, m.day, m.seed)
	m.prepare()
	for day := 1; day <= m.days; day++ {
		m.live(day)
	}
	m.close()
	m.report()
}

// askedMonth reads the environment.
func askedMonth(t *testing.T) *month {
	t.Helper()
	text := os.Getenv("TENSORTAP_MONTH_DAYS")
	if text == "" {
		t.Skip("SKIPPED: an hour's month runs as `make month`, which sets TENSORTAP_MONTH_DAYS")
	}
	m := &month{t: t, seed: uint64(time.Now().UnixNano())} //nolint:gosec // any number
	var err error
	if m.days, err = strconv.Atoi(text); err != nil {
		t.Fatalf("TENSORTAP_MONTH_DAYS: %v", err)
	}
	if m.day, err = time.ParseDuration(os.Getenv("TENSORTAP_MONTH_MINUTES") + "m"); err != nil {
		t.Fatalf("TENSORTAP_MONTH_MINUTES: %v", err)
	}
	if text := os.Getenv("TENSORTAP_MONTH_SEED"); text != "" {
		if m.seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("TENSORTAP_MONTH_SEED: %v", err)
		}
	}
	m.random = rand.New(rand.NewPCG(m.seed, 0)) //nolint:gosec // whom it hits
	return m
}

// prepare starts all parts, and stores the run that the others are held against.
func (m *month) prepare() {
	m.heard = startReceivers(m.t)
	m.staff = hire(m.t, m.day, m.heard)
	m.stores = openStores(m.t, m.staff)
	m.ranks = &ranksOfFleet{t: m.t, roots: m.staff.roots, written: map[string]*written{}}
	m.samples = measured.NewSamples(m.t, os.Getenv("TENSORTAP_MONTH_SAMPLES"))
	if err := m.ranks.work(benchRun, flawless, 20*time.Millisecond); err != nil {
		m.t.Fatal(err)
	}
	m.served()
	m.stores.audit(m.ranks.written[benchRun], m.staff)
	m.staff.command("baseline", "set", baselineName, "--run", benchRun, "--match", "kind=train")
	m.begin = time.Now()
}

// live is one day: a run begins and ends, and each part dies meanwhile.
func (m *month) live(day int) {
	begin := time.Now()
	var working errgroup.Group
	working.Go(func() error {
		return m.ranks.work(runOf(day), flawOf(day), time.Duration(workEnds*float64(m.day))/monthSteps)
	})
	deaths := m.random.Perm(len(m.staff.parts))
	for i, part := range deaths {
		at := workEnds * (float64(i) + m.random.Float64()) / float64(len(deaths))
		time.Sleep(time.Until(begin.Add(time.Duration(at * float64(m.day)))))
		m.staff.tend()
		m.t.Logf("%.2f of day %d: %s dies", float64(time.Since(begin))/float64(m.day), day, m.staff.parts[part].name)
		m.staff.parts[part].die()
	}
	if err := working.Wait(); err != nil {
		m.t.Fatal(err)
	}
	time.Sleep(time.Until(begin.Add(time.Duration(evening * float64(m.day)))))
	m.settle(day)
	m.late = max(m.late, time.Since(begin)-m.day)
	time.Sleep(time.Until(begin.Add(m.day)))
}

// settle holds what is stored of the day before against what was written, and looks at what the day has left.
func (m *month) settle(day int) {
	m.served()
	if day > 1 {
		m.stores.audit(m.ranks.written[runOf(day-1)], m.staff)
	}
	if day == pinnedDay {
		m.staff.command("runs", "pin", runOf(day))
	}
	m.stores.requireGone(m.over())
	m.sample()
	m.t.Logf("day %d: %s; deaths: %s", day, m.samples.Last(placesAndRoles()...), m.staff)
}

// over are the runs whose time was over a day and a half ago.
func (m *month) over() (runs []*written) {
	const patience = 1.5
	for _, w := range m.ranks.written {
		stays := w.run == benchRun || w.run == runOf(pinnedDay)
		if !stays && time.Since(w.ended) > m.staff.lifetime+time.Duration(patience*float64(m.day)) {
			runs = append(runs, w)
		}
	}
	return runs
}

// served waits until agents have published all that was recorded.
func (m *month) served() {
	for _, root := range m.staff.roots {
		published := func() bool {
			m.staff.tend()
			return program.Published(root)
		}
		if err := program.Await(5*time.Minute, "agents to publish all below "+root, published); err != nil {
			m.t.Fatalf("%v\n%s", err, m.staff.lastWords())
		}
	}
}

// close waits for all that is still to come.
func (m *month) close() {
	m.stores.audit(m.ranks.written[runOf(m.days)], m.staff)
	m.stores.requireNothingTwice()
	m.heard.await(m.planted(), m.staff)
}
