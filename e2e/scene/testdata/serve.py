"""Serves a small model over HTTP as engines do: a scheduler with a queue, and two workers with a model each.

The scheduler waits for the first six requests, so that batches are the same each time. Token "~" has a NaN in its embedding, or what TILDE says.
Requests are logged into the folder of REQUEST_LOG as SGLang does. POST /stop ends all.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import queue
import threading
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

WIDTH, VOCABULARY, LAYERS, WORKERS, FIRST_REQUESTS = 16, 128, 2, 2, 6
Cache = list[Tensor]


class Layer(nn.Module):
    """Attention over a request's own cache, for the rows of several requests."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.mix = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, hidden: Tensor, counts: list[int], caches: list[Cache]) -> Tensor:
        rows = []
        for part, cache in zip(self.mix(self.norm(hidden)).split(counts), caches, strict=True):
            query, key, value = part.chunk(3, dim=-1)
            cache[:] = [torch.cat([cache[0], key]), torch.cat([cache[1], value])] if cache else [key, value]
            past = len(cache[0]) - len(query)
            mask = torch.ones(len(query), len(cache[0])).tril(past).log()
            rows.append((query @ cache[0].T / WIDTH**0.5 + mask).softmax(dim=-1) @ cache[1])
        return hidden + self.out(torch.cat(rows))


class Model(nn.Module):
    """A small language model, over the tokens of all requests of a step, one row each."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, input_ids: Tensor, counts: list[int], caches: list[list[Cache]]) -> Tensor:
        hidden = self.embed(input_ids)
        for number, layer in enumerate(self.layers):
            hidden = layer(hidden, counts, [cache[number] for cache in caches])
        logits: Tensor = self.head(hidden)
        return logits


@dataclass
class Running:
    """A request in a worker."""

    rid: str
    prompt: list[int]
    most: int
    made: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    caches: list[Cache] = field(default_factory=lambda: [[] for _ in range(LAYERS)])

    def due(self) -> list[int]:
        """The tokens of the next step."""
        return self.made[-1:] or self.prompt


class Runner:
    """Runs the steps of a worker."""

    def __init__(self, rank: int) -> None:
        torch.manual_seed(0)
        self.rank, self.model = rank, Model().eval()
        with torch.no_grad():
            self.model.embed.weight[ord("~"), 3] = float(os.environ.get("TILDE", "nan"))
            if os.environ.get("FAULTY"):
                self.model.layers[1].get_submodule("out").weight[:4] *= 40

    @torch.inference_mode()
    def execute(self, batch: list[Running]) -> None:
        """One step: the prompt of each new request, the last token of each other."""
        due = [one.due() for one in batch]
        counts = [len(tokens) for tokens in due]
        ids = torch.tensor([token for tokens in due for token in tokens])
        logits = self.model(ids, counts, [one.caches for one in batch])
        for one, last in zip(batch, torch.tensor(counts).cumsum(0).tolist(), strict=True):
            best = logits[last - 1].nan_to_num().log_softmax(dim=-1).max(dim=-1)
            one.made.append(int(best.indices) % 32 + ord("A"))
            one.logprobs.append(float(best.values))


def tapped() -> None:
    """Tell the collector what a step serves, as its integrations of engines do."""
    from tensortap._record.served_requests import Request, prompt_of
    from tensortap._session.step_boundaries import Facts
    from tensortap.integrations.served import Rank, Served, Step, steps, tap_of

    def begin(runner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Served, Step]:
        batch: list[Running] = args[0]
        parts = tuple(
            Request(one.rid, "decode" if one.made else "prefill", len(one.due()), len(one.prompt) + len(one.made) - 1 if one.made else 0, prompt_of(one.prompt))
            for one in batch
        )
        facts = Facts(phase="serve", tokens=sum(part.tokens for part in parts), requests=len(parts), served=parts)
        return tap_of(runner, lambda: runner.model, lambda: Rank(runner.rank)), Step(facts)

    steps(Runner, "execute", begin)


def work(rank: int, orders: Connection) -> None:
    """Be a worker: take requests as they come, and run all of them in each step."""
    torch.set_num_threads(1)
    if os.environ.get("TENSORTAP_RUN"):
        tapped()
    runner, running = Runner(rank), []
    while True:
        while not running or orders.poll():
            order = orders.recv()
            if order is None:
                return
            running += [Running(**one) for one in order]
        runner.execute(running)
        for one in [one for one in running if len(one.made) == one.most]:
            running.remove(one)
            orders.send((one.rid, one.made, one.logprobs))


class Scheduler:
    """Gives each request to a worker, and its answer to whoever waits for it."""

    def __init__(self) -> None:
        self.log = Path(os.environ["REQUEST_LOG"]) / "request_log.json.log"
        self.answers: dict[str, queue.SimpleQueue[list[int]]] = {}
        self.logprobs: dict[str, list[float]] = {}
        self.waiting: list[dict[str, Any]] = []
        self.lock = threading.Lock()
        context = multiprocessing.get_context("spawn")
        self.pipes, self.workers = [], []
        for rank in range(WORKERS):
            ours, theirs = context.Pipe()
            self.pipes.append(ours)
            self.workers.append(context.Process(target=work, args=(rank, theirs)))
            self.workers[-1].start()
            threading.Thread(target=self.collect, args=(ours,), daemon=True).start()

    def collect(self, pipe: Connection) -> None:
        """Hand answers on as they come."""
        try:
            while True:
                rid, made, self.logprobs[rid] = pipe.recv()
                self.answers[rid].put(made)
        except (EOFError, OSError):
            return

    def generate(self, asked: dict[str, Any]) -> list[int]:
        """Serve a request to its end."""
        rid = asked["rid"]
        self.note("request.received", rid, {"text": asked["text"], "sampling_params": {"max_new_tokens": asked["most"]}})
        self.answers[rid] = queue.SimpleQueue()
        with self.lock:
            self.waiting.append({"rid": rid, "prompt": list(asked["text"].encode()), "most": asked["most"]})
            if len(self.answers) >= FIRST_REQUESTS:
                self.dispatch()
        made = self.answers[rid].get()
        meta = {"id": rid, "finish_reason": {"type": "length", "length": len(made)}, "prompt_tokens": len(asked["text"]), "completion_tokens": len(made)}
        self.note("request.finished", rid, {"text": asked["text"]}, {"meta_info": meta})
        return made

    def dispatch(self) -> None:
        """Each worker gets every other of the requests that wait, by their names."""
        self.waiting.sort(key=lambda one: str(one["rid"]))
        for rank, pipe in enumerate(self.pipes):
            pipe.send(self.waiting[rank::WORKERS])
        self.waiting = []

    def note(self, event: str, rid: str, asked: dict[str, Any], out: dict[str, Any] | None = None) -> None:
        """Write a line as SGLang does."""
        line = {"timestamp": datetime.now().isoformat(), "event": event, "rid": rid, "obj": asked} | ({"out": out} if out else {})
        with self.lock, self.log.open("a") as log:
            print(json.dumps(line), file=log)

    def stop(self) -> None:
        """End the workers."""
        for pipe in self.pipes:
            pipe.send(None)
        for worker in self.workers:
            worker.join()


def main() -> None:
    """Listen until /stop is asked for."""
    scheduler = Scheduler()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer = [] if self.path == "/stop" else scheduler.generate(json.loads(asked))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())
            if self.path == "/stop":
                threading.Thread(target=self.server.shutdown).start()

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"listening on {server.server_port}", flush=True)
    server.serve_forever()
    scheduler.stop()


if __name__ == "__main__":
    main()
