"""What is kept of a request for text and of its answer: prompts and answers themselves only where the user asked for that."""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from collections.abc import Iterator, Mapping
from typing import Any, Final

_PROMPTS: Final = ("text", "input_ids", "prompt", "messages", "input", "input_embeds")
_REQUEST_NAMES: Final = ("rid", "request_id")  # which a user may choose
_ENGINES_OWN: Final = re.compile(r"(?:(?:cmpl|chatcmpl|gen|req|resp)-)?(?:[0-9a-f]{8,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:[-_][0-9]{1,6})?")
_NESTED: Final = ("sampling_params", "stream_options")
_EVENT: Final = b"data:"
_MOST_TEXT: Final = 256


def hashed(text: bytes) -> str:
    """A hash as of requests in steps: 16 hex digits, never 0."""
    number = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
    return f"{max(1, number):016x}"


def hash_of(prompt: object) -> str:
    """The hash of a prompt: of its tokens where it has ids, else of its text; of several or of messages, of their JSON."""
    if isinstance(prompt, str):
        return hashed(prompt.encode("utf-8", "replace"))
    if isinstance(prompt, list) and prompt and all(type(token) is int and abs(token) < 1 << 63 for token in prompt):
        return hashed(array("q", prompt).tobytes())
    return hashed(json.dumps(prompt, sort_keys=True).encode())


def asked(body: bytes, keep: bool) -> dict[str, Any]:
    """What a request says: its parameters, and the hash of its prompt; all of it where that is to be kept."""
    try:
        said = json.loads(body)
    except ValueError:
        return {"unread": "its body is no JSON"}
    if not isinstance(said, dict):
        return {"unread": "its body is no JSON object"}
    prompt = next((said[name] for name in _PROMPTS if said.get(name) is not None), None)
    facts = {} if prompt is None else {"prompt_hash": hash_of(prompt)}
    if keep:
        return facts | {"body": said, "whole": True} | ({"prompt": prompt} if isinstance(prompt, str) else {})
    return facts | {"body": parameters(said), "whole": False}


def parameters(said: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers and switches of a request, the model, and names of requests; no text that a user may have written."""
    kept: dict[str, Any] = {name: value for name, value in said.items() if isinstance(value, bool | int | float)}
    if isinstance(said.get("model"), str):
        kept["model"] = said["model"][:_MOST_TEXT]
    kept |= {name: _request_name(said[name]) for name in _REQUEST_NAMES if isinstance(said.get(name), str)}
    for name in _NESTED:
        if isinstance(said.get(name), dict):
            kept[name] = parameters(said[name])
        elif isinstance(said.get(name), list):
            kept[name] = [parameters(one) for one in said[name] if isinstance(one, dict)]
    return kept


def _request_name(name: str) -> str:
    """As it is where it has the form of those that engines make; else its hash."""
    return name if _ENGINES_OWN.fullmatch(name) else hashed(name.encode("utf-8", "replace"))


def answered(body: bytes, keep: bool) -> dict[str, Any]:
    """What an answer says, whole or in pieces: the engine's name of the request, how it ended, tokens, the hash of its text."""
    answer = _Answer()
    for piece in _pieces(body):
        answer.take(piece)
    texts = answer.whole()
    facts = dict(answer.facts)
    if texts:
        facts["answer_hash"] = hash_of(texts[0] if len(texts) == 1 else texts)
        if keep:
            facts["answers"] = texts
    return facts


def _pieces(body: bytes) -> Iterator[dict[str, Any]]:
    """The objects of an answer: those of each event of a stream, those of a list, or the one."""
    events = body.lstrip().startswith((_EVENT, b"event:", b":"))
    lines = (line[len(_EVENT) :] for line in body.splitlines() if line.startswith(_EVENT)) if events else iter((body,))
    for line in lines:
        try:
            said = json.loads(line)
        except ValueError:  # the mark at the end of a stream, or one that broke off
            continue
        yield from (one for one in (said if isinstance(said, list) else [said]) if isinstance(one, dict))


class _Answer:
    """What the pieces of an answer say together."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}  # by place among those that were asked for at once
        self.facts: dict[str, Any] = {}
        self._reasoning: dict[int, str] = {}  # which comes before the text
        self._places: dict[str, int] = {}
        self._named = -1  # the place of which the name is

    def whole(self) -> list[str]:
        """The answers in the order in which they were asked for, with their reasoning."""
        places = sorted(self.texts.keys() | self._reasoning.keys())
        return [self._reasoning.get(place, "") + self.texts.get(place, "") for place in places]

    def take(self, piece: Mapping[str, Any]) -> None:
        """Add what a piece says."""
        if isinstance(piece.get("meta_info"), dict):
            self._take_of_sglang(piece, piece["meta_info"])
        else:
            self._take_of_openai(piece)

    def _take_of_sglang(self, piece: Mapping[str, Any], meta: Mapping[str, Any]) -> None:
        """Each piece of a stream has the text so far, unless the server was started so that it has what is new."""
        name = str(meta.get("id", ""))
        index = piece.get("index")  # in a stream of several, which come as they are ready
        place = index if type(index) is int else self._places.setdefault(name, len(self._places))
        if self._named < 0 or place < self._named:
            self.facts["id"], self._named = name, place
        text, before = piece.get("text"), self.texts.get(place, "")
        ids = piece.get("output_ids")
        whole = len(ids) == meta.get("completion_tokens") if isinstance(ids, list) else str(text).startswith(before)
        if isinstance(text, str):
            self.texts[place] = text if whole else before + text
        reason = meta.get("finish_reason")
        self._ended(reason.get("type") if isinstance(reason, dict) else reason)
        self._count(meta)

    def _take_of_openai(self, piece: Mapping[str, Any]) -> None:
        if isinstance(piece.get("id"), str):
            self.facts.setdefault("id", piece["id"])
        for choice in piece.get("choices") or []:
            place = int(choice.get("index") or 0)
            said = choice.get("delta") or choice.get("message") or choice
            text = said.get("text") if said is choice else said.get("content")
            if isinstance(text, str):
                self.texts[place] = self.texts.get(place, "") + text
            thought = said.get("reasoning_content") or said.get("reasoning")  # of SGLang, and of vLLM
            if said is not choice and isinstance(thought, str):
                self._reasoning[place] = self._reasoning.get(place, "") + thought
            self._ended(choice.get("finish_reason"))
        if isinstance(piece.get("usage"), dict):
            self._count(piece["usage"])

    def _ended(self, reason: object) -> None:
        if isinstance(reason, str):
            self.facts["finish_reason"] = reason[:_MOST_TEXT]

    def _count(self, counts: Mapping[str, Any]) -> None:
        for name in ("prompt_tokens", "completion_tokens"):
            if isinstance(counts.get(name), int):
                self.facts[name] = counts[name]
