package corpus_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/internal/corpus"
	"github.com/tensortap/tensortap/internal/report"
	"github.com/tensortap/tensortap/schemas"
	"github.com/tensortap/tensortap/sql"
)

// answer is what is said of a case.
type answer struct {
	verdict  report.Verdict
	suspects []origin
	sites    []judged // the rows of the fault
	diverged []string // ops with a diverged row
	alone    []string // ops of which one side only has rows
	msprobe  string
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
	problem, bench string
}

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

// ask pairs the two runs of a case and judges them. That is what the command compare does, without the reports beside.
func ask(ctx context.Context, b *bench, c corpus.Case) (answer, error) {
	if err := b.publish(ctx, c); err != nil {
		return answer{}, err
	}
	if err := b.Align(ctx, c.Problem.Name, c.Bench.Name, 0); err != nil {
		return answer{}, err
	}
	rows, err := b.notable(ctx, c)
	if err != nil {
		return answer{}, err
	}
	a := summary(rows)
	if err := b.suspects(ctx, c, &a); err != nil {
		return a, err
	}
	for _, site := range c.Touched {
		a.sites = append(a.sites, find(c, site, rows))
	}
	if a.verdict == report.Same && c.Missing {
		if err := b.doubt(ctx, c, &a); err != nil {
			return a, err
		}
	}
	a.msprobe, err = b.msprobeSays(ctx, c)
	return a, err
}

// suspects asks where it began. Where nothing can say that yet, the first row in order that differs stands for it.
func (b *bench) suspects(ctx context.Context, c corpus.Case, a *answer) error {
	if _, err := sql.ReportByName("origin"); err != nil {
		return nil //nolint:nilerr // see above
	}
	table, err := b.Report(ctx, "origin", names(c))
	a.suspects = origins(table)
	return err
}

// doubt makes the verdict unknown when a side is not complete.
func (b *bench) doubt(ctx context.Context, c corpus.Case, a *answer) error {
	for _, run := range []string{c.Problem.Name, c.Bench.Name} {
		lacks, err := b.Incomplete(ctx, run)
		if err != nil {
			return err
		}
		if len(lacks) > 0 {
			a.verdict = report.Unknown
		}
	}
	return nil
}

// summary reads the whole off the rows.
func summary(rows report.Table) answer {
	a := answer{verdict: report.Same}
	for i := range rows.Rows {
		op := rows.Get(i, "op").Exact
		if yes(rows.Get(i, "differs")) {
			a.verdict = report.Differs
			if len(a.suspects) == 0 {
				a.suspects = []origin{{whole(rows.Get(i, "rank")), whole(rows.Get(i, "step")), op, rows.Get(i, "role").Exact}}
			}
		}
		if rows.Get(i, "verdict").Exact == "diverged" && !slices.Contains(a.diverged, op) {
			a.diverged = append(a.diverged, op)
		}
		if yes(rows.Get(i, "alone")) && !slices.Contains(a.alone, op) {
			a.alone = append(a.alone, op)
		}
	}
	return a
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

// names are the parameters of a case's views, and their use.
const view = `tap.verdicts(problem = {problem:String}, bench = {bench:String}, benches = [], tolerance = -1, tolerances = [],
	rank = -1, first_step = 0, last_step = -1, step_offset = 0)`

func names(c corpus.Case) map[string]string {
	return map[string]string{"problem": c.Problem.Name, "bench": c.Bench.Name}
}

// notable asks for the rows of the fault, and for all that are judged to differ or have no partner.
func (b *bench) notable(ctx context.Context, c corpus.Case) (report.Table, error) {
	return b.Table(ctx, `
		SELECT v.rank AS rank, v.bench_rank AS bench_rank, v.step AS step, v.seq AS seq, o.name AS op, s.role AS role, s.path AS path,
			bo.name AS bench_op, bs.role AS bench_role, bs.path AS bench_path, v.problem_present AS present,
			NOT v.problem_present OR NOT v.bench_present AS alone,
			toString(v.verdict) AS verdict, v.reason AS reason, toString(v.evidence) AS evidence, v.differs AS differs
		FROM `+view+` AS v
		LEFT JOIN tap.sites AS s ON s.site_id = v.site_id
		LEFT JOIN tap.ops AS o ON o.op_id = s.op_id
		LEFT JOIN tap.sites AS bs ON bs.site_id = v.bench_site_id
		LEFT JOIN tap.ops AS bo ON bo.op_id = bs.op_id
		WHERE v.site_id IN (`+siteIDs(c)+`) OR v.verdict IN ('diverged', 'unpaired', 'unknown') OR v.differs
		ORDER BY step, rank, present DESC, seq`, names(c))
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
	table, err := b.Table(ctx, `
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
		case s.verdict == "equal" || s.verdict == "within":
			wrong = append(wrong, fmt.Sprintf("%v is called %s", s.site, s.verdict))
		case s.verdict == "agrees" && !s.sameEvidence():
			wrong = append(wrong, fmt.Sprintf("%v is said to agree, but the evidence differs: %s and %s", s.site, s.problem, s.bench))
		}
	}
	switch {
	case c.Hidden == "" && a.verdict != report.Differs:
		wrong = append(wrong, fmt.Sprintf("the verdict is %s, though the evidence shows the fault", a.verdict))
	case c.Missing && a.verdict == report.Same:
		wrong = append(wrong, "the verdict is same, though data is missing")
	}
	return wrong
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
