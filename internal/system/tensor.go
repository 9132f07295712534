package system

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/torchfile"
)

// TensorRequest says which raw tensor of a stored run. Rank and step are -1, role and path empty, for any.
type TensorRequest struct {
	Run, Op, Role, Path string
	Rank, Step          int64
}

// KeptTensor is a raw tensor of a run, and where it lies.
type KeptTensor struct {
	Op, Role, Path string
	Rank, Step     uint32
	Location       string
}

// String names it.
func (k KeptTensor) String() string {
	site := k.Role
	if k.Path != "" {
		site += "." + k.Path
	}
	return report.Printable(fmt.Sprintf("%s %s, rank %d, step %d", k.Op, site, k.Rank, k.Step))
}

const keptTensors = `SELECT op, role, path, rank, step, location
FROM tap.payloads
WHERE run_id = xxh3(concat({run:String}, char(31))) AND op = {op:String}
    AND ({role:String} = '' OR role = {role:String}) AND ({path:String} = '' OR path = {path:String})
    AND ({rank:Int64} < 0 OR rank = {rank:Int64}) AND ({step:Int64} < 0 OR step = {step:Int64})
ORDER BY role != 'output', step, rank, role, path, seq, location
LIMIT 1 BY role, path, rank, step
LIMIT 10000`

// KeptTensors are those that fit: outputs first, then by step and rank. That there are none is an error.
func (c *Client) KeptTensors(ctx context.Context, r TensorRequest) ([]KeptTensor, error) {
	if err := c.CheckRun(ctx, r.Run); err != nil {
		return nil, err
	}
	if err := c.CheckOp(ctx, [2]string{r.Run, r.Run}, r.Op); err != nil {
		return nil, err
	}
	kept, err := c.keptTensors(ctx, r)
	if err != nil || len(kept) > 0 {
		return kept, err
	}
	return nil, c.noneKept(ctx, r)
}

func (c *Client) keptTensors(ctx context.Context, r TensorRequest) ([]KeptTensor, error) {
	table, err := c.Table(ctx, keptTensors, map[string]string{
		"run": r.Run, "op": r.Op, "role": r.Role, "path": r.Path, "rank": fmt.Sprint(r.Rank), "step": fmt.Sprint(r.Step),
	})
	if err != nil {
		return nil, fmt.Errorf("list the raw tensors of run %s: %w", r.Run, err)
	}
	kept := make([]KeptTensor, len(table.Rows))
	for i := range kept {
		text := func(column string) string { return table.Get(i, column).Exact }
		kept[i] = KeptTensor{Op: text("op"), Role: text("role"), Path: text("path"), Location: text("location")}
		kept[i].Rank, kept[i].Step = uint32(table.Get(i, "rank").Number), uint32(table.Get(i, "step").Number)
	}
	return kept, nil
}

// noneKept says what is kept instead.
func (c *Client) noneKept(ctx context.Context, r TensorRequest) error {
	others, err := c.keptTensors(ctx, TensorRequest{Run: r.Run, Op: r.Op, Rank: -1, Step: -1})
	if err != nil {
		return err
	}
	if len(others) == 0 {
		return &NotKeptError{fmt.Sprintf("run %s has no raw tensor of %s: record them with tensortap run --task tensor, run --on-nan keep, save(keep=True) in the program or tensortap capture --payload, or publish a dump that has them (task tensor); tensortap report raw-tensors --run %s lists those of other ops",
			r.Run, r.Op, report.Argument(r.Run))}
	}
	return &NotKeptError{fmt.Sprintf("run %s has no such raw tensor of %s; it has:%s", r.Run, r.Op, listed(others, KeptTensor.String))}
}

// NotKeptError says that a raw tensor was not kept, and how to have it.
type NotKeptError struct{ Sentence string }

// Error implements error.
func (e *NotKeptError) Error() string { return e.Sentence }

// KeptPair is the first raw tensor that fits and that both runs kept at the same place.
func (c *Client) KeptPair(ctx context.Context, problem, bench TensorRequest, offset int64) (pair [2]KeptTensor, err error) {
	if bench.Step >= 0 {
		bench.Step += offset
	}
	var kept [2][]KeptTensor
	for i, request := range []TensorRequest{problem, bench} {
		if kept[i], err = c.KeptTensors(ctx, request); err != nil {
			return pair, err
		}
	}
	pair, found := bothKept(kept[0], kept[1], offset)
	if !found {
		return pair, &NotKeptError{fmt.Sprintf("no raw tensor of %s is kept by both runs at the same place: %s has %s, and %s has %s; capture the same steps of both, or give --step and --step-offset",
			problem.Op, problem.Run, kept[0][0], bench.Run, kept[1][0])}
	}
	return pair, nil
}

// bothKept is the first raw tensor of the problem with its partner: the bench's of the same role, path, rank and step.
func bothKept(problem, bench []KeptTensor, offset int64) (pair [2]KeptTensor, found bool) {
	for _, p := range problem {
		at := slices.IndexFunc(bench, func(b KeptTensor) bool {
			return b.Role == p.Role && b.Path == p.Path && b.Rank == p.Rank && int64(b.Step) == int64(p.Step)+offset
		})
		if at >= 0 {
			return [2]KeptTensor{p, bench[at]}, true
		}
	}
	return pair, false
}

// OpenKept opens a raw tensor below a folder: that of this host's processes, or that of the dump that was published. The
// caller closes the file, from which the elements are read.
func OpenKept(dir string, k KeptTensor) (*os.File, *torchfile.Tensor, error) {
	raw, err := rawOf([2]string{dir, dir})
	if err != nil {
		return nil, nil, err
	}
	pair := compare.PayloadPair{
		PayloadPlace: compare.PayloadPlace{Rank: k.Rank, Step: k.Step}, BenchRank: k.Rank, BenchStep: k.Step,
		Locations: [2]string{k.Location, k.Location},
	}
	file, err := raw.open(0, pair)
	if err != nil {
		return nil, nil, fmt.Errorf("open the raw tensor %s in %s: %w", k, dir, err)
	}
	tensor, err := readTensor(file)
	if err != nil {
		_ = file.Close() // only read
		return nil, nil, fmt.Errorf("read the raw tensor %s: %s: %w", k, report.Printable(k.Location), err)
	}
	return file, tensor, nil
}

// OpenTensor opens a file of torch.save, numpy or safetensors, and the tensor of that name in it; an empty name is of the
// only one. The caller closes the file, from which the elements are read.
func OpenTensor(path, name string) (*os.File, *torchfile.Tensor, error) {
	file, err := os.Open(path) //nolint:gosec // the file that the user named
	if err != nil {
		return nil, nil, err
	}
	tensor, err := namedTensor(file, name)
	if err != nil {
		_ = file.Close() // only read
		return nil, nil, fmt.Errorf("read %s: %w", report.Printable(path), err)
	}
	return file, tensor, nil
}

func namedTensor(file *os.File, name string) (*torchfile.Tensor, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is %s, not a file", info.Mode())
	}
	value, err := torchfile.Read(file, info.Size())
	if err != nil {
		return nil, err
	}
	all := torchfile.Tensors(value)
	at := slices.IndexFunc(all, func(one torchfile.Named) bool { return one.Name == name })
	switch {
	case name == "" && len(all) == 1:
		return all[0].Tensor, nil
	case at >= 0:
		return all[at].Tensor, nil
	}
	return nil, notNamed(all, name)
}

func notNamed(all []torchfile.Named, name string) error {
	if len(all) == 0 {
		return errors.New("it holds no tensor")
	}
	text := listed(all, func(one torchfile.Named) string {
		return fmt.Sprintf("%s %v %s", cmp.Or(report.Printable(one.Name), "(without a name)"), one.Tensor.Shape, one.Tensor.Dtype)
	})
	if name == "" {
		return fmt.Errorf("it holds %d tensors: name one after the file:%s", len(all), text)
	}
	return fmt.Errorf("it holds no tensor %q; it holds:%s", report.Printable(name), text)
}

// listed is a line for each of some, the first ones.
func listed[T any](all []T, shown func(T) string) string {
	const told = 20
	lines := []string{""}
	for _, one := range all[:min(len(all), told)] {
		lines = append(lines, shown(one))
	}
	if more := len(all) - told; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n  ")
}
