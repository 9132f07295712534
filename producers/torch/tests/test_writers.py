"""Records that the kernel writes as Python's own function are those that Python writes."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable

import pytest
import torch

from tensortap._spool import layout
from tensortap._spool.records import Name, place_of
from tensortap._spool.writers import BY_PYTHON, CURRENT, Writers
from tensortap._stats import kernel
from tensortap._stats.built import KERNEL
from tensortap._stats.measure import MAX_ROWS, Measurer

PLACE, OTHER_PLACE = place_of(5, 6), place_of(5, 7)
ROWS = MAX_ROWS * layout.RECORD_BYTES
Write = Callable[[Writers, int], object]


def _kernel() -> kernel.Kernel:
    found = kernel.load()
    assert found is not None
    return found


def _both(write: Write) -> tuple[bytes, bytes]:
    def written(writers: Writers) -> bytes:
        memory = ctypes.create_string_buffer(ROWS)
        write(writers, ctypes.addressof(memory))
        return memory.raw

    return written(BY_PYTHON), written(_kernel().writers)


@pytest.mark.parametrize(("whole", "real"), [(-(2**63), 0.0), (2**63 - 1, 0.0), (-1, -1.0), (0, float("nan")), (0, float("-inf")), (7, -0.0)])
def test_numbers(whole: int, real: float) -> None:
    ours, kernels = _both(lambda writers, at: writers.number(at, 2**32 - 1, 4, 5, PLACE, whole, real))
    assert ours == kernels and any(ours)


@pytest.mark.parametrize("extensions", [False, True])
def test_rows_once_more(extensions: bool) -> None:
    source = ctypes.create_string_buffer(ROWS)
    rows = Measurer(1, extensions, extensions).measure(torch.tensor([1.0, float("nan")]), ctypes.addressof(source), Name(7, 8, 9, 0, PLACE))
    ours, kernels = _both(lambda writers, at: writers.again(ctypes.addressof(source), at, rows, 1, 2, 3, OTHER_PLACE))
    assert ours == kernels and ours != source.raw and any(ours[(rows - 1) * layout.RECORD_BYTES :])


def test_ops() -> None:
    def write(writers: Writers, at: int) -> None:
        writers.op(at, at + layout.RECORD_BYTES, 1, 2, 3, 4, 5, layout.OP_OPENS, PLACE)
        writers.op(at + 2 * layout.RECORD_BYTES, 0, 1, 2, 3, 4, 5, layout.OP_ENDS, PLACE)

    for content in _both(write):
        opened, (now, *current), ended = layout.OP.unpack_from(content), CURRENT.unpack_from(content, 64), layout.OP.unpack_from(content, 128)
        assert (opened[:4], opened[5:]) == ((1, 2, 3, 4), (5, layout.OP_OPENS)) and opened[4] == now and current == [1, 3]
        assert ended[6] == layout.OP_ENDS and ended[4] >= now and content[128 + layout.COMMIT_OFFSET] == layout.OP_KIND


def test_what_is_no_number_is_an_error_and_no_crash() -> None:
    writers = _kernel().writers
    for write in (writers.op, writers.again, writers.number, _kernel().quick, _kernel().measure):
        with pytest.raises(TypeError):
            write()  # type: ignore[call-arg]
        with pytest.raises((TypeError, OverflowError)):
            write(*[-1] * 9)  # type: ignore[call-arg]
        with pytest.raises((TypeError, OverflowError, struct.error)):
            write(*["1"] * 7)  # type: ignore[call-arg]


def test_a_function_that_a_library_of_other_sources_lacks_is_an_error_and_no_crash() -> None:
    library = ctypes.PyDLL(str(KERNEL))
    library.tap_function.restype, library.tap_function.argtypes = ctypes.py_object, [ctypes.c_char_p]
    with pytest.raises(TypeError):
        library.tap_function(b"no_such_function")
