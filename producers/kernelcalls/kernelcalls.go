// Package kernelcalls reads the logs of kernel calls that FlashInfer (FLASHINFER_DUMP_DIR) and SGLang
// (SGLANG_KERNEL_API_DUMP_DIR) leave: which function was called with which tensors, and whether the call came back.
//
// Each process is a rank, and all its calls are one step: these logs know no steps. Calls are counted by signature. A call
// that raised is a failure, and so is one that began and whose end is not on file: that is where a process died. Only
// metadata are read, and no code in the saved tensors is run.
package kernelcalls

import (
	"errors"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/content"
	"github.com/tensortap/tensortap/schemas"
)

// ErrNoLog is the cause when a path leads to no log at all.
var ErrNoLog = errors.New("no log of kernel calls")

// Tool is these logs among the tools whose files are read.
func Tool() producers.Tool {
	return producers.Tool{Name: schemas.SourceKernelCalls, Files: "a log of kernel calls", NoDump: ErrNoLog, Find: find}
}

func find(path string) (producers.Found, error) {
	l, err := findLog(path)
	if err != nil {
		return producers.Found{}, err
	}
	found := producers.Found{
		Tool: schemas.SourceKernelCalls, RanksGuessed: len(l.processes) > 1,
		Describe: func(run string, labels map[string]string) schemas.RunRow { return l.describe(run, labels) },
		Reader: func(run string, to producers.Rows) producers.Reader {
			return content.Reader(to, func(i int, progress func(int64)) *content.Content { return &l.source(i, run, progress).Content })
		},
	}
	for i := range l.processes {
		found.Dumps = append(found.Dumps, producers.Dump{
			Rank: uint32(i), Dir: l.path, ModTimeNs: l.modTimeNs, Bytes: l.bytes, //nolint:gosec // fewer than files
			Open: func(run string, progress func(int64)) (producers.Source, error) { return l.open(i, run, progress) },
		})
	}
	return found, nil
}

// describe is the row of the run.
func (l *log) describe(run string, labels map[string]string) schemas.RunRow {
	row := schemas.RunRow{
		RunID: schemas.RunID(run), Name: run, Source: schemas.SourceKernelCalls, Framework: "pytorch", Engine: l.engine,
		Level: "aten", Task: "structure", Labels: labels, EventTimeSource: "file", FirstEventTimeNs: l.modTimeNs,
	}
	row.Epoch = schemas.DescriptionID(row)
	return row
}
