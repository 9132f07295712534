"""The C kernel, when it was built: a plain shared library beside this file, loaded with ctypes. All works without it."""

from __future__ import annotations

import contextlib
import ctypes
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import torch

from tensortap._spool import layout
from tensortap._spool.writers import Writers
from tensortap._stats.built import KERNEL

MOST_DIMENSIONS: Final = 16
WANT_SKETCH: Final = 1 << 8
WANT_DIGEST: Final = 1 << 9
WANT_CRC32: Final = 1 << 10
THREADS_SHIFT: Final = 16

_FLAGS: Final = 6  # place in /proc/self/stat, behind the command
_FORKED: Final = 0x40  # of the flags: forked, and no other program begun since

# The kernel's tap_call: data, rows, site, seq, place; layout, elements, view (0: none), flags, options.
CALL: Final = struct.Struct("<QQIIIIqQII")
_CALL_OFFSETS: Final = bytes((0, 8, 16, 20, 24, 28, 32, 40, 48, 52, CALL.size))  # of these, and where they end
# Of its tap_pending, as _stats.drain packs it: rows, bytes, site, layout, seq, flags, place, overflowed; its size, and words of a row.
_PENDING_OFFSETS: Final = bytes((0, 8, 16, 20, 24, 28, 32, 36, 40, 32))
# A call's address; what is another for each tensor: data, rows, site, seq, place -> records written, 0 when it cannot
Measure: TypeAlias = Callable[[int, int, int, int, int, int], int]
# data, elements, options, view, index of the first element, 16 sums to add to -> whether it could
SketchRun: TypeAlias = Callable[[int, int, int, "int | None", int, int], int]
# rows, what their records say besides, how many, options -> how many have a NaN or +Inf
Drains: TypeAlias = Callable[[int, int, int, int], int]


class View(ctypes.Structure):
    """How elements lie in memory; the C kernel's tap_view."""

    _fields_ = [
        ("dimensions", ctypes.c_int64),
        ("repeat", ctypes.c_int64),
        ("size", ctypes.c_int64 * MOST_DIMENSIONS),
        ("stride", ctypes.c_int64 * MOST_DIMENSIONS),
    ]


@dataclass(frozen=True, kw_only=True)
class Takes:
    """What takes values of calls as rows without Python's calls, given the address of a taker of so many bytes (csrc/take.h)."""

    size: int
    facts: Callable[[int, object], int]
    learn: Callable[[int, object, int], int]
    forget: Callable[[int, int], int]
    one: Callable[[int, object, int, int], int]
    values: Callable[[int, tuple[object, ...], list[int], int, int], int]
    opens: Callable[..., int | None]
    closes: Callable[..., int | None]


@dataclass(frozen=True, kw_only=True)
class Hearing:
    """What hears of calls without a frame in Python (csrc/calls.h)."""

    calls: Callable[[object, int, dict[int, Any], object], int]
    of_mode: Callable[[object], Any]
    no_more: Callable[[object], None]
    around: Callable[[str, object, object], Any]
    as_method: Callable[[object], Any]


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """The library's functions. `quick` keeps Python's lock, which costs less than the work it is for; `measure` releases it.

    These and the writers are called as Python's own functions: ctypes would cost as much as the work.
    """

    quick: Measure
    measure: Measure
    sketch_run: SketchRun
    drain: Drains
    writers: Writers
    takes: Takes
    hearing: Hearing
    dtypes: tuple[str, ...]


def load(path: Path | None = None) -> Kernel | None:
    """Loads the library; None when there is none, or one that was built of other sources."""
    path = path or KERNEL
    try:
        holding, releasing = ctypes.PyDLL(str(path)), ctypes.CDLL(str(path))
        if releasing.tap_layout_version() != layout.VERSION or not _has_our_structs(releasing):
            return None
        _lend_team(releasing)
        direct = holding.tap_function
        direct.restype, direct.argtypes = ctypes.py_object, [ctypes.c_char_p]
        releasing.tap_dtypes.restype = ctypes.c_char_p
        return Kernel(
            quick=direct(b"measure_few"),
            measure=direct(b"measure_many"),
            sketch_run=_typed_sketch(releasing.tap_sketch_run),
            drain=_typed_drain(releasing.tap_drain),
            writers=Writers(op=direct(b"write_op"), again=direct(b"write_again"), number=direct(b"write_number"), line=direct(b"write_line")),
            takes=Takes(
                size=ctypes.c_uint64.in_dll(releasing, "tap_taker_bytes").value,
                facts=direct(b"facts"),
                learn=direct(b"learn"),
                forget=direct(b"forget"),
                one=direct(b"take_one"),
                values=direct(b"take"),
                opens=direct(b"open_call"),
                closes=direct(b"close_call"),
            ),
            hearing=Hearing(
                calls=direct(b"hear_calls"),
                of_mode=direct(b"of_mode"),
                no_more=direct(b"hear_no_more"),
                around=direct(b"around"),
                as_method=direct(b"as_method"),
            ),
            dtypes=tuple(releasing.tap_dtypes().decode().split()),
        )
    except (OSError, AttributeError, ValueError, TypeError):
        return None


def team_of_torch() -> int | None:
    """Address of what starts a team of torch's own OpenMP threads; None where there is none, or a fork may have left it without."""
    status = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    if int(status[_FLAGS]) & _FORKED:
        return None
    library = ctypes.CDLL(str(Path(torch.__file__).with_name("lib") / "libtorch_cpu.so"))
    return ctypes.cast(library.GOMP_parallel, ctypes.c_void_p).value


def _has_our_structs(library: ctypes.CDLL) -> bool:
    ours = (("tap_call_offsets", _CALL_OFFSETS), ("tap_pending_offsets", _PENDING_OFFSETS))
    return all(bytes((ctypes.c_uint8 * len(offsets)).in_dll(library, name)) == offsets for name, offsets in ours)


def _lend_team(to: ctypes.CDLL) -> None:
    with contextlib.suppress(OSError, AttributeError):  # a torch with other threads: the kernel has its own
        to.tap_lend_team(ctypes.c_void_p(team_of_torch()))


def _typed_sketch(function: ctypes._NamedFuncPointer) -> SketchRun:
    pointer, count = ctypes.c_void_p, ctypes.c_int64
    function.argtypes = [pointer, count, ctypes.c_uint32, pointer, count, pointer]
    function.restype = ctypes.c_int
    return function


def _typed_drain(function: ctypes._NamedFuncPointer) -> Drains:
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint32]
    function.restype = ctypes.c_int64
    return function
