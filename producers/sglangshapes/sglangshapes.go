// Package sglangshapes reads the logs of SGLang's shape profiler: a line of JSON for each ATen op, with the shapes of its
// tensors, in both dialects that are in use.
//
// A log is the work of one rank. Its forward passes are steps, and each becomes counts of calls by signature, as level
// aten of the collector counts them. Ops that raised become failures. A log without repetitions has no counts and no
// order: all of it is one step then, and its run has the label deduped=true.
//
// Lines are found by their place in the file, so that a log of any size is read in the memory of its longest step. A
// line that is damaged or cut off is counted and quoted, and the others count.
package sglangshapes

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/content"
	"github.com/tensortap/tensortap/schemas"
)

// ErrNoLog is the cause when a path leads to no log at all.
var ErrNoLog = errors.New("no log of SGLang's shape profiler")

// Tool is the shape profiler among the tools whose files are read.
func Tool() producers.Tool {
	return producers.Tool{Name: schemas.SourceSGLangShapes, Files: "a log of SGLang's shape profiler", NoDump: ErrNoLog, Find: find}
}

func find(path string) (producers.Found, error) {
	logs, guessed, err := findLogs(path)
	if err != nil {
		return producers.Found{}, err
	}
	found := producers.Found{
		Tool: schemas.SourceSGLangShapes, RanksGuessed: guessed,
		Describe: func(run string, labels map[string]string) schemas.RunRow { return describe(logs, run, labels) },
	}
	for _, l := range logs {
		for _, s := range l.steps {
			found.Dumps = append(found.Dumps, producers.Dump{
				Rank: l.rank, Step: s.number, Dir: l.path, ModTimeNs: l.modTimeNs, Bytes: s.bytes(),
				Open: func(run string, progress func(int64)) (producers.Source, error) { return open(l, s, run, progress) },
			})
		}
	}
	slices.SortStableFunc(found.Dumps, func(a, b producers.Dump) int { return cmp.Compare(a.Step, b.Step) }) // logs are by rank
	found.Reader = func(run string, to producers.Rows) producers.Reader {
		return reader{found.Dumps, run, to}.read
	}
	return found, nil
}

// reader hands over the rows of several steps as they are.
type reader struct {
	steps []producers.Dump
	run   string
	to    producers.Rows
}

func (r reader) read(ctx context.Context, step int, progress func(int64)) (producers.Problems, error) {
	opened, err := r.steps[step].Open(r.run, progress)
	if err != nil {
		return producers.Problems{}, err
	}
	s, _ := opened.Content.(*content.Content)
	return s.Direct(ctx, &r.to)
}

// describe is the row of the run.
func describe(logs []*log, run string, labels map[string]string) schemas.RunRow {
	row := schemas.RunRow{
		RunID: schemas.RunID(run), Name: run, Source: schemas.SourceSGLangShapes, Framework: "pytorch", Engine: "sglang",
		Level: "aten", Task: "structure", Labels: labels, EventTimeSource: "file", FirstEventTimeNs: logs[0].modTimeNs,
	}
	for _, l := range logs {
		row.FirstEventTimeNs = min(row.FirstEventTimeNs, l.modTimeNs)
		if l.deduped {
			row.Labels = map[string]string{"deduped": "true"}
			maps.Copy(row.Labels, labels)
		}
	}
	row.Epoch = schemas.DescriptionID(row)
	return row
}
