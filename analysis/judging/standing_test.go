package judging_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judging"
	"github.com/tensortap/tensortap/analysis/verdicts"
	"github.com/tensortap/tensortap/schemas"
)

// standing is a judge that is alone.
func (d *desk) standing(t *testing.T) *judging.Standing {
	t.Helper()
	return &judging.Standing{
		Keeper: &d.Keeper, Current: func(context.Context) error { return nil },
		Mine: func(context.Context, string) (bool, error) { return true, nil }, LetGo: func(context.Context) {}, Log: zerolog.New(zerolog.NewTestWriter(t)),
	}
}

// stands judges as a standing judge does until it has stored as many rows of the comparison as that.
func (d *desk) stands(t *testing.T, rows int) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	standing := d.standing(t)
	done := make(chan error, 1)
	go func() { done <- standing.Run(ctx) }()
	for len(d.rows(t)) < rows && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestARunThatMatchesABaselineIsJudgedAsIfItWereAskedFor(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.database.Load(t, "../../sql/testdata/input/plain.txtar")
	for _, table := range []string{"verdict", "judged_step", "layer_error", "origin", "declared_comparison", "baseline"} {
		d.database.Query(t, "TRUNCATE TABLE tap_store."+table, "", nil)
	}
	if _, err := d.Judged(t.Context(), comparison()); err != nil {
		t.Fatal(err)
	}
	asked := d.rows(t)
	for _, table := range []string{"verdict", "judged_step", "layer_error", "origin", "declared_comparison"} {
		d.database.Query(t, "TRUNCATE TABLE tap_store."+table, "", nil)
	}
	baseline, err := verdicts.Baseline(schemas.BaselineRow{Name: "golden", ChangedTimeNs: 1, Benches: []string{"bench"}, Tolerance: -1})
	if err != nil {
		t.Fatal(err)
	}
	d.database.Write(t, []schemas.Message{baseline})
	d.Metrics = &judging.Metrics{}
	d.stands(t, len(asked))
	counts := d.Metrics.Snapshot()
	if counts.Standing != 1 || counts.Failing != 0 || counts.Failures != 0 || counts.Judged == 0 || counts.Provisional > counts.Judged {
		t.Errorf("counted as %+v", counts)
	}
	if got := d.rows(t); !slices.Equal(got, asked) {
		t.Errorf("judged as it stands\n%s\nasked for\n%s", strings.Join(got, "\n"), strings.Join(asked, "\n"))
	}
}

func TestAComparisonThatIsOnItsWayIsNotDeclaredAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.database.Load(t, "../../sql/testdata/input/plain.txtar")
	d.database.Query(t, "TRUNCATE TABLE tap_store.declared_comparison", "", nil)
	baseline, err := verdicts.Baseline(schemas.BaselineRow{Name: "golden", ChangedTimeNs: 1, Benches: []string{"bench"}, Tolerance: -1})
	if err != nil {
		t.Fatal(err)
	}
	d.database.Write(t, []schemas.Message{baseline})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	judge := d.standing(t)
	judge.LetGo = func(context.Context) { stop() } // after a look that failed
	behind := errors.New("the database is behind the stream")
	judge.Current = func(context.Context) error { return behind }
	if err := judge.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if count := d.database.Query(t, "SELECT count() FROM tap_store.declared_comparison", "", nil); strings.TrimSpace(count) != "0" {
		t.Errorf("%s comparisons were declared while the database was behind the stream, want none", count)
	}
}

// TestARunOfWhichTheTablesHeardLongAgoIsNotOver: the run goes on, and its signs of life are on their way to the tables.
func TestARunOfWhichTheTablesHeardLongAgoIsNotOver(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.database.Load(t, "../../sql/testdata/input/plain.txtar")
	for _, statement := range []string{
		"TRUNCATE TABLE tap_store.judged_step", "TRUNCATE TABLE tap_store.baseline",
		"ALTER TABLE tap_store.run UPDATE event_time_source = 'rank' WHERE 1 SETTINGS mutations_sync = 1",
		"INSERT INTO tap_store.tensor SELECT * REPLACE (1 AS step, 1 AS batch) FROM tap_store.tensor", // of a step that has not ended
	} {
		d.database.Query(t, statement, "", nil)
	}
	declared := comparison()
	declared.Standing = true
	if err := d.Declare(t.Context(), declared); err != nil {
		t.Fatal(err)
	}
	d.Now = time.Now
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	judge := d.standing(t)
	judge.Current = func(context.Context) error {
		d.database.Query(t, "INSERT INTO tap_store.heartbeat (run_id, epoch, batch, event_time_ns, state) SELECT run_id, 5, 0, toUnixTimestamp64Nano(now64(9)), 'running' FROM tap_store.run", "", nil) //nolint:contextcheck // that of the test
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- judge.Run(ctx) }()
	judged := "[]\n"
	for judged == "[]\n" && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
		judged = d.database.Query(t, "SELECT arraySort(groupUniqArray(step)) FROM tap_store.judged_step WHERE "+ofComparison(), "", nil)
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if judged != "[0]\n" {
		t.Errorf("judged steps %s, want the one that has ended", judged)
	}
}

// ofComparison is the condition that a row is of the comparison of problem and bench.
func ofComparison() string { return fmt.Sprintf("comparison_id = %d", comparison().ID()) }

// rows are those that judging has stored.
func (d *desk) rows(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, view := range []string{"divergences", "judged_steps", "layer_errors", "origins"} {
		answer := d.database.Query(t, "SELECT * FROM tap."+view+" WHERE "+ofComparison()+" ORDER BY ALL FORMAT TSVWithNames", "", nil)
		all = append(all, strings.Split(answer, "\n")...)
	}
	return all
}

func TestAJudgeWithoutDatabaseLeavesTheWorkToOthers(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if err := d.Door.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	judge := d.standing(t)
	judge.LetGo = func(context.Context) { stop() }
	if err := judge.Run(ctx); err != nil || !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("%v, %v; want that it lets go", err, ctx.Err())
	}
}

func TestAComparisonThatFailsIsTriedOnceAList(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.database.Load(t, "../../sql/testdata/input/plain.txtar")
	standing := comparison()
	standing.Standing = true
	if err := d.Declare(t.Context(), standing); err != nil {
		t.Fatal(err)
	}
	tries, looks, now := 0, 0, time.Unix(1<<32, 0)
	d.Open = func(context.Context, compare.Request) (*compare.Job, error) {
		tries++
		return nil, errors.New("it cannot be opened")
	}
	d.Metrics = &judging.Metrics{}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	d.Now = func() time.Time { // is asked at each look, and before each try
		switch looks++; looks {
		case 4:
			if tries != 1 {
				t.Errorf("tried %d times within three looks, want once", tries)
			}
			now = now.Add(time.Second)
		case 6:
			if tries != 2 {
				t.Errorf("tried %d times before and after another list, want twice", tries)
			}
			stop()
		}
		return now
	}
	if err := d.standing(t).Run(ctx); err != nil {
		t.Fatal(err)
	}
	if counts := d.Metrics.Snapshot(); counts.Standing != 1 || counts.Failing != 1 || counts.Failures != 2 || counts.Judged != 0 {
		t.Errorf("counted as %+v, want two failures of one comparison", counts)
	}
}

func TestTwoImplementationsStandUnderTheMapThatShips(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.database.Load(t, "testdata/implementations.txtar")
	declared := comparison()
	declared.Standing = true
	if err := d.Declare(t.Context(), declared); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	var asked atomic.Int64
	d.Now = func() time.Time { return time.Unix(1<<32+asked.Add(1), 0) } // each look is a list
	const judged = `SELECT any(extract(c.mapping, 'name: \'(.*?)\'')) AS map, sum(s.paired_count), sum(s.differing_count), sum(s.only_problem_count) FROM tap_store.judged_step AS s
		INNER JOIN tap_store.declared_comparison AS c USING (comparison_id) GROUP BY comparison_id FORMAT TSV`
	said := ""
	d.Metrics = &judging.Metrics{}
	standing := d.standing(t)
	done := make(chan error, 1)
	go func() { done <- standing.Run(ctx) }()
	for said == "" && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
		said = d.database.Query(t, judged, "", nil)
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if want := "llama: vllm ↔ transformers\t2\t0\t0\n"; said != want {
		t.Errorf("judged %q, want %q", said, want)
	}
}
