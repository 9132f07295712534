// Package flightrecorder reads the files of PyTorch's Flight Recorder, of NCCL, HCCL and gloo, as pickles and as JSON:
// the collectives that each rank called last, with what each came and how far it got.
//
// A file is the work of one rank, which only its name tells. It is a ring: what was called before it began is not known.
// The code in a pickle is not run. Of a file that is damaged or cut off, the calls before the damage count, and the
// others are counted as lost as far as their numbers show that they were there. What is read stands beside a run: it takes
// the place of no step.
package flightrecorder

import (
	"errors"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/content"
	"github.com/tensortap/tensortap/schemas"
)

// ErrNoTrace is the cause when a path leads to no file at all.
var ErrNoTrace = errors.New("no file of PyTorch's Flight Recorder")

// Tool is the Flight Recorder among the tools whose files are read.
func Tool() producers.Tool {
	return producers.Tool{Name: schemas.SourceFlightRecorder, Files: "a file of PyTorch's Flight Recorder", NoDump: ErrNoTrace, Find: find}
}

func find(path string) (producers.Found, error) {
	traces, problems, guessed, err := findTraces(path)
	if err != nil {
		return producers.Found{}, err
	}
	found := producers.Found{
		Tool: schemas.SourceFlightRecorder, RanksGuessed: guessed, Problems: problems,
		Describe: func(run string, labels map[string]string) schemas.RunRow { return describe(traces, run, labels) },
		Reader: func(run string, to producers.Rows) producers.Reader {
			return content.Reader(to, func(dump int, progress func(int64)) *content.Content {
				return &traces[dump].source(run, progress).Content
			})
		},
	}
	for _, t := range traces {
		found.Dumps = append(found.Dumps, producers.Dump{
			Rank: t.rank, Dir: t.path, ModTimeNs: t.modTimeNs, Bytes: t.bytes, Beside: true,
			Open: func(run string, progress func(int64)) (producers.Source, error) { return t.open(run, progress) },
		})
	}
	return found, nil
}

// describe is the row of the run.
func describe(traces []*trace, run string, labels map[string]string) schemas.RunRow {
	row := schemas.RunRow{
		RunID: schemas.RunID(run), Name: run, Source: schemas.SourceFlightRecorder, Framework: "pytorch",
		Task: "structure", Labels: labels, EventTimeSource: "file", FirstEventTimeNs: traces[0].modTimeNs,
	}
	for _, t := range traces {
		row.FirstEventTimeNs = min(row.FirstEventTimeNs, t.modTimeNs)
	}
	row.Epoch = schemas.DescriptionID(row)
	return row
}
