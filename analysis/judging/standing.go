package judging

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/mapping"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/rules"
	"github.com/tensortap/tensortap/schemas"
)

// Standing keeps standing comparisons judged, as one of several judges that share them.
type Standing struct {
	Keeper *Keeper
	// Current returns when the database holds what the stream held at the call.
	Current func(ctx context.Context) error
	// Mine says whether a piece of work is this judge's, until it is asked again.
	Mine func(ctx context.Context, work string) (bool, error)
	// LetGo leaves all work to others, until Mine is asked again.
	LetGo func(ctx context.Context)
	Log   zerolog.Logger

	comparisons []standing
	declared    map[uint64]bool // comparisons that a baseline asked for
	matched     string          // which runs and baselines there were when they were held against each other
	listed      time.Time
	running     map[string]bool      // runs that are alive
	certain     bool                 // the database said so when it held all of the stream, since the last list
	seen        map[uint64]string    // by comparison, what there was of its runs when it was judged last
	failed      map[uint64]string    // comparisons that could not be judged, and why, so that it is said once
	waiting     map[uint64]bool      // those that failed since the last list
	mapped      map[uint64]bool      // comparisons of two implementations, in the place of which one with their map stands
	rested      map[uint64]time.Time // until when a comparison whose runs go on is left alone
}

// standing is a comparison that is judged as steps land.
type standing struct {
	id uint64
	Comparison
}

// How often the judge looks for new steps, and for new comparisons and the ends of runs. What went wrong is tried again as
// often as the latter.
const (
	lookEvery = 100 * time.Millisecond
	listEvery = time.Second
)

// restFor is how many times as long as both runs were read for a comparison it is left alone while they go on: all that is
// known of them is read each time, which takes seconds where they have thousands of steps. What waits for a stream that
// has much to deliver does not count.
const restFor = 3

// Run judges until ctx ends. What goes wrong is logged and tried again.
func (s *Standing) Run(ctx context.Context) error {
	s.seen, s.failed, s.waiting, s.declared = map[uint64]string{}, map[uint64]string{}, map[uint64]bool{}, map[uint64]bool{}
	s.rested, s.mapped = map[uint64]time.Time{}, map[uint64]bool{}
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-wait.C:
		}
		wait.Reset(lookEvery)
		if err := s.look(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn().Err(err).Msg("standing comparisons could not be looked at, try again")
			s.LetGo(ctx) // another judge may reach the database
			s.listed = time.Time{}
			wait.Reset(listEvery)
		}
	}
}

// look judges what has landed since the last look.
func (s *Standing) look(ctx context.Context) error {
	if now := s.Keeper.Now(); now.Sub(s.listed) >= listEvery || now.Before(s.listed) {
		if err := s.list(ctx); err != nil {
			return err
		}
		s.listed = now
	}
	if len(s.comparisons) == 0 {
		return nil
	}
	there, err := s.landed(ctx)
	if err != nil {
		return err
	}
	for i := range s.comparisons {
		if err := s.judge(ctx, &s.comparisons[i], there); err != nil {
			return err
		}
	}
	return nil
}

// judge judges a comparison of whose runs something landed, or ended.
func (s *Standing) judge(ctx context.Context, c *standing, there map[string]string) error {
	problem, bench := c.Request.Problem, c.Request.Benches[0]
	state := fmt.Sprint(there[problem], there[bench], s.running[problem], s.running[bench])
	if s.mapped[c.id] || s.waiting[c.id] || s.seen[c.id] == state || there[problem] == "" || there[bench] == "" {
		return nil
	}
	over := s.over(c)
	if !over && s.Keeper.Now().Before(s.rested[c.id]) {
		return nil
	}
	mine, err := s.Mine(ctx, "judge."+schemas.FormatID(c.id))
	if err != nil || !mine {
		return err
	}
	if err := s.Current(ctx); err != nil {
		return err
	}
	if over {
		if err := s.ascertain(ctx); err != nil || !s.over(c) {
			return err
		}
	}
	read, err := s.bring(ctx, c, over)
	if err != nil && ctx.Err() == nil {
		s.tell(c.id, err)
		return nil // the others go on
	}
	delete(s.failed, c.id)
	s.seen[c.id] = state
	s.rested[c.id] = s.Keeper.Now().Add(restFor * read)
	return nil
}

// over says whether both runs are over.
func (s *Standing) over(c *standing) bool {
	return !s.running[c.Request.Problem] && !s.running[c.Request.Benches[0]]
}

// ascertain asks again which runs are alive, now that the database holds all of the stream: before, it may have lacked their latest
// signs of life. Once a list is enough.
func (s *Standing) ascertain(ctx context.Context) error {
	if s.certain {
		return nil
	}
	err := s.alive(ctx)
	s.certain = err == nil
	return err
}

// bring judges what is ready, or all where the runs are over, be it whole or not; and says for how long both were read.
func (s *Standing) bring(ctx context.Context, c *standing, over bool) (read time.Duration, err error) {
	began := s.Keeper.Now()
	if done, err := s.Keeper.upToDate(ctx, c.Comparison); err != nil || done { // done as after a restart
		return 0, err
	}
	job, w, err := s.Keeper.open(ctx, c.Comparison)
	if err != nil {
		return 0, err
	}
	read = s.Keeper.Now().Sub(began)
	if c.Request.Map == nil && job.Map() != nil {
		return read, s.standUnder(ctx, c, job.Map())
	}
	w.all = over
	return read, s.Keeper.bring(ctx, c.Comparison, job, w, func(job *compare.Job, at pair.Step) bool { return over || ended(job, at) })
}

// standUnder has the runs be judged by the map that ships for them, as who asks for the comparison by its runs has it.
func (s *Standing) standUnder(ctx context.Context, c *standing, chosen *mapping.Map) error {
	under := c.Comparison
	under.Request.Map, under.Request.ChooseMap = chosen, false
	if err := s.Keeper.Declare(ctx, under); err != nil {
		return err
	}
	s.mapped[c.id] = true
	return nil
}

// tell says once why a comparison cannot be judged; it is tried again after the next list.
func (s *Standing) tell(id uint64, err error) {
	s.waiting[id] = true
	s.Keeper.Metrics.failed()
	if s.failed[id] == err.Error() {
		return
	}
	s.failed[id] = err.Error()
	s.Log.Warn().Err(err).Str("comparison", schemas.FormatID(id)).Msg("comparison could not be judged, try again")
}

// ended says whether both runs have ended the step, and pair it for good: steps of inference engines pair by what all
// of them serve.
func ended(job *compare.Job, at pair.Step) bool {
	problem, bench := job.Runs()
	return at.InProblem && at.InBench && (len(problem.Requests) == 0 || len(bench.Requests) == 0) &&
		problem.StepAt(rows.Place{Rank: at.Rank, Step: at.Step}) != nil &&
		bench.StepAt(rows.Place{Rank: at.BenchRank, Step: at.BenchStep}) != nil
}

// list looks which comparisons stand and which runs are alive, and declares those that baselines ask for.
func (s *Standing) list(ctx context.Context) error {
	clear(s.waiting)
	if err := s.declareMatches(ctx); err != nil {
		return err
	}
	declared, err := ask.Rows[schemas.DeclaredComparisonRow](ctx, s.Keeper.Door,
		"standing = 1 AND rules = "+strconv.FormatUint(rules.Version, 10)+" ORDER BY comparison_id LIMIT 1 BY comparison_id")
	if err != nil {
		return err
	}
	s.comparisons = s.comparisons[:0]
	for i := range declared {
		c, err := s.known(ctx, &declared[i])
		if err != nil {
			s.tell(declared[i].ComparisonID, err)
			continue
		}
		s.comparisons = append(s.comparisons, standing{declared[i].ComparisonID, c})
	}
	s.Keeper.Metrics.stand(s.comparisons, len(s.failed))
	if len(s.comparisons) == 0 {
		return nil // who is alive matters to nobody
	}
	s.certain = false
	return s.alive(ctx)
}

// known is a declared comparison with the errors of raw tensors of today, unless they are others than those of then.
func (s *Standing) known(ctx context.Context, row *schemas.DeclaredComparisonRow) (Comparison, error) {
	c, err := Of(row)
	if err != nil {
		return c, err
	}
	c.Request.ChooseMap = true
	if row.Payloads != 0 {
		if c.Request.Payloads, err = Payloads(ctx, s.Keeper.Door, row.Problem, row.Benches[0]); err != nil {
			return c, err
		}
	}
	if c.ID() != row.ComparisonID {
		return c, fmt.Errorf("comparison of %s with %s rests on errors of raw tensors that are others by now", row.Problem, strings.Join(row.Benches, ", "))
	}
	return c, nil
}

func (s *Standing) alive(ctx context.Context) error {
	table, err := s.Keeper.Door.Table(ctx, "SELECT name FROM tap.runs WHERE status = 'running'", nil)
	if err != nil {
		return fmt.Errorf("look which runs are alive: %w", err)
	}
	s.running = map[string]bool{}
	for i := range table.Rows {
		s.running[table.Get(i, "name").Exact] = true
	}
	return nil
}

// landedQuery says how many steps and rows each run has; it reads no tensor.
const landedQuery = `SELECT r.name AS name, toString((steps.step_count, tensors.row_count)) AS there
FROM (SELECT DISTINCT run_id, name FROM tap_store.run WHERE name IN {runs:Array(String)}) AS r
INNER JOIN (
    SELECT run_id, count() AS step_count
    FROM tap_store.step
    WHERE run_id IN (SELECT run_id FROM tap_store.run WHERE name IN {runs:Array(String)})
    GROUP BY run_id
) AS steps ON steps.run_id = r.run_id
LEFT JOIN (
    SELECT run_id, sum(row_count) AS row_count
    FROM (
        SELECT run_id, rank, epoch, batch, count() AS row_count
        FROM tap_store.tensor
        WHERE run_id IN (SELECT run_id FROM tap_store.run WHERE name IN {runs:Array(String)})
        GROUP BY run_id, rank, epoch, batch
    )
    GROUP BY run_id
) AS tensors ON tensors.run_id = r.run_id`

// landed is what there is of the runs of all comparisons, by name.
func (s *Standing) landed(ctx context.Context) (map[string]string, error) {
	var names []string
	for i := range s.comparisons {
		names = append(names, s.comparisons[i].Request.Problem, s.comparisons[i].Request.Benches[0])
	}
	table, err := s.Keeper.Door.Table(ctx, landedQuery, map[string]string{"runs": ask.Texts(names)})
	if err != nil {
		return nil, fmt.Errorf("look what has landed: %w", err)
	}
	there := make(map[string]string, len(table.Rows))
	for i := range table.Rows {
		there[table.Get(i, "name").Exact] = table.Get(i, "there").Exact
	}
	return there, nil
}
