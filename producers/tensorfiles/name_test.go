package tensorfiles

import "testing"

func TestRankAndStepAreReadFromNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]place{
		"nan_debug":                       {op: "nan_debug"},
		"forward_input_0":                 {op: "forward_input", hasStep: true},
		"forward_input_12":                {op: "forward_input", step: 12, hasStep: true},
		"layer_3":                         {op: "layer_3"},
		"model.layers.3.mlp":              {op: "model.layers.3.mlp"},
		"attn_rank1_step20":               {op: "attn", rank: 1, hasRank: true, step: 20, hasStep: true},
		"rank_7/iter_000100/qkv_weight":   {op: "qkv_weight", rank: 7, hasRank: true, step: 100, hasStep: true},
		"step-3/global_rank=2/x":          {op: "x", rank: 2, hasRank: true, step: 3, hasStep: true},
		"TP1_PP2_Rank5_pid77/Pass00042":   {rank: 5, hasRank: true, step: 42, hasStep: true, tp: 1, pp: 2, hooked: true},
		"TP1_PP2_Rank5_pid77/other":       {op: "other", rank: 5, hasRank: true, tp: 1, pp: 2},
		"step_1/step_2/x":                 {op: "step_2.x", step: 1, hasStep: true},
		"x_step_4294967296":               {op: "x_step_4294967296"},
		"ランク/\u202e🙂_rank3":               {op: "ランク.\u202e🙂", rank: 3, hasRank: true},
		"franking_stepping":               {op: "franking_stepping"},
		"expert_2_iter7":                  {op: "expert_2", step: 7, hasStep: true},
		"a/b/hidden_states_layer_5_step9": {op: "a.b.hidden_states_layer_5", step: 9, hasStep: true},
	} {
		if !want.hooked && want.tp == 0 {
			want.tp, want.pp = -1, -1
		}
		if got := placeOf(name); got != want {
			t.Errorf("placeOf(%q) = %+v, want %+v", name, got, want)
		}
	}
}

func TestNamesAreSortedAsPeopleCount(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{"a_2", "a_10"}, {"a", "a_1"}, {"layer_9_x", "layer_10_a"}, {"a01", "a2"}, {"", "a"}, {"a", "b1"}} {
		if natural(pair[0], pair[1]) >= 0 || natural(pair[1], pair[0]) <= 0 {
			t.Errorf("natural(%q, %q) is not less", pair[0], pair[1])
		}
	}
}
