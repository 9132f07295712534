"""What is recorded of requests that a server of Starlette gets: nothing that passes by is changed, and no prompt is kept unasked."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest

from tensortap._record.http_bodies import answered, asked, hash_of
from tensortap._record.http_log import ENDING, HttpLog
from tensortap._record.served_requests import prompt_of
from tensortap.integrations import asgi
from tests.test_boot import python

starlette = pytest.importorskip("starlette.applications")
from starlette.requests import ClientDisconnect, Request  # noqa: E402
from starlette.responses import JSONResponse, Response, StreamingResponse  # noqa: E402
from starlette.routing import Mount, Route  # noqa: E402

Message = MutableMapping[str, Any]
Log = Callable[..., HttpLog]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    """Record requests into the folder of the test."""
    undone = []

    def begin(keep: str = "", routes: str = "") -> HttpLog:
        made = HttpLog(f"{tmp_path}\n{keep}\n{routes}")
        undone.append(asgi.watch(starlette.Starlette, made))
        return made

    yield begin
    for undo in reversed(undone):
        undo()


def lines(folder: Path, log: HttpLog) -> list[dict[str, Any]]:
    """What was written until now."""
    log.flush(60)
    return [json.loads(line) for path in folder.glob(f"*{ENDING}") for line in path.read_text().splitlines()]


async def call(app: Any, path: str, *pieces: bytes, root: str = "") -> list[Message]:
    """What the application answers, message by message."""
    waiting = [{"type": "http.request", "body": piece, "more_body": place + 1 < len(pieces)} for place, piece in enumerate(pieces)]
    sent: list[Message] = []

    async def receive() -> Message:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "root_path": root, "query_string": b"", "headers": [], "asgi": {"version": "3.0"}}
    await app(scope, receive, send)
    return sent


def served(path: str, answer: Callable[[Request], Awaitable[Response]]) -> Any:
    """An application that answers there."""
    return starlette.Starlette(routes=[Route(path, answer, methods=["POST"])])


async def completion(request: Request) -> Response:
    """An answer as of a server of OpenAI's API."""
    said = await request.json()
    usage = {"prompt_tokens": 2, "completion_tokens": 3}
    return JSONResponse({"id": "cmpl-7", "choices": [{"index": 0, "text": said["prompt"].upper(), "finish_reason": "length"}], "usage": usage})


SECRET = b'{"model": "m", "prompt": "my secret", "temperature": 0.5, "stop": ["secret"], "user": "secret"}'


def test_no_word_of_a_user_is_kept_unasked(log: Log, tmp_path: Path) -> None:
    made = log()
    (start, body) = asyncio.run(call(served("/v1/completions", completion), "/v1/completions", SECRET[:20], SECRET[20:]))
    assert start["status"] == 200
    assert json.loads(body["body"])["choices"][0]["text"] == "MY SECRET"
    got, end = lines(tmp_path, made)
    assert "secret" not in json.dumps([got, end]).lower()
    assert got["body"] == {"model": "m", "temperature": 0.5}
    assert (got["route"], got["bytes"], got["whole"], got["prompt_hash"]) == ("/v1/completions", len(SECRET), False, hash_of("my secret"))
    assert (end["id"], end["status"], end["prompt_tokens"], end["completion_tokens"], end["finish_reason"]) == ("cmpl-7", 200, 2, 3, "length")
    assert end["answer_hash"] == hash_of("MY SECRET")
    assert got["n"] == end["n"]
    assert got["time_ns"] <= end["first_ns"] <= end["time_ns"]


def test_prompts_and_answers_are_kept_where_the_user_asks(log: Log, tmp_path: Path) -> None:
    made = log("keep")
    asyncio.run(call(served("/v1/completions", completion), "/v1/completions", SECRET))
    got, end = lines(tmp_path, made)
    assert (got["body"], got["whole"], got["prompt"]) == (json.loads(SECRET), True, "my secret")
    assert end["answers"] == ["MY SECRET"]


def test_a_stream_passes_piece_by_piece(log: Log, tmp_path: Path) -> None:
    """Each piece is with the client before the application makes the next."""
    made, sent = log("keep"), list[bytes]()

    async def stream(request: Request) -> Response:
        async def pieces() -> AsyncIterator[bytes]:
            for count, text in enumerate(("one", "one two"), 1):
                yield b"data: " + json.dumps({"text": text, "meta_info": {"id": "r1", "completion_tokens": count}}).encode() + b"\n\n"
                assert len(sent) == count
            yield b"data: [DONE]\n\n"

        return StreamingResponse(pieces(), media_type="text/event-stream")

    async def run() -> None:
        async def receive() -> Message:
            if not sent:
                return {"type": "http.request", "body": b'{"text": "count"}', "more_body": False}
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Message) -> None:
            sent.extend([message["body"]] if message.get("body") else [])

        app = served("/generate", stream)
        await app({"type": "http", "method": "POST", "path": "/generate", "query_string": b"", "headers": [], "asgi": {"spec_version": "2.4"}}, receive, send)

    asyncio.run(run())
    end = lines(tmp_path, made)[-1]
    assert (end["id"], end["answers"], end["completion_tokens"]) == ("r1", ["one two"], 2)


def test_what_an_application_raises_reaches_its_server(log: Log, tmp_path: Path) -> None:
    made = log()

    async def fail(request: Request) -> Response:
        await request.body()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(call(served("/generate", fail), "/generate", b"{}"))
    assert [(one.get("status"), one.get("broken")) for one in lines(tmp_path, made)] == [(None, None), (500, None)]


def test_a_client_that_goes_away_is_told(log: Log, tmp_path: Path) -> None:
    made = log()

    async def wait(request: Request) -> Response:
        await request.body()
        message = await request.receive()
        assert message["type"] == "http.disconnect"
        raise ClientDisconnect

    app = starlette.Starlette(routes=[Route("/generate", wait, methods=["POST"])], exception_handlers={ClientDisconnect: None})
    with pytest.raises((ClientDisconnect, TypeError)):
        asyncio.run(call(app, "/generate", b'{"text": "a"}'))
    assert len(lines(tmp_path, made)) == 2


def test_only_known_routes_are_recorded_and_each_once(log: Log, tmp_path: Path) -> None:
    made = log(routes="/mine,/other")
    inner = starlette.Starlette(routes=[Route("/{path:path}", completion, methods=["POST"])])
    app = starlette.Starlette(routes=[Mount("/", inner)])
    for path in ("/mine", "/health", "/v1/completions"):
        asyncio.run(call(app, path, SECRET))
    asyncio.run(call(app, "/under/v1/completions", SECRET, root="/under"))
    assert [one["route"] for one in lines(tmp_path, made) if one["tensortap"] == "request"] == ["/mine", "/v1/completions", "/v1/completions"]


@pytest.mark.parametrize("body", [b"", b"no json", b"[1]", b"null", b'{"text": ', b"\xff\xfe", b'{"prompt": [1, "a", null]}', b'{"text": 3}'])
def test_whatever_is_asked_passes(log: Log, tmp_path: Path, body: bytes) -> None:
    made = log("keep")

    async def echo(request: Request) -> Response:
        return Response(await request.body())

    sent = asyncio.run(call(served("/generate", echo), "/generate", body))
    assert sent[1]["body"] == body
    assert [one["tensortap"] for one in lines(tmp_path, made)] == ["request", "answer"]


def test_a_body_that_is_too_large_is_not_kept_and_passes(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi, "_MOST_ASKED", 64)
    made = log("keep")
    sent = asyncio.run(call(served("/v1/completions", completion), "/v1/completions", SECRET))
    assert sent[0]["status"] == 200
    got = lines(tmp_path, made)[0]
    assert got["unread"] == f"its body has {len(SECRET)} bytes, limit 64"
    assert "body" not in got


def test_a_folder_that_is_gone_is_told_once(log: Log, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = HttpLog(f"{tmp_path}/gone\n\n")
    undo = asgi.watch(starlette.Starlette, made)
    for _ in range(2):
        asyncio.run(call(served("/v1/completions", completion), "/v1/completions", SECRET))
    made.flush(60)
    undo()
    assert capsys.readouterr().err.count("tensortap: not all requests are recorded:") == 1
    assert made.lost == 4


def test_prompts_are_hashed_as_those_of_steps_are() -> None:
    assert hash_of([1, 2, 3]) == f"{prompt_of([1, 2, 3]).hash:016x}"
    assert hash_of([True]) != hash_of([1])
    assert hash_of([1 << 70])


def test_only_numbers_and_names_are_parameters() -> None:
    said = {"text": "a", "sampling_params": [{"temperature": 0, "regex": "b"}, {"top_p": 1.0}], "logit_bias": {"1": 2}, "rid": "r", "stream": True}
    kept = asked(json.dumps(said).encode(), keep=False)["body"]
    assert kept == {"sampling_params": [{"temperature": 0}, {"top_p": 1.0}], "rid": hash_of("r"), "stream": True}


@pytest.mark.parametrize("own", ["cmpl-" + "0a" * 16, "chatcmpl-12345678-90ab-cdef-1234-567890abcdef", "0a" * 16, "0a" * 16 + "_3"])
def test_the_name_of_a_request_is_kept_where_an_engine_may_have_made_it(own: str) -> None:
    for said, kept in ((own, own), ("my secret " + own, hash_of("my secret " + own)), ("mary-ann", hash_of("mary-ann"))):
        assert asked(json.dumps({"rid": said, "request_id": said}).encode(), keep=False)["body"] == {"rid": kept, "request_id": kept}


def test_a_thread_that_does_not_start_harms_no_server(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    made = log()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        assert asyncio.run(call(served("/v1/completions", completion), "/v1/completions", SECRET))[0]["status"] == 200
    assert made.lost == 2 and "not all requests are recorded: RuntimeError: can't start new thread" in capsys.readouterr().err
    asyncio.run(call(served("/v1/completions", completion), "/v1/completions", SECRET))
    assert [thread.name for thread in threading.enumerate() if "requests" in thread.name] == ["tensortap requests"]
    assert [one.get("lost") for one in lines(tmp_path, made)] == [2, None]


def test_what_is_lost_while_a_line_is_written_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = HttpLog(f"{tmp_path}\n\n")
    write = os.write

    def meanwhile(file: int, text: bytes) -> int:
        if b'"lost"' not in text:
            made.lose("another thread has no room")
        return write(file, text)

    monkeypatch.setattr(os, "write", meanwhile)
    made.number()
    for n in range(2):
        made.put(lambda n=n: {"n": n})
    assert [one.get("lost") for one in lines(tmp_path, made)] == [None, 1] and made.lost == 0


def test_answers_of_all_forms_are_read() -> None:
    chat = [{"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {"content": text}}]} for text in ("a", "b")]
    stream = b"".join(b"data: " + json.dumps(one).encode() + b"\r\n\r\n" for one in [*chat, {"choices": [], "usage": {"completion_tokens": 2}}]) + b"data: [DONE]\n"
    assert answered(stream, keep=True) == {"id": "chatcmpl-1", "answers": ["ab"], "answer_hash": hash_of("ab"), "completion_tokens": 2}
    increments = b"".join(
        b"data: " + json.dumps({"text": " a", "output_ids": [5], "meta_info": {"id": "r", "completion_tokens": count}}).encode() + b"\n" for count in (1, 2)
    )
    assert answered(increments, keep=True)["answers"] == [" a a"]
    batch = json.dumps([{"text": text, "meta_info": {"id": text, "finish_reason": {"type": "stop"}}} for text in "ab"]).encode()
    assert answered(batch, keep=True) == {"id": "a", "answers": ["a", "b"], "answer_hash": hash_of(["a", "b"]), "finish_reason": "stop"}
    assert answered(b"<html>", keep=True) == {}


def test_a_streamed_batch_is_in_the_order_in_which_it_was_asked_for() -> None:
    pieces = [{"index": index, "text": text, "meta_info": {"id": f"r{index}", "completion_tokens": 1}} for index, text in ((1, "b"), (0, "a"), (1, "bb"))]
    stream = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in pieces)
    assert (answered(stream, keep=True)["answers"], answered(stream, keep=True)["id"]) == (["a", "bb"], "r0")


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_reasoning_is_part_of_an_answer_as_when_it_is_sent_again(name: str) -> None:
    whole = {"id": "chatcmpl-1", "choices": [{"index": 0, "message": {name: "so ", "content": "a"}}]}
    deltas = [{"id": "chatcmpl-1", "choices": [{"index": 0, "delta": delta}]} for delta in ({name: "s"}, {name: "o "}, {"content": "a"})]
    stream = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in deltas)
    for body in (json.dumps(whole).encode(), stream):
        assert answered(body, keep=True)["answers"] == ["so a"]


SERVE = """
import starlette.applications as s
print(hasattr(s.Starlette.__call__, "__wrapped__"))
"""


def test_a_server_is_watched_where_the_launcher_asks(tmp_path: Path) -> None:
    assert python("-c", SERVE, TENSORTAP_REQUESTS=f"{tmp_path}\n\n") == "True"
    assert python("-c", SERVE) == "False"


def test_it_takes_no_pytorch_to_record() -> None:
    look = "import sys, tensortap.integrations.asgi; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", look], check=True)


def test_a_recording_is_no_other_users_to_read(log: Log, tmp_path: Path) -> None:
    made = log("keep")
    asyncio.run(call(served("/v1/completions", completion), "/v1/completions", SECRET))
    assert lines(tmp_path, made)
    assert [path.stat().st_mode & 0o777 for path in tmp_path.glob(f"*{ENDING}")] == [0o600]
