"""Makes testdata/names.json.gz from dumps of real msProbe: python make_names.py FOLDER_OF_UNPACKED_FIXTURES."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CASES = {
    "llama L0": "A_llama_L0_statistics",
    "llama L1": "A_llama_L1_statistics",
    "llama mix": "A_llama_mix_statistics",
    "resnet18 mix": "E_resnet18_golden_mix",
}
ROLES = (("input_args", "input"), ("input_kwargs", "kwarg"), ("parameters", "parameter"), ("output", "output"))
KINDS = {"torch.dtype": "dtype", "torch.device": "device", "torch.Size": "size"}
TENSORS = ("torch.Tensor", "BatchedTensor")


def main(fixtures: Path) -> None:
    """Write the names, order and parents of all ops, and the sites and layouts of forward ones, by case."""
    cases = {case: _read(next((fixtures / folder / "dump" / "step0").iterdir())) for case, folder in CASES.items()}
    content = json.dumps(cases, separators=(",", ":")).encode()
    (Path(__file__).parent / "testdata" / "names.json.gz").write_bytes(gzip.compress(content, mtime=0))


def _read(folder: Path) -> dict[str, Any]:
    data = json.loads((folder / "dump.json").read_text())["data"]
    parents = json.loads((folder / "construct.json").read_text())
    return {
        "ops": list(data),
        "parents": {name: parents[name] for name in data if ".forward" in name and name in parents},
        "sites": {name: [[*site, _layout(value)] for *site, value in _sites(data[name])] for name in data if ".forward" in name},
    }


def _sites(entry: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for key, role in ROLES:
        for path, value in _leaves("", entry.get(key, {})):
            yield role, path, value


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    members: Any = None
    if isinstance(value, list):
        members = enumerate(value)
    elif isinstance(value, dict) and not isinstance(value.get("type"), str):
        members = value.items()
    if members is None:
        yield path, value
    else:
        for name, member in members:
            yield from _leaves(f"{path}.{name}" if path else str(name), member)


def _layout(value: Any) -> list[Any]:
    """kind, dtype, shape, requires_grad, literal"""
    if value is None:
        return ["none", "", [], None, ""]
    if value["type"] in TENSORS:
        literal = "" if value["type"] == "torch.Tensor" else value["type"]
        return ["tensor", value["dtype"], value["shape"], value["requires_grad"], literal]
    literal = value["value"]
    text = literal if isinstance(literal, str) else json.dumps(literal, separators=(",", ":"))
    return [KINDS.get(value["type"], value["type"]), "", [], None, text]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
