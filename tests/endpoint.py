"""A chat completions endpoint for tests: real HTTP on 127.0.0.1, in a thread of its own.

It lives in the process of the test, so it survives the client's kill -9. What it does wrong is drawn by hash of what
it was asked and how often, so a run repeats. Every attempt is kept: what was sent, in which order, how many at once.
"""

import asyncio
import contextlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import pytest
from aiohttp import web

FAULTS = ("429", "500", "hang", "cut", "garbage", "empty")


@dataclass(frozen=True)
class Attempt:
    """What the endpoint sees of one attempt."""

    key: str
    """The hash of what was sent; it also stands in the answer, so that a journal can be compared with the server."""
    number: int
    """How often this was sent, from 1."""
    body: dict[str, Any]
    headers: dict[str, str]
    path: str = "/v1/chat/completions"

    @property
    def question(self) -> str:
        """The words of the last message."""
        content = self.body["messages"][-1]["content"]
        if isinstance(content, str):
            return content
        return "".join(part.get("text", "") for part in content)

    @property
    def images(self) -> list[str]:
        """Data URLs of all images, in order."""
        parts = [p for m in self.body["messages"] if isinstance(m["content"], list) for p in m["content"]]
        return [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]


@dataclass
class Reply:
    """What the endpoint does instead of answering: a status and a body, or silence, or worse."""

    status: int = 200
    body: object = None
    headers: dict[str, str] = field(default_factory=dict)
    fate: str = "reply"
    """reply, hang (say nothing), cut (close before or within the reply), raw (bytes that are no HTTP)."""


Rule = Callable[[Attempt], Reply | None]


def completion(text: str | None, **more: Any) -> dict[str, Any]:
    """A whole answer, as a server writes it."""
    usage = more.pop("usage", {"prompt_tokens": 11, "completion_tokens": 3})
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"} | more
    return {"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage}


def failure(status: int, words: str, **headers: str) -> Reply:
    """An error, as OpenAI writes it."""
    return Reply(
        status, {"error": {"message": words, "type": "x"}}, {k.replace("_", "-"): v for k, v in headers.items()}
    )


def draw(*key: object) -> float:
    """A number from 0 to 1 that depends on nothing else."""
    return int.from_bytes(blake2b("|".join(map(str, key)).encode(), digest_size=8).digest(), "big") / 2**64


def faults(share: float, kinds: Sequence[str] = FAULTS) -> Rule:
    """Each kind of fault in this share of all attempts."""

    def rule(attempt: Attempt) -> Reply | None:
        place = draw(0, attempt.key, attempt.number) / share
        return fault(kinds[int(place)]) if place < len(kinds) else None

    return rule


def fault(kind: str) -> Reply:
    match kind:
        case "429":
            return failure(429, "too many requests", Retry_After="0.01")
        case "500":
            return failure(500, "out of order")
        case "garbage":
            return Reply(body=b'{"choices": [{"mess')
        case "empty":
            return Reply(body=completion(""))
    return Reply(fate=kind)


class Endpoint:
    """The server, and all it has seen."""

    routes: tuple[str, ...] = ("/v1/chat/completions",)

    def __init__(self, port: int = 0) -> None:
        """``port``: where it listens; anywhere if 0."""
        self._wanted = port
        self._folder = TemporaryDirectory()
        self.rule: Rule = lambda attempt: None
        self.answer: Callable[[Attempt], str] = lambda attempt: f"{'ABCD'[int(attempt.key, 16) % 4]}. {attempt.key}"
        self.latency = 0.0
        self.attempts: list[Attempt] = []
        self.sent: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.in_flight = self.peak = 0
        self.gate: threading.Event | None = None
        """While it is there and not set, nobody is answered."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="endpoint", daemon=True)

    @property
    def url(self) -> str:
        """What comes after the @ of a spec."""
        return f"http://127.0.0.1:{self.port}/v1"

    def models(self, name: str = "m", /, **entry: object) -> Path:
        """A models.yaml whose only model is asked here; ``entry``: attempts, waits and whatever else it holds."""
        path = Path(self._folder.name) / f"{name}-{len(list(Path(self._folder.name).iterdir()))}.yaml"
        path.write_text(json.dumps({name: {"spec": f"openai:m@{self.url}"} | entry}))
        return path

    def forget(self) -> None:
        self.attempts, self.sent, self.answered, self.peak = [], Counter(), Counter(), 0

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        return self

    def __exit__(self, *error: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._folder.cleanup()

    async def _open(self) -> None:
        app = web.Application(client_max_size=64 * 2**20)
        for path in self.routes:
            app.router.add_route("*", path, self._handle)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._wanted, reuse_address=True)
        await site.start()
        self.port: int = self._runner.addresses[0][1]

    async def _close(self) -> None:
        if self.gate:
            self.gate.set()
        await self._runner.cleanup()

    def respond(self, attempt: Attempt) -> object:
        """The body of a reply that is as it should be."""
        return completion(self.answer(attempt))

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            return await self._reply(request)
        finally:
            self.in_flight -= 1

    async def _reply(self, request: web.Request) -> web.StreamResponse:
        data = await request.read()
        key = blake2b(data, digest_size=8).hexdigest()
        self.sent[key] += 1
        attempt = Attempt(key, self.sent[key], json.loads(data or b"{}"), dict(request.headers), request.path)
        self.attempts.append(attempt)
        reply = self.rule(attempt)
        if self.latency:
            await asyncio.sleep(self.latency * (0.5 + draw("latency", key)))
        while self.gate and not self.gate.is_set():
            await asyncio.sleep(0.002)
        if reply is None:
            response = web.json_response(self.respond(attempt))
            await response.prepare(request)
            await response.write_eof()
            self.answered[key] += 1
            return response
        assert request.transport is not None
        if reply.fate == "hang":
            await asyncio.sleep(3600)
        if reply.fate == "raw":
            request.transport.write(b"\xff\xfe\x00 not HTTP at all \xc3\x28\r\n\r\n")
            request.transport.close()
        if reply.fate == "cut":
            if int(key, 16) % 2:
                half = web.StreamResponse(headers={"Content-Length": "1000"})
                await half.prepare(request)
                await half.write(json.dumps(completion("A. cut off")).encode()[:60])
            request.transport.abort()
        if isinstance(reply.body, bytes):
            return web.Response(body=reply.body, status=reply.status, headers=reply.headers)
        return web.json_response(reply.body, status=reply.status, headers=reply.headers)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """A fresh endpoint that answers everything at once, until told otherwise."""
    with contextlib.ExitStack() as stack:
        yield stack.enter_context(Endpoint())
