"""Reads a spool as the agent does, for tests."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tensortap._record.literals import describe
from tensortap._spool import layout
from tensortap._spool.definitions import crc32c

KINDS = {
    layout.OP_KIND: ("op", layout.OP),
    layout.TENSOR_KIND: ("tensor", layout.TENSOR),
    layout.NUMBER_KIND: ("number", layout.NUMBER),
    layout.COUNTS_KIND: ("counts", layout.COUNTS),
    layout.SKETCH_KIND: ("sketch", layout.SKETCH),
    layout.DIGEST_KIND: ("digest", layout.DIGEST),
    layout.STEP_KIND: ("step", layout.STEP),
    layout.MEMORY_KIND: ("memory", layout.MEMORY),
    layout.COMPONENT_KIND: ("component", layout.COMPONENT),
    layout.FAILURE_KIND: ("failure", layout.FAILURE),
    layout.UNSEEN_KIND: ("unseen", layout.UNSEEN),
    layout.TALLY_KIND: ("tally", layout.TALLY),
    layout.REQUEST_KIND: ("request", layout.REQUEST),
    layout.COLLECTIVE_KIND: ("collective", layout.COLLECTIVE),
    layout.SEQUENCE_KIND: ("sequence", layout.SEQUENCE),
    layout.TOKENS_KIND: ("tokens", layout.TOKENS),
    layout.WEIGHT_KIND: ("weight", layout.WEIGHT),
    layout.TOKEN_SITES_KIND: ("token_sites", layout.TOKEN_SITES),
    layout.PAYLOAD_KIND: ("payload", layout.PAYLOAD),
}


@dataclass
class Value:
    """One tensor row with its definitions."""

    op: str
    role: str
    path: str
    layout: dict[str, Any]
    seq: int
    flags: int
    row: tuple[Any, ...]
    more: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)


@dataclass
class Step:
    """What lies between a step's two records."""

    number: int
    completed: list[str] = field(default_factory=list)  # ops in the order of their completion
    begun: list[str] = field(default_factory=list)
    parents: dict[str, str | None] = field(default_factory=dict)
    values: list[Value] = field(default_factory=list)
    failures: list[tuple[str, str, str, str]] = field(default_factory=list)  # op, type, message, inputs
    unseen: dict[tuple[str, str], int] = field(default_factory=dict)
    memory: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    components: dict[tuple[str, str], tuple[int | None, ...]] = field(default_factory=dict)  # allocated, reserved, peak, by device and component
    calls: list[tuple[int, int, int]] = field(default_factory=list)  # signature, text of the module, how often
    payloads: list[tuple[str, str, str, str, int, int]] = field(default_factory=list)  # op, role, path, location, size, checksum
    micro_steps: set[int] = field(default_factory=set)
    micro_step: dict[str, int] = field(default_factory=dict)  # of each op that began
    frames: dict[str, str] = field(default_factory=dict)  # of each op that began with a stack: all of it
    ended: tuple[Any, ...] | None = None


@dataclass
class Spooled:
    """A process's spool."""

    folder: Path
    header: dict[str, int]
    definitions: list[dict[str, Any]]
    rows: list[tuple[str, tuple[Any, ...]]]
    steps: list[Step]

    def named(self, kind: str, number: int) -> dict[str, Any]:
        """A definition by its kind and id."""
        return self.ids[kind, number]

    def __post_init__(self) -> None:
        self.ids = {(one["d"], one["id"]): one for one in self.definitions if "id" in one}


def only(root: Path) -> Spooled:
    """The one spool below a root."""
    folders = [one for one in Path(root).iterdir() if one.is_dir()]  # records of logging are in files beside it
    assert len(folders) == 1, folders
    return read(folders[0])


def read(folder: Path) -> Spooled:
    """All that a process has committed."""
    header = read_header(folder)
    definitions = list(read_definitions(folder))
    rows = list(read_rows(folder, header["epoch"]))
    spooled = Spooled(folder, header, definitions, rows, [])
    spooled.steps = _steps(spooled)
    return spooled


def read_header(folder: Path) -> dict[str, int]:
    """The fields of the header, checked."""
    fields = layout.HEADER.unpack_from((folder / "header").read_bytes())
    assert fields[0] == layout.MAGIC
    names = [name[len("HEADER_") :].lower() for name in vars(layout) if name.startswith("HEADER_") and name != "HEADER_BYTES"]
    return dict(zip(names, fields[1:], strict=True))


def read_definitions(folder: Path) -> Iterator[dict[str, Any]]:
    """Every whole definition; a damaged one is an error."""
    data, at = (folder / "definitions").read_bytes(), 0
    while at < len(data):
        size, checksum = struct.unpack_from("<II", data, at)
        content = data[at + 8 : at + 8 + size]
        assert crc32c(content) == checksum
        yield json.loads(content)
        at += 8 + size


def read_rows(folder: Path, epoch: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Committed rows in order, up to the first that is not."""
    for segment in sorted(folder.glob("rows-*")):
        data = segment.read_bytes()
        place = zlib.crc32(struct.pack("<QI", epoch, int(segment.name[-8:]))) & ~layout.KIND_MASK
        for at in range(0, len(data), layout.RECORD_BYTES):
            (word,) = struct.unpack_from("<I", data, at + layout.COMMIT_OFFSET)
            if word == 0:
                return
            kind = word & layout.KIND_MASK
            assert word == kind | zlib.crc32(data[at : at + layout.COMMIT_OFFSET], kind | place) & ~layout.KIND_MASK
            if kind != layout.PAD_KIND:
                name, form = KINDS[kind]
                yield name, form.unpack_from(data, at)


def _steps(spooled: Spooled) -> list[Step]:
    steps: list[Step] = []
    step = Step(-1)
    for kind, row in spooled.rows:
        if kind == "step" and row[1] == layout.STEP_BEGINS:
            step = Step(row[0])
            steps.append(step)
        elif kind == "step":
            step.ended = row
        else:
            _take(spooled, step, kind, row)
    return steps


def _take(spooled: Spooled, step: Step, kind: str, row: tuple[Any, ...]) -> None:
    if kind == "op":
        _op(spooled, step, row)
    elif kind == "tensor":
        site, place = spooled.named("site", row[0]), spooled.named("layout", row[1])
        op = spooled.named("op", site["op"])["name"]
        step.values.append(Value(op, site["role"], site["path"], place, row[2], row[3], row))
    elif kind == "number":
        _number(spooled, step, row)
    elif kind in ("counts", "sketch", "digest"):
        step.values[-1].more.append((kind, row))
    elif kind == "failure":
        texts = [_text(spooled, number) for number in row[2:5]]
        op = spooled.named("op", row[0])["name"] if row[0] else ""
        step.failures.append((op, texts[0], texts[1], texts[2]))
    elif kind == "unseen":
        step.unseen[_text(spooled, row[0]), _text(spooled, row[1])] = row[2]
    elif kind == "payload":
        site = spooled.named("site", row[0])
        op = spooled.named("op", site["op"])["name"]
        step.payloads.append((op, site["role"], site["path"], _text(spooled, row[2]), row[4], row[5]))
    elif kind == "tally":
        step.calls.append((row[0], row[1], row[2]))
    elif kind == "memory":
        step.memory.append((_text(spooled, row[1]), row))
    elif kind == "component":
        place = _text(spooled, row[6]), _text(spooled, row[0])
        step.components[place] = tuple(held - 1 if held else None for held in row[3:6])


def _number(spooled: Spooled, step: Step, row: tuple[Any, ...]) -> None:
    """As a literal, as the agent makes one of it."""
    site, place = spooled.named("site", row[0]), spooled.named("layout", row[1])
    literal = describe(row[2] if place["kind"] == "int" else row[3])[2]
    op = spooled.named("op", site["op"])["name"]
    step.values.append(Value(op, site["role"], site["path"], place | {"literal": literal}, row[4], layout.LITERAL, row))


def _op(spooled: Spooled, step: Step, row: tuple[Any, ...]) -> None:
    name = spooled.named("op", row[0])["name"]
    flags = row[6]
    step.micro_steps.add(row[5])
    if flags != layout.OP_ENDS:
        step.begun.append(name)
        step.micro_step[name] = row[5]
        if row[3]:
            step.frames[name] = "\n".join(spooled.named("stack", row[3])["frames"])
        step.parents[name] = spooled.named("op", row[1])["name"] if row[1] else None
    if flags != layout.OP_OPENS:
        step.completed.append(name)


def _text(spooled: Spooled, number: int) -> str:
    return str(spooled.named("text", number)["text"]) if number else ""
