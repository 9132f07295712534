package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/elements"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/internal/torchfile"
)

func newTensor(a *app) *cobra.Command {
	return choice(&cobra.Command{
		Use:   "tensor",
		Short: "Show one tensor, or how two differ, element by element",
		Example: `  tensortap tensor show --run bad --op Functional.linear.20.forward
  tensortap tensor diff --problem bad --bench good --op Functional.linear.20.forward
  tensortap tensor diff bad.safetensors good.safetensors model.layers.0.mlp.weight`,
	}, "command", newTensorShow(a), newTensorDiff(a))
}

// tensorWords are the flags that name one raw tensor of stored runs.
type tensorWords struct {
	request system.TensorRequest
	output  string
}

func (w *tensorWords) flags(cmd *cobra.Command, whose string) {
	f := cmd.Flags()
	w.request.Rank, w.request.Step = -1, -1
	f.StringVar(&w.request.Op, "op", "", "name of the op")
	f.StringVar(&w.request.Role, "role", "", "input, output, parameter and so on; if not given the output where it is kept")
	f.StringVar(&w.request.Path, "path", "", "which input or output, such as 0 or kwargs.mask; if not given the first")
	addRank(f, &w.request.Rank, -1, "rank"+whose+"; -1 for the least that kept it")
	f.Int64Var(&w.request.Step, "step", -1, "step"+whose+"; -1 for the first that kept it")
	addOutput(cmd, &w.output)
}

func newTensorShow(a *app) *cobra.Command {
	var words tensorWords
	var dir string
	cmd := &cobra.Command{
		Use:   "show {--run RUN --op OP | FILE [NAME]}",
		Short: "Show one tensor: shape, statistics, histogram, what is not finite and where",
		Long: `Show one tensor: shape, type, statistics, a histogram, its greatest elements, and NaN and
infinities by their index.

The tensor is one that a run kept (run --task tensor, run --on-nan keep, save(keep=True) in
the program, capture --payload, or a published dump with tensors), or one in a file of
torch.save, safetensors or numpy. NAME is its key there, of nested ones joined by dots; a
file of one tensor needs none. No code in a file is run.

Memory does not grow with the tensor, unless its elements lie in another order in the
file: then their span is held, up to 512 MiB.`,
		Example: `  tensortap tensor show --run bad --op Functional.linear.20.forward
  tensortap tensor show --run bad --op Functional.linear.20.forward --role input --path 0 --rank 0 --step 5
  tensortap tensor show model.safetensors model.layers.0.mlp.weight --output json`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.tensorShow(cmd.Context(), &words, dir, args)
		},
	}
	words.flags(cmd, "")
	cmd.Flags().StringVar(&words.request.Run, "run", "", "name of the run")
	cmd.Flags().StringVar(&dir, "dir", "", "folder of the dump that the run was published from, or of raw tensors copied from another host")
	a.completeRunFlags(cmd, "run")
	return cmd
}

func (a *app) tensorShow(ctx context.Context, words *tensorWords, dir string, args []string) error {
	format, err := report.ParseFormat(words.output)
	if err != nil {
		return err
	}
	switch {
	case len(args) > 0 && words.request.Run+words.request.Op != "":
		return fmt.Errorf("%s does not go with --run and --op: name a file, or a tensor of a run", args[0])
	case len(args) > 0:
		return a.show(ctx, format, ofFile(args[0], second(args)))
	case words.request.Run == "" || words.request.Op == "":
		return errors.New("name a file, or a tensor of a run by --run and --op")
	}
	var kept []system.KeptTensor
	err = a.inRunning(ctx, "to show a tensor of a stored run", func(ctx context.Context, client *system.Client) (err error) {
		kept, err = client.KeptTensors(ctx, words.request)
		return err
	})
	if err != nil {
		return err
	}
	if more := len(kept) - 1; more > 0 && format == report.Text {
		fmt.Fprintf(a.stderr, "%s %s: --role, --path, --rank and --step choose\n", plural.Of(more, "more raw tensor"), plural.Verb(more, "fits", "fit"))
	}
	return a.show(ctx, format, a.ofKept(dir, words.request.Run, kept[0]))
}

// place is where a tensor is.
type place struct {
	name string
	open func() (*os.File, *torchfile.Tensor, error)
}

func ofFile(path, name string) place {
	shown := path
	if name != "" {
		shown += " " + name
	}
	return place{report.Printable(shown), func() (*os.File, *torchfile.Tensor, error) { return system.OpenTensor(path, name) }}
}

// ofKept is below the folder that a flag named, or this host's.
func (a *app) ofKept(dir, run string, kept system.KeptTensor) place {
	dir = cmp.Or(dir, a.rawTensors())
	return place{report.Printable(run) + ": " + kept.String(), func() (*os.File, *torchfile.Tensor, error) { return system.OpenKept(dir, kept) }}
}

func (a *app) show(ctx context.Context, format report.Format, of place) error {
	file, tensor, err := of.open()
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	look, err := elements.At(ctx, tensor)
	if err != nil {
		return fmt.Errorf("read %s: %w", of.name, err)
	}
	look.Name = of.name
	return a.writeTensor(format, look)
}

// answer is what is said of tensors.
type answer interface {
	WriteText(to io.Writer, width int) error
	Record() arrow.RecordBatch
}

func (a *app) writeTensor(format report.Format, said answer) error {
	switch format {
	case report.JSON:
		return unlessClosed(report.WriteObject(a.stdout, said))
	case report.CSV, report.Arrow, report.ArrowStream, report.Parquet:
		return unlessClosed(report.WriteRecord(a.stdout, report.Style{Format: format}, said.Record()))
	case report.Text:
	}
	return unlessClosed(said.WriteText(a.stdout, a.width()))
}

// width is that of the terminal, or else what the environment says, or 80.
func (a *app) width() int {
	const usual = 80
	if file, ok := a.stdout.(*os.File); ok {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	if columns, err := strconv.Atoi(a.getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	return usual
}

func second(args []string) string {
	if len(args) < 2 {
		return ""
	}
	return args[1]
}
