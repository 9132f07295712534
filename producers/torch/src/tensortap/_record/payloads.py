"""Keeps raw tensors in files, while that is asked for. Names of files are numbers: what a model calls itself is no path."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Final
from weakref import ref

from torch import Tensor

from tensortap import _torch_compat
from tensortap._record import safetensors, unseen
from tensortap._record.tensor_rows import Observer
from tensortap._spool import layout
from tensortap._spool.spool import Spool
from tensortap._stats.measure import plain

MOST_FILES: Final = 4096
LEAST_FREE_BYTES: Final = 1 << 29  # that are left to the disk
_NO_MEMORY: Final = ("allocate memory", "out of memory")  # what torch says on CPU, and on CUDA

_File = tuple[int, int, int]  # location, size, checksum


class Payloads:
    """The files of one request. Stands before the observer, and is to be called as it is."""

    def __init__(self, spool: Spool, observer: Observer, counts: unseen.Unseen, folder: Path, most_bytes: int) -> None:
        self._spool, self._observer, self._unseen = spool, observer, counts
        self._root, self._name, self._left = folder, spool.folder.name, most_bytes
        self._most_bytes, self._files = most_bytes, 0
        self._meant: dict[int, str] = {}  # ops by seq
        self._kept: dict[int, tuple[ref[Tensor], int, int, _File]] = {}  # of this step, while it is unchanged
        self._forgotten = observer.forgotten
        self.step = 0

    def begin_step(self, step: int) -> None:
        """A step begins."""
        self.step = step
        self._meant.clear()
        self._kept.clear()

    def mean(self, seq: int, op: str) -> None:
        """The tensors of an op are to be kept."""
        self._meant[seq] = op

    def tensor(self, tensor: Tensor, site: int, seq: int) -> None:
        """Observe a plain tensor, and keep it if it is meant."""
        self._observer.tensor(tensor, site, seq)
        self._keep(tensor, self._observer.without_padding(tensor), site, seq)

    def unusual(self, tensor: Tensor, site: int, seq: int) -> None:
        """Likewise of one that is no plain one."""
        self._observer.unusual(tensor, site, seq)
        self._keep(tensor, tensor, site, seq)

    def _keep(self, tensor: Tensor, observed: Tensor, site: int, seq: int) -> None:
        op = self._meant.get(seq)
        if op is None or not site:
            return
        try:
            self._keep_of(op, tensor, observed, site, seq)
        except (OSError, MemoryError, RuntimeError) as error:  # the last is torch's, where a copy has no room
            self._unseen.count(unseen.NOT_KEPT, _why(error))

    def _keep_of(self, op: str, tensor: Tensor, observed: Tensor, site: int, seq: int) -> None:
        found = plain(observed)
        if found is None or not safetensors.dtype_name(found.dtype):
            self._unseen.count(unseen.NOT_KEPT, f"no form for {tensor.dtype}" if found is not None else type(tensor).__name__)
            return
        file = self._known(tensor) or self._written(found, op, site, seq)
        if file is None:
            return
        location, size, checksum = file
        self._spool.write(layout.PAYLOAD_KIND, layout.PAYLOAD, site, seq, location, layout.DIGEST_CRC32, size, checksum, time.time_ns())
        if not tensor.is_inference():
            self._kept[id(tensor)] = ref(tensor), tensor._version, found.data_ptr(), file

    def _known(self, tensor: Tensor) -> _File | None:
        """The file of a tensor that was kept in this step and has not changed since."""
        if self._forgotten != self._observer.forgotten:
            self._forgotten = self._observer.forgotten
            self._kept.clear()
        kept = self._kept.get(id(tensor))
        if kept is None or tensor.is_inference() or not self._observer.trusts_versions():
            return None
        same, version, pointer, file = kept
        unchanged = same() is tensor and version == tensor._version and pointer == tensor.data_ptr()
        return file if unchanged else None

    def _written(self, tensor: Tensor, op: str, site: int, seq: int) -> _File | None:
        head = safetensors.header(tensor, {"op": op, "step": str(self.step), "seq": str(seq)})
        size = len(head) + tensor.nbytes
        location = f"{self._name}/{self.step}-{seq}-{site}.safetensors"
        if not self._has_room(size):
            return None
        path = self._root / location
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _torch_compat.DisableTorchDispatch():
            checksum = safetensors.write(path, tensor, head)
        self._files += 1
        self._left -= size
        return self._spool.text(location), size, checksum

    def _has_room(self, size: int) -> bool:
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        disk = os.statvfs(self._root)
        limits = {
            f"more than {MOST_FILES} files": self._files >= MOST_FILES,
            f"more than {self._most_bytes} bytes": size > self._left,
            f"less than {LEAST_FREE_BYTES} bytes of disk would be left": disk.f_bavail * disk.f_frsize - size < LEAST_FREE_BYTES,
        }
        reached = [limit for limit, holds in limits.items() if holds]
        if reached:
            self._unseen.count(unseen.NOT_KEPT, reached[0])
        return not reached


def _why(error: Exception) -> str:
    """The reason in the system's words where it has any. Of a lack of memory torch has no type of its own on every device."""
    if isinstance(error, MemoryError) or any(said in str(error) for said in _NO_MEMORY):
        return os.strerror(errno.ENOMEM)
    number = error.errno if isinstance(error, OSError) else None
    return os.strerror(number) if number else type(error).__name__
