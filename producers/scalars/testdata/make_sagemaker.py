"""Writes what SageMaker's debugger leaves of a training: python make_sagemaker.py FOLDER (smdebug 1.0.34, protobuf 3.20.3, PyTorch 2.4)."""

import sys

import smdebug.pytorch as smd
import torch

torch.manual_seed(0)
hook = smd.Hook(
    out_dir=sys.argv[1],
    save_config=smd.SaveConfig(save_interval=2),
    include_collections=["weights", "gradients", "losses", "biases"],
)
model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
loss = torch.nn.MSELoss()
hook.register_module(model)
hook.register_loss(loss)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
hook.set_mode(smd.modes.TRAIN)
for step in range(4):
    optimizer.zero_grad()
    value = loss(model(torch.randn(5, 3)), torch.zeros(5, 1))
    value.backward()
    optimizer.step()
    hook.save_scalar("lr", 0.1, sm_metric=False)
hook.set_mode(smd.modes.EVAL)
with torch.no_grad():
    for step in range(2):
        loss(model(torch.full((5, 3), 1.0 if step else float("nan"))), torch.zeros(5, 1))
hook.close()
