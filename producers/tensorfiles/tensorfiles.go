// Package tensorfiles reads tensors that programs have saved by themselves: files of torch.save, numpy.save and
// safetensors, one or many, under names of their own.
//
// Rank and step come from the names: of folders (rank_1/step_20/attn.pt, as Transformer Engine's iter_000100), of files
// (attn_rank1_step20.pt, forward_input_0.pt), or of SGLang's hook (TP1_PP0_Rank1_pid7/Pass00020.pt). The rest of the name
// is the op. Files are read without running their pickle. An unreadable file is counted and named, and the others count.
package tensorfiles

import (
	"errors"
	"math"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/saved"
	"github.com/tensortap/tensortap/schemas"
)

// ErrNoDump is the cause when a path leads to no tensor at all. Its caller shows the error, which says what is at the path.
var ErrNoDump = errors.New("no saved tensors")

// Tool is users' own files of tensors among the tools whose dumps are read.
func Tool() producers.Tool {
	return producers.Tool{Name: schemas.SourceTensorFiles, Files: "a saved tensor", NoDump: ErrNoDump, Find: find}
}

func find(path string) (producers.Found, error) {
	f, err := look(path)
	if err != nil {
		return producers.Found{}, err
	}
	found := producers.Found{Tool: Tool().Name, Problems: f.problems, Describe: f.runRow}
	dumps := f.dumps()
	for i := range dumps {
		found.Dumps = append(found.Dumps, dumps[i].Listed())
	}
	found.Reader = func(run string, to producers.Rows) producers.Reader { return saved.Reader(dumps, run, &to) }
	return found, nil
}

func (f *found) runRow(run string, labels map[string]string) schemas.RunRow {
	row := schemas.RunRow{
		RunID: schemas.RunID(run), Name: run, Source: schemas.SourceTensorFiles, Task: "tensor",
		Labels: labels, EventTimeSource: "file", FirstEventTimeNs: math.MaxInt64,
	}
	for _, one := range f.files {
		row.FirstEventTimeNs = min(row.FirstEventTimeNs, one.modTimeNs)
	}
	row.Epoch = schemas.DescriptionID(row)
	return row
}
