"""Where and of what a program runs: machine, libraries, packages, variables, command line, and the code it has loaded.

Secrets stay out: variables are taken by a list of prefixes and values of arguments that are named like secrets are not.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

import torch
from torch.cuda import nccl

from tensortap._session import of_launch

_PREFIXES: Final = (
    *("ASCEND_", "CUBLAS", "CUDA_", "CUDNN_", "FLASHINFER_", "HCCL_", "KMP_", "MKL_", "NCCL_", "NVTE_", "OMP_", "PYTHONHASHSEED", "PYTORCH_"),
    *("SGLANG_", "SGL_", "TORCH_", "TORCHDYNAMO_", "TORCHINDUCTOR_", "TRITON_", "VLLM_", "XLA_"),
)
SECRET: Final = re.compile(r"KEY|TOKEN(?!I|S)|SECRET|PASS|CREDENTIAL|AUTH", re.IGNORECASE)
_OF_ONE_RANK: Final = re.compile(r"RANK|HOST|VISIBLE_DEVICES", re.IGNORECASE)
_RANK_FLAG: Final = re.compile(r"-+(local|node)[-_]rank")
IN_URL: Final = re.compile(r"(://)[^/@\s]+@")
LONGEST_VALUE: Final = 500  # characters
_MOST_CODE: Final = 64 << 20  # bytes
_INSTALLED: Final = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)\.(dist|egg)-info")

_INSTALLED_IN: Final = re.compile(r"/(site|dist)-packages/")


def of(code_folder: Path) -> Mapping[str, object]:
    """Each fact by its name; the unknown ones are left out. The code's own modules are those below code_folder."""
    found = {**_machine(), **_precision(), "command line": " ".join(_arguments(sys.orig_argv)), "code": _code(code_folder)}
    found |= {f"env {name}": value for name, value in _variables(os.environ).items()}
    found |= {f"package {name}": version for name, version in sorted(_packages(sys.path).items())}
    return {name: value for name, value in found.items() if value not in ("", None)}


def _machine() -> dict[str, object]:
    found: dict[str, object] = {
        "python": platform.python_version(),
        "cpu": _cpu(),
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "gpu driver": _text(Path("/sys/module/nvidia/version")),
    }
    if cast(bool, torch.cuda.is_initialized()):
        found["gpu"] = torch.cuda.get_device_name()
        found["cudnn"] = torch.backends.cudnn.version()
        with suppress(AttributeError, RuntimeError):  # a build without NCCL
            found["nccl"] = ".".join(map(str, nccl.version()))
    return found


def _precision() -> dict[str, object]:
    """Switches that let PyTorch compute with fewer bits."""
    found: dict[str, object] = {}
    for name, of_what in (
        ("tf32 in matmul", lambda: torch.backends.cuda.matmul.allow_tf32),
        ("tf32 in cudnn", lambda: torch.backends.cudnn.allow_tf32),
        ("reduced precision sums of bfloat16", lambda: torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction),
        ("reduced precision sums of float16", lambda: torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction),
    ):
        with suppress(AttributeError, RuntimeError):  # RuntimeError: set by PyTorch's newer names
            found[name] = of_what()
    return found


def _cpu() -> str:
    """Model and instructions: kernels are chosen by them."""
    lines = _text(Path("/proc/cpuinfo")).splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"{model}, {torch.backends.cpu.get_cpu_capability()}"


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Those that libraries compute by, without secrets, and without those of one rank or launch: a run is described once."""
    return {
        name: _told(value)
        for name, value in sorted(environment.items())
        if name.startswith(_PREFIXES) and not SECRET.search(name) and not _OF_ONE_RANK.search(name) and not of_launch.names(name)
    }


def _told(value: str) -> str:
    return of_launch.blanked(IN_URL.sub(r"\1", value))[:LONGEST_VALUE]


def _arguments(given: Iterable[str]) -> Iterator[str]:
    """The command line without code, secrets, the number of the rank, and what is of one launch."""
    left = iter(given)
    for argument in left:
        name, equals, _ = argument.partition("=")
        is_of_one_rank = _RANK_FLAG.fullmatch(name)
        is_kept_back = name.startswith("-") and (SECRET.search(name) or of_launch.names(name))
        if not is_of_one_rank and argument != "-c" and not is_kept_back:
            yield _told(argument)
            continue
        if not equals:
            next(left, "")
        if not is_of_one_rank:
            yield f"{name}{equals or ' '}…"


def _packages(path: Iterable[str]) -> dict[str, str]:
    """Version of each installed distribution, by the folders' names: the first on the path counts."""
    found: dict[str, str] = {}
    for folder in path:
        with suppress(OSError):
            for entry in os.scandir(folder or "."):
                if match := _INSTALLED.fullmatch(entry.name):
                    name = match["name"].lower().replace("_", "-")
                    found.setdefault(name, match["version"])
    return found


def _code(folder: Path) -> str:
    """Checksum of the modules that are loaded from below the folder: it changes with what a commit does not hold."""
    below = f"{folder}{os.sep}"
    files = sorted({path for path in map(_source, list(sys.modules.values())) if path.startswith(below) and not _INSTALLED_IN.search(path)})
    checksum, left = hashlib.blake2b(digest_size=8), _MOST_CODE
    for path in files:
        text = _bytes(Path(path))
        checksum.update(f"{path.removeprefix(below)}\0{len(text)}\0".encode(errors="surrogateescape"))
        checksum.update(text[:left])
        left = max(0, left - len(text))
    return f"{checksum.hexdigest()} of {len(files)} files" if files else ""


def _source(module: object) -> str:
    file = getattr(module, "__file__", None)
    return os.path.abspath(file) if isinstance(file, str) and file.endswith(".py") else ""  # resolve() takes 20 times as long


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
