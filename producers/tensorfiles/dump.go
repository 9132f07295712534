package tensorfiles

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/internal/torchfile"
	"github.com/tensortap/tensortap/producers/internal/saved"
	"github.com/tensortap/tensortap/schemas"
)

const roleOutput = "output"

// dump is the files of one step of a rank.
type dump struct {
	files []file
}

func dumpOf(dir string, files []file) saved.Dump {
	d := dump{files: files}
	all := saved.Dump{Rank: files[0].place.rank, Step: files[0].place.step, Dir: dir, RankRow: d.rankRow, Rows: d.rows, ModTimeNs: files[0].modTimeNs}
	for _, f := range files {
		all.Files = append(all.Files, f.File)
		all.ModTimeNs = max(all.ModTimeNs, f.modTimeNs)
	}
	return all
}

func (d dump) rankRow(id schemas.Identity) schemas.RankRow {
	at := d.files[0].place
	return schemas.RankRow{
		RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, TP: at.tp, PP: at.pp,
		DP: -1, CP: -1, EP: -1, TPSize: -1, PPSize: -1, DPSize: -1, CPSize: -1, EPSize: -1,
	}
}

// writing is one reading of a dump.
type writing struct {
	step    *saved.Step
	count   map[string]int // of each name of an op
	program []saved.Call
}

func (d dump) rows(ctx context.Context, source *saved.Source, step *saved.Step) error {
	w := writing{step: step, count: map[string]int{}}
	for _, f := range d.files {
		err := source.File(ctx, f.File, step, func(value any) (func() error, error) { return w.file(ctx, f, value) })
		if err != nil {
			return err
		}
	}
	return step.End(w.program)
}

// file measures the values of a file, and returns the handing over of them.
func (w *writing) file(ctx context.Context, f file, value any) (func() error, error) {
	parts, isDict := value.(torchfile.Dict)
	if !f.place.hooked && !f.place.named || !isDict {
		values, err := saved.Measure(ctx, value, roleOutput, f.place.op, "")
		return func() error { return w.op(f.place.op, "debug", values, f.File) }, err
	}
	measured := make([][]saved.Value, len(parts))
	for i, part := range parts {
		var err error
		if measured[i], err = saved.Measure(ctx, partOf(f.place, part.Value), roleOutput, "", ""); err != nil {
			return nil, fmt.Errorf("value of %v: %w", part.Key, err)
		}
	}
	return func() error {
		for i, part := range parts {
			name, ending := opOf(f.place, part.Key)
			if err := w.op(name, ending, measured[i], f.File); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// partOf is the value of a part of a file. One of SageMaker's debugger is in no file that holds it alone.
func partOf(p place, value any) any {
	if p.named {
		return torchfile.List{value}
	}
	return value
}

// opOf is the op of a part of a file, and what its full name ends with. SGLang's hook does not record the class of a module.
func opOf(p place, key any) (name, ending string) {
	if p.named {
		return fmt.Sprint(key), "debug"
	}
	return "Module." + fmt.Sprint(key) + ".Module.forward", ""
}

// op hands over an op and its values. Its full name has its number among the ops of that name, and then the ending.
func (w *writing) op(name, ending string, values []saved.Value, in saved.File) error {
	name = strings.ToValidUTF8(name, "?")
	full := name + "." + strconv.Itoa(w.count[name])
	if ending != "" {
		full += "." + ending
	}
	w.count[name]++
	row := schemas.ParseOpName(full)
	w.program = append(w.program, saved.Call{Op: row.OpID})
	if err := w.step.Op(&row); err != nil {
		return err
	}
	return w.step.Add(row.OpID, values, in)
}
