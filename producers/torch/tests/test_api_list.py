"""A file in the form of msProbe's support_wrap_ops.yaml says which APIs are recorded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

from tensortap import SettingsError, tap
from tensortap._config import api_list
from tensortap._config.settings import settings
from tests.reading import only

USUAL = {"Functional": ["relu", "softmax"], "Tensor": ["add"], "Torch": ["mm"], "VF": [], "Distributed": ["all_reduce"]}


def file(folder: Path, text: str) -> Path:
    path = folder / "apis.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", {}),
        ("functional:\n  - gelu\n  - relu  # as before\n", {"Functional": ["gelu", "relu"]}),
        ("functional:\n- -relu\n- +gelu\n", {"Functional": ["softmax", "gelu"]}),
        ("---\nfunctional: [gelu, -gelu, 'silu']\ntensor:\n", {"Functional": ["silu"], "Tensor": []}),
        ("torch_npu:\n  - npu_add\naten: [add]\n", {}),
        ('{"tensor": ["+mul"], "distributed": ["-all_reduce"]}', {"Tensor": ["add", "mul"]}),
    ],
)
def test_a_group_replaces_the_usual_list_or_changes_it(text: str, want: dict[str, list[str]], tmp_path: Path) -> None:
    assert api_list.read(file(tmp_path, text)).change(USUAL) == {**USUAL, **want}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("functionl:\n  - relu\n", "line 1: unknown group functionl; do you mean functional?"),
        ("functional:\n  - re lu\n", "line 2: 're lu' is no name of an API"),
        ("- relu\n", "line 1: want a group as functional: or a name as - softmax"),
        ("functional: relu\n", "line 1: 'relu' is no list of names"),
        ('{"functional": 3}', "group functional is no list of names"),
        ('{"functional": [', "Expecting value"),
    ],
)
def test_what_is_no_list_is_an_error_that_says_where(text: str, told: str, tmp_path: Path) -> None:
    path = file(tmp_path, text)
    with pytest.raises(SettingsError, match=re.escape(told)):
        settings(run="x", apis=path, environment={})
    with pytest.raises(SettingsError, match="No such file"):
        settings(run="x", environment={"TENSORTAP_APIS": str(tmp_path / "none.yaml")})


class Model(nn.Module):
    """Calls four APIs."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """One of them is not recorded otherwise."""
        return torch.relu(functional.softmax(self.inner(given), -1)).contiguous().mul(2)


def recorded(folder: Path, text: str | None) -> set[str]:
    model = Model()
    with tap(model, run="x", level="L1", spool=folder, apis=file(folder.parent, text) if text else None), torch.no_grad():
        model(torch.ones(2, 4))
    return {name.rpartition(".0.")[0] for step in only(folder).steps for name in step.begun}


def test_a_tap_records_what_the_file_lists(tmp_path: Path) -> None:
    usual = recorded(tmp_path / "usual", None)
    assert {"Functional.linear", "Functional.softmax", "Torch.relu", "Tensor.mul"} <= usual
    assert recorded(tmp_path / "without", "functional: [-softmax]\ntensor: []\n") == usual - {"Functional.softmax", "Tensor.mul"}
    more = recorded(tmp_path / "more", "tensor: [+contiguous]\n")
    assert more - usual == {"Tensor.contiguous"}


def test_what_this_torch_has_not_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded(tmp_path / "spool", "functional: [+sofmax]\n")
    assert "apis: this torch has no Functional.sofmax" in capsys.readouterr().err
