package families_test

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// cross gives runs of testdata/cross, where each line is a tensor of a step: of a small Llama by Transformers (hf), by vLLM
// with the same weights (vl), and by vLLM with rows of one weight scaled (vlbad); of a small Qwen 3 by Transformers (qwen3-hf) and,
// on two ranks, by SGLang and vLLM (qwen3-sglang, qwen3-vllm), whose lines have the rank, and sketches of what SGLang leaves to be
// added up.
type cross struct {
	definitions *rows.Definitions
	runs        map[string]*rows.Run
	tensors     map[string]map[rows.Place]*rows.Tensors
}

func newCross(tb testing.TB, names ...string) *cross {
	tb.Helper()
	c := &cross{definitions: rows.NewDefinitions(), runs: map[string]*rows.Run{}, tensors: map[string]map[rows.Place]*rows.Tensors{}}
	for _, name := range names {
		c.add(name, readLines(tb, "testdata/cross/"+name+".csv.gz"))
	}
	return c
}

func (c *cross) Definitions() *rows.Definitions { return c.definitions }

func (c *cross) Run(_ context.Context, name string) (*rows.Run, error) { return c.runs[name], nil }

func (c *cross) Tensors(_ context.Context, run *rows.Run, places []rows.Place) (map[rows.Place]*rows.Tensors, error) {
	found := map[rows.Place]*rows.Tensors{}
	for _, at := range places {
		if t := c.tensors[run.Name][at]; t != nil {
			found[at] = t
		}
	}
	return found, nil
}

// readLines are the lines of a file, by the names of the columns.
func readLines(tb testing.TB, path string) []map[string]string {
	tb.Helper()
	file, err := os.Open(path) //nolint:gosec // of this repository
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	content, err := gzip.NewReader(file)
	if err != nil {
		tb.Fatal(err)
	}
	all, err := csv.NewReader(content).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	lines := make([]map[string]string, len(all)-1)
	for i, values := range all[1:] {
		lines[i] = map[string]string{}
		for column, value := range values {
			lines[i][all[0][column]] = value
		}
	}
	return lines
}

func (c *cross) add(name string, lines []map[string]string) {
	run := &rows.Run{Name: name, ID: schemas.RunID(name), MainDtype: "torch.bfloat16", Described: schemas.RunRow{Source: schemas.SourceCollector, Level: "L0"}}
	c.runs[name], c.tensors[name] = run, map[rows.Place]*rows.Tensors{}
	for _, line := range lines {
		at := rows.Place{Rank: uint32(whole(line["rank"])), Step: uint32(whole(line["step"]))} //nolint:gosec // few ranks and steps
		if c.tensors[name][at] == nil {
			c.tensors[name][at] = &rows.Tensors{}
		}
		c.tensors[name][at].Append(c.row(line))
	}
	places := slices.SortedFunc(maps.Keys(c.tensors[name]), func(a, b rows.Place) int { return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step)) })
	ranks := places[len(places)-1].Rank + 1
	for rank := range ranks {
		run.Ranks = append(run.Ranks, schemas.RankRow{Rank: rank, TP: int16(rank), TPSize: int16(ranks), PPSize: 1, DPSize: 1, CPSize: 1, EPSize: 1}) //nolint:gosec // few ranks
		run.Missing = append(run.Missing, rows.Completeness{Rank: rank, Complete: true})
	}
	for _, at := range places {
		tensors := c.tensors[name][at]
		run.Steps = append(run.Steps, schemas.StepRow{
			RunID: run.ID, Rank: at.Rank, Step: at.Step, ProgramID: c.program(tensors), TensorCount: uint64(tensors.Len()), Complete: 1, //nolint:gosec // a length
		})
	}
}

// row is a line with its definitions.
func (c *cross) row(line map[string]string) *schemas.TensorRow {
	op := schemas.ParseOpName(line["op"])
	c.definitions.Ops[op.OpID] = &op
	site := schemas.SiteRow{SiteID: schemas.SiteID(op.OpID, line["role"], line["path"]), OpID: op.OpID, Role: line["role"], Path: line["path"]}
	c.definitions.Sites[site.SiteID] = site
	layout := schemas.LayoutRow{Kind: line["kind"], Dtype: line["dtype"], Literal: line["literal"]}
	_ = json.Unmarshal([]byte(line["shape"]), &layout.Shape)
	layout.LayoutID = schemas.LayoutID(&layout)
	c.definitions.Layouts[layout.LayoutID] = &layout
	row := &schemas.TensorRow{Seq: whole(line["seq"]), SiteID: site.SiteID, LayoutID: layout.LayoutID, ElementCount: whole(line["element_count"]), NaNCount: whole(line["nan_count"])}
	for column, into := range map[string]struct {
		value *float64
		bit   uint32
	}{
		"value_min": {&row.ValueMin, schemas.MeasuredMin}, "value_max": {&row.ValueMax, schemas.MeasuredMax},
		"value_mean": {&row.ValueMean, schemas.MeasuredMean}, "value_m2": {&row.ValueM2, schemas.MeasuredM2}, "value_l2": {&row.ValueL2, schemas.MeasuredL2},
	} {
		if line[column] != "" {
			*into.value, _ = strconv.ParseFloat(line[column], 64)
			row.Measured |= into.bit
		}
	}
	_ = json.Unmarshal([]byte(line["sketch"]), &row.Sketch)
	return row
}

// scale multiplies a tensor of all steps of a run.
func (c *cross) scale(run, op, role, path string, by float64) {
	id := schemas.SiteID(schemas.OpID(op), role, path)
	for _, t := range c.tensors[run] {
		for i, site := range t.SiteID {
			if site == id {
				t.Min[i], t.Max[i], t.Mean[i], t.L2[i] = by*t.Min[i], by*t.Max[i], by*t.Mean[i], by*t.L2[i]
				if t.Sketch != nil {
					for bucket := range t.Sketch[i] {
						t.Sketch[i][bucket] *= float32(by)
					}
				}
			}
		}
	}
}

// forgetSketches leaves statistics alone.
func (c *cross) forgetSketches() {
	for _, places := range c.tensors {
		for _, t := range places {
			t.Sketch = nil
		}
	}
}

// split adds a run that has another one's tensors on two ranks, whose group the last halves of layers are split over; the
// second rank's half of a site is scaled.
func (c *cross) split(run, as, scaled string, by float64) {
	of := c.runs[run]
	two := *of
	two.Name, two.ID, two.Steps, two.Ranks = as, schemas.RunID(as), nil, nil
	two.Missing = []rows.Completeness{{Complete: true}, {Rank: 1, Complete: true}}
	c.tensors[as] = map[rows.Place]*rows.Tensors{}
	for rank := range uint32(2) {
		two.Ranks = append(two.Ranks, schemas.RankRow{Rank: rank, TP: int16(rank), TPSize: 2, PPSize: 1, DPSize: 1, CPSize: 1, EPSize: 1}) //nolint:gosec // few ranks
		for _, step := range of.Steps {
			step.Rank = rank
			two.Steps = append(two.Steps, step)
			at := rows.Place{Rank: rank, Step: step.Step}
			c.tensors[as][at] = c.half(c.tensors[run][rows.Place{Step: step.Step}], rank, scaled, by)
		}
	}
	c.runs[as] = &two
}

// half is what one of two ranks holds of tensors.
func (c *cross) half(of *rows.Tensors, rank uint32, scaled string, by float64) *rows.Tensors {
	half := &rows.Tensors{}
	for i := range of.Len() {
		o := of.At(i)
		site := c.definitions.Sites[o.SiteID]
		name := c.definitions.Ops[site.OpID].ModulePath + " " + site.Role + "." + site.Path
		if isSplit(name) && o.ElementCount > 0 {
			dimension := len(c.definitions.Layouts[o.LayoutID].Shape) - 1
			if strings.HasSuffix(name, " parameter.weight") {
				dimension = 0
			}
			c.halve(&o, dimension)
			if rank == 1 && name == scaled {
				o.Min, o.Max, o.Mean, o.M2, o.L2 = by*o.Min, by*o.Max, by*o.Mean, by*by*o.M2, by*o.L2
			}
		}
		half.Append(&schemas.TensorRow{
			Seq: o.Seq, SiteID: o.SiteID, LayoutID: o.LayoutID, ElementCount: o.ElementCount, Measured: o.Measured,
			ValueMin: o.Min, ValueMax: o.Max, ValueMean: o.Mean, ValueM2: o.M2, ValueL2: o.L2,
		})
	}
	return half
}

// isSplit says whether tensor-parallel ranks hold parts of a value, in a Llama by vLLM.
func isSplit(name string) bool {
	for _, end := range []string{"embed_tokens parameter.weight", "qkv_proj output.0", "o_proj input.0", "gate_up_proj output.0", "act_fn input.0", "act_fn output.0", "down_proj input.0"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// halve leaves half of the elements, with the same mean: of one dimension.
func (c *cross) halve(o *rows.Observation, dimension int) {
	layout := *c.definitions.Layouts[o.LayoutID]
	layout.Shape = slices.Clone(layout.Shape)
	layout.Shape[dimension] /= 2
	layout.LayoutID = schemas.LayoutID(&layout)
	c.definitions.Layouts[layout.LayoutID] = &layout
	o.LayoutID, o.ElementCount, o.M2, o.L2 = layout.LayoutID, o.ElementCount/2, o.M2/2, o.L2/math.Sqrt2
}

func whole(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

// program defines the ops of a step in their order, each below the module whose path is the longest that holds its own.
func (c *cross) program(tensors *rows.Tensors) uint64 {
	var list []schemas.ProgramRow
	var hasher schemas.ProgramHasher
	above := map[string]uint64{}
	seen := map[uint64]bool{}
	for _, id := range tensors.SiteID {
		op := c.definitions.Ops[c.definitions.Sites[id].OpID]
		if seen[op.OpID] {
			continue
		}
		seen[op.OpID] = true
		row := schemas.ProgramRow{OpID: op.OpID, ParentOpID: parent(above, op.ModulePath), Position: uint32(len(list))} //nolint:gosec // few ops
		above[op.ModulePath] = op.OpID
		hasher.Add(row.OpID, row.ParentOpID)
		list = append(list, row)
	}
	for i := range list {
		list[i].ProgramID = hasher.ID()
	}
	c.definitions.Programs[hasher.ID()] = list
	return hasher.ID()
}

func parent(above map[string]uint64, path string) uint64 {
	for at := strings.LastIndexByte(path, '.'); at > 0; at = strings.LastIndexByte(path[:at], '.') {
		if op := above[path[:at]]; op != 0 {
			return op
		}
	}
	return 0
}
