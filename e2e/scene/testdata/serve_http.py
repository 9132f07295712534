"""Serves the model of serve.py by Starlette and uvicorn, as engines do: SGLang's /generate, and OpenAI's completions.

With FAULTY, rows of one weight are scaled. POST /stop ends all.
"""

from __future__ import annotations

import json
import os
import socket
import uuid
from collections.abc import AsyncIterator
from typing import Any

import serve
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

serve.FIRST_REQUESTS = 1  # none is waited for
os.environ["TILDE"] = "0"  # all is finite


class Api:
    """What the server answers."""

    def __init__(self) -> None:
        self.scheduler = serve.Scheduler()
        self.server: uvicorn.Server | None = None

    async def ask(self, text: str, most: int) -> tuple[str, list[int], list[float]]:
        """The engine's name of the request, and what it makes."""
        rid = uuid.uuid4().hex
        made = await run_in_threadpool(self.scheduler.generate, {"rid": rid, "text": text, "most": most})
        return rid, made, self.scheduler.logprobs[rid]

    async def generate(self, request: Request) -> Response:
        """As SGLang's."""
        said: dict[str, Any] = await request.json()
        if said["text"] == "":
            return JSONResponse({"error": {"message": "the text is empty"}}, 400)
        rid, made, logprobs = await self.ask(said["text"], said["sampling_params"]["max_new_tokens"])
        meta = {"id": rid, "prompt_tokens": len(said["text"]), "finish_reason": {"type": "length", "length": len(made)}}
        if said.get("return_logprob"):
            meta["output_token_logprobs"] = [[logprob, token, chr(token)] for logprob, token in zip(logprobs, made, strict=True)]

        def answer(count: int) -> dict[str, Any]:
            return {"text": bytes(made[:count]).decode(), "output_ids": made[:count], "meta_info": {**meta, "completion_tokens": count}}

        async def pieces() -> AsyncIterator[str]:
            for count in range(1, len(made) + 1):
                yield f"data: {json.dumps(answer(count))}\n\n"
            yield "data: [DONE]\n\n"

        if said.get("stream"):
            return StreamingResponse(pieces(), media_type="text/event-stream")
        return JSONResponse(answer(len(made)))

    async def complete(self, request: Request) -> Response:
        """As OpenAI's."""
        said: dict[str, Any] = await request.json()
        rid, made, logprobs = await self.ask(said["prompt"], said["max_tokens"])
        choice: dict[str, Any] = {"index": 0, "text": bytes(made).decode(), "finish_reason": "length"}
        if said.get("logprobs") is not None:
            choice["logprobs"] = {"tokens": [chr(token) for token in made], "token_logprobs": logprobs}
        usage = {"prompt_tokens": len(said["prompt"]), "completion_tokens": len(made)}
        return JSONResponse({"id": rid, "object": "text_completion", "choices": [choice], "usage": usage})

    async def stop(self, request: Request) -> Response:
        """End in order."""
        if self.server is not None:
            self.server.should_exit = True
        return JSONResponse([])


def main() -> None:
    """Listen until /stop is asked for."""
    api = Api()
    routes = {"/generate": api.generate, "/v1/completions": api.complete, "/stop": api.stop}
    app = Starlette(routes=[Route(path, answer, methods=["POST"]) for path, answer in routes.items()])
    listener = socket.create_server(("127.0.0.1", 0))
    api.server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    print(f"listening on {listener.getsockname()[1]}", flush=True)
    api.server.run(sockets=[listener])
    api.scheduler.stop()


if __name__ == "__main__":
    main()
