// Package crossed reads runs of two implementations of a model that were recorded once, as analysis/mapping/families/testdata/cross
// keeps them: a line for each tensor of a step.
package crossed

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Runs are a source of runs. A test may change them.
type Runs struct {
	Known  *rows.Definitions
	ByName map[string]*rows.Run
	Stored map[string]map[rows.Place]*rows.Tensors
	failed error // the first
}

// Read reads the runs of a folder that have these names.
func Read(folder string, names ...string) (*Runs, error) {
	c := &Runs{Known: rows.NewDefinitions(), ByName: map[string]*rows.Run{}, Stored: map[string]map[rows.Place]*rows.Tensors{}}
	for _, name := range names {
		lines, err := readLines(filepath.Join(folder, name+".csv.gz"))
		if err != nil {
			return nil, fmt.Errorf("read recorded run %s: %w", name, err)
		}
		if c.add(name, lines); c.failed != nil {
			return nil, fmt.Errorf("read recorded run %s: %w", name, c.failed)
		}
	}
	return c, nil
}

// Definitions are those of all runs.
func (c *Runs) Definitions() *rows.Definitions { return c.Known }

// Run is the run of that name.
func (c *Runs) Run(_ context.Context, name string) (*rows.Run, error) { return c.ByName[name], nil }

// Tensors are those of places of a run.
func (c *Runs) Tensors(_ context.Context, run *rows.Run, places []rows.Place) (map[rows.Place]*rows.Tensors, error) {
	found := map[rows.Place]*rows.Tensors{}
	for _, at := range places {
		if t := c.Stored[run.Name][at]; t != nil {
			found[at] = t
		}
	}
	return found, nil
}

// readLines reads the lines of a file, by the names of the columns.
func readLines(path string) ([]map[string]string, error) {
	file, err := os.Open(path) //nolint:gosec // of this repository
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	all, err := csv.NewReader(content).ReadAll()
	if err != nil {
		return nil, err
	}
	lines := make([]map[string]string, len(all)-1)
	for i, values := range all[1:] {
		lines[i] = map[string]string{}
		for column, value := range values {
			lines[i][all[0][column]] = value
		}
	}
	return lines, nil
}

func (c *Runs) must(err error) { c.failed = cmp.Or(c.failed, err) }

func (c *Runs) add(name string, lines []map[string]string) {
	run := &rows.Run{Name: name, ID: schemas.RunID(name), MainDtype: "torch.bfloat16", Described: schemas.RunRow{Source: schemas.SourceCollector, Level: "L0"}}
	c.ByName[name], c.Stored[name] = run, map[rows.Place]*rows.Tensors{}
	for _, line := range lines {
		at := rows.Place{Rank: uint32(c.whole(line["rank"])), Step: uint32(c.whole(line["step"]))} //nolint:gosec // few ranks and steps
		if c.Stored[name][at] == nil {
			c.Stored[name][at] = &rows.Tensors{}
		}
		c.Stored[name][at].Append(c.row(line))
	}
	places := slices.SortedFunc(maps.Keys(c.Stored[name]), func(a, b rows.Place) int { return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step)) })
	ranks := places[len(places)-1].Rank + 1
	for rank := range ranks {
		run.Ranks = append(run.Ranks, schemas.RankRow{Rank: rank, TP: int16(rank), TPSize: int16(ranks), PPSize: 1, DPSize: 1, CPSize: 1, EPSize: 1}) //nolint:gosec // few ranks
		run.Missing = append(run.Missing, rows.Completeness{Rank: rank, Complete: true})
	}
	for _, at := range places {
		tensors := c.Stored[name][at]
		run.Steps = append(run.Steps, schemas.StepRow{
			RunID: run.ID, Rank: at.Rank, Step: at.Step, ProgramID: c.program(tensors), TensorCount: uint64(tensors.Len()), Complete: 1, //nolint:gosec // a length
		})
	}
}

// row is a line with its definitions.
func (c *Runs) row(line map[string]string) *schemas.TensorRow {
	op := schemas.ParseOpName(line["op"])
	c.Known.Ops[op.OpID] = &op
	site := schemas.SiteRow{SiteID: schemas.SiteID(op.OpID, line["role"], line["path"]), OpID: op.OpID, Role: line["role"], Path: line["path"]}
	c.Known.Sites[site.SiteID] = site
	layout := schemas.LayoutRow{Kind: line["kind"], Dtype: line["dtype"], Literal: line["literal"]}
	c.decode(line["shape"], &layout.Shape)
	layout.LayoutID = schemas.LayoutID(&layout)
	c.Known.Layouts[layout.LayoutID] = &layout
	row := &schemas.TensorRow{Seq: c.whole(line["seq"]), SiteID: site.SiteID, LayoutID: layout.LayoutID, ElementCount: c.whole(line["element_count"]), NaNCount: c.whole(line["nan_count"])}
	for column, into := range map[string]struct {
		value *float64
		bit   uint32
	}{
		"value_min": {&row.ValueMin, schemas.MeasuredMin}, "value_max": {&row.ValueMax, schemas.MeasuredMax},
		"value_mean": {&row.ValueMean, schemas.MeasuredMean}, "value_m2": {&row.ValueM2, schemas.MeasuredM2}, "value_l2": {&row.ValueL2, schemas.MeasuredL2},
	} {
		if line[column] != "" {
			var err error
			*into.value, err = strconv.ParseFloat(line[column], 64)
			c.must(err)
			row.Measured |= into.bit
		}
	}
	c.decode(line["sketch"], &row.Sketch)
	return row
}

// decode reads a list, which may be missing.
func (c *Runs) decode(text string, into any) {
	if text != "" {
		c.must(json.Unmarshal([]byte(text), into))
	}
}

// whole is a number, which may be missing.
func (c *Runs) whole(text string) uint64 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 64)
	c.must(err)
	return n
}

// program defines the ops of a step in their order, each below the module whose path is the longest that holds its own.
func (c *Runs) program(tensors *rows.Tensors) uint64 {
	var list []schemas.ProgramRow
	var hasher schemas.ProgramHasher
	above := map[string]uint64{}
	seen := map[uint64]bool{}
	for _, id := range tensors.SiteID {
		op := c.Known.Ops[c.Known.Sites[id].OpID]
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
	c.Known.Programs[hasher.ID()] = list
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

// Row is a recorded tensor as a row, of no run.
func Row(o *rows.Observation) *schemas.TensorRow {
	return &schemas.TensorRow{
		Seq: o.Seq, SiteID: o.SiteID, LayoutID: o.LayoutID, ElementCount: o.ElementCount, NaNCount: o.NaNCount, Measured: o.Measured,
		ValueMin: o.Min, ValueMax: o.Max, ValueMean: o.Mean, ValueM2: o.M2, ValueL2: o.L2, Sketch: o.Sketch,
	}
}
