// Package memorysnapshot reads snapshots of PyTorch's CUDA allocator (torch.cuda.memory._dump_snapshot): what each call
// stack holds, and how it came to that.
//
// A snapshot is a pickle. It is read as a stream, and nothing in it is run: a request for code is refused by its name.
// What is kept is the different texts, frames and stacks, the blocks in use at one time, and some hundred looks at each
// device, whatever the number of events.
//
// Its trace is a ring buffer, whose first events are lost. Sums are reckoned back from the end, where all blocks are
// known. A block is in use until free_completed. What the allocator does not know is absent: NCCL's buffers, the
// driver's, other processes. A snapshot stands beside a run: it takes the place of no step.
package memorysnapshot

import (
	"errors"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/content"
	"github.com/tensortap/tensortap/schemas"
)

// ErrNoSnapshot is the cause when a path leads to no snapshot at all.
var ErrNoSnapshot = errors.New("no snapshot of PyTorch's memory")

// Tool is the allocator among the tools whose files are read.
func Tool() producers.Tool {
	return producers.Tool{Name: schemas.SourceMemorySnapshot, Files: "a snapshot of PyTorch's memory", NoDump: ErrNoSnapshot, Find: find}
}

func find(path string) (producers.Found, error) {
	files, problems, err := findFiles(path)
	if err != nil {
		return producers.Found{}, err
	}
	found := producers.Found{
		Tool: schemas.SourceMemorySnapshot, Problems: problems,
		Describe: func(run string, labels map[string]string) schemas.RunRow { return describe(files, run, labels) },
		Reader: func(run string, to producers.Rows) producers.Reader {
			return content.Reader(to, func(dump int, progress func(int64)) *content.Content {
				return &files[dump].source(run, progress).Content
			})
		},
	}
	for i := range files {
		f := &files[i]
		found.Dumps = append(found.Dumps, producers.Dump{
			Rank: f.rank, Step: f.step, Dir: f.path, ModTimeNs: f.modTimeNs, Bytes: f.bytes, Beside: true, Open: f.open,
		})
	}
	return found, nil
}

// describe is the row of the run.
func describe(files []file, run string, labels map[string]string) schemas.RunRow {
	row := schemas.RunRow{
		RunID: schemas.RunID(run), Name: run, Source: schemas.SourceMemorySnapshot, Framework: "pytorch",
		Labels: labels, EventTimeSource: "file", FirstEventTimeNs: files[0].modTimeNs,
	}
	for i := range files {
		row.FirstEventTimeNs = min(row.FirstEventTimeNs, files[i].modTimeNs)
	}
	row.Epoch = schemas.DescriptionID(row)
	return row
}
