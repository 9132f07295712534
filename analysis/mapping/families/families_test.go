package families_test

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/mapping/families"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/dev/marked"
)

// told compares two runs of a source by the map that is chosen, and gives the answer and its text.
func told(tb testing.TB, source *cross, problem, bench string) (*compare.Answer, string) {
	tb.Helper()
	request := compare.DefaultRequest()
	request.Problem, request.Benches, request.ChooseMap, request.Merge = problem, []string{bench}, true, true
	answer, err := compare.Run(tb.Context(), source, request)
	if err != nil {
		tb.Fatal(err)
	}
	said := report.Comparison{Problem: problem, Benches: []string{bench}, Tolerance: "by dtype and depth", ProblemArgument: problem, BenchArgument: bench, Stored: true}
	answer.Fill(&said)
	said.Verdict = said.Judge()
	var page bytes.Buffer
	if err := said.WriteNote(&page, report.Style{}); err != nil {
		tb.Fatal(err)
	}
	return answer, page.String()
}

func TestTheSameWeightsInTwoImplementationsAreTheSame(t *testing.T) {
	t.Parallel()
	source := newCross(t, "hf", "vl")
	for _, sides := range [][2]string{{"vl", "hf"}, {"hf", "vl"}} {
		answer, page := told(t, source, sides[0], sides[1])
		if !strings.HasPrefix(page, "SAME ") {
			t.Errorf("%v: %s", sides, page)
		}
		m := answer.Mapped
		if m == nil || m.Joined != 4*2*4 || m.Streams != 4*4 || m.ByName < 4*30 {
			t.Errorf("%v: %+v", sides, m)
		}
	}
}

func TestTheAnswerSaysWhatWasComparedAndWhatCannotBe(t *testing.T) {
	t.Parallel()
	_, page := told(t, newCross(t, "hf", "vl"), "vl", "hf")
	for _, want := range []string{
		`(?m)^SAME +problem vl against bench hf$`,
		`(?m)^ +as far as statistics can tell, under the map llama: vllm ↔ transformers$`,
		`(?m)^compared +\d+ tensors by name, 32 joined \(q, k, v; gate, up\), 16 residual streams; not comparable: 88 rotary tables, .*\b32 packed weights`,
	} {
		if !regexp.MustCompile(want).MatchString(page) {
			t.Errorf("want %s in\n%s", want, page)
		}
	}
}

func TestScaledRowsOfAWeightAreNamedByTheirModule(t *testing.T) {
	t.Parallel()
	source := newCross(t, "hf", "vlbad")
	for _, sides := range [][2]string{{"vlbad", "hf"}, {"hf", "vlbad"}} {
		answer, page := told(t, source, sides[0], sides[1])
		if len(answer.Origins) != 1 || !strings.HasPrefix(page, "DIFFERS ") {
			t.Fatalf("%v: %s", sides, page)
		}
		o := answer.Origins[0]
		if names := o.Op + " " + o.BenchOp + " " + o.Module; o.Step != 0 || !strings.Contains(names, "layers.1.mlp.") || !strings.Contains(names, "gate") {
			t.Errorf("%v: %s, %s\n%s", sides, o.Op, o.Module, page)
		}
	}
}

func TestEveryMapThatShipsCanBeRead(t *testing.T) {
	t.Parallel()
	all, err := families.All()
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		for _, problem := range families.Implementations() {
			for _, bench := range families.Implementations() {
				if problem == bench {
					continue
				}
				if _, err := all[i].Between(problem, bench); err != nil {
					t.Errorf("%v in\n%s", err, all[i].Text(problem, bench))
				}
			}
		}
	}
}

func TestOneImplementationNeedsNoMap(t *testing.T) {
	t.Parallel()
	answer, page := told(t, newCross(t, "vl", "vlbad"), "vlbad", "vl")
	if answer.Mapped != nil || strings.Contains(page, "under the map") {
		t.Errorf("%+v\n%s", answer.Mapped, page)
	}
}

// TestAMapIsSuggestedFromNothing: of two runs of which one has packed its weights away, values tell what is which.
func TestAMapIsSuggestedFromNothing(t *testing.T) {
	t.Parallel()
	source := newCross(t, "hf", "vl")
	request := compare.DefaultRequest()
	request.Problem, request.Benches = "hf", []string{"vl"}
	text, err := compare.SuggestMap(t.Context(), source, request)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"model.layers.<n>.self_attn.[q_proj, k_proj, v_proj]: model.layers.<n>.self_attn.qkv_proj # values",
		"model.layers.<n>.mlp.[gate_proj, up_proj]: model.layers.<n>.mlp.gate_up_proj # values",
		"lm_head: logits_processor # values", "# without partner in the bench: ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	t.Log(text)
}

// TestThePageShowsTheAnswers holds docs/cross.md against the answers, and writes them there with -update.
func TestThePageShowsTheAnswers(t *testing.T) {
	t.Parallel()
	const page = "../../../docs/cross.md"
	source := newCross(t, "hf", "vl", "vlbad")
	for block, problem := range map[string]string{"same": "vl", "scaled": "vlbad"} {
		_, text := told(t, source, problem, "hf")
		want := "```\n" + text + "```\n"
		if *update {
			if err := marked.Write(page, block, want); err != nil {
				t.Fatal(err)
			}
		}
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := marked.Part(string(content), block); err != nil || got != want {
			t.Errorf("%v: %s shows under %s\n%s\nwant\n%s", err, page, block, got, want)
		}
	}
}

func TestAResidualStreamThatIsOffIsNamed(t *testing.T) {
	t.Parallel()
	source := newCross(t, "hf", "vl")
	source.scale("vl", "Module.model.layers.1.post_attention_layernorm.RMSNorm.forward.0", "1", 1.2)
	answer, page := told(t, source, "vl", "hf")
	if len(answer.Origins) != 1 || !strings.Contains(answer.Origins[0].Op, "layers.1.post_attention_layernorm") || answer.Origins[0].Role != "output" {
		t.Error(page)
	}
}

func TestTensorParallelPartsAreMergedBehindTheMap(t *testing.T) {
	t.Parallel()
	source := newCross(t, "hf", "vl")
	source.split("vl", "halves", "", 1)
	source.split("vl", "off", "model.layers.1.mlp.gate_up_proj output.0", 3)
	answer, page := told(t, source, "halves", "hf")
	if !strings.HasPrefix(page, "SAME ") || len(answer.Merges) != 1 || answer.Mapped.Joined != 4*2*4 || answer.Mapped.Streams != 4*4 {
		t.Errorf("%+v\n%s", answer.Mapped, page)
	}
	answer, page = told(t, source, "off", "hf")
	if len(answer.Origins) != 1 || !strings.Contains(answer.Origins[0].Op, "layers.1.mlp.gate_up_proj") || !slices.Equal(answer.Parts[0].Ranks, []uint32{1}) {
		t.Errorf("%+v\n%s", answer.Parts, page)
	}
}

// TestSGLangOnTwoRanksIsTheSame: it gives logits in float32, and a rank has one head of k, which is a row in decode.
func TestSGLangOnTwoRanksIsTheSame(t *testing.T) {
	t.Parallel()
	source := newCross(t, "qwen3-hf", "qwen3-sglang")
	for _, sides := range [][2]string{{"qwen3-sglang", "qwen3-hf"}, {"qwen3-hf", "qwen3-sglang"}} {
		answer, page := told(t, source, sides[0], sides[1])
		if !strings.HasPrefix(page, "SAME ") || !strings.Contains(page, "under the map qwen3: ") || strings.Contains(page, "other numbers of tokens") {
			t.Errorf("%v: %s", sides, page)
		}
		if m := answer.Mapped; m.ByName != 98 || m.Joined != 24 || m.Streams != 8 {
			t.Errorf("%v: %+v", sides, m)
		}
	}
}

// TestSumsLeftOpenAreAddedUp: ranks of SGLang hold parts of what vLLM has added up, on as many ranks. Sketches tell that the sums
// are the same; without them nothing does, and nothing differs.
func TestSumsLeftOpenAreAddedUp(t *testing.T) {
	t.Parallel()
	for _, sketches := range []bool{true, false} {
		source := newCross(t, "qwen3-sglang", "qwen3-vllm")
		if !sketches {
			source.forgetSketches()
		}
		for _, sides := range [][2]string{{"qwen3-sglang", "qwen3-vllm"}, {"qwen3-vllm", "qwen3-sglang"}} {
			answer, page := told(t, source, sides[0], sides[1])
			if !strings.HasPrefix(page, "SAME ") || strings.Contains(page, "within tolerance") != sketches || len(answer.Merges) > 0 {
				t.Errorf("%v, sketches %t: %s", sides, sketches, page)
			}
		}
	}
}

func TestSumThatIsOffIsNamed(t *testing.T) {
	t.Parallel()
	source := newCross(t, "qwen3-sglang", "qwen3-vllm")
	source.scale("qwen3-sglang", "Module.model.layers.1.self_attn.o_proj.RowParallelLinear.forward.0", "0", 1.2)
	for _, sides := range [][2]string{{"qwen3-sglang", "qwen3-vllm"}, {"qwen3-vllm", "qwen3-sglang"}} {
		answer, page := told(t, source, sides[0], sides[1])
		if len(answer.Origins) == 0 || !strings.Contains(answer.Origins[0].Op, "layers.1.self_attn.o_proj") {
			t.Errorf("%v: %s", sides, page)
		}
	}
}

func TestLogitsInOtherFloatsMayStillDiffer(t *testing.T) {
	t.Parallel()
	source := newCross(t, "qwen3-hf", "qwen3-sglang")
	source.scale("qwen3-sglang", "Module.logits_processor.LogitsProcessor.forward.0", "0.next_token_logits", 1.2)
	answer, page := told(t, source, "qwen3-sglang", "qwen3-hf")
	if len(answer.Origins) != 1 || !strings.Contains(answer.Origins[0].Op, "logits_processor") {
		t.Error(page)
	}
}
