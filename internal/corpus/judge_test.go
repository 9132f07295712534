package corpus_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/internal/corpus"
	"github.com/tensortap/tensortap/internal/report"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/schemas"
	"github.com/tensortap/tensortap/sql"
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
	verdict        string
	reason         string
	evidence       string
	differs        bool
	tolerance      report.Value
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
	comparison, err := b.Compare(ctx, request)
	if err != nil {
		return answer{}, err
	}
	a := answer{
		verdict: comparison.Verdict, runs: column(comparison.RunDifferences, "property"),
		suspects: origins(comparison.Origins), differing: differing(comparison.Divergence), diverged: divergedOps(comparison.Divergence),
	}
	if a.sites, err = b.rowsOfFault(ctx, c, comparison.Divergence); err != nil {
		return a, err
	}
	a.msprobe, err = b.msprobeSays(ctx, c)
	return a, err
}

// rowsOfFault finds the rows of the fault among those that differ, and asks for the others.
func (b *bench) rowsOfFault(ctx context.Context, c corpus.Case, differing report.Table) ([]judged, error) {
	var sites []judged
	for _, site := range c.Touched {
		sites = append(sites, find(c, site, differing))
	}
	if !slices.ContainsFunc(sites, judged.absent) {
		return sites, nil
	}
	rows, err := b.notable(ctx, c, "v.site_id IN ("+siteIDs(c)+")")
	for i, site := range c.Touched {
		sites[i] = find(c, site, rows)
	}
	return sites, err
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
func divergedOps(t report.Table) []string {
	var ops []string
	for i := range t.Rows {
		if op := t.Get(i, "op").Exact; t.Get(i, "verdict").Exact == "diverged" && !slices.Contains(ops, op) {
			ops = append(ops, op)
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

// names are the parameters of a case's views.
func names(c corpus.Case) map[string]string {
	return map[string]string{"problem": c.Problem.Name, "bench": c.Bench.Name}
}

// notable asks for verdicts with their names, all that a condition lets through.
func (b *bench) notable(ctx context.Context, c corpus.Case, condition string) (report.Table, error) {
	return b.views(ctx, `
		SELECT v.rank AS rank, v.bench_rank AS bench_rank, v.step AS step, v.seq AS seq, o.name AS op, s.role AS role, s.path AS path,
			bo.name AS bench_op, bs.role AS bench_role, bs.path AS bench_path, v.problem_present AS present,
			toString(v.verdict) AS verdict, v.reason AS reason, toString(v.evidence) AS evidence, v.error AS error, v.tolerance AS tolerance, v.differs AS differs
		FROM tap.verdicts(problem = {problem:String}, bench = {bench:String}, benches = [], tolerance = -1, tolerances = [],
			rank = -1, first_step = 0, last_step = -1, step_offset = 0) AS v
		LEFT JOIN tap.sites AS s ON s.site_id = v.site_id
		LEFT JOIN tap.ops AS o ON o.op_id = s.op_id
		LEFT JOIN tap.sites AS bs ON bs.site_id = v.bench_site_id
		LEFT JOIN tap.ops AS bo ON bo.op_id = bs.op_id
		WHERE `+condition+`
		ORDER BY step, rank, present DESC, seq`, names(c))
}

// views is the answer to a query that calls views with parameters, which are put into it: a database plans that sooner.
func (b *bench) views(ctx context.Context, query string, parameters map[string]string) (report.Table, error) {
	text, err := sql.Inline(query, nil)
	if err != nil {
		return report.Table{}, err
	}
	text, err = sql.Settle(text, func(question string) (sql.Fact, error) {
		t, err := b.Table(ctx, question, parameters)
		if err != nil {
			return sql.Fact{}, err
		}
		return sql.Fact{Type: t.Get(0, "type").Exact, Text: t.Get(0, "text").Exact, Null: yes(t.Get(0, "is_null"))}, nil
	})
	if err != nil {
		return report.Table{}, err
	}
	return b.Table(ctx, text, parameters)
}

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

// find is the row of a site among the verdicts; one that only the bench has counts when the problem has none.
func find(c corpus.Case, site corpus.Site, t report.Table) judged {
	j := judged{site: site, verdict: "absent"}
	for i := range t.Rows {
		at := corpus.Site{Rank: whole(t.Get(i, "rank")), Step: whole(t.Get(i, "step")), Op: t.Get(i, "op").Exact, Role: t.Get(i, "role").Exact, Path: t.Get(i, "path").Exact}
		if at != site {
			continue
		}
		j.verdict, j.reason, j.evidence = t.Get(i, "verdict").Exact, t.Get(i, "reason").Exact, t.Get(i, "evidence").Exact
		j.differs = yes(t.Get(i, "differs"))
		j.tolerance = t.Get(i, "tolerance")
		j.partner = corpus.Site{
			Rank: whole(t.Get(i, "bench_rank")), Step: site.Step,
			Op: t.Get(i, "bench_op").Exact, Role: t.Get(i, "bench_role").Exact, Path: t.Get(i, "bench_path").Exact,
		}
		if yes(t.Get(i, "present")) {
			j.problem = recordedAt(c.Problem, site)
		}
		j.bench = recordedAt(c.Bench, j.partner)
		return j
	}
	return j
}

// msprobeSays is msProbe's own word: on the rows of the fault, and which row it flags first at all.
func (b *bench) msprobeSays(ctx context.Context, c corpus.Case) (string, error) {
	table, err := b.views(ctx, `
		SELECT arrayStringConcat(arrayMap(r -> concat(toString(countEqual(results, r)), ' ', r), arrayFilter(r -> has(results, r), ['pass', 'warning', 'error'])), ', ') AS at_fault,
			first_flagged
		FROM (
			SELECT groupArrayIf(toString(msprobe_result), site_id IN (`+siteIDs(c)+`)) AS results,
				argMinIf(name, (step, rank, seq), msprobe_result != 'pass') AS first_flagged
			FROM tap.msprobe_results(problem = {problem:String}, bench = {bench:String}, rank = -1, first_step = 0, last_step = -1, step_offset = 0)
		)`, names(c))
	if err != nil || len(table.Rows) == 0 {
		return "", err
	}
	at, first := table.Get(0, "at_fault").Exact, table.Get(0, "first_flagged").Exact
	if at == "" && len(c.Touched) > 0 {
		at = "no row"
	}
	if first == "" {
		first = "nothing flagged"
	} else {
		first = "first flagged " + first
	}
	return strings.TrimPrefix(at+"; "+first, "; "), nil
}

// siteIDs are the ids of the rows of the fault, for a list in a query.
func siteIDs(c corpus.Case) string {
	ids := []string{"0"}
	for _, s := range c.Touched {
		ids = append(ids, strconv.FormatUint(schemas.SiteID(schemas.OpID(s.Op), s.Role, s.Path), 10))
	}
	return strings.Join(ids, ",")
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
		case s.tolerated() && c.OfRun == "":
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
