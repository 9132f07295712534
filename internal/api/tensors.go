package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/elements"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/internal/torchfile"
	"github.com/tensortap/tensortap/sql"
)

// tensorsAtOnce are read: each may take as much memory as package torchfile says.
const tensorsAtOnce = 2

// mostCells bounds the rows, and the columns, of a picture.
const mostCells = 256

func placeParameters() []parameter {
	return []parameter{
		{Parameter: sql.Parameter{Name: "op", Type: "String", Required: true, Doc: "Name of the op."}},
		{Parameter: sql.Parameter{Name: "role", Type: "String", Doc: "input, output, parameter and so on; by default the output where it is kept."}},
		{Parameter: sql.Parameter{Name: "path", Type: "String", Doc: "Which input or output, such as 0 or kwargs.mask; by default the first."}},
		{Parameter: sql.Parameter{Name: "rank", Type: "Int64", Default: "-1", Doc: "Rank; -1 for the least that kept it."}},
		{Parameter: sql.Parameter{Name: "step", Type: "Int64", Default: "-1", Doc: "Step; -1 for the first that kept it."}},
	}
}

func lookParameters() []parameter {
	return append([]parameter{{Parameter: sql.Parameter{Name: "run", Type: "String", Required: true, Doc: "Name of the run."}}}, placeParameters()...)
}

func pairParameters(benchRequired bool) []parameter {
	return append(append([]parameter{
		{Parameter: sql.Parameter{Name: "problem", Type: "String", Required: true, Doc: "Name of the run under suspicion."}},
		{Parameter: sql.Parameter{Name: "bench", Type: "String", Required: benchRequired, Doc: "Name of the run it is held against."}},
	}, placeParameters()...),
		parameter{Parameter: sql.Parameter{Name: "bench_op", Type: "String", Doc: "Name of the op in the bench, where it is another."}},
		parameter{Parameter: sql.Parameter{Name: "step_offset", Type: "Int64", Default: "0", Doc: "Number to add to a step of the problem to get the step of the bench."}},
	)
}

func sliceParameters() []parameter {
	cells := fmt.Sprintf(" of the answer at most, %d or less.", mostCells)
	return append(pairParameters(false),
		parameter{Parameter: sql.Parameter{Name: "slice", Type: "String", Doc: "An index or a range for each axis, as 3,0:512,: for two axes at index 3 of the first; by default the whole of the last two axes, at index 0 of the others."}},
		parameter{Parameter: sql.Parameter{Name: "rows", Type: "UInt64", Default: "128", Doc: "Rows" + cells}},
		parameter{Parameter: sql.Parameter{Name: "columns", Type: "UInt64", Default: "128", Doc: "Columns" + cells}},
	)
}

// tensorRoutes are about raw tensors that runs kept. Their files lie on this host.
func (a *API) tensorRoutes() []route {
	return []route{
		{
			method: http.MethodGet, path: root + "/tensor", title: "What one raw tensor holds", parameters: lookParameters(), answer: a.handle(a.askIn(a.tensors, a.tensor)),
			doc: "The answer of `tensortap tensor show --output json`, of a tensor whose file lies where the server keeps them.",
		},
		{
			method: http.MethodGet, path: root + "/tensor/diff", title: "How two raw tensors differ, element by element", parameters: pairParameters(true), answer: a.handle(a.askIn(a.tensors, a.tensorDiff)),
			doc: "The answer of `tensortap tensor diff --output json`.",
		},
		{
			method: http.MethodGet, path: root + "/tensor/slice", title: "A slice of a raw tensor, or of two and their difference, as cells of a picture", parameters: sliceParameters(), answer: a.handle(a.askIn(a.tensors, a.tensorSlice)),
			doc: "Cells come row by row, with the mean of their finite elements (null where there are none), least and greatest where a cell has several elements, and counts of NaN and infinities where there are any. " +
				"With a bench, `difference.furthest` is the greatest difference in a cell, problem less bench, and `unlike` counts pairs of which one is NaN or infinite and the other is not so.",
		},
	}
}

func (a *API) tensor(ctx context.Context, client *system.Client, w http.ResponseWriter, r *http.Request) error {
	values, err := readQuery(r, lookParameters())
	if err != nil {
		return err
	}
	return a.ofTensors(ctx, client, w, r, values, []string{"run"}, report.WriteObject, func(of []kept) (any, error) {
		look, err := elements.At(ctx, of[0].tensor)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", of[0].name, err)
		}
		look.Name = of[0].name
		return look, nil
	})
}

func (a *API) tensorDiff(ctx context.Context, client *system.Client, w http.ResponseWriter, r *http.Request) error {
	values, err := readQuery(r, pairParameters(true))
	if err != nil {
		return err
	}
	return a.ofTensors(ctx, client, w, r, values, []string{"problem", "bench"}, report.WriteObject, func(of []kept) (any, error) {
		difference, err := elements.Diff(ctx, of[0].tensor, of[1].tensor, elements.Options{Within: -1})
		if err != nil {
			return nil, fmt.Errorf("compare %s with %s: %w", of[0].name, of[1].name, err)
		}
		difference.Problem.Name, difference.Bench.Name = of[0].name, of[1].name
		return difference, nil
	})
}

func (a *API) tensorSlice(ctx context.Context, client *system.Client, w http.ResponseWriter, r *http.Request) error {
	values, err := readQuery(r, sliceParameters())
	if err != nil {
		return err
	}
	cells, err := values.cells()
	if err != nil {
		return err
	}
	sides := []string{"problem", "bench"}
	if len(values["bench"]) == 0 {
		sides = sides[:1]
	}
	return a.ofTensors(ctx, client, w, r, values, sides, writeCompact, func(of []kept) (any, error) {
		window, err := elements.ParseWindow(values.text("slice"), of[0].tensor.Shape)
		if err != nil {
			return nil, wrong("slice", "slice %s: %v", shortened(values.text("slice")), err)
		}
		var bench *torchfile.Tensor
		if len(of) > 1 {
			bench = of[1].tensor
		}
		picture, err := elements.Draw(ctx, window, cells[0], cells[1], of[0].tensor, bench)
		switch {
		case errors.Is(err, elements.ErrTooLarge):
			return nil, wrong("slice", "%v", err)
		case errors.Is(err, elements.ErrShapesDiffer):
			return nil, wrong("bench", "%v: ask for each tensor alone", err)
		}
		return picture, err
	})
}

// writeCompact has no blanks, as a picture has many numbers.
func writeCompact(to io.Writer, answer any) error { return json.NewEncoder(to).Encode(answer) }

// cells are the greatest numbers of rows and columns.
func (g given) cells() (most [2]int64, err error) {
	for i, name := range []string{"rows", "columns"} {
		most[i] = 128
		if text := g.text(name); text != "" {
			most[i], _ = strconv.ParseInt(text, 10, 64) // it was checked
		}
		if most[i] < 1 || most[i] > mostCells {
			return most, wrong(name, "parameter %s is %d: want 1 to %d", name, most[i], mostCells)
		}
	}
	return most, nil
}

// text is the value of a parameter, empty where none was given.
func (g given) text(name string) string {
	if values := g[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// ofTensors answers what is made of the raw tensors of the runs that these parameters name.
func (a *API) ofTensors(ctx context.Context, client *system.Client, w http.ResponseWriter, r *http.Request, values given, sides []string, write func(io.Writer, any) error, do func(of []kept) (any, error)) error {
	var runs []string
	for _, side := range sides {
		runs = append(runs, values[side][0])
	}
	begun, err := a.begin(ctx, client, w, r, resting{runs: runs})
	if begun.known || err != nil {
		return err
	}
	of, err := a.openTensors(ctx, client, values, sides)
	for i := range of {
		defer of[i].close()
	}
	if err != nil {
		return err
	}
	answer, err := do(of)
	if err != nil {
		return err
	}
	tellGaps(w, begun.gaps)
	describe(w, report.JSON)
	return write(w, answer)
}
