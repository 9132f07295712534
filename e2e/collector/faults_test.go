package collector

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
	"github.com/tensortap/tensortap/internal/dev/soak"
)

// plantedFault is a mistake of a user's in testdata/faults.py, and where a comparison has to say that it began.
type plantedFault struct {
	name  string
	modes string // in which it is planted; make test plants it in one of them, make soak in each
	ranks string // which the answer names in mode ddp; both unless said
	step  int
	l0    origin
	mix   origin
}

// origin is what an answer says of the place.
type origin struct {
	module  string
	op      string
	kind    string
	literal string // of problem and bench
	micro   int    // micro step, in mode micro
}

const (
	allModes = "fp32 bf16 micro ddp"
	unseen   = "unseen_input"
)

// plantedFaults are a user's mistakes. A fault of a layer is planted in layer 1.
func plantedFaults() []plantedFault {
	return []plantedFault{
		// At L0 nothing between two modules is seen: where it began is what the second was given, by whom is not known.
		{
			name: "scale", modes: allModes,
			l0:  origin{module: "layers.1.attention.out", op: "Module.layers.1.attention.out.Linear.forward.0", kind: unseen},
			mix: origin{module: "layers.1.attention", op: "Tensor.__mul__.1.forward", kind: "argument", literal: "1.0/0.25"},
		},
		{
			name: "untied", modes: allModes,
			l0:  origin{module: "head", op: "Module.head.Linear.parameters_grad.0", kind: "computed"},
			mix: origin{module: "head", op: "Module.head.Linear.parameters_grad.0", kind: "computed"},
		},
		// What optimizers step with is told at every level, a step before the weights that they make are used.
		{
			name: "warm-up", modes: allModes,
			l0:  origin{op: "Optimizer.AdamW.settings.0", kind: "argument", micro: 3},
			mix: origin{op: "Optimizer.AdamW.settings.0", kind: "argument", micro: 3},
		},
		{
			name: "shuffled", modes: "ddp", ranks: "1", step: 3,
			l0:  origin{module: "", op: "Module.Model.forward.0", kind: "data"},
			mix: origin{module: "", op: "Module.Model.forward.0", kind: "data"},
		},
		{
			name: "log", modes: allModes, step: 5,
			l0:  origin{module: "rare", op: "Module.rare.Rare.forward.0", kind: "computed"},
			mix: origin{module: "rare", op: "Torch.log.0.forward", kind: "operation"},
		},
		{
			name: "dropout", modes: allModes,
			l0:  origin{module: "layers.1.dropout", op: "Module.layers.1.dropout.Dropout.forward.0", kind: "computed"},
			mix: origin{module: "layers.1.dropout", op: "Functional.dropout.1.forward", kind: "argument", literal: "0.1/0.0"},
		},
		{
			name: "eps", modes: allModes,
			l0:  origin{module: "layers.1.before", op: "Module.layers.1.before.LayerNorm.forward.0", kind: "computed"},
			mix: origin{module: "layers.1.before", op: "Functional.layer_norm.2.forward", kind: "argument", literal: "0.001/1e-05"},
		},
		// The loss is of no module: at L0 it is seen where backward begins from it.
		{
			name: "smoothing", modes: allModes,
			l0:  origin{op: "Loss.0.debug", kind: unseen},
			mix: origin{op: "Functional.cross_entropy.0.forward", kind: "argument", literal: "0.1/0.0"},
		},
		{
			name: "loss scale", modes: "micro", step: 2,
			l0:  origin{op: "Loss.2.debug", kind: unseen, micro: 2},
			mix: origin{op: "Tensor.__truediv__.2.forward", kind: "argument", literal: "2.0/4", micro: 2},
		},
		{
			name: "op more", modes: allModes,
			l0:  origin{module: "layers.1.feed", op: "Module.layers.1.feed.Feed.forward.0", kind: "computed"},
			mix: origin{module: "layers.1.feed", op: "Module.layers.1.feed.Feed.forward.0", kind: "operation"},
		},
		{
			name: "op missing", modes: allModes,
			l0:  origin{module: "layers.1.feed.down", op: "Module.layers.1.feed.down.Linear.forward.0", kind: unseen},
			mix: origin{module: "layers.1.feed.down", op: "Module.layers.1.feed.down.Linear.forward.0", kind: "operation"},
		},
	}
}

// plantedIn are the faults that are planted in a mode. In make test each has its turn in one of its modes.
func plantedIn(mode string) (planted []plantedFault) {
	for i, f := range plantedFaults() {
		modes := strings.Fields(f.modes)
		if slices.Contains(modes, mode) && (soak.InFull() || modes[i%len(modes)] == mode) {
			planted = append(planted, f)
		}
	}
	return planted
}

// sameRuns are trained as the bench is; the second with two threads, which rounds otherwise.
func sameRuns() []string { return []string{"good again", "threads"} }

// TestFaultsOfUsersAreNamed trains a small transformer with each fault in turn, in each mode, and compares with the run as it should be.
func TestFaultsOfUsersAreNamed(t *testing.T) {
	t.Parallel()
	torch.Python(t)
	u := program.StartUp(t, t.TempDir(), "--archive-age", "5m")
	root := filepath.Join(u.Data, "spool")
	var training errgroup.Group
	training.SetLimit(2)
	for mode := range strings.FieldsSeq(allModes) {
		cmd := trainFaults(t, root, mode)
		training.Go(func() error {
			if said, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("train %s: %w\n%s", mode, err, said)
			}
			return nil
		})
	}
	if err := training.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := program.Await(5*time.Minute, "the agent to publish all runs", func() bool { return program.Published(root) }); err != nil {
		t.Fatal(err)
	}
	u.Settle(t)
	for mode := range strings.FieldsSeq(allModes) {
		for _, level := range []string{"L0", "mix"} {
			t.Run(mode+" "+level, func(t *testing.T) {
				t.Parallel()
				requireSame(t, u, mode, level)
				for _, f := range plantedIn(mode) {
					f.require(t, u, mode, level)
				}
			})
		}
	}
}

// trainFaults trains the bench, what equals it and all faults of a mode, one after the other in one process.
func trainFaults(tb testing.TB, root, mode string) *exec.Cmd {
	tb.Helper()
	script, err := filepath.Abs("testdata/faults.py")
	if err != nil {
		tb.Fatal(err)
	}
	args := append([]string{script, mode, "good"}, sameRuns()...)
	for _, f := range plantedIn(mode) {
		args = append(args, f.name)
	}
	cmd := torch.Collecting(tb, root, args...)
	cmd.WaitDelay = time.Minute
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func requireSame(t *testing.T, u *program.Up, mode, level string) {
	t.Helper()
	for _, same := range sameRuns() {
		out := compareTrained(t, u, mode, same, level)
		if out.Status != program.ExitSame {
			t.Errorf("%s %s %s: a false alarm: %v", mode, same, level, out)
		}
	}
}

func compareTrained(tb testing.TB, u *program.Up, mode, problem, level string) program.Outcome {
	tb.Helper()
	return program.Run(tb, u.Setting, "compare", mode+" "+problem+" "+level, mode+" good "+level, "--output", "json", "--limit", "1")
}

// namedOrigin is an origin as the answer writes it.
type namedOrigin struct {
	Step           int    `json:"step"`
	Rank           int    `json:"rank"`
	MicroStep      int    `json:"micro_step"`
	Op             string `json:"op"`
	Module         string `json:"module"`
	Kind           string `json:"kind"`
	ProblemLiteral string `json:"problem_literal"`
	BenchLiteral   string `json:"bench_literal"`
}

func (f plantedFault) require(t *testing.T, u *program.Up, mode, level string) {
	t.Helper()
	what := mode + " " + f.name + " " + level
	out := compareTrained(t, u, mode, f.name, level)
	var answer struct {
		Origins []namedOrigin `json:"origins"`
	}
	if err := json.Unmarshal([]byte(out.Stdout), &answer); err != nil || out.Status != program.ExitDiffers || len(answer.Origins) == 0 {
		t.Errorf("%s: no origin is named: %v, %v", what, err, out)
		return
	}
	if got, want := ranksOf(answer.Origins), f.ranksIn(mode); got != want {
		t.Errorf("%s: began on ranks %s, want %s", what, got, want)
	}
	want := f.l0
	if level == "mix" {
		want = f.mix
	}
	if mode != "micro" {
		want.micro = 0
	}
	for _, got := range answer.Origins {
		if got.Step != f.step {
			t.Errorf("%s: began in step %d, want %d: %+v", what, got.Step, f.step, got)
		}
		if differs := want.differs(got); differs != "" {
			t.Errorf("%s: the answer says %s: %+v", what, differs, got)
		}
	}
}

// differs is what the answer says otherwise. DDP's wrapper is no part of a user's model.
func (o origin) differs(got namedOrigin) string {
	var said []string
	for _, field := range []struct{ name, got, want string }{
		{"module", strings.TrimPrefix(strings.TrimPrefix(got.Module, "module"), "."), o.module},
		{"op", strings.Replace(got.Op, "Module.module.", "Module.", 1), o.op},
		{"kind", got.Kind, o.kind},
		{"literal", strings.Trim(got.ProblemLiteral+"/"+got.BenchLiteral, "/"), o.literal},
		{"micro step", fmt.Sprint(got.MicroStep), fmt.Sprint(o.micro)},
	} {
		if field.got != field.want {
			said = append(said, field.name+" "+field.got)
		}
	}
	return strings.Join(said, ", ")
}

func ranksOf(origins []namedOrigin) string {
	ranks := make([]int, len(origins))
	for i, o := range origins {
		ranks[i] = o.Rank
	}
	slices.Sort(ranks)
	return strings.Trim(fmt.Sprint(slices.Compact(ranks)), "[]")
}

func (f plantedFault) ranksIn(mode string) string {
	switch {
	case f.ranks != "":
		return f.ranks
	case mode == "ddp":
		return "0 1"
	default:
		return "0"
	}
}
