// Command bench measures what the project promises in figures, each as the
// median of several rounds and beside its mark, and writes docs/BENCHMARKS.md:
//
//	go run ./internal/dev/bench                               everything
//	go run ./internal/dev/bench -only throughput,latency      some of it
//	go run ./internal/dev/bench -quick                        small and rough
//	go run ./internal/dev/bench -large                        reports over a hundred million rows, too
//	go run ./internal/dev/bench -write docs/BENCHMARKS.md     and write the document
//	go run ./internal/dev/bench -only collector               what needs PyTorch too: made only when named
//
// It runs in the root of the repository and needs the engine (`make engine`)
// and, for the measurements of whole processes, bin/tensortap (`make build`).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"

	"github.com/tensortap/tensortap/internal/dev/processes"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/embedded"
	"github.com/tensortap/tensortap/internal/embedded/libchdb"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "engine" && os.Args[2] == "serve" {
		exit(embedded.RunEngine(os.Stdin, os.Stderr)) // the engine's process is this executable
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// bench is one group of figures.
type bench struct {
	name    string
	title   string
	measure func(ctx context.Context, e *env) (section, error)
	apart   bool // made only when named
}

func benches() []bench {
	return []bench{
		{name: "collector", title: "Bytes per tensor that the collector observed", measure: measureCollector, apart: true},
		{name: "throughput", title: "Published to durable in ClickHouse and Parquet", measure: measureThroughput},
		{name: "latency", title: "Published to queryable", measure: measureLatency},
		{name: "size", title: "Bytes per event", measure: measureSizes},
		{name: "compare", title: "Two folders compared, from nothing to the answer", measure: measureCompare},
		{name: "ranks", title: "One dump of many small ranks, published", measure: measureRanks},
		{name: "up", title: "The whole system started, and idle", measure: measureUp},
		{name: "stored", title: "Two stored runs compared for the first time, and again", measure: measureStored},
		{name: "reports", title: "Reports over a stored comparison", measure: measureReports},
		{name: "judge", title: "Pairs a second that one core judges", measure: measureJudge},
		{name: "align", title: "Two different programs aligned", measure: measureAlign},
		{name: "snapshot", title: "A snapshot of PyTorch's allocator, read", measure: measureSnapshot},
		{name: "text", title: "Logs and shapes, read", measure: measureTextFiles},
		{name: "watch", title: "A divergence stored, and said by watch", measure: measureWatch},
		{name: "page", title: "The page in a browser", measure: measurePage, apart: true},
		{name: "tensorboard", title: "From two dumps to a picture, beside TensorBoard", measure: measureTensorBoard, apart: true},
		{name: "trend", title: "Trends over a hundred million aggregates", measure: measureTrend},
	}
}

// env is what every measurement needs.
type env struct {
	quick    bool
	large    bool // reports over ten times as many rows, too
	rows     int  // tensors of each stored run; 0 for as many as the marks are meant for
	rounds   int
	torch    string // Python with PyTorch
	folder   string // scratch, removed afterwards
	library  string // of the engine
	self     string // this executable, which is the engine's process too
	binary   string // tensortap as it was built
	before   string // tensortap as it was before a change, to be run by turns; may be empty
	dumps    string // folder of the recorded dumps
	profile  string // file for a CPU profile of the last round of the throughput, or the last of the judge
	progress io.Writer
}

// profiling starts the profile, if one is wanted, and returns what ends it.
func (e *env) profiling() func() {
	if e.profile == "" {
		return func() {}
	}
	file, err := os.Create(e.profile)
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		e.say("no profile: %v", err)
		return func() {}
	}
	return func() {
		pprof.StopCPUProfile()
		_ = file.Close() // a profile
	}
}

// pick is the first for a whole measurement and the second for a quick one.
func (e *env) pick(whole, quick int) int {
	if e.quick {
		return quick
	}
	return whole
}

// runRows is how many tensors each stored run has.
func (e *env) runRows() int {
	if e.rows > 0 {
		return e.rows
	}
	return e.pick(testbed.RowsOfRun, testbed.RowsOfRun/10)
}

// wholeMark is the mark, unless there are fewer rows than it is meant for.
func (e *env) wholeMark(mark float64) float64 {
	if e.runRows() < testbed.RowsOfRun {
		return 0
	}
	return mark
}

func (e *env) say(format string, values ...any) {
	fmt.Fprintf(e.progress, "  "+format+"\n", values...)
}

type options struct {
	quick, large         bool
	rounds, rows         int
	only, write, profile string
	appendTo, torch      string
	binary, before       string
	engine               string
	scratch              string
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.quick, "quick", false, "small amounts and one round: rough figures")
	flags.BoolVar(&o.large, "large", false, "reports over a hundred million rows, too: it takes minutes and gigabytes")
	flags.IntVar(&o.rows, "rows", 0, "tensors of each run that is stored or judged, a multiple of 20,000; 0 for as many as the marks are meant for")
	flags.IntVar(&o.rounds, "rounds", 5, "rounds of each measurement")
	flags.StringVar(&o.only, "only", "", "names of the measurements to make, separated by commas: "+strings.Join(names(), ", "))
	flags.StringVar(&o.write, "write", "", "document to write")
	flags.StringVar(&o.appendTo, "append", "", "document at whose end to write the figures alone")
	flags.StringVar(&o.torch, "torch", filepath.Join(".tools", "torch", "bin", "python"), "Python with PyTorch, for what needs the collector")
	flags.StringVar(&o.profile, "profile", "", "file for a CPU profile of this process, of the last round of the throughput or the last of the judge")
	flags.StringVar(&o.binary, "binary", filepath.Join("bin", "tensortap"), "tensortap as it was built")
	flags.StringVar(&o.before, "before", "", "tensortap as it was before a change, to be run by turns with this one")
	flags.StringVar(&o.engine, "engine", "", "path of the engine's library")
	flags.StringVar(&o.scratch, "scratch", "", "folder to work in and to keep; a temporary one when empty")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.rows < 0 || o.rows%20_000 != 0 {
		return fmt.Errorf("-rows %d: want a multiple of 20,000", o.rows)
	}
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	e, err := newEnv(o, stderr)
	if err != nil {
		return err
	}
	if o.scratch == "" {
		defer os.RemoveAll(e.folder) //nolint:errcheck // scratch
	}
	return e.report(ctx, o, chosen, stdout)
}

func names() []string {
	var list []string
	for _, b := range benches() {
		list = append(list, b.name)
	}
	return list
}

func choose(only string) ([]bench, error) {
	if only == "" {
		return slices.DeleteFunc(benches(), func(b bench) bool { return b.apart }), nil
	}
	var chosen []bench
	for name := range strings.SplitSeq(only, ",") {
		i := slices.Index(names(), name)
		if i < 0 {
			return nil, fmt.Errorf("no measurement is named %q, there are: %s", name, strings.Join(names(), ", "))
		}
		chosen = append(chosen, benches()[i])
	}
	return chosen, nil
}

func newEnv(o options, progress io.Writer) (*env, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	library, err := libchdb.Locate(libchdb.Places{
		Explicit: o.engine, UserFolder: libchdb.UserFolder(os.Getenv("HOME"), os.Getenv("XDG_DATA_HOME")), Tree: root,
	})
	if err != nil {
		return nil, err
	}
	binary, err := filepath.Abs(o.binary)
	if err != nil {
		return nil, err
	}
	before := o.before
	if before != "" {
		if before, err = filepath.Abs(before); err != nil {
			return nil, err
		}
	}
	torch, err := filepath.Abs(o.torch)
	if err != nil {
		return nil, err
	}
	folder, err := scratch(o.scratch)
	if err != nil {
		return nil, err
	}
	e := &env{
		quick: o.quick, large: o.large, rows: o.rows, rounds: o.rounds, torch: torch, folder: folder, library: library, self: self, binary: binary, before: before,
		dumps: filepath.Join(root, "producers", "msprobe", "testdata", "dumps"), progress: progress, profile: o.profile,
	}
	if e.quick {
		e.rounds = 1
	}
	return e, nil
}

func scratch(named string) (string, error) {
	if named == "" {
		return os.MkdirTemp("", "tensortap-bench-")
	}
	return named, os.MkdirAll(named, 0o700)
}

// report makes the measurements and says what came of them.
func (e *env) report(ctx context.Context, o options, chosen []bench, to io.Writer) error {
	d := document{options: o, machine: processes.Machine(), rounds: e.rounds}
	for _, b := range chosen {
		fmt.Fprintln(e.progress, b.title)
		s, err := b.measure(ctx, e)
		if err != nil {
			return fmt.Errorf("measure %s: %w", b.name, err)
		}
		s.title, s.name = b.title, b.name
		d.sections = append(d.sections, s)
		if err := s.print(to); err != nil {
			return err
		}
	}
	if o.appendTo != "" {
		return d.appendTo(o.appendTo)
	}
	if o.write == "" {
		return nil
	}
	return errors.Join(os.MkdirAll(filepath.Dir(o.write), 0o750), os.WriteFile(o.write, d.markdown(), 0o600))
}
