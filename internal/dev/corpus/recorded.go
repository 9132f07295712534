package corpus

// pair is two runs that msProbe recorded, with what is known of the models that were run.
type pair struct {
	id, problem, bench string
	what, mode         string
	harmless           bool
	steps              []int // of the bench that are compared
	origin             Origin
	touched            []Site
	ofRun, shaped      string
}

// recorded makes the case of a pair of real runs.
func (l *Library) recorded(p pair) (Case, error) {
	problem, err := l.base(p.problem, p.steps...)
	if err != nil {
		return Case{}, err
	}
	bench, err := l.base(p.bench, p.steps...)
	if err != nil {
		return Case{}, err
	}
	c := Case{
		ID: p.id, What: p.what, Mode: p.mode, Recorded: true, Harmless: p.harmless,
		Problem: problem, Bench: bench, Touched: p.touched, Origin: p.origin, OfRun: p.ofRun, Shaped: p.shaped,
	}
	if c.Mode == "" {
		c.Mode = "statistics"
	}
	return c, nil
}

func single(op string) Origin { return Origin{Ranks: []int{0}, Ops: []string{op}} }

func pairs() []pair { return append(pairsOfLlama(), pairsOfOthers()...) }

func only(rank int, op, role, path string) []Site { return []Site{{rank, 0, op, role, path}} }

// pairsOfLlama are of one process that trains the small model that most dumps are of.
func pairsOfLlama() []pair {
	const (
		weight   = "noise of 5 % on the weight of layers.2.mlp.down_proj"
		downTwo  = "Functional.linear.20.forward"
		downTwoL = "Module.model.layers.2.mlp.down_proj.Linear.forward.0"
		silu3    = "Module.model.layers.3.mlp.act_fn."
	)
	first := []int{0}
	return []pair{
		{id: "B01", problem: "B01_twin_mix", bench: llama, what: "the same run twice", harmless: true},
		{id: "B02-mix", problem: "B02_weight_mix", bench: llama, steps: first, what: weight, origin: single(downTwo), touched: only(0, downTwo, "input", "1")},
		{id: "B02-L0", problem: "B02_weight_L0", bench: llamaM, what: weight, origin: single(downTwoL), touched: only(0, downTwoL, "parameter", "weight")},
		{id: "B02-L1", problem: "B02_weight_L1", bench: llamaA, what: weight, origin: single(downTwo), touched: only(0, downTwo, "input", "1")},
		{id: "B02-md5", problem: "B02_weight_md5", bench: sums, what: weight, mode: "md5", origin: single(downTwo), touched: only(0, downTwo, "input", "1")},
		{
			id: "B03", problem: "B03_bf16_mix", bench: llama, steps: first, what: "bfloat16 for float32 in all of the run", ofRun: "tensor dtype",
			touched: only(0, "Functional.embedding.0.forward", "input", "1"),
		},
		{
			id: "B04", problem: "B04_eps_mix", bench: llama, steps: first, what: "epsilon of layers.1.input_layernorm 1e-6 → 1e-2",
			origin: single("Tensor.__add__.6.forward"), touched: only(0, "Tensor.__add__.6.forward", "input", "1"),
		},
		{id: "B05", problem: "B05_extra_op_mix", bench: llama, steps: first, what: "two more calls in layers.1.mlp that change nothing", harmless: true},
		{
			id: "B06", problem: "B06_extra_op_and_weight_mix", bench: llama, steps: first, what: "two more calls in layers.1.mlp, and " + weight,
			origin: single("Functional.linear.20.forward"), touched: only(0, "Functional.linear.20.forward", "input", "1"),
		},
		{
			id: "B09", problem: "B09_gelu_l3_mix", bench: llama, steps: first, what: "GELU for SiLU in layers.3",
			origin:  Origin{Ranks: []int{0}, Ops: []string{"Functional.gelu.0.forward", silu3 + "GELU.forward.0", "Functional.silu.3.forward", silu3 + "SiLUActivation.forward.0", "Tensor.__mul__.37.forward"}},
			touched: only(0, "Tensor.__mul__.37.forward", "input", "0"),
		},
		{
			id: "B10", problem: "B10_eager_attn_mix", bench: llama, steps: first, what: "eager attention for sdpa: the same mathematics", harmless: true,
			shaped: "no number diverges; eager attention is given a mask of numbers for one of bool, and returns its weights beside, which is said",
		},
		{
			id: "B13", problem: "B13_wrong_data_mix", bench: llama, steps: first, what: "another batch of data",
			origin: single("Functional.embedding.0.forward"), touched: only(0, "Functional.embedding.0.forward", "output", "0"),
		},
		{
			id: "B14", problem: "B14_nan_l2_mlp_step1_mix", bench: llama, what: "NaN put into the output of layers.2.mlp at step 1",
			origin:  Origin{Ranks: []int{0}, Step: 1, Ops: []string{"Tensor.__setitem__.0.forward", "Module.model.layers.2.mlp.LlamaMLP.forward.0"}},
			touched: []Site{{0, 1, "Module.model.layers.2.mlp.LlamaMLP.forward.0", "output", "0"}},
		},
	}
}

// pairsOfOthers are of raw tensors, of several ranks and of other models.
func pairsOfOthers() []pair {
	return []pair{
		{
			id: "B20", problem: "B20_tensor_problem", bench: "B20_tensor_golden", what: "all weights and data from another seed", mode: "tensor",
			origin: single("Tensor.to.19.forward"), touched: only(0, "Tensor.to.19.forward", "input", "0"),
		},
		{
			id: "D-ddp", problem: "D_ddp_rank1_weight", bench: copies, what: "data parallel: weight of layers.2 q_proj × 1.1 on rank 1",
			origin: Origin{Ranks: []int{1}, Ops: []string{"Functional.linear.14.forward"}}, touched: only(1, "Functional.linear.14.forward", "input", "1"),
		},
		{
			id: "D-tp", problem: "D_tp_rank1_weight", bench: shards, what: "tensor parallel: weight of layers.1.down + 0.01 on rank 1",
			origin: Origin{Ranks: []int{1}, Ops: []string{"Functional.linear.7.forward"}}, touched: only(1, "Functional.linear.7.forward", "input", "1"),
		},
		{
			id: "E", problem: "E_resnet18_bn_eps_mix", bench: "E_resnet18_golden_mix", what: "ResNet18: epsilon of layer3.0.bn1 1e-5 → 0.1",
			origin: single("Functional.batch_norm.10.forward"), touched: only(0, "Functional.batch_norm.10.forward", "input", "7"),
		},
		{
			id: "S", problem: "S_sglang_tp2_problem", bench: "S_sglang_tp2_bench", what: "SGLang, two ranks: weight of layers.1.mlp.down_proj × 1.25; other request ids",
			origin: Origin{Ranks: []int{0, 1}, Ops: []string{"Functional.linear.7.forward"}}, touched: only(0, "Functional.linear.7.forward", "input", "1"),
		},
	}
}
