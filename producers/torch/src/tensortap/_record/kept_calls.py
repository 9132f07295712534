"""Writes one call of an op into files: its tensors, its module, the states of random numbers, and a program that repeats it alone."""

from __future__ import annotations

import errno
import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn

from tensortap import _torch_compat
from tensortap._record import pickling, raw_forms, safetensors
from tensortap._record.argument_trees import INPUT, KWARG, OUTPUT, PARAMETER, leaves
from tensortap._record.held_calls import Call, Place
from tensortap._record.op_names import Names, Op
from tensortap._record.raw_files import lack_of_room
from tensortap._spool import layout
from tensortap._spool.folder import fault_of_kept
from tensortap._spool.spool import Spool
from tensortap._stats.measure import plain

MOST_BYTES: Final = 1 << 32  # that one call is written with
PROGRAM: Final = "repeat.py"
_TEMPLATE: Final = Path(__file__).with_name("repeat_template.py")
_CONSTANTS: Final = (torch.dtype, torch.memory_format, torch.layout)


class KeptCall:
    """The files of one call. Tensors have rows like those that are asked for in a live run. Nothing here raises but OSError."""

    def __init__(self, spool: Spool, names: Names, root: Path, step: int, call: Call, *, has_rows: bool) -> None:
        """With `has_rows` its raw tensors are kept, and have their rows, as those of any op."""
        self._spool, self._names, self._step, self._call = spool, names, step, call
        self._has_rows = has_rows
        self._home = root / spool.folder.name
        self.folder = self._home / f"{step}-{call.seq}"
        self._left = MOST_BYTES
        self._written: dict[int, dict[str, Any]] = {}  # by the id of the tensor
        self._objects: list[Any] = []
        self.lost: list[str] = []
        self.left_out: list[str] = []  # of what is pickled
        self.count = 0

    def write(self, about: Mapping[str, Any], gradients: Mapping[str, Tensor]) -> Path:
        """Write all that there is. Returns the program that repeats the op."""
        if fault := fault_of_kept(self._home.parent):  # what is pickled there is run when the op is repeated
            raise OSError(errno.EPERM, fault)
        self._home.mkdir(exist_ok=True, mode=0o700)
        self.folder.mkdir(mode=0o700)
        call = self._call
        told = {
            **about,
            "api": "" if call.module else torch.overrides.resolve_name(call.function) or "",
            "module": self._module(call.module) if call.module else "",
            "args": [self._value(INPUT, str(at), value) for at, value in enumerate(call.args)],
            "kwargs": {name: self._value(KWARG, name, value) for name, value in call.kwargs.items()},
            "random": {device: self._beside(f"random-{device}", state) for device, state in call.random.items()},
            "autocast": call.autocast,
            "with_gradients": call.with_gradients,
            "gradients": {path: self._beside(f"gradient-{at}", gradient) for at, (path, gradient) in enumerate(gradients.items())},
        }
        self._outputs()
        told |= {"objects": self._pickled("objects.pt", self._objects) if self._objects else "", "program": self._program(), "lost": self.lost, "left_out": self.left_out}
        (self.folder / "about.json").write_text(json.dumps(told, indent=1))
        path = self.folder / PROGRAM
        path.write_text(_TEMPLATE.read_text())
        return path

    def _outputs(self) -> None:
        result = self._call.result
        for at, value in enumerate(result if type(result) is tuple else (result,)):
            for path, leaf in leaves(str(at), value, 0):
                if isinstance(leaf, Tensor):
                    self._tensor(OUTPUT, path, leaf, leaf)

    def _value(self, role: str, path: str, value: Any) -> dict[str, Any]:
        """The value as a tree of JSON."""
        if isinstance(value, Tensor):
            held = self._call.held.get(id(value))
            return self._tensor(role, path, value, held.as_it_was() if held else value)
        if value is None or isinstance(value, bool | int | str):
            return {"value": value}
        if isinstance(value, float):
            return {"float": repr(value)}
        if type(value) in (tuple, list):
            return {type(value).__name__: [self._value(role, f"{path}.{at}", one) for at, one in enumerate(value)]}
        if type(value) is dict:
            return {"dict": [[self._value(role, path, name), self._value(role, f"{path}.{name}", one)] for name, one in value.items()]}
        if isinstance(value, _CONSTANTS):
            return {"torch": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        self._objects.append(value)
        return {"object": len(self._objects) - 1}

    def _tensor(self, role: str, path: str, tensor: Tensor, as_it_was: Tensor | None) -> dict[str, Any]:
        known = self._written.get(id(tensor))
        if known is None and as_it_was is None:
            known = self._loses(f"{role} {path}", "it was written in place since")
        if known is None:
            known = self._payload(role, path, tensor, as_it_was)  # type: ignore[arg-type]
        if role != OUTPUT:  # which an op that works in place has from its input
            self._written[id(tensor)] = known
        return known

    def _loses(self, what: str, why: str) -> dict[str, Any]:
        self.lost.append(f"{what}: {why}")
        return {"lost": f"{what}: {why}"}

    def _payload(self, role: str, path: str, tensor: Tensor, as_it_was: Tensor) -> dict[str, Any]:
        """A tensor's file, and its row, in the form and place of those that are asked for in a live run; where it is one of those, a file alone."""
        op, seq = self._call.op, self._call.seq
        site = _site(self._names, op, role, path)
        name = f"{self._step}-{seq}-{site}.safetensors"
        written = self._file(f"{role} {path}", (self.folder if self._has_rows else self._home) / name, as_it_was, {"op": op.name, "step": str(self._step), "seq": str(seq)})
        if written is None:
            return {"lost": self.lost[-1]}
        if not self._has_rows:
            location = self._spool.text(f"{self._home.name}/{name}")
            self._spool.write(layout.PAYLOAD_KIND, layout.PAYLOAD, site, seq, location, layout.DIGEST_CRC32, *written, time.time_ns())
        return {"tensor": name if self._has_rows else f"../{name}", "requires_grad": tensor.requires_grad, "stride": list(as_it_was.stride()), "place": f"{role} {path}"}

    def _beside(self, name: str, tensor: Tensor) -> dict[str, Any]:
        """A tensor that is none of the op's arguments."""
        path = self.folder / f"{name}.safetensors"
        return {"tensor": path.name} if self._file(name, path, tensor, {}) else {"lost": self.lost[-1]}

    def _file(self, what: str, path: Path, tensor: Tensor, about: Mapping[str, str]) -> tuple[int, int] | None:
        """Size and checksum."""
        try:
            found = plain(tensor)
            if found is None or not safetensors.dtype_name(found.dtype):
                raise ValueError(f"there is no form for {type(tensor).__name__} of {tensor.dtype}")
            self._take(found.nbytes)
            with _torch_compat.DisableTorchDispatch():
                written = raw_forms.as_safetensors(str(path), found.detach().resolve_conj().resolve_neg().cpu().contiguous(), about)
        except (OSError, MemoryError, RuntimeError, ValueError) as error:
            self._loses(what, str(error))
            return None
        self.count += 1
        return written

    def _take(self, size: int) -> None:
        if size > self._left:
            raise ValueError(f"all of one op takes more than {MOST_BYTES} bytes")
        if lack := lack_of_room(self._home, size):
            raise ValueError(lack)
        self._left -= size

    def _module(self, module: nn.Module) -> str:
        for name, parameter in module.named_parameters(recurse=False):
            self._tensor(PARAMETER, name, parameter, parameter)
        try:
            self._take(_size(module))
        except Exception as error:  # as in Guard: modules are the user's own
            self._loses("the module", f"it cannot be pickled: {error}")
            return ""
        return self._pickled("module.pt", module)

    def _pickled(self, name: str, value: Any) -> str:
        try:
            left_out = pickling.save(value, self.folder / name)
        except Exception as error:  # likewise, and they pickle themselves as they like
            (self.folder / name).unlink(missing_ok=True)
            self._loses(name, f"it cannot be pickled: {type(error).__name__}: {error}")
            return ""
        if left_out:
            self.left_out += left_out
            self._loses(name, f"it lacks {', '.join(left_out)}, which cannot be pickled")
        return name

    def _program(self) -> dict[str, Any]:
        """Where the code of the module is found, of which that of the main program has no name to be imported by."""
        told: dict[str, Any] = {"path": [path for path in sys.path if path and Path(path).is_dir()], "main": ""}
        if any(type(part).__module__ == "__main__" for part in self._parts()):
            script = getattr(sys.modules.get("__main__"), "__file__", None)
            if script and Path(script).is_file():
                (self.folder / "program.txt").write_bytes(Path(script).read_bytes())
                told |= {"main": "program.txt", "path": [str(Path(script).resolve().parent), *told["path"]]}
        return told

    def _parts(self) -> Iterator[object]:
        yield from self._objects
        if self._call.module:
            yield from self._call.module.modules()


def _size(module: nn.Module) -> int:
    """Its bytes. Raises where it is sharded; no state_dict, for which FSDP gathers the parts of all ranks."""
    tensors = [*module.parameters(), *module.buffers()]
    if any(pickling.is_sharded(one) for one in (*module.modules(), *tensors)):
        raise ValueError(pickling.SHARDED_OVER_RANKS)
    return sum(tensor.nbytes for tensor in tensors if tensor.layout is torch.strided)


def _site(names: Names, op: Op, role: str, path: str) -> int:
    """The site of a value."""
    return op.sites.get((role, path)) or names.site(op, (role, path), role, path)


def places(op: Op, sites: set[int]) -> list[Place]:
    """The places of some sites of an op, in order."""
    return [place for place, site in op.sites.items() if site in sites]
