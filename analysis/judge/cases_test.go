package judge

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	filed "github.com/tensortap/tensortap/analysis/internal/cases" // a function here has its name
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// shared are the cases that views of the database answer, too, and tables of events that several cases take.
const shared = "../../sql/testdata"

// table is the content of one file of a case: rows by the names of their columns.
type table []map[string]string

// scenario is one case: the rows of its tables, and the rows wanted.
type scenario struct {
	tables     map[string]table
	parameters map[string]string
}

// readScenario reads a case; a case without tables of its own takes the shared ones of that name.
func readScenario(t *testing.T, folder, name string) scenario {
	t.Helper()
	s := scenario{tables: map[string]table{}, parameters: map[string]string{}}
	s.read(t, filepath.Join(folder, name+".txtar"))
	if len(s.tables) == 1 {
		s.read(t, filepath.Join(shared, "input", name+".txtar"))
	}
	return s
}

func (s *scenario) read(t *testing.T, file string) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		if f.Name == "parameters" {
			for line := range strings.Lines(string(f.Data)) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				s.parameters[name] = value
			}
			continue
		}
		s.tables[strings.TrimSuffix(f.Name, ".tsv")] = readTable(string(f.Data))
	}
}

func readTable(text string) table {
	lines := strings.Split(strings.TrimSuffix(filed.ExpandIDs(text), "\n"), "\n")
	columns := strings.Split(lines[0], "\t")
	var read table
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, value := range strings.Split(line, "\t") {
			row[columns[i]] = strings.ReplaceAll(value, `\\`, `\`)
		}
		read = append(read, row)
	}
	return read
}

// whole is 0 where a column is absent, as in the database.
func whole[T uint8 | uint16 | uint32 | uint64 | int32 | int64](row map[string]string, column string) T {
	if value, err := strconv.ParseUint(row[column], 10, 64); err == nil {
		return T(value)
	}
	value, _ := strconv.ParseInt(row[column], 10, 64)
	return T(value)
}

func real(row map[string]string, column string) float64 {
	value, _ := strconv.ParseFloat(row[column], 64)
	return value
}

func (s *scenario) definitions(t *testing.T) *rows.Definitions {
	t.Helper()
	d := rows.NewDefinitions()
	for _, r := range s.tables["op"] {
		id := whole[uint64](r, "op_id")
		d.Ops[id] = &schemas.OpRow{
			OpID: id, Name: r["name"], ModulePath: r["module_path"], LayerIndex: whole[int32](r, "layer_index"),
			ClassOrAPI: r["class_or_api"], Phase: r["phase"],
		}
	}
	for _, r := range s.tables["site"] {
		id := whole[uint64](r, "site_id")
		d.Sites[id] = schemas.SiteRow{SiteID: id, OpID: whole[uint64](r, "op_id"), Role: r["role"], Path: r["path"]}
	}
	for _, r := range s.tables["layout"] {
		l := &schemas.LayoutRow{LayoutID: whole[uint64](r, "layout_id"), Kind: r["kind"], Dtype: r["dtype"], Literal: r["literal"]}
		if err := json.Unmarshal([]byte(r["shape"]), &l.Shape); err != nil {
			t.Fatal(err)
		}
		if grad := r["requires_grad"]; grad != `\N` {
			known := whole[uint8](r, "requires_grad")
			l.RequiresGrad = &known
		}
		d.Layouts[l.LayoutID] = l
	}
	for _, r := range s.tables["program"] {
		id := whole[uint64](r, "program_id")
		d.Programs[id] = append(d.Programs[id], schemas.ProgramRow{
			ProgramID: id, Position: whole[uint32](r, "position"), OpID: whole[uint64](r, "op_id"), ParentOpID: whole[uint64](r, "parent_op_id"),
		})
	}
	return d
}

// side is one run of a case: its latest steps and their tensors.
type side struct {
	run     *rows.Run
	lossy   map[uint32]bool // ranks that dropped something
	epochs  map[rows.Place]uint64
	tensors []observed
}

type observed struct {
	rows.Place
	rows.Observation
}

func (s *scenario) side(t *testing.T, name string, d *rows.Definitions) *side {
	t.Helper()
	read := &side{run: &rows.Run{Name: name, ID: schemas.RunID(name)}, lossy: map[uint32]bool{}, epochs: map[rows.Place]uint64{}}
	for _, r := range s.tables["run"] {
		if r["name"] == name {
			read.run.Described.Source = r["source"]
		}
	}
	for _, r := range s.tables["step"] {
		if whole[uint64](r, "run_id") != read.run.ID {
			continue
		}
		place := placeOf(r)
		read.run.Steps = append(read.run.Steps, schemas.StepRow{Rank: place.Rank, Step: place.Step, ProgramID: whole[uint64](r, "program_id")})
		read.epochs[place] = max(read.epochs[place], whole[uint64](r, "epoch")) // of the cases, the latest generation
		read.lossy[place.Rank] = read.lossy[place.Rank] || whole[uint64](r, "dropped_count") > 0
	}
	counts := map[string]int{}
	for _, r := range s.tables["tensor"] {
		if whole[uint64](r, "run_id") != read.run.ID || whole[uint64](r, "epoch") != read.epochs[placeOf(r)] {
			continue
		}
		o := observation(t, r)
		read.tensors = append(read.tensors, observed{placeOf(r), o})
		if l := d.Layouts[o.LayoutID]; l != nil && l.Kind == "tensor" && regexp.MustCompile(`(?i)float|half|double`).MatchString(l.Dtype) {
			counts[l.Dtype]++
		}
	}
	for dtype, n := range counts {
		if most := counts[read.run.MainDtype]; n > most || (n == most && dtype > read.run.MainDtype) {
			read.run.MainDtype = dtype
		}
	}
	return read
}

func placeOf(r map[string]string) rows.Place {
	return rows.Place{Rank: whole[uint32](r, "rank"), Step: whole[uint32](r, "step")}
}

func observation(t *testing.T, r map[string]string) rows.Observation {
	t.Helper()
	o := rows.Observation{
		Seq: whole[uint64](r, "seq"), SiteID: whole[uint64](r, "site_id"), LayoutID: whole[uint64](r, "layout_id"), MicroStep: whole[uint16](r, "micro_step"),
		Measured: whole[uint32](r, "measured"), ElementCount: whole[uint64](r, "element_count"),
		Min: real(r, "value_min"), Max: real(r, "value_max"), Mean: real(r, "value_mean"), L2: real(r, "value_l2"),
		NaNCount: whole[uint64](r, "nan_count"), PositiveInfinityCount: whole[uint64](r, "positive_infinity_count"),
		NegativeInfinityCount: whole[uint64](r, "negative_infinity_count"),
		Digest:                whole[uint64](r, "digest"), DigestKind: whole[uint8](r, "digest_kind"),
	}
	for value := range strings.SplitSeq(strings.Trim(r["sketch"], "[]"), ",") {
		if value == "" {
			continue
		}
		bucket, err := strconv.ParseFloat(value, 32)
		if err != nil {
			t.Fatal(err)
		}
		o.Sketch = append(o.Sketch, float32(bucket))
	}
	return o
}

// config is the case's configuration, with its user's exceptions.
func (s *scenario) config(t *testing.T, d *rows.Definitions, bench *side) Config {
	t.Helper()
	cfg := DefaultConfig()
	if given, ok := s.parameters["tolerance"]; ok {
		cfg.Tolerance, _ = strconv.ParseFloat(given, 64)
	}
	quoted := regexp.MustCompile(`\('([^,]*)','([^,]*)',([^)]*)\)`)
	for _, rule := range quoted.FindAllStringSubmatch(s.parameters["tolerances"], -1) {
		tolerance, err := strconv.ParseFloat(rule[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Rules = append(cfg.Rules, ToleranceRule{Op: rule[1], Dtype: rule[2], Tolerance: tolerance})
	}
	for _, r := range s.tables["known_exception"] {
		cfg.Exceptions = append(cfg.Exceptions, Exception{API: r["api"], Role: r["role"], Path: r["path"], Sort: r["sort"], Why: r["why"]})
	}
	spread := NewSpread()
	for _, name := range regexp.MustCompile(`\w+`).FindAllString(s.parameters["benches"], -1) {
		other := s.side(t, name, d)
		for i := range other.tensors {
			if base := find(bench.tensors, other.tensors[i]); base != nil {
				spread.Add(&base.Observation, &other.tensors[i].Observation, other.run.ID)
			}
		}
	}
	cfg.Spread = spread.Bands()
	return cfg
}

func find(tensors []observed, like observed) *observed {
	for i := range tensors {
		if tensors[i].Place == like.Place && tensors[i].SiteID == like.SiteID && tensors[i].MicroStep == like.MicroStep {
			return &tensors[i]
		}
	}
	return nil
}

// pairs are the pairs of tensors of the same site, rank and step, each with its setting.
func pairs(problem, bench *side) (all []Pair, settings []Setting) {
	add := func(p Pair) {
		_, inProblem := problem.epochs[rows.Place{Rank: p.Rank, Step: p.Step}]
		_, inBench := bench.epochs[rows.Place{Rank: p.Rank, Step: p.Step}]
		all = append(all, p)
		settings = append(settings, Setting{
			ProblemIncomplete: problem.lossy[p.Rank], BenchIncomplete: bench.lossy[p.Rank], CommonStep: inProblem && inBench,
		})
	}
	for _, p := range problem.tensors {
		pair := Pair{Rank: p.Rank, BenchRank: p.Rank, Step: p.Step, BenchStep: p.Step, InProblem: true, Problem: p.Observation}
		if b := find(bench.tensors, p); b != nil {
			pair.InBench, pair.Bench = true, b.Observation
		}
		add(pair)
	}
	for _, b := range bench.tensors {
		if find(problem.tensors, b) == nil {
			add(Pair{Rank: b.Rank, BenchRank: b.Rank, Step: b.Step, BenchStep: b.Step, InBench: true, Bench: b.Observation})
		}
	}
	return all, settings
}

// payload is the comparison of the pair's raw tensors.
func (s *scenario) payload(p *Pair) *Payload {
	for _, r := range s.tables["payload_error"] {
		if placeOf(r) == (rows.Place{Rank: p.Rank, Step: p.Step}) && whole[uint64](r, "problem_site_id") == p.Problem.SiteID &&
			whole[uint64](r, "bench_site_id") == p.Bench.SiteID && r["relative_l2"] != `\N` {
			return &Payload{SameBits: r["same_bits"] == "1" || r["same_bits"] == "true", Error: real(r, "relative_l2")}
		}
	}
	return nil
}

// cases are the names of the cases in a folder.
func cases(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".txtar"))
	}
	return names
}
