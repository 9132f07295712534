package corpus_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/dev/corpus"
	"github.com/tensortap/tensortap/internal/system"
)

// answer is what is said of a case.
type answer struct {
	verdict   report.Verdict
	runs      []string // properties of the runs that differ
	suspects  []origin
	sites     []judged // the rows of the fault
	differing []string // rows that differ, the first ones
	diverged  []string // their ops that diverged
	msprobe   string
}

// origin is a suspect.
type origin struct {
	rank, step int
	op, kind   string
}

func (o origin) String() string {
	return fmt.Sprintf("rank %d step %d %s (%s)", o.rank, o.step, o.op, o.kind)
}

// judged is the verdict of one row, with the rows that were paired, as they were recorded.
type judged struct {
	site, partner  corpus.Site
	present        bool // in the problem
	verdict        string
	reason         string
	evidence       string
	differs        bool
	tolerance      float64
	problem, bench string
}

func (j judged) absent() bool { return j.verdict == "absent" }

// sameEvidence says whether both sides recorded the same there. Where one took no checksum, the statistics are all that
// both recorded.
func (j judged) sameEvidence() bool {
	if strings.Contains(j.problem, `"md5"`) && strings.Contains(j.bench, `"md5"`) {
		return j.problem == j.bench
	}
	statistics := func(row string) string {
		before, _, _ := strings.Cut(row, `,"md5"`)
		return strings.TrimSuffix(before, "}")
	}
	return j.problem != "" && statistics(j.problem) == statistics(j.bench)
}

// proved says whether a row is called more than its evidence tells of a fault.
func (j judged) proved() bool { return j.verdict == "equal" || j.verdict == "within" }

// tolerated says whether the row agrees though not the same was recorded.
func (j judged) tolerated() bool { return j.verdict == "agrees" && !j.sameEvidence() }

// ask compares the two runs of a case as the command compare does.
func ask(ctx context.Context, b *bench, c corpus.Case) (answer, error) {
	if err := b.publish(ctx, c); err != nil {
		return answer{}, err
	}
	request := system.DefaultCompareRequest()
	request.Problem, request.Benches = c.Problem.Name, []string{c.Bench.Name}
	comparison, _, err := b.Compare(ctx, request)
	if err != nil {
		return answer{}, err
	}
	a := answer{
		verdict: comparison.Verdict, runs: column(comparison.RunDifferences, "property"),
		suspects: origins(comparison.Origins), differing: differing(comparison.Divergence), diverged: divergedOps(judgedRows(comparison.Divergence)),
	}
	if a.sites, err = b.rowsOfFault(ctx, c, comparison.Divergence); err != nil {
		return a, err
	}
	a.msprobe, err = b.msprobeSays(ctx, c)
	return a, err
}

// rowsOfFault finds the rows of the fault among those that differ, and asks for the others.
func (b *bench) rowsOfFault(ctx context.Context, c corpus.Case, differing report.Table) ([]judged, error) {
	sites := findAll(c, judgedRows(differing))
	if !slices.ContainsFunc(sites, judged.absent) {
		return sites, nil
	}
	rows, err := b.judged(ctx, c)
	return findAll(c, rows), err
}

func findAll(c corpus.Case, rows []judged) []judged {
	var sites []judged
	for _, site := range c.Touched {
		sites = append(sites, find(c, site, rows))
	}
	return sites
}

// differing are the rows that differ, in words.
func differing(t report.Table) []string {
	var rows []string
	for i := range t.Rows {
		text := func(name string) string { return t.Get(i, name).Text() }
		rows = append(rows, fmt.Sprintf("%s %s %s: %s %s, %s %s against %s %s", text("op"), text("role"), text("path"), text("verdict"), text("reason"),
			text("problem_dtype"), text("problem_literal"), text("bench_dtype"), text("bench_literal")))
	}
	return rows
}

func column(t report.Table, name string) []string {
	var all []string
	for i := range t.Rows {
		all = append(all, t.Get(i, name).Exact)
	}
	return all
}

// divergedOps are the ops of the rows that diverged, each once.
func divergedOps(rows []judged) []string {
	var ops []string
	for _, j := range rows {
		if j.verdict == "diverged" && !slices.Contains(ops, j.site.Op) {
			ops = append(ops, j.site.Op)
		}
	}
	return ops
}

// origins reads the suspects that a report names.
func origins(t report.Table) []origin {
	var all []origin
	for i := range t.Rows {
		all = append(all, origin{whole(t.Get(i, "rank")), whole(t.Get(i, "step")), t.Get(i, "op").Exact, t.Get(i, "kind").Exact})
	}
	return all
}

// yes reads a truth, which some formats have as a number.
func yes(v report.Value) bool { return v.Exact == "true" || v.Exact == "1" }

func whole(v report.Value) int { return int(v.Number) }

// recordedAt is all that a side has of a row, its sketch and digest among it.
func recordedAt(side corpus.Side, site corpus.Site) string {
	text := row(side.Run, site)
	if x, ok := side.Vectors[site]; ok {
		text += fmt.Sprint(corpus.Sketch(x))
		if side.Digests {
			text += fmt.Sprint(digestOf(x))
		}
	}
	return text
}

// judgedRows reads the rows that a report lists.
func judgedRows(t report.Table) []judged {
	var rows []judged
	for i := range t.Rows {
		text := func(name string) string { return t.Get(i, name).Exact }
		step := whole(t.Get(i, "step"))
		rows = append(rows, judged{
			site:    corpus.Site{Rank: whole(t.Get(i, "rank")), Step: step, Op: text("op"), Role: text("role"), Path: text("path")},
			partner: corpus.Site{Rank: whole(t.Get(i, "bench_rank")), Step: step, Op: text("bench_op"), Role: text("bench_role"), Path: text("bench_path")},
			present: yes(t.Get(i, "present")), verdict: text("verdict"), reason: text("reason"), evidence: text("evidence"),
			differs: yes(t.Get(i, "differs")), tolerance: t.Get(i, "tolerance").Number,
		})
	}
	return rows
}

// find is the row of a site among the verdicts; one that only the bench has counts when the problem has none.
func find(c corpus.Case, site corpus.Site, rows []judged) judged {
	at := slices.IndexFunc(rows, func(j judged) bool { return j.site == site })
	if at < 0 {
		return judged{site: site, verdict: "absent"}
	}
	j := rows[at]
	if j.present {
		j.problem = recordedAt(c.Problem, site)
	}
	j.bench = recordedAt(c.Bench, j.partner)
	return j
}

// faults is all that is wrong with an answer on a fault, the origin aside.
func (a answer) faults(c corpus.Case) []string {
	var wrong []string
	for _, s := range a.sites {
		switch {
		case s.verdict == "absent":
			wrong = append(wrong, fmt.Sprintf("%v is in no class at all", s.site))
		case s.proved():
			wrong = append(wrong, fmt.Sprintf("%v is called %s", s.site, s.verdict))
		case s.tolerated() && c.OfRun == "" && !c.Small:
			wrong = append(wrong, fmt.Sprintf("%v is said to agree, but the evidence differs: %s and %s", s.site, s.problem, s.bench))
		}
	}
	switch {
	case c.OfRun != "" && !slices.Contains(a.runs, c.OfRun):
		wrong = append(wrong, fmt.Sprintf("what differs of the runs is %v, want %s among it", a.runs, c.OfRun))
	case c.Hidden == "" && c.OfRun == "" && a.verdict != report.Differs:
		wrong = append(wrong, fmt.Sprintf("the verdict is %s, though the evidence shows the fault", a.verdict))
	case c.Missing && a.verdict == report.Same:
		wrong = append(wrong, "the verdict is same, though data is missing")
	}
	return wrong
}

// alarm is what is wrong with an answer on a harmless pair.
func (a answer) alarm(c corpus.Case) string {
	switch {
	case len(a.diverged) > 0:
		return fmt.Sprintf("%v are said to diverge", a.diverged)
	case c.Shaped == "" && a.verdict == report.Differs:
		return "the verdict is differs"
	case c.Shaped != "" && slices.ContainsFunc(a.differing, func(row string) bool { return !strings.Contains(row, ": structure ") }):
		return "more than structure differs"
	}
	return ""
}

// originIsRight says whether the first suspect is where the fault began.
func (a answer) originIsRight(c corpus.Case) bool {
	if len(a.suspects) == 0 {
		return false
	}
	o := a.suspects[0]
	return slices.Contains(c.Origin.Ranks, o.rank) && o.step == c.Origin.Step && slices.Contains(c.Origin.Ops, o.op) &&
		(len(c.Origin.Kinds) == 0 || slices.Contains(c.Origin.Kinds, o.kind))
}
