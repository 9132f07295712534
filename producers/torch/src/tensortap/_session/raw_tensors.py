"""Which raw tensors a process keeps: from launch, while a request asks for them, or as its program names them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tensortap._config.settings import Settings
from tensortap._record import unseen
from tensortap._record.payloads import MOST_FILES, Payloads
from tensortap._record.raw_files import Files
from tensortap._record.raw_ledger import Ledger
from tensortap._record.recorder import Recorder
from tensortap._session.control import Detail
from tensortap._spool.folder import fault_of_kept
from tensortap._spool.spool import Spool

MOST_BYTES: Final = 10 * 10**9  # of a process, where no budget says it


class RawTensors:
    """Those of one process. To be called under the recorder's lock, but for poll_late."""

    def __init__(self, settings: Settings, spool: Spool, recorder: Recorder, counts: unseen.Unseen, say: Callable[[str], None]) -> None:
        self._settings, self._spool, self._recorder, self._unseen, self._say = settings, spool, recorder, counts, say
        self._files: Files | None = None
        self._launched: Payloads | None = None  # as the settings say, of the whole run
        self._kept: Payloads | None = None  # as is asked for now
        self._step = 0
        recorder.keep_named = self._named
        if settings.task == "tensor":
            self._try(settings.kept_in)
        self.keep_as(None, True)

    def keep_as(self, detail: Detail | None, wanted: bool) -> None:
        """Keep what is asked for or, in steps that the settings want, what they say; to be called between steps."""
        self._kept = None
        if detail and detail.folder:
            self._kept = self._made(Path(detail.folder), detail.most_bytes, MOST_FILES, every=True)
        elif wanted and self._settings.task == "tensor":
            self._kept = self._of_launch(every=True)
        self._recorder.keep_with(self._kept)

    def begin_step(self, step: int) -> None:
        """A step begins."""
        self._step = step
        if self._kept:
            self._kept.begin_step(step)

    def then(self, action: Callable[[], None]) -> None:
        """Do that when all files of before are there, or given up, and their rows are written."""
        if self._files:
            self._files.then(action)
        else:
            action()

    def poll_late(self) -> None:
        """Write the rows of files that are there, though no step may end for long. For a thread of ours; it waits for nobody."""
        if self._files and self._recorder.lock.acquire(blocking=False):
            try:
                self._files.poll()
            finally:
                self._recorder.lock.release()

    def close(self) -> None:
        """Wait for the files."""
        if self._files:
            self._files.close()

    def forget(self) -> None:
        """In a child: they are the parent's."""
        if self._files:
            self._files.forget()

    def _named(self) -> Payloads:
        """What keeps a tensor that the program names, where no other is kept."""
        if self._kept is None:
            self._kept = self._of_launch(every=False)  # the step is recorded only in the detail that is asked for, or nothing else is kept
            self._kept.begin_step(self._step)
            self._recorder.keep_with(self._kept)
        return self._kept

    def _try(self, folder: Path) -> None:
        """Tell at once what will be counted tensor by tensor."""
        try:
            if fault := fault_of_kept(folder):
                self._say(f"raw tensors are not kept in {folder}: {fault} (TENSORTAP_PAYLOAD_FOLDER)")
                return
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            self._say(f"raw tensors cannot be kept in {folder}: {error.strerror}; name another folder by payload_folder (TENSORTAP_PAYLOAD_FOLDER)")

    def _of_launch(self, *, every: bool) -> Payloads:
        """One object for both, as they have one budget."""
        settings = self._settings
        if self._launched is None:
            most = MOST_BYTES if settings.payload_bytes is None else settings.payload_bytes
            of_host = settings.payload_host_bytes
            ledger = Ledger(settings.kept_in, settings.run, of_host) if of_host else None
            self._launched = self._made(settings.kept_in, most, None, every=every, ledger=ledger)
        self._launched.every = every
        return self._launched

    def _made(self, folder: Path, most_bytes: int, most_files: int | None, *, every: bool, ledger: Ledger | None = None) -> Payloads:
        self._files = self._files or Files(self._spool, self._unseen, self._say)
        return Payloads(
            self._spool,
            self._recorder.observer,
            self._unseen,
            self._files,
            self._say,
            folder=folder,
            most_bytes=most_bytes,
            most_files=most_files,
            file_format=self._settings.file_format,
            every=every,
            ledger=ledger,
        )
