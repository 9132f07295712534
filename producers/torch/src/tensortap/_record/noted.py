"""What a program says of itself as a part of a line of JSON: numbers apart from texts, both bounded, whatever they are."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from json.encoder import encode_basestring_ascii as _quoted
from numbers import Real
from typing import Any, Final

_MOST_FIELDS: Final = 128
_MOST_NAME: Final = 200
_MOST_TEXT: Final = 16 << 10
_MOST_TEXTS: Final = 64 << 10  # together
_MOST_NAMES: Final = 4096  # that are known as they are written
_EXACT: Final = 1 << 53  # the greatest integer up to which a float64 holds each
REQUEST_NAMES: Final = ("request_id", "rid", "request")  # of fields that name a request
_names: Final[dict[str, str]] = {}


def body(kind: str, fields: Mapping[str, object]) -> tuple[str, str]:
    """What stands in the line of such an event, and the request that it names; empty for none."""
    numbers = texts = request = ""
    room = _MOST_TEXTS
    for name, value in (fields if len(fields) <= _MOST_FIELDS else _first(fields)).items():
        key = _names.get(name) or _named(name)
        number = repr(value) if type(value) is float or (type(value) is int and -_EXACT <= value <= _EXACT) else _number(value)
        if number:
            numbers += f',{key}:"{number}"'
            continue
        text = _within(value if type(value) is str else _text(value), min(room, _MOST_TEXT))
        room -= min(len(text), room)
        texts += f",{key}:{_quoted(text)}"
        if name in REQUEST_NAMES:
            request = request or text[:_MOST_NAME]
    said = f',"e":{{{texts[1:]}}}' if texts else ""
    return f'"k":"{kind}","v":{{{numbers[1:]}}}{said}', request


def _named(name: str) -> str:
    if len(_names) >= _MOST_NAMES:
        _names.clear()
    _names[name] = quoted = _quoted(name[:_MOST_NAME])
    return quoted


def _first(fields: Mapping[str, object]) -> Mapping[str, object]:
    """As many fields as are kept, and how many there are more."""
    return {"…": f"{len(fields) - _MOST_FIELDS} more"} | dict(list(fields.items())[:_MOST_FIELDS])


def _within(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "…"


def _number(value: object) -> str:
    """The number that a value is, to be read as a float64; empty for any other value."""
    if isinstance(value, str):
        return ""
    try:
        return repr(float(value)) if isinstance(value, Real) else _element(value)
    except Exception:  # as in Guard: of the value's own methods, or too great a number; its text says what it is
        return ""


def _element(value: Any) -> str:
    """The only element of a tensor that is at hand: to read one from a device would wait for it."""
    if not _is_tensor(value) or value.numel() != 1 or value.device.type != "cpu" or value.is_complex():
        return ""
    from tensortap._record.guard import unintercepted

    with unintercepted():
        return repr(float(value.detach()))


def _text(value: object) -> str:
    if isinstance(value, str):
        return str(value)
    try:
        return _described(value)
    except Exception as error:  # as above
        return f"{type(value).__name__} without a text: {type(error).__name__}"


def _described(value: Any) -> str:
    if _is_tensor(value):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)} on {value.device}"
    if type(value) is int:
        return str(value) if value.bit_length() < 1 << 10 else f"an integer of {value.bit_length()} bits"
    return repr(value)


def _is_tensor(value: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)
