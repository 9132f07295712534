package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/elements"
	"github.com/tensortap/tensortap/internal/system"
)

// differing has the flags of tensor diff.
type differing struct {
	words   tensorWords
	runs    [2]string // problem and bench
	benchOp string
	dirs    [2]string
	offset  int64
	within  fraction
}

func newTensorDiff(a *app) *cobra.Command {
	var d differing
	cmd := &cobra.Command{
		Use:   "diff {--problem RUN --bench RUN --op OP | PROBLEM BENCH [NAME [BENCH-NAME]]}",
		Short: "Show how two tensors differ: worst elements, rows and columns, and the pattern",
		Long: `Show how two tensors differ: how many elements and by how much, the worst ones by index,
NaN and infinities of one side alone, which indices of which axes, and the pattern.

Where: everywhere, one slice, one part (one head, one expert or one shard), one block,
slices, or scattered. How: scaled, shifted along an axis, with axes in another order or
direction, with the indices of an axis in another order, offset, constant, zero, or about
the rounding of the type. A pattern is looked for among the elements that differ by more
than rounding, and tried on a sample of 1,024 of them.

The tensors are of two runs that kept them, or in two files of torch.save, safetensors or
numpy. NaN is equal to NaN at the same index. Dimensions of size 1 do not count. Memory
does not grow with the tensors, unless elements lie in another order in their file: then
their span is held, up to 512 MiB.

Exit status: 0 same, 1 they differ, 2 an error, or a tensor that cannot be read.`,
		Example: `  tensortap tensor diff --problem bad --bench good --op Functional.linear.20.forward
  tensortap tensor diff --problem bad --bench good --op Module.mlp.Linear.forward.0 --role parameter --path weight
  tensortap tensor diff bad.pt good.pt
  tensortap tensor diff bad.safetensors good.safetensors model.layers.0.mlp.weight --tolerance 1e-3`,
		Args: cobra.MaximumNArgs(4),
		RunE: func(cmd *cobra.Command, args []string) error { return a.tensorDiff(cmd.Context(), &d, args) },
	}
	d.flags(cmd)
	a.completeRunFlags(cmd, "problem")
	a.completeRunFlags(cmd, "bench")
	return cmd
}

func (d *differing) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	d.words.flags(cmd, " of the problem")
	f.StringVar(&d.runs[0], "problem", "", "name of the run under suspicion")
	f.StringVar(&d.runs[1], "bench", "", "name of the run to compare with")
	f.StringVar(&d.benchOp, "bench-op", "", "name of the op in the bench, where it is another")
	f.Int64Var(&d.offset, "step-offset", 0, "number to add to a step of the problem to get the step of the bench")
	f.StringVar(&d.dirs[0], "problem-dir", "", "folder of the problem's dump, or of raw tensors copied from another host")
	f.StringVar(&d.dirs[1], "bench-dir", "", "folder of the bench's dump, or of raw tensors copied from another host")
	f.Var(&d.within, "tolerance", "greatest difference that counts as none, relative to the greater of both elements and of the bench's root mean square; if not given elements must be equal")
}

func (d *differing) options() (elements.Options, error) {
	o := elements.Options{Within: -1}
	if d.within.text == "" {
		return o, nil
	}
	if _, err := fmt.Sscan(d.within.text, &o.Within); err != nil || !(o.Within >= 0) {
		return o, fmt.Errorf("--tolerance %s: want 0 or more", d.within.text)
	}
	return o, nil
}

func (a *app) tensorDiff(ctx context.Context, d *differing, args []string) error {
	format, err := report.ParseFormat(d.words.output)
	if err != nil {
		return err
	}
	options, err := d.options()
	if err != nil {
		return err
	}
	sides, err := a.sides(ctx, d, args)
	if err != nil {
		return err
	}
	difference, err := diffOf(ctx, sides, options)
	if err != nil {
		return err
	}
	difference.Problem.Name, difference.Bench.Name = sides[0].name, sides[1].name
	if err := a.writeTensor(format, difference); err != nil {
		return err
	}
	if !difference.Same {
		return errDiffers
	}
	return nil
}

func diffOf(ctx context.Context, sides [2]place, options elements.Options) (*elements.Difference, error) {
	problemFile, problem, err := sides[0].open()
	if err != nil {
		return nil, fmt.Errorf("problem: %w", err)
	}
	defer problemFile.Close() //nolint:errcheck // only read
	benchFile, bench, err := sides[1].open()
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	defer benchFile.Close() //nolint:errcheck // only read
	difference, err := elements.Diff(ctx, problem, bench, options)
	if err != nil {
		return nil, fmt.Errorf("compare %s with %s: %w", sides[0].name, sides[1].name, err)
	}
	return difference, nil
}

// sides are the two tensors: in files, or of runs.
func (a *app) sides(ctx context.Context, d *differing, args []string) ([2]place, error) {
	named := d.runs[0] + d.runs[1] + d.words.request.Op
	switch {
	case len(args) > 0 && named != "":
		return [2]place{}, fmt.Errorf("%s does not go with --problem, --bench and --op: name two files, or a tensor of two runs", args[0])
	case len(args) == 1:
		return [2]place{}, errors.New("name two files: that of the problem, and that of the bench")
	case len(args) > 1:
		return ofFiles(args), nil
	case d.runs[0] == "" || d.runs[1] == "" || d.words.request.Op == "":
		return [2]place{}, errors.New("name two files, or a tensor of two runs by --problem, --bench and --op")
	}
	return a.keptSides(ctx, d)
}

func ofFiles(args []string) [2]place {
	names := append(args[2:len(args):len(args)], "", "")
	if len(args) == 3 {
		names[1] = names[0]
	}
	return [2]place{ofFile(args[0], names[0]), ofFile(args[1], names[1])}
}

func (a *app) keptSides(ctx context.Context, d *differing) (sides [2]place, err error) {
	var both [2]system.KeptTensor
	err = a.inRunning(ctx, "to compare tensors of stored runs", func(ctx context.Context, client *system.Client) (err error) {
		problem, bench := d.requests()
		both, err = client.KeptPair(ctx, problem, bench, d.offset)
		return err
	})
	if err != nil {
		return sides, err
	}
	for i := range sides {
		sides[i] = a.ofKept(d.dirs[i], d.runs[i], both[i])
	}
	return sides, nil
}

// requests are for the problem's and the bench's.
func (d *differing) requests() (problem, bench system.TensorRequest) {
	problem, bench = d.words.request, d.words.request
	problem.Run, bench.Run = d.runs[0], d.runs[1]
	if d.benchOp != "" {
		bench.Op = d.benchOp
	}
	return problem, bench
}
