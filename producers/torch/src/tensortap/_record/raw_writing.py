"""Writes the file of a raw tensor: by one call of the C kernel, which holds no lock of Python's meanwhile, or in Python where there is none."""

from __future__ import annotations

import ctypes
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any, BinaryIO, Final, TypeAlias, cast

from torch import Tensor

from tensortap._spool import layout
from tensortap._stats.built import KERNEL

PAGE: Final = 4096  # bytes: what a disk reads from memory begins with a page there, and in the file
LEAST_IN_PAGES: Final = 256 << 10  # bytes of elements that begin with a page
_LIBC: Final = ctypes.CDLL(None)
_SYNC_FILE_RANGE_WRITE: Final = 2

# path, head and its bytes, address of the elements and their bytes, whether past the system's memory, their checksum -> 0 or an error's number
_InC: TypeAlias = Callable[[bytes, bytes, int, int, int, bool, Any], int]


def alignment(size: int, least: int) -> int:
    """That of a file's head before so many bytes of elements, of which its form asks for the least."""
    return PAGE if size >= LEAST_IN_PAGES else least


def create(path: str, head: bytes, tensor: Tensor, *, past_memory: bool) -> tuple[int, int]:
    """Write a tensor that lies in row-major order into a file that is not there yet: its size, and the CRC-32 of its elements.

    Raises OSError, and leaves nothing then.
    With past_memory the system need not hold in its own memory what goes to a disk: the writer waits for that, and the processor does less.
    """
    size = tensor.nbytes
    if (in_c := _in_c()) is None:
        return len(head) + size, _in_python(path, head, tensor)
    checksum = ctypes.c_uint32()
    failure = in_c(os.fsencode(path), head, len(head), tensor.data_ptr(), size, past_memory, ctypes.byref(checksum))
    if failure:
        raise OSError(failure, os.strerror(failure), path)
    return len(head) + size, checksum.value


@contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """A file that is not there yet, nor after an exception within."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with ExitStack() as failing:
        failing.callback(os.unlink, path)  # a file that is cut does not stay
        with open(descriptor, "wb") as opened:
            yield cast(BinaryIO, opened)
            opened.flush()
            _begin_writeback(opened)
        failing.pop_all()  # closing may fail, too, where a disk is remote


def content_of(tensor: Tensor) -> ctypes.Array[ctypes.c_char] | bytes:
    """The elements' bytes, where they lie. Not by numpy, which a process with torch need not have."""
    return (ctypes.c_char * tensor.nbytes).from_address(tensor.data_ptr()) if tensor.nbytes else b""


def _in_python(path: str, head: bytes, tensor: Tensor) -> int:
    content = content_of(tensor)
    with new_file(path) as file:
        file.write(head)
        file.write(content)
    return zlib.crc32(content)


def _begin_writeback(file: BinaryIO) -> None:
    """Have the disk begin at once: the system would let all wait in memory, and then everybody for the disk."""
    begin: Any = getattr(_LIBC, "sync_file_range", None)
    if begin is not None and file.tell() >= LEAST_IN_PAGES:
        begin(file.fileno(), ctypes.c_int64(0), ctypes.c_int64(0), _SYNC_FILE_RANGE_WRITE)


@cache
def _in_c() -> _InC | None:
    """None where there is no kernel, or one that was built of other sources."""
    try:
        library = ctypes.CDLL(str(KERNEL))
        if library.tap_layout_version() != layout.VERSION:
            return None
        write = library.tap_write_raw
    except (OSError, AttributeError):
        return None
    size = ctypes.c_int64
    write.argtypes = [ctypes.c_char_p, ctypes.c_char_p, size, ctypes.c_void_p, size, ctypes.c_int, ctypes.c_void_p]
    return cast("_InC", write)
