package schemas

import "testing"

func TestParseOpNameKnowsEveryPattern(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]OpRow{
		"Functional.linear.3.forward":                         {Level: LevelAPI, Prefix: "Functional", ModulePath: "", LayerIndex: -1, ClassOrAPI: "linear", CallIndex: 3, Phase: PhaseForward},
		"Tensor.__add__.0.backward":                           {Level: LevelAPI, Prefix: "Tensor", ModulePath: "", LayerIndex: -1, ClassOrAPI: "__add__", CallIndex: 0, Phase: PhaseBackward},
		"Jit/Cell.run.1.forward":                              {Level: LevelAPI, Prefix: "Jit/Cell", ModulePath: "", LayerIndex: -1, ClassOrAPI: "run", CallIndex: 1, Phase: PhaseForward},
		"Aten.mm.default.2.forward":                           {Level: LevelAten, Prefix: "Aten", ModulePath: "", LayerIndex: -1, ClassOrAPI: "mm.default", CallIndex: 2, Phase: PhaseForward},
		"Distributed.all_reduce.0.forward":                    {Level: LevelCollective, Prefix: "Distributed", ModulePath: "", LayerIndex: -1, ClassOrAPI: "all_reduce", CallIndex: 0, Phase: PhaseForward},
		"MintDistributed.all_gather.1.forward":                {Level: LevelCollective, Prefix: "MintDistributed", ModulePath: "", LayerIndex: -1, ClassOrAPI: "all_gather", CallIndex: 1, Phase: PhaseForward},
		"_C_ascend.rms_norm.4.forward":                        {Level: LevelAPI, Prefix: "_C_ascend", ModulePath: "", LayerIndex: -1, ClassOrAPI: "rms_norm", CallIndex: 4, Phase: PhaseForward},
		"Module.model.layers.11.mlp.up_proj.Linear.forward.0": {Level: LevelModule, Prefix: "Module", ModulePath: "model.layers.11.mlp.up_proj", LayerIndex: 11, ClassOrAPI: "Linear", CallIndex: 0, Phase: PhaseForward},
		"Module.layer3.0.bn1.BatchNorm2d.backward.2":          {Level: LevelModule, Prefix: "Module", ModulePath: "layer3.0.bn1", LayerIndex: 3, ClassOrAPI: "BatchNorm2d", CallIndex: 2, Phase: PhaseBackward},
		"Module.0.h.5.attn.Attn.forward.0":                    {Level: LevelModule, Prefix: "Module", ModulePath: "0.h.5.attn", LayerIndex: 5, ClassOrAPI: "Attn", CallIndex: 0, Phase: PhaseForward},
		"Module.blocks.7.Block.forward.0":                     {Level: LevelModule, Prefix: "Module", ModulePath: "blocks.7", LayerIndex: 7, ClassOrAPI: "Block", CallIndex: 0, Phase: PhaseForward},
		"Cell.network.layer.2.dense.Dense.forward.0":          {Level: LevelModule, Prefix: "Cell", ModulePath: "network.layer.2.dense", LayerIndex: 2, ClassOrAPI: "Dense", CallIndex: 0, Phase: PhaseForward},
		"Module.fc.Linear.parameters_grad.1":                  {Level: LevelModule, Prefix: "Module", ModulePath: "fc", LayerIndex: -1, ClassOrAPI: "Linear", CallIndex: 1, Phase: PhaseGradient},
		"Module.fc.Linear.parameters_grad":                    {Level: LevelModule, Prefix: "Module", ModulePath: "fc", LayerIndex: -1, ClassOrAPI: "Linear", CallIndex: -1, Phase: PhaseGradient},
		"Module.Net.forward.0":                                {Level: LevelModule, Prefix: "Module", ModulePath: "", LayerIndex: -1, ClassOrAPI: "Net", CallIndex: 0, Phase: PhaseForward},
		"model.layers.0.forward":                              {Level: LevelModule, Prefix: "", ModulePath: "model.layers.0", LayerIndex: 0, ClassOrAPI: "", CallIndex: -1, Phase: PhaseForward},
		"model.layers.0.mlp.forward":                          {Level: LevelModule, Prefix: "", ModulePath: "model.layers.0.mlp", LayerIndex: 0, ClassOrAPI: "", CallIndex: -1, Phase: PhaseForward},
		"Optimizer.SGD.step.0":                                {Level: LevelOptimizer, Prefix: "Optimizer", ModulePath: "", LayerIndex: -1, ClassOrAPI: "SGD.step", CallIndex: 0, Phase: PhaseOptimizer},
		"clip_grad":                                           {Level: LevelOptimizer, Prefix: "clip_grad", ModulePath: "", LayerIndex: -1, ClassOrAPI: "clip_grad", CallIndex: -1, Phase: PhaseOptimizer},
		"loss.0.debug":                                        {Level: LevelOther, Prefix: "", ModulePath: "", LayerIndex: -1, ClassOrAPI: "loss", CallIndex: 0, Phase: PhaseNone},
		"Loss.1.debug":                                        {Level: LevelOther, Prefix: "", ModulePath: "", LayerIndex: -1, ClassOrAPI: "Loss", CallIndex: 1, Phase: PhaseNone},
		"Optimizer.AdamW.settings.1":                          {Level: LevelOptimizer, Prefix: "Optimizer", ModulePath: "", LayerIndex: -1, ClassOrAPI: "AdamW.settings", CallIndex: 1, Phase: PhaseOptimizer},
		"my.loss_grad.12.debug":                               {Level: LevelOther, Prefix: "", ModulePath: "", LayerIndex: -1, ClassOrAPI: "my.loss_grad", CallIndex: 12, Phase: PhaseGradient},
		"Torch.add":                                           {Level: LevelAPI, Prefix: "Torch", ModulePath: "", LayerIndex: -1, ClassOrAPI: "add", CallIndex: -1, Phase: PhaseNone},
		"Tensor.add.99999999999999999999.forward":             {Level: LevelAPI, Prefix: "Tensor", ModulePath: "", LayerIndex: -1, ClassOrAPI: "add.99999999999999999999", CallIndex: -1, Phase: PhaseForward},
		"Tensor.add.-1.forward":                               {Level: LevelAPI, Prefix: "Tensor", ModulePath: "", LayerIndex: -1, ClassOrAPI: "add.-1", CallIndex: -1, Phase: PhaseForward},
		"":                                                    {Level: LevelOther, Prefix: "", ModulePath: "", LayerIndex: -1, ClassOrAPI: "", CallIndex: -1, Phase: PhaseNone},
		"Module":                                              {Level: LevelModule, Prefix: "", ModulePath: "", LayerIndex: -1, ClassOrAPI: "Module", CallIndex: -1, Phase: PhaseNone},
		"forward":                                             {Level: LevelModule, Prefix: "", ModulePath: "", LayerIndex: -1, ClassOrAPI: "", CallIndex: -1, Phase: PhaseForward},
		"Module.layers.4294967296.X.forward.0":                {Level: LevelModule, Prefix: "Module", ModulePath: "layers.4294967296", LayerIndex: -1, ClassOrAPI: "X", CallIndex: 0, Phase: PhaseForward},
	} {
		want.OpID, want.Name = OpID(name), name
		if got := ParseOpName(name); got != want {
			t.Errorf("ParseOpName(%q) =\n %+v, want\n %+v", name, got, want)
		}
	}
}

func TestWhatComputesNothingIsKnownByItsName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][3]bool{ // a loss, settings, nothing computed
		"Loss.0.debug":               {true, false, true},
		"loss.0.debug":               {false, false, true},
		"Loss.0.forward":             {false, false, false},
		"Optimizer.AdamW.settings.0": {false, true, true},
		"Optimizer.AdamW.step.0":     {false, false, false},
		"Optimizer.AdamW.settings":   {false, false, false},
	} {
		if got := [3]bool{NamesALoss(name), NamesSettings(name), ComputesNothing(name)}; got != want {
			t.Errorf("of %q: %v, want %v", name, got, want)
		}
	}
}
