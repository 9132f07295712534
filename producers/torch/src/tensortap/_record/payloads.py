"""Keeps raw tensors in files, while that is asked for. Names of files are numbers: what a model calls itself is no path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final
from weakref import ref

import torch
from torch import Tensor

from tensortap._record import raw_forms, unseen
from tensortap._record.raw_files import File, Files, why
from tensortap._record.raw_ledger import Ledger
from tensortap._record.tensor_rows import Observer
from tensortap._spool.spool import Spool
from tensortap._stats.measure import plain

MOST_FILES: Final = 4096  # of a request


class Payloads:
    """The raw tensors of one request, or of a run. Stands before the observer, and is to be called as it is.

    No call waits for a disk: what finds no room in memory until then is counted.
    """

    def __init__(
        self,
        spool: Spool,
        observer: Observer,
        counts: unseen.Unseen,
        files: Files,
        say: Callable[[str], None],
        *,
        folder: Path,
        most_bytes: int,
        most_files: int | None = MOST_FILES,
        file_format: str = "safetensors",
        every: bool = True,
        ledger: Ledger | None = None,
    ) -> None:
        """With `every` each op that is recorded is meant, where filters have no narrower scope; else only those that `mean` names."""
        self._spool, self._observer, self._unseen, self._files, self._say = spool, observer, counts, files, say
        self._home, self._left = folder / spool.folder.name, most_bytes
        self._most_bytes, self._most_files, self._count = most_bytes, most_files, 0
        self._format, self.every, self._ledger = file_format, every, ledger
        self._meant: dict[int, str] = {}  # ops by seq
        self._kept: dict[int, tuple[ref[Tensor], int, int, File]] = {}  # of this step, while it is unchanged
        self._forgotten = observer.forgotten
        self._told: set[str] = set()  # limits
        self.step = 0

    def begin_step(self, step: int) -> None:
        """A step begins."""
        self.step = step
        self._meant.clear()
        self._kept.clear()

    def mean(self, seq: int, op: str) -> None:
        """The tensors of an op are to be kept."""
        self._meant[seq] = op

    def means(self, seq: int) -> bool:
        """Whether those of that op are."""
        return seq in self._meant

    def tensor(self, tensor: Tensor, site: int, seq: int) -> None:
        """Observe a plain tensor, and keep it if it is meant."""
        self._observer.tensor(tensor, site, seq)
        if seq in self._meant:
            self._keep(tensor, self._observer.without_padding(tensor), site, seq)

    def take(self, values: tuple[object, ...], sites: list[int], first: int, seq: int) -> int:
        """Observe values together, where none is to be kept."""
        return first if seq in self._meant else self._observer.take(values, sites, first, seq)

    def unusual(self, tensor: Tensor, site: int, seq: int) -> None:
        """Likewise of one that is no plain one."""
        self._observer.unusual(tensor, site, seq)
        if seq in self._meant:
            self._keep(tensor, tensor, site, seq)

    def _keep(self, tensor: Tensor, observed: Tensor, site: int, seq: int) -> None:
        if not site:
            return
        try:
            self._keep_of(tensor, observed, site, seq)
        except (MemoryError, RuntimeError) as error:  # the latter is torch's, where a copy has no room
            self._unseen.count(unseen.NOT_KEPT, why(error))

    def _keep_of(self, tensor: Tensor, observed: Tensor, site: int, seq: int) -> None:
        found = plain(observed)
        if found is None:
            self._unseen.count(unseen.NOT_KEPT, type(tensor).__name__)
            return
        if file := self._known(tensor):
            self._files.again(file, site, seq)
        elif found.is_cuda and torch.cuda.is_current_stream_capturing():  # a copy of ours would be in the graph
            self._unseen.count(unseen.CUDA_GRAPH, "capture")
            return
        else:
            file = self._new(found, site, seq)
        if file is not None and not tensor.is_inference():
            self._kept[id(tensor)] = ref(tensor), tensor._version, found.data_ptr(), file

    def _known(self, tensor: Tensor) -> File | None:
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

    def _new(self, tensor: Tensor, site: int, seq: int) -> File | None:
        suffix, write = raw_forms.form(self._format, tensor.dtype)
        size = tensor.nbytes + raw_forms.head_bytes(suffix, tensor.nbytes)
        limit = self._reached(size)
        copy = None if limit else self._files.copies.of(tensor)
        if copy is None:
            self._refuse(limit or f"more than {self._files.copies.memory.most} bytes that wait for the disk")
            return None
        name = f"{self.step}-{seq}-{site}.{suffix}"
        about = {"op": self._meant[seq], "step": str(self.step), "seq": str(seq)}
        file = File(copy, self._home, name, self._spool.text(f"{self._home.name}/{name}"), write, about, self._ledger)
        self._count += 1
        self._left -= size
        self._files.write(file, site, seq)
        return file

    def _reached(self, size: int) -> str:
        """The limit beyond which a file of that size would be; empty for none."""
        if self._most_files is not None and self._count >= self._most_files:
            return f"more than {self._most_files} files"
        return f"more than {self._most_bytes} bytes" if size > self._left else ""

    def _refuse(self, limit: str) -> None:
        self._unseen.count(unseen.NOT_KEPT, limit)
        if limit not in self._told:
            self._told.add(limit)
            self._say(f"from step {self.step} on raw tensors are left out that would be {limit}; report unseen counts them as {unseen.NOT_KEPT}")
