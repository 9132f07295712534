package msprobe

import "testing"

func TestParseNameKnowsEveryPattern(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]opName{
		"Functional.linear.3.forward":                         {levelAPI, "Functional", "", -1, "linear", 3, phaseForward},
		"Tensor.__add__.0.backward":                           {levelAPI, "Tensor", "", -1, "__add__", 0, phaseBackward},
		"Jit/Cell.run.1.forward":                              {levelAPI, "Jit/Cell", "", -1, "run", 1, phaseForward},
		"Aten.mm.default.2.forward":                           {levelAten, "Aten", "", -1, "mm.default", 2, phaseForward},
		"Distributed.all_reduce.0.forward":                    {levelCollective, "Distributed", "", -1, "all_reduce", 0, phaseForward},
		"MintDistributed.all_gather.1.forward":                {levelCollective, "MintDistributed", "", -1, "all_gather", 1, phaseForward},
		"_C_ascend.rms_norm.4.forward":                        {levelAPI, "_C_ascend", "", -1, "rms_norm", 4, phaseForward},
		"Module.model.layers.11.mlp.up_proj.Linear.forward.0": {levelModule, "Module", "model.layers.11.mlp.up_proj", 11, "Linear", 0, phaseForward},
		"Module.layer3.0.bn1.BatchNorm2d.backward.2":          {levelModule, "Module", "layer3.0.bn1", 3, "BatchNorm2d", 2, phaseBackward},
		"Module.0.h.5.attn.Attn.forward.0":                    {levelModule, "Module", "0.h.5.attn", 5, "Attn", 0, phaseForward},
		"Module.blocks.7.Block.forward.0":                     {levelModule, "Module", "blocks.7", 7, "Block", 0, phaseForward},
		"Cell.network.layer.2.dense.Dense.forward.0":          {levelModule, "Cell", "network.layer.2.dense", 2, "Dense", 0, phaseForward},
		"Module.fc.Linear.parameters_grad.1":                  {levelModule, "Module", "fc", -1, "Linear", 1, phaseGradient},
		"Module.fc.Linear.parameters_grad":                    {levelModule, "Module", "fc", -1, "Linear", -1, phaseGradient},
		"Module.Net.forward.0":                                {levelModule, "Module", "", -1, "Net", 0, phaseForward},
		"model.layers.0.forward":                              {levelModule, "", "model.layers.0", 0, "", -1, phaseForward},
		"model.layers.0.mlp.forward":                          {levelModule, "", "model.layers.0.mlp", 0, "", -1, phaseForward},
		"Optimizer.SGD.step.0":                                {levelOptimizer, "Optimizer", "", -1, "SGD.step", 0, phaseOptimizer},
		"clip_grad":                                           {levelOptimizer, "clip_grad", "", -1, "clip_grad", -1, phaseOptimizer},
		"loss.0.debug":                                        {levelOther, "", "", -1, "loss", 0, phaseNone},
		"my.loss_grad.12.debug":                               {levelOther, "", "", -1, "my.loss_grad", 12, phaseGradient},
		"Torch.add":                                           {levelAPI, "Torch", "", -1, "add", -1, phaseNone},
		"Tensor.add.99999999999999999999.forward":             {levelAPI, "Tensor", "", -1, "add.99999999999999999999", -1, phaseForward},
		"Tensor.add.-1.forward":                               {levelAPI, "Tensor", "", -1, "add.-1", -1, phaseForward},
		"":                                                    {levelOther, "", "", -1, "", -1, phaseNone},
		"Module":                                              {levelModule, "", "", -1, "Module", -1, phaseNone},
		"forward":                                             {levelModule, "", "", -1, "", -1, phaseForward},
		"Module.layers.4294967296.X.forward.0":                {levelModule, "Module", "layers.4294967296", -1, "X", 0, phaseForward},
	} {
		if got := parseName(name); got != want {
			t.Errorf("parseName(%q) =\n %+v, want\n %+v", name, got, want)
		}
	}
}
