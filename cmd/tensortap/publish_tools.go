package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/flightrecorder"
	"github.com/tensortap/tensortap/producers/kernelcalls"
	"github.com/tensortap/tensortap/producers/logfiles"
	"github.com/tensortap/tensortap/producers/memorysnapshot"
	"github.com/tensortap/tensortap/producers/msprobe"
	"github.com/tensortap/tensortap/producers/requests"
	"github.com/tensortap/tensortap/producers/scalars"
	"github.com/tensortap/tensortap/producers/sglangdumper"
	"github.com/tensortap/tensortap/producers/sglangshapes"
	"github.com/tensortap/tensortap/producers/tensorfiles"
)

func newPublishMsprobe(a *app) *cobra.Command {
	return newPublishFiles(a, as(msprobe.Tool()), &cobra.Command{
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
	return newPublishFiles(a, as(sglangdumper.Tool()), &cobra.Command{
		Use:   "sglang-dumper DIR",
		Short: "Store the files of SGLang's dumper",
		Long: `Store a folder of SGLang's dumper (DUMPER_ENABLE), with all steps and ranks: statistics of
every tensor in its .pt files, and the place of each file. No code in these files is
run. ` + againAndAgain,
		Example: "  tensortap publish sglang-dumper /tmp/dumper/bad --run bad",
	})
}

func newPublishSGLangShapes(a *app) *cobra.Command {
	return newPublishFiles(a, as(sglangshapes.Tool()), &cobra.Command{
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
	return newPublishFiles(a, as(kernelcalls.Tool()), &cobra.Command{
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
	return newPublishFiles(a, as(tensorfiles.Tool()), &cobra.Command{
		Use:   "tensors FILE|DIR",
		Short: "Store tensors that a program has saved by itself",
		Long: `Store the statistics of tensors that a program has saved by itself: files of torch.save,
safetensors and numpy (.pt, .pth, .safetensors, .npy), one or all in a folder, the folders of
SGLang's --debug-tensor-dump-output-folder, and trials of SageMaker Debugger (.tfevents). No
code in these files is run.

Rank and step are read from names: rank_1/step_20/attn.pt, attn_rank1_step20.pt, or the number
at the end of forward_input_0.pt. The rest of the name is the op. ` + againAndAgain,
		Example: `  tensortap publish tensors nan_debug.pt --run bad
  tensortap publish tensors my_dumps/ --run bad --bench good
  tensortap compare my_dumps/bad my_dumps/good`,
	})
}

func newPublishLogs(a *app) *cobra.Command {
	var zone string
	cmd := newPublishFiles(a, func() (producers.Tool, error) {
		location, err := zoneOf(zone)
		return logfiles.Tool(location), err
	}, &cobra.Command{
		Use:   "logs FILE|DIR",
		Short: "Store log files of SGLang, vLLM, torchrun, NCCL or any Python program",
		Long: `Store each line of a log, or of all logs below a folder, beside the run, which may be recorded
otherwise: with time, level, rank and process as far as they can be known, the numbers
in lines of batches, throughput and training as metrics, and each traceback as one row.
Dynamo's traces of forward passes are such logs. What gzip has packed is unpacked. A log that
has grown can be published again. ` + againAndAgain,
		Example: `  tensortap publish logs server.log --run bad
  tensortap publish logs dynamo-fpm.4192.000000.jsonl.gz --run bad
  tensortap publish logs torchrun_logs/ --run bad --timezone Europe/Berlin`,
	})
	zoneFlag(cmd, &zone)
	return cmd
}

func zoneFlag(cmd *cobra.Command, zone *string) {
	cmd.Flags().StringVar(zone, "timezone", "", "zone of times that name none, as UTC or Europe/Berlin; by default this host's")
}

// zoneOf is the zone of that name; nil, this host's, where none is named.
func zoneOf(name string) (*time.Location, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // nil is this host's
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("--timezone %s: %w", name, err)
	}
	return zone, nil
}

func newPublishRequests(a *app) *cobra.Command {
	var (
		how  requests.Options
		zone string
	)
	cmd := newPublishFiles(a, func() (producers.Tool, error) {
		var err error
		how.Zone, err = zoneOf(zone)
		return requests.Tool(how), err
	}, &cobra.Command{
		Use:   "requests FILE|DIR",
		Short: "Store what SGLang or vLLM left of the requests that they served",
		Long: `Store the lives of requests, beside a run that may be recorded otherwise: crash dumps and request
dumps of SGLang (--crash-dump-folder), its request log (--log-requests-format json), request
metrics (--export-metrics-to-file) and crash snapshots, and vLLM's request log. Of a folder, all
files in it that tell of requests. No code in a pickle is run, and one that asks for a function
that runs programs is refused. Prompts are hashed, unless --keep-prompts is given. ` + againAndAgain,
		Example: `  tensortap publish requests crash_dump_2026-11-21_10-03-50.pkl --run crashed
  tensortap report request --run crashed --id eca95cf5acbc40809848702fb078449f`,
	})
	cmd.Flags().BoolVar(&how.KeepPrompts, "keep-prompts", false, "store the prompts themselves, which are personal data")
	zoneFlag(cmd, &zone)
	return cmd
}

func newPublishScalars(a *app) *cobra.Command {
	return newPublishFiles(a, as(scalars.Tool()), &cobra.Command{
		Use:   "scalars FILE|DIR",
		Short: "Store scalars of TensorBoard, W&B or Transformer Engine",
		Long: `Store the numbers in TensorBoard's event files (events.out.tfevents.…), in W&B's exports
(wandb….jsonl with a line for each step of the history, wandb….csv) and in Transformer
Engine's logs of statistics (nvdlfw_inspect_….log), beside the run, which may be recorded
otherwise. Transformer Engine rounds to four decimals; each row says so. Of SageMaker Debugger's
events, tensors of one number are read here, and all by publish tensors. ` + againAndAgain,
		Example: `  tensortap publish scalars runs/exp7 --run bad
  tensortap publish scalars wandb_export.csv --run bad
  tensortap publish scalars nvdlfw_inspect_statistics_logs/ --run bad`,
	})
}

func newPublishFlightRecorder(a *app) *cobra.Command {
	return newPublishFiles(a, as(flightrecorder.Tool()), &cobra.Command{
		Use:   "flight-recorder FILE|DIR",
		Short: "Store the collectives in files of PyTorch's Flight Recorder",
		Long: `Store the last collectives of each rank from the files that PyTorch's Flight Recorder writes
for NCCL, HCCL and gloo, as pickles (nccl_trace_rank_0) or as JSON: one file, or a folder with
one of each rank. No code in these files is run. ` + againAndAgain,
		Example: `  tensortap publish flight-recorder /tmp/traces --run stuck
  tensortap report hang --run stuck`,
	})
}

func newPublishMemorySnapshots(a *app) *cobra.Command {
	return newPublishFiles(a, as(memorysnapshot.Tool()), &cobra.Command{
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
