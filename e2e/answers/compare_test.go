package answers

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// answer is what `compare --output json` writes.
type answer struct {
	Verdict    string           `json:"verdict"`
	Counts     map[string]int64 `json:"counts"`
	Incomplete string           `json:"incomplete"`
	Tolerance  string           `json:"tolerance"`
	Benches    []string         `json:"benches"`
	Divergence []divergence     `json:"divergence"`
}

type divergence struct {
	Rank          int    `json:"rank"`
	Step          int    `json:"step"`
	Op            string `json:"op"`
	Module        string `json:"module"`
	Role          string `json:"role"`
	Path          string `json:"path"`
	Verdict       string `json:"verdict"`
	Structure     string `json:"structure"`
	ProblemDtype  string `json:"problem_dtype"`
	NotFiniteSide string `json:"not_finite_side"`
	Evidence      string `json:"evidence"`
}

func (d divergence) String() string {
	return fmt.Sprintf("step %d rank %d %s %s %s: %s %s", d.Step, d.Rank, d.Op, d.Role, d.Path, d.Verdict, d.Structure)
}

func parseAnswer(tb testing.TB, out program.Outcome) answer {
	tb.Helper()
	var a answer
	if err := json.Unmarshal([]byte(out.Stdout), &a); err != nil {
		tb.Fatalf("read answer: %v in %v", err, out)
	}
	return a
}

// pair is two recorded dumps and what is known of them.
type pair struct {
	problem, bench string
	status         int
	verdict        string
	first          divergence // empty when nothing differs
	module         string
}

// pairs are the recorded dumps whose fault is known (README.md beside them says which), and those without one.
func pairs() []pair {
	const down, golden = "model.layers.2.mlp.down_proj", "B00_golden_mix"
	row := func(op, role, path, verdict string) divergence {
		return divergence{Op: op, Role: role, Path: path, Verdict: verdict}
	}
	other := func(d divergence, structure string) divergence { d.Structure = structure; return d }
	at := func(d divergence, step, rank int) divergence { d.Step, d.Rank = step, rank; return d }
	weight := row("Functional.linear.20.forward", "input", "1", "diverged")
	return []pair{
		{"B01_twin_mix", golden, 0, "same", divergence{}, ""},
		{"B02_weight_mix", golden, 1, "differs", weight, down},
		{"B02_weight_L0", "B00_golden_L0", 1, "differs", row("Module.model.layers.2.mlp.down_proj.Linear.forward.0", "parameter", "weight", "diverged"), down},
		{"B02_weight_L1", "B00_golden_L1", 1, "differs", weight, ""},
		{"B02_weight_md5", "B00_golden_md5", 1, "differs", weight, down},
		// Nothing differs beyond what bfloat16 cannot do better; and step 1 of the bench has no partner.
		{"B03_bf16_mix", golden, 2, "unknown", divergence{}, ""},
		{"B04_eps_mix", golden, 1, "differs", other(row("Tensor.__add__.6.forward", "input", "1", "structure"), "literal"), "model.layers.1.input_layernorm"},
		// An extra op shifts the names of later ones; they keep their partners all the same. But golden has one more step.
		{"B05_extra_op_mix", golden, 2, "unknown", divergence{}, ""},
		{"B06_extra_op_and_weight_mix", golden, 1, "differs", weight, down},
		{"B10_eager_attn_mix", golden, 1, "differs", other(row("Module.model.layers.0.self_attn.LlamaAttention.forward.0", "kwarg", "attention_mask", "structure"), "dtype"), "model.layers.0.self_attn"},
		{"B09_gelu_l3_mix", golden, 1, "differs", row("Module.model.layers.3.mlp.act_fn.GELU.forward.0", "output", "0", "diverged"), "model.layers.3.mlp.act_fn"},
		{"B13_wrong_data_mix", golden, 1, "differs", row("Functional.embedding.0.forward", "input", "0", "diverged"), "model.embed_tokens"},
		{"B14_nan_l2_mlp_step1_mix", golden, 1, "differs", at(row("Module.model.layers.2.mlp.LlamaMLP.forward.0", "output", "0", "not_finite"), 1, 0), "model.layers.2.mlp"},
		{"B20_tensor_problem", "B20_tensor_golden", 1, "differs", row("Tensor.to.19.forward", "input", "0", "diverged"), "model.layers.1.post_attention_layernorm"},
		{"D_ddp_rank1_weight", "D_ddp_golden", 1, "differs", at(row("Functional.linear.14.forward", "input", "1", "diverged"), 0, 1), "model.layers.2.self_attn.q_proj"},
		{"D_tp_rank1_weight", "D_tp_golden", 1, "differs", at(row("Functional.linear.7.forward", "input", "1", "diverged"), 0, 1), "layers.1.down"},
		{"E_resnet18_bn_eps_mix", "E_resnet18_golden_mix", 1, "differs", other(row("Functional.batch_norm.10.forward", "input", "7", "structure"), "literal"), "layer3.0.bn1"},
		{"S_sglang_tp2_problem", "S_sglang_tp2_bench", 1, "differs", row("Functional.linear.7.forward", "input", "1", "diverged"), "model.layers.1.mlp.down_proj"},
		{"A_llama_mix_xor", "A_llama_mix_xor", 0, "same", divergence{}, ""},
		{"A_llama_mix_xor", "A_llama_mix_md5", 1, "differs", row("Functional.embedding.0.forward", "input", "0", "unknown"), "model.embed_tokens"},
		{"A_llama_mix_structure", "A_llama_mix_structure", 2, "unknown", divergence{}, ""},
		{"A_llama_mix_structure", "A_llama_mix_statistics", 2, "unknown", divergence{}, ""},
	}
}

func TestComparisonsNameTheOpThatIsWrong(t *testing.T) {
	t.Parallel()
	for _, p := range pairs() {
		t.Run(p.problem+" against "+p.bench, func(t *testing.T) {
			t.Parallel()
			u := program.PublishOnce(t, p.problem, p.bench)
			out := program.Run(t, u.Setting, "compare", p.problem, p.bench, "--output", "json")
			p.check(t, out)
			if again := program.Run(t, u.Setting, "compare", p.problem, p.bench, "--output", "json"); again != out {
				t.Errorf("asked again: %v, want %v", again, out)
			}
		})
	}
}

func (p pair) check(t *testing.T, out program.Outcome) {
	t.Helper()
	got := parseAnswer(t, out)
	if out.Status != p.status || got.Verdict != p.verdict {
		t.Errorf("status %d, verdict %s, want %d, %s", out.Status, got.Verdict, p.status, p.verdict)
	}
	if got.Incomplete != "" {
		t.Errorf("incomplete: %s", got.Incomplete)
	}
	if (out.Stderr != "") != (p.status == 2 || p.problem == p.bench) { // which is noted
		t.Errorf("stderr = %q", out.Stderr)
	}
	if p.first.Op == "" {
		if len(got.Divergence) > 0 || got.Counts["differing"] != 0 {
			t.Errorf("%d differ, first %v; want none", got.Counts["differing"], got.Divergence)
		}
		return
	}
	if len(got.Divergence) == 0 {
		t.Fatal("no row differs")
	}
	if first := got.Divergence[0]; first.String() != p.first.String() || first.Module != p.module {
		t.Errorf("began at %v in %q, want %v in %q", first, first.Module, p.first, p.module)
	}
	if len(got.Divergence) > 20 || int64(len(got.Divergence)) > got.Counts["differing"] {
		t.Errorf("%d rows of %d that differ", len(got.Divergence), got.Counts["differing"])
	}
}

func TestFoldersAreComparedInATemporarySystem(t *testing.T) {
	t.Parallel()
	golden := recorded.Unpack(t, "B00_golden_mix")
	p := pairs()[1]
	s := program.Setting{Env: []string{"TMPDIR=" + t.TempDir()}}
	problem := recorded.Unpack(t, p.problem)
	out := program.Run(t, s, "compare", problem, golden, "--output", "json")
	p.check(t, out)
	program.LeavesNothing(t, s)
	text := program.Run(t, s, "compare", filepath.Join(problem, "step0", "rank0", "dump.json"), filepath.Join(golden, "step0"))
	for _, part := range []string{"DIFFERS ", "began at     step 0, rank 0, op Functional.linear.20.forward\n", "in module model.layers.2.mlp.down_proj\n", "input 1: relative error at least 0.000752861", " called at File ", "\nnext "} {
		if text.Status != 1 || text.Stderr != "" || !strings.Contains(text.Stdout, part) {
			t.Errorf("%v\nwant status 1 and %q", text, part)
		}
	}
	if strings.Contains(text.Stdout, "INCOMPLETE") || strings.Contains(text.Stdout, "\x1b") {
		t.Error(text)
	}
	same := program.Run(t, s, "compare", golden, golden)
	if same.Status != 0 || !strings.HasPrefix(same.Stdout, "SAME ") || !strings.HasPrefix(same.Stderr, "note: problem and bench are the same run, ") {
		t.Error(same)
	}
	program.LeavesNothing(t, s)
}

func TestComparisonsOfWhatIsNotThereSaySo(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B00_golden_L0")
	folder := recorded.Unpack(t, "B00_golden_L0")
	empty := t.TempDir()
	s := program.Setting{Env: []string{"TMPDIR=" + t.TempDir()}}
	for _, c := range []struct {
		at    program.Setting
		args  []string
		parts []string
	}{
		{u.Setting, []string{folder, "B00_golden_L0"}, []string{folder, "publish msprobe", "--run"}},
		{u.Setting, []string{"B00_golden_L0", folder}, []string{folder, "publish msprobe"}},
		{u.Setting, []string{"B00_golden_L0", "no such run"}, []string{`"no such run"`, "tensortap runs"}},
		{u.Setting, []string{"B00_golden_L0", "no/such/folder"}, []string{`no/such/folder`}},
		{s, []string{"some run", "other run"}, []string{"no system is running", "tensortap up"}},
		{s, []string{folder, empty}, []string{empty, "no"}},
		{s, []string{folder, filepath.Join(folder, "step0", "rank0", "stack.json")}, []string{"stack.json", "dump.json"}},
		{s, []string{folder, folder, "--output", "xml"}, []string{"xml", "text, json, csv, arrow, parquet"}},
		{s, []string{folder, folder, "--tolerance", "much"}, []string{"tolerance much"}},
		{s, []string{folder, folder, "--tolerance", "NaN"}, []string{"tolerance NaN: want"}},
		{s, []string{folder, folder, "--tolerance", "-1"}, []string{"tolerance -1: want"}},
		{u.Setting, []string{"B00_golden_L0", "B00_golden_L0", "--tolerance", "+Inf"}, []string{"tolerance +Inf: want"}},
		{s, []string{folder}, []string{"is to be held against another run: tensortap compare"}},
	} {
		out := program.Run(t, c.at, append([]string{"compare"}, c.args...)...)
		if out.Status != 2 || out.Stdout != "" || !strings.HasPrefix(out.Stderr, "tensortap: ") {
			t.Errorf("compare %q: %v, want status 2 and only an error", c.args, out)
		}
		for _, part := range c.parts {
			if !strings.Contains(out.Stderr, part) {
				t.Errorf("compare %q: %q, want %q in it", c.args, out.Stderr, part)
			}
		}
	}
	program.LeavesNothing(t, s)
}

func TestComparisonsCanBeNarrowed(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B14_nan_l2_mlp_step1_mix", "B00_golden_mix", "D_tp_rank1_weight", "D_tp_golden", "D_tp_rank1_nan", "B02_weight_mix")
	ask := func(args ...string) (program.Outcome, answer) {
		out := program.Run(t, u.Setting, append([]string{"compare", "--output", "json"}, args...)...)
		return out, parseAnswer(t, out)
	}
	if out, got := ask("B14_nan_l2_mlp_step1_mix", "B00_golden_mix", "--steps", "0"); out.Status != 0 || got.Counts["paired"] != 1815 {
		t.Errorf("step 0: %v", out)
	}
	if out, got := ask("D_tp_rank1_weight", "D_tp_golden", "--rank", "0"); out.Status != 1 || got.Divergence[0].String() != "step 0 rank 0 Distributed.all_reduce.3.forward output 0: diverged " {
		t.Errorf("rank 0: %v", out)
	}
	if out, got := ask("B02_weight_mix", "B00_golden_mix", "--tolerance", "10", "--steps", "0"); out.Status != 0 || got.Counts["paired"] != 1815 {
		t.Errorf("a tolerance above all errors: %v", out)
	}
	if _, got := ask("B02_weight_mix", "B00_golden_mix", "--limit", "3"); len(got.Divergence) != 3 || got.Counts["differing"] < 500 || got.Counts["differing"] != got.Counts["diverged"] {
		t.Errorf("limit 3: %d rows, %v", len(got.Divergence), got.Counts)
	}
	// A step that only one side has is counted. What it holds is the business of the overflow report.
	if _, got := ask("D_tp_rank1_nan", "D_tp_golden"); got.Counts["unknown"] != 1278 || got.Counts["paired"] != 1272 {
		t.Errorf("a step without partner: %v", got.Counts)
	}
}

func TestOverflowNamesRankAndOpOfTheFirstNaN(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "D_tp_rank1_nan", "D_tp_golden")
	out := program.Run(t, u.Setting, "report", "overflow", "--run", "D_tp_rank1_nan", "--output", "csv")
	lines := program.ParseCSV(t, out.Stdout)
	if out.Status != 0 || out.Stderr != "" || len(lines) < 2 {
		t.Fatal(out)
	}
	first := map[string]string{}
	for i, name := range lines[0] {
		first[name] = lines[1][i]
	}
	if first["step"] != "1" || first["rank"] != "1" || first["op"] != "Tensor.__setitem__.0.forward" {
		t.Errorf("first NaN: %v", first)
	}
	if clean := program.Run(t, u.Setting, "report", "overflow", "--run", "D_tp_golden", "--output", "csv"); len(program.ParseCSV(t, clean.Stdout)) != 1 {
		t.Errorf("a run without NaN: %v", clean)
	}
}
