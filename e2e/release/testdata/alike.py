"""alike.py HERE COMMAND...: whether the kernel HERE and the one behind COMMAND (elsewhere.c) write the same records, bit for bit.

Prints the number of tensors that were measured by both, and each case in which they differ. Magnitudes of complex128 are left out: they are
those of each machine's C library (hypot), whose last bit is its own.
"""

import ctypes
import random
import re
import struct
import subprocess
import sys

CALL = struct.Struct("<QQIIIIqQII")
ROWS = 1024
# Sketch and digest, and the sketch with msProbe's CRC-32.
WANTED = (1 << 8 | 1 << 9, 1 << 8 | 1 << 10)
ONE_THREAD = 1 << 16
COUNTS = (0, 1, 7, 16, 1023, 5000, 70_003)


def size(dtype):
    """Bytes of an element: the number in the dtype's name is its bits."""
    bits = re.search("[0-9]+", dtype)
    return int(bits[0]) // 8 if bits else 1


def elements(dtype, count):
    """Bits at random, and so NaN, infinity and subnormal numbers; bools are 0 and 1."""
    source = random.Random(f"{dtype} {count}")
    raw = source.randbytes(count * size(dtype))
    return bytes(byte & 1 for byte in raw) if dtype == "bool" else raw


def finite(dtype, count):
    """Numbers between -2 and 2, as most tensors hold."""
    source = random.Random(count)
    kind = {"float32": "f", "float64": "d", "complex64": "ff"}[dtype]
    return struct.pack(f"<{count * len(kind)}{kind[0]}", *(source.uniform(-2, 2) for _ in range(count * len(kind))))


def cases(dtypes):
    for number, dtype in enumerate(dtypes):
        for count in COUNTS if dtype != "complex128" else ():
            given = [elements(dtype, count)] + ([finite(dtype, count)] if dtype in ("float32", "float64", "complex64") else [])
            for raw in given:
                for wanted in WANTED:
                    yield f"{count} of {dtype}, {'finite' if raw is not given[0] else 'random bits'}", number | wanted | ONE_THREAD, count, raw


def here(library, options, count, raw):
    rows = ctypes.create_string_buffer(ROWS + 64)
    at = -(-ctypes.addressof(rows) // 64) * 64
    data = ctypes.create_string_buffer(raw, len(raw) + 1)
    call = CALL.pack(ctypes.addressof(data), at, 1, 2, 3, 4, count, 0, 0, options)
    return struct.pack("<i", library.tap_measure(ctypes.c_char_p(call))) + ctypes.string_at(at, ROWS)


def main(kernel, *command):
    library = ctypes.CDLL(kernel)
    library.tap_dtypes.restype = ctypes.c_char_p
    asked = list(cases(library.tap_dtypes().decode().split()))
    sent = b"".join(CALL.pack(0, 0, 1, 2, 3, 4, count, 0, 0, options) + struct.pack("<Q", len(raw)) + raw for _, options, count, raw in asked)
    got = subprocess.run(command, input=sent, capture_output=True, check=True).stdout
    answer = ROWS + 4
    assert len(got) == answer * len(asked), f"{len(got)} bytes of answers to {len(asked)} calls"
    differ = []
    for at, (name, options, count, raw) in enumerate(asked):
        mine = here(library, options, count, raw)
        assert struct.unpack_from("<i", mine)[0] > 0, name
        if mine != got[at * answer : (at + 1) * answer]:
            differ.append(name)
    print(len(asked), *sorted(set(differ)), sep="\n")


main(*sys.argv[1:])
