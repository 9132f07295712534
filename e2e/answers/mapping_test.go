package answers

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// fused says how the recorded model that was written twice corresponds.
const fused = `modules:
  embed_tokens: embed
  lm_head: head
  layers.<n>: blocks.<n>
  layers.<n>.input_layernorm: blocks.<n>.norm_1
  layers.<n>.post_attention_layernorm: blocks.<n>.norm_2
  layers.<n>.self_attn: blocks.<n>.attention
  layers.<n>.self_attn.o_proj: blocks.<n>.attention.out
  layers.<n>.self_attn.[q_proj, k_proj, v_proj]: blocks.<n>.attention.qkv_proj
  layers.<n>.mlp: blocks.<n>.feed
  layers.<n>.mlp.down_proj: blocks.<n>.feed.down
  layers.<n>.mlp.[gate_proj, up_proj]: blocks.<n>.feed.gate_up_proj
`

// twice is where one model lies that was recorded in two ways to write it, and with k and v swapped in layer 1.
func twice(t *testing.T) (separate, whole, swapped string) {
	t.Helper()
	dir := t.TempDir()
	if err := recorded.Extract("../../analysis/mapping/testdata/twice.tar.gz", dir); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "separate"), filepath.Join(dir, "fused"), filepath.Join(dir, "swapped")
}

func TestAModelWrittenTwiceIsComparedThroughAMap(t *testing.T) {
	t.Parallel()
	separate, whole, swapped := twice(t)
	s := program.Setting{Env: []string{"TMPDIR=" + t.TempDir()}}
	suggested := program.Run(t, s, "compare", separate, whole, "--suggest-map")
	if suggested.Status != 0 || suggested.Stderr != "" {
		t.Fatal(suggested)
	}
	for _, text := range []string{fused, suggested.Stdout} {
		file := program.TextFile(t, text)
		out := program.Run(t, s, "compare", separate, whole, "--map", file, "--output", "json")
		if got := parseAnswer(t, out); out.Status != program.ExitSame || out.Stderr != "" || got.Counts["agrees"] < 500 {
			t.Errorf("with\n%s%v", text, out)
		}
		out = program.Run(t, s, "compare", separate, swapped, "--map", file)
		for _, part := range []string{"DIFFERS ", "\n             in module blocks.1.attention\n", " --map " + file + " --limit"} {
			if out.Status != program.ExitDiffers || !strings.Contains(out.Stdout, part) {
				t.Errorf("swapped, with\n%s%v\nwant %q", text, out, part)
			}
		}
	}
	if without := program.Run(t, s, "compare", separate, whole); without.Status != program.ExitDiffers {
		t.Errorf("without a map: %v", without)
	}
	program.LeavesNothing(t, s)
}

func TestStoredRunsAreComparedThroughAMap(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	separate, whole, swapped := twice(t)
	for run, dir := range map[string]string{"twice separate": separate, "twice fused": whole, "twice swapped": swapped} {
		u.Publish(t, dir, run)
	}
	u.Settle(t)
	folders := program.Run(t, program.Setting{}, "compare", separate, whole, "--suggest-map")
	stored := program.Run(t, u.Setting, "compare", "twice separate", "twice fused", "--suggest-map")
	if stored.Status != 0 || stored.Stdout != folders.Stdout {
		t.Errorf("suggested of stored runs: %v\nof folders: %v", stored, folders)
	}
	file := program.TextFile(t, fused)
	out := program.Run(t, u.Setting, "compare", "twice separate", "twice fused", "--map", file, "--output", "json")
	if got := parseAnswer(t, out); out.Status != program.ExitSame || out.Stderr != "" || got.Counts["agrees"] < 500 {
		t.Error(out)
	}
	mapsByAPI(t, u, out.Stdout, file)
	out = program.Run(t, u.Setting, "compare", "twice separate", "twice swapped", "--map", file)
	if out.Status != program.ExitDiffers || !strings.Contains(out.Stdout, "in module blocks.1.attention\n") {
		t.Error(out)
	}
	asked := u.Query(t, "SELECT question FROM tap_store.comparison WHERE problem = 'twice separate' AND position(question, '--map "+filepath.Base(file)+" ') > 0")
	if len(asked) < 2 {
		t.Errorf("stored comparisons name the map %d times", len(asked))
	}
	lines := map[string]int{}
	p := reportPairing(t, u, "--problem", "twice separate", "--bench", "twice fused", "--map", file)
	for _, row := range p.rows {
		line := p.get(row, "line")
		lines[strings.TrimPrefix(line, file)]++
		if renamed := p.get(row, "problem_module") != p.get(row, "bench_module"); renamed && p.get(row, "reason") == "module" && line == "" {
			t.Errorf("no line paired %q", row)
		}
	}
	if len(lines) < 4 {
		t.Errorf("lines that paired: %v", lines)
	}
	job := program.TextFile(t, "jobs:\n- {name: fused, problem: twice separate, bench: twice fused, map: "+file+"}\n")
	if out := program.Run(t, u.Setting, "compare", "--jobs", job); out.Status != program.ExitSame {
		t.Error(out)
	}
}

// mapsByAPI has the API compare the stored runs by the text of the same map.
func mapsByAPI(t *testing.T, u *program.Up, want, file string) {
	t.Helper()
	compare := apiOf(t, u) + "/compare?problem=twice+separate&bench=twice+fused&map="
	want = strings.NewReplacer(file, "map.yaml", program.Path(t), "tensortap").Replace(want)
	if got := get(t, compare+query(fused)); got.status != http.StatusOK || got.body != want {
		t.Errorf("by the API: status %d\n%.2000s\nwant\n%.2000s", got.status, got.body, want)
	}
	if got := get(t, compare+"none"); got.status != http.StatusOK || !strings.Contains(got.body, `"verdict": "differs"`) {
		t.Errorf("without a map: status %d\n%.2000s", got.status, got.body)
	}
	wrong := get(t, compare+query("modules:\n  a: [b"))
	if sentence, parameter := problemOf(t, wrong); wrong.status != http.StatusBadRequest || parameter != "map" {
		t.Errorf("of a map that is none: status %d, parameter %q: %s", wrong.status, parameter, sentence)
	}
}

func TestAMapSaysWhatItDoesNotMatchAndWhatItDoesNotGoWith(t *testing.T) {
	t.Parallel()
	separate, whole, _ := twice(t)
	file := program.TextFile(t, fused+"  layers.<n>.nobody: blocks.<n>.here\n")
	out := program.Run(t, program.Setting{}, "compare", separate, whole, "--map", file)
	if want := "warning: line 13 of " + file + " made no pair: layers.<n>.nobody: blocks.<n>.here\n"; out.Status != program.ExitSame || out.Stderr != want {
		t.Errorf("%v, want the warning %q", out, want)
	}
	for want, args := range map[string][]string{
		"--payload does not go with --map":                {separate, whole, "--map", file, "--payload"},
		"--output msprobe-csv does not go with --map":     {separate, whole, "--map", file, "--output", "msprobe-csv"},
		"--suggest-map does not go with --map":            {separate, whole, "--map", file, "--suggest-map"},
		"no map to suggest":                               {whole, whole + "/", "--suggest-map"},
		`:1:1: key "module" is not known: is "modules" m`: {separate, whole, "--map", program.TextFile(t, "module:\n  a: b\n")},
		"read mapping: open ":                             {separate, whole, "--map", filepath.Join(separate, "none")},
	} {
		out := program.Run(t, program.Setting{}, append([]string{"compare"}, args...)...)
		if out.Status != program.ExitError || out.Stdout != "" || !strings.Contains(out.Stderr, want) {
			t.Errorf("%q: %v, want %q", args, out, want)
		}
	}
}
