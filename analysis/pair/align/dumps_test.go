package align_test

import (
	"math"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/pair/align"
)

// alone is the number of ops of each side of a pair of recorded dumps that have no partner.
type alone struct{ problem, bench int }

// pairUp aligns two recorded dumps and checks the rows, and that nothing is paired across modules.
func pairUp(t *testing.T, problem, bench string) (dump, dump, []align.Row, alone) {
	t.Helper()
	p, b := readDump(t, problem), readDump(t, bench)
	rows := align.Programs(p.ops, b.ops)
	checkRows(t, p.ops, b.ops, rows)
	var single alone
	partner := map[string]string{}
	for _, r := range rows {
		switch {
		case r.Problem < 0:
			single.bench++
		case r.Bench < 0:
			single.problem++
		default:
			partner[p.names[r.Problem]] = b.names[r.Bench]
		}
	}
	for _, r := range rows {
		if r.Problem < 0 || r.Bench < 0 {
			continue
		}
		above, want := p.parents[r.Problem], b.parents[r.Bench]
		if got, ok := partner[above]; ok && got != want {
			t.Errorf("%s under %s is paired with %s under %s", p.names[r.Problem], above, b.names[r.Bench], want)
		}
	}
	return p, b, rows, single
}

func TestProgramsOfTwoExtraCalls(t *testing.T) {
	t.Parallel()
	p, b, rows, single := pairUp(t, "B05_extra_op_mix", "B00_golden_mix")
	if want := (alone{3, 0}); single != want {
		t.Errorf("alone %+v, want %+v: two calls, and the backward of one", single, want)
	}
	shifted := 0
	for _, r := range rows {
		if r.Bench < 0 {
			if !strings.HasPrefix(p.parents[r.Problem], "Module.model.layers.1.mlp.LlamaMLP.") {
				t.Errorf("%s under %s stands alone", p.names[r.Problem], p.parents[r.Problem])
			}
			continue
		}
		if p.numbers[r.Problem] != b.numbers[r.Bench] {
			t.Errorf("%s and %s are paired and their numbers differ", p.names[r.Problem], b.names[r.Bench])
		}
		if p.names[r.Problem] != b.names[r.Bench] {
			shifted++
		}
	}
	if shifted < 40 {
		t.Errorf("%d partners have another name: the dumps no longer shift call indices", shifted)
	}
}

func TestProgramsOfTwoExtraCallsAndAWrongWeight(t *testing.T) {
	t.Parallel()
	p, b, rows, single := pairUp(t, "B06_extra_op_and_weight_mix", "B00_golden_mix")
	if want := (alone{3, 0}); single != want {
		t.Errorf("alone %+v, want %+v", single, want)
	}
	for _, r := range rows {
		if r.Bench < 0 || p.numbers[r.Problem] == b.numbers[r.Bench] {
			continue
		}
		if want := "Module.model.layers.2.mlp.down_proj.Linear.forward.0"; p.parents[r.Problem] != want {
			t.Errorf("the first pair that differs is %s under %s, want one under %s", p.names[r.Problem], p.parents[r.Problem], want)
		}
		return
	}
	t.Error("no pair differs")
}

func TestProgramsOfAnotherActivation(t *testing.T) {
	t.Parallel()
	p, b, rows, single := pairUp(t, "B09_gelu_l3_mix", "B00_golden_mix")
	if want := (alone{2, 2}); single != want {
		t.Errorf("alone %+v, want %+v: forward and backward of GELU and of SiLU", single, want)
	}
	renamed := 0
	for _, r := range rows {
		if r.Reason == align.Renamed {
			renamed++
			if !strings.Contains(p.names[r.Problem], "layers.3.mlp.act_fn.GELU") || !strings.Contains(b.names[r.Bench], "layers.3.mlp.act_fn.SiLU") {
				t.Errorf("%s is said to be renamed from %s", p.names[r.Problem], b.names[r.Bench])
			}
		}
	}
	if renamed != 2 {
		t.Errorf("%d modules are renamed, want forward and backward of the activation", renamed)
	}
}

func TestProgramsOfAnotherAttention(t *testing.T) {
	t.Parallel()
	p, b, rows, single := pairUp(t, "B10_eager_attn_mix", "B00_golden_mix")
	if want := (alone{61, 8}); single != want {
		t.Errorf("alone %+v, want %+v", single, want)
	}
	for _, r := range rows {
		switch {
		case r.Problem < 0:
			if !strings.HasPrefix(b.names[r.Bench], "Functional.scaled_dot_product_attention.") {
				t.Errorf("bench's %s under %s stands alone", b.names[r.Bench], b.parents[r.Bench])
			}
		case r.Bench < 0:
			if !ofAttention(p, r.Problem) {
				t.Errorf("problem's %s under %s stands alone", p.names[r.Problem], p.parents[r.Problem])
			}
		}
	}
}

// ofAttention says whether the op belongs to eager attention, or prepares its mask. Backward ops
// hang below the decoder layer in msProbe's dumps, so their forward ops answer for them.
func ofAttention(d dump, i int) bool {
	name := strings.Replace(d.names[i], ".backward", ".forward", 1)
	for k := range d.parents {
		if d.names[k] == name {
			return strings.Contains(d.parents[k], ".self_attn.LlamaAttention.") || name == "Torch.where.0.forward"
		}
	}
	return false
}

func TestProgramsOfAnotherEpsilonAreTheSame(t *testing.T) {
	t.Parallel()
	_, _, rows, single := pairUp(t, "E_resnet18_bn_eps_mix", "E_resnet18_golden_mix")
	if single != (alone{}) {
		t.Errorf("alone %+v, want nothing", single)
	}
	for _, r := range rows {
		if r.Reason != align.SameID {
			t.Errorf("row %+v of the same program", r)
		}
	}
}

func TestProgramsOfCallsWithoutModulesBesideThoseWithThem(t *testing.T) {
	t.Parallel()
	p, _, rows, single := pairUp(t, "B02_weight_L1", "B00_golden_mix")
	if single.problem != 0 {
		t.Errorf("%d of %d calls have no partner, though the same model ran", single.problem, len(p.ops))
	}
	for _, r := range rows {
		if r.Problem >= 0 && math.Abs(float64(r.Problem-r.Bench)) > 160 {
			t.Fatalf("row %+v is far from its place", r)
		}
	}
}
