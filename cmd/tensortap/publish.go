package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
)

func newPublish(a *app) *cobra.Command {
	return choice(&cobra.Command{
		Use:   "publish",
		Short: "Store the files of another tool",
		Example: `  tensortap publish msprobe dump/ --run bad
  tensortap publish sglang-dumper /tmp/dumper/bad --run bad
  tensortap publish sglang-shapes shapes.jsonl --run bad`,
	}, "tool", newPublishMsprobe(a), newPublishSGLangDumper(a), newPublishSGLangShapes(a), newPublishKernelCalls(a), newPublishTensors(a), newPublishLogs(a), newPublishScalars(a), newPublishFlightRecorder(a), newPublishMemorySnapshots(a))
}

// againAndAgain is the part of the help that all tools share.
const againAndAgain = `You can stop it and start it again at any time. Files that were
published before change nothing, from any host. Other content for the same run, step
and rank is refused, unless --replace is given.

When it returns, the stream holds all events. The database has them a moment later,
and every question waits for that.

With --bench the run is compared with a stored one as it lands, and the verdict is
printed at the end.

Exit status: 0 all is stored, 2 an error, or the files are damaged: then every readable
part is stored, and warnings name the rest. With --bench also 1 the runs differ, and 2
too little data to decide.`

func newPublishMsprobe(a *app) *cobra.Command {
	return newPublishFiles(a, (*system.Client).PublishMsprobe, &cobra.Command{
		Use:   "msprobe DIR",
		Short: "Store a dump of msProbe",
		Long: `Store a dump of msProbe: a dump folder with its steps, one step, one rank, or one
dump.json. ` + againAndAgain,
		Example: `  tensortap publish msprobe dump/ --run bad
  tensortap publish msprobe dump/step3 --run bad --label commit=1a2b3c --label model=qwen3
  tensortap publish msprobe dump/ --run bad --bench good --tolerance 1e-3`,
	})
}

func newPublishSGLangDumper(a *app) *cobra.Command {
	return newPublishFiles(a, (*system.Client).PublishSGLangDumper, &cobra.Command{
		Use:   "sglang-dumper DIR",
		Short: "Store the files of SGLang's dumper",
		Long: `Store a folder of SGLang's dumper (DUMPER_ENABLE), with all steps and ranks: statistics of
every tensor in its .pt files, and the place of each file. No code in these files is
run. ` + againAndAgain,
		Example: "  tensortap publish sglang-dumper /tmp/dumper/bad --run bad",
	})
}

func newPublishSGLangShapes(a *app) *cobra.Command {
	return newPublishFiles(a, (*system.Client).PublishSGLangShapes, &cobra.Command{
		Use:   "sglang-shapes FILE|DIR",
		Short: "Store logs of SGLang's shape profiler",
		Long: `Store the ATen ops and shapes of a log of SGLang's shape profiler (SGLANG_PROFILE_SHAPES),
or of all logs in a folder, one of each rank. Forward passes are steps. Reports shapes,
shape-diff and failing-op answer for it as for a run of level aten. ` + againAndAgain,
		Example: `  tensortap publish sglang-shapes shapes.jsonl --run bad
  tensortap report shapes --run bad
  tensortap report shape-diff --problem bad --bench good`,
	})
}

func newPublishKernelCalls(a *app) *cobra.Command {
	return newPublishFiles(a, (*system.Client).PublishKernelCalls, &cobra.Command{
		Use:   "kernel-calls FILE|DIR",
		Short: "Store logs of kernel calls of FlashInfer or SGLang",
		Long: `Store which kernels were called with which tensors, and which calls raised or never ended:
the session.jsonl of FlashInfer (FLASHINFER_DUMP_DIR), or the folders of calls of FlashInfer
or SGLang (SGLANG_KERNEL_API_DUMP_DIR). Each process is a rank. ` + againAndAgain,
		Example: `  tensortap publish kernel-calls /tmp/flashinfer/session.jsonl --run crashed
  tensortap report failing-op --run crashed`,
	})
}

func newPublishTensors(a *app) *cobra.Command {
	return newPublishFiles(a, (*system.Client).PublishTensorFiles, &cobra.Command{
		Use:   "tensors FILE|DIR",
		Short: "Store tensors that a program has saved by itself",
		Long: `Store the statistics of tensors that a program has saved by itself: files of torch.save,
safetensors and numpy (.pt, .pth, .safetensors, .npy), one or all in a folder, and the folders
of SGLang's --debug-tensor-dump-output-folder. No code in these files is run.

Rank and step are read from names: rank_1/step_20/attn.pt, attn_rank1_step20.pt, or the number
at the end of forward_input_0.pt. The rest of the name is the op. ` + againAndAgain,
		Example: `  tensortap publish tensors nan_debug.pt --run bad
  tensortap publish tensors my_dumps/ --run bad --bench good
  tensortap compare my_dumps/bad my_dumps/good`,
	})
}

func newPublishLogs(a *app) *cobra.Command {
	var zone string
	cmd := newPublishFiles(a, func(c *system.Client, ctx context.Context, r system.PublishRequest, progress func(done, all int64)) (system.PublishResult, error) {
		var location *time.Location
		if zone != "" {
			var err error
			if location, err = time.LoadLocation(zone); err != nil {
				return system.PublishResult{}, fmt.Errorf("--timezone %s: %w", zone, err)
			}
		}
		return c.PublishLogs(ctx, location, r, progress)
	}, &cobra.Command{
		Use:   "logs FILE|DIR",
		Short: "Store log files of SGLang, vLLM, torchrun, NCCL or any Python program",
		Long: `Store each line of a log, or of all logs below a folder, beside the run, which may be recorded
otherwise: with time, level, rank and process as far as they can be known, the numbers
in lines of batches, throughput and training as metrics, and each traceback as one row.
A log that has grown can be published again. ` + againAndAgain,
		Example: `  tensortap publish logs server.log --run bad
  tensortap publish logs torchrun_logs/ --run bad --timezone Europe/Berlin`,
	})
	cmd.Flags().StringVar(&zone, "timezone", "", "zone of times that name none, as UTC or Europe/Berlin; by default this host's")
	return cmd
}

func newPublishScalars(a *app) *cobra.Command {
	return newPublishFiles(a, (*system.Client).PublishScalars, &cobra.Command{
		Use:   "scalars FILE|DIR",
		Short: "Store scalars of TensorBoard or Transformer Engine",
		Long: `Store the numbers in TensorBoard's event files (events.out.tfevents.…) and in Transformer
Engine's logs of statistics (nvdlfw_inspect_….log), beside the run, which may be recorded
otherwise. Transformer Engine rounds to four decimals; each row says so. ` + againAndAgain,
		Example: `  tensortap publish scalars runs/exp7 --run bad
  tensortap publish scalars nvdlfw_inspect_statistics_logs/ --run bad`,
}

func newPublishFlightRecorder(a *app) *cobra.Command {
	return newPublishFiles(a, (*system.Client).PublishFlightRecorder, &cobra.Command{
		Use:   "flight-recorder FILE|DIR",
		Short: "Store the collectives in files of PyTorch's Flight Recorder",
		Long: `Store the last collectives of each rank from the files that PyTorch's Flight Recorder writes
for NCCL, HCCL and gloo, as pickles (nccl_trace_rank_0) or as JSON: one file, or a folder with
one of each rank. No code in these files is run. ` + againAndAgain,
		Example: `  tensortap publish flight-recorder /tmp/traces --run stuck
  tensortap report hang --run stuck`,
}

func newPublishMemorySnapshots(a *app) *cobra.Command {
	return newPublishFiles(a, (*system.Client).PublishMemorySnapshots, &cobra.Command{
		Use:   "memory-snapshot FILE|DIR",
		Short: "Store snapshots of PyTorch's CUDA allocator",
		Long: `Store what each call stack holds, at the end and at the peak, and the course of memory, of
a snapshot of PyTorch's allocator (torch.cuda.memory._dump_snapshot), or of all in a folder.
Rank and step are taken from names as rank3_step10.pickle; without steps, snapshots of a
rank are numbered in their order. No code in these files is run. ` + againAndAgain,
		Example: `  tensortap publish memory-snapshot snapshots/ --run leaks
  tensortap report memory-growth --run leaks`,
	})
}

// publisher stores the files of a tool.
type publisher func(*system.Client, context.Context, system.PublishRequest, func(done, all int64)) (system.PublishResult, error)

// newPublishFiles completes the command that stores the files of a tool.
func newPublishFiles(a *app, publish publisher, cmd *cobra.Command) *cobra.Command {
	var (
		request system.PublishRequest
		labels  []string
		against standing
	)
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if request.Labels, err = parseLabels(labels); err != nil {
			return err
		}
		if err := against.read(cmd, request.Run); err != nil {
			return err
		}
		request.Path = args[0]
		return a.publish(cmd.Context(), publish, request, &against)
	}
	cmd.Flags().StringVar(&request.Run, "run", "", "name of the run, 1 to 200 characters")
	cmd.Flags().StringArrayVar(&labels, "label", nil, "label of the run, name=value; may be given several times")
	cmd.Flags().BoolVar(&request.Replace, "replace", false, "replace other content of the same run, step and rank")
	_ = cmd.MarkFlagRequired("run")
	against.flags(a, cmd)
	return cmd
}

// publish stores files, and prints the result.
func (a *app) publish(ctx context.Context, publish publisher, request system.PublishRequest, against *standing) error {
	client, err := a.connectPublisher(ctx, against)
	if err != nil {
		return err
	}
	defer client.Close()
	request.Waiting = a.waiting()
	progress := a.progress("publish " + request.Path)
	result, err := publish(client, ctx, request, progress.set)
	progress.finish()
	a.warn(result.Problems, result.ProblemCount)
	a.warnOversized(result.Oversized)
	if err != nil {
		return err
	}
	a.tellPublished(request, result)
	if !against.asked() {
		return notWhole(request, result)
	}
	verdict, err := a.tellStanding(ctx, client, against, a.stdout)
	return cmp.Or(notWhole(request, result), err, judged(verdict))
}

// connectPublisher reaches the stream, and the database if the run is compared with another. It declares that
// comparison first.
func (a *app) connectPublisher(ctx context.Context, against *standing) (*system.Client, error) {
	if !against.asked() {
		return a.connectStream()
	}
	endpoint, err := a.endpoint()
	if err != nil {
		return nil, err
	}
	client, err := a.connect(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	if err := client.DeclareStanding(ctx, against.request); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// waiting says why nothing goes on, once until that changes.
func (a *app) waiting() func(error) {
	var (
		mutex sync.Mutex
		last  string
	)
	return func(why error) {
		now := "going on"
		if why != nil {
			now = "waiting until the stream takes events again (the log of `tensortap up` says more): " + why.Error()
		}
		mutex.Lock()
		defer mutex.Unlock()
		if now != last {
			fmt.Fprintln(a.stderr, now)
		}
		last = now
	}
}

func parseLabels(labels []string) (map[string]string, error) {
	parsed := map[string]string{}
	for _, label := range labels {
		name, value, ok := strings.Cut(label, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("label %q: want name=value", label)
		}
		parsed[name] = value
	}
	return parsed, nil
}

// tellPublished prints the counts of stored rows.
func (a *app) tellPublished(request system.PublishRequest, r system.PublishResult) {
	run := report.Printable(request.Run)
	if r.Already < r.Dumps {
		fmt.Fprintf(a.stdout, "run %s: published %d rows of %d steps of ranks in %d messages\n", run, r.Rows, r.Dumps-r.Already, r.Messages)
	}
	if r.Again > 0 {
		fmt.Fprintf(a.stdout, "run %s: %d of these were published before, the tables had lost them\n", run, r.Again)
	}
	if r.Unchecked != nil {
		fmt.Fprintf(a.stderr, "warning: it is not known whether the tables still hold the steps that were published before: %v\n", r.Unchecked)
	}
	if r.Already > 0 {
		fmt.Fprintf(a.stdout, "run %s: %d of %d steps of ranks were published before, nothing changes\n", run, r.Already, r.Dumps)
	}
}

// notWhole is an error where part of the files is not stored: the rest is.
func notWhole(request system.PublishRequest, r system.PublishResult) error {
	if r.ProblemCount == 0 && r.Oversized == 0 {
		return nil
	}
	return fmt.Errorf("run %s is not stored whole: the warnings above name the missing parts; all others are stored", request.Run)
}

// warnOversized says that events were put aside for their size.
func (a *app) warnOversized(messages int64) {
	if messages > 0 {
		fmt.Fprintf(a.stderr, "warning: %d messages are larger than the stream takes and were put aside: tensortap report dead-letters\n", messages)
	}
}

// warn prints the unreadable parts.
func (a *app) warn(problems []string, count int) {
	for _, p := range problems {
		fmt.Fprintln(a.stderr, "warning:", report.Printable(p))
	}
	if count > len(problems) {
		fmt.Fprintf(a.stderr, "warning: %d more problems like these\n", count-len(problems))
	}
}
