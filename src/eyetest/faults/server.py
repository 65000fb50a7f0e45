"""The server of the faulty endpoint: HTTP by hand, because most of what it sends is not HTTP as it should be."""

import asyncio
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from http import HTTPStatus
from typing import Any, NamedTuple, Self

import msgspec

from eyetest.faults.modes import MODES, Mode
from eyetest.faults.wires import WIRES, usual_body

MODEL = "faulty"
_COMPLETIONS, _MODELS = "/v1/chat/completions", "/v1/models"
_LARGEST_REQUEST = 64 * 2**20


class _Request(NamedTuple):
    """A request as far as the modes look at it."""

    path: str
    body: bytes


class FaultyEndpoint:
    """Serves every mode at ``http://127.0.0.1:PORT/MODE/v1`` from a thread, in a ``with`` block.

    >>> with FaultyEndpoint() as endpoint:
    ...     endpoint.url("finish-length").partition("/finish")[2]
    '-length/v1'
    """

    def __init__(self, port: int = 0, modes: Sequence[Mode] = tuple(MODES.values())) -> None:
        """``port``: where it listens; anywhere if 0. ``modes``: those that it serves, also some of your own."""
        self.port = port
        self.modes = {mode.mode: mode for mode in modes}
        self.calls: Counter[str] = Counter()  # by mode, how often it was asked
        self._attempts: Counter[tuple[str, bytes]] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="faulty-endpoint", daemon=True)
        self._connections: set[asyncio.Task[None]] = set()

    def url(self, mode: str) -> str:
        """The base address of a mode, as OpenAI's clients take it."""
        return f"http://127.0.0.1:{self.port}/{mode}/v1"

    def listing(self) -> list[dict[str, str]]:
        """Every mode: its name, address, expected outcome, and what it does."""
        return [
            {"mode": name, "url": self.url(name), "expect": mode.expect, "about": mode.about}
            for name, mode in self.modes.items()
        ]

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        return self

    def __exit__(self, *error: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, then close: a connection that went wrong is never used again."""
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ValueError):
            request = await _read_request(reader)
            await self._reply(request, writer)
            await writer.drain()
        with suppress(ConnectionError, OSError, asyncio.CancelledError):
            writer.close()
            await writer.wait_closed()

    async def _reply(self, request: _Request, writer: asyncio.StreamWriter) -> None:
        name, slash, rest = request.path.lstrip("/").partition("/")
        mode = self.modes.get(name)
        if not name:
            writer.write(_answer(200, msgspec.json.encode({"modes": self.listing()})))
        elif mode is not None and slash + rest == _MODELS:
            models = {"object": "list", "data": [{"id": MODEL, "object": "model"}]}
            writer.write(_answer(200, msgspec.json.encode(models)))
        elif mode is not None and slash + rest == _COMPLETIONS:
            await self._complete(mode, request, writer)
        else:
            words = f"no such mode: {name}; the modes are listed at /"
            writer.write(_answer(404, msgspec.json.encode({"error": {"message": words}})))

    async def _complete(self, mode: Mode, request: _Request, writer: asyncio.StreamWriter) -> None:
        """Send what the mode sends for the next call."""
        key = (mode.mode, blake2b(request.body, digest_size=16).digest())
        is_at_fault = mode.is_at_fault(self.calls[mode.mode], self._attempts[key])
        self.calls[mode.mode] += 1
        self._attempts[key] += 1
        if not is_at_fault:
            writer.write(_answer(200, usual_body()))
        elif mode.wire:
            await WIRES[mode.wire](writer)
        else:
            writer.write(_answer(mode.status, mode.body(), mode.headers))


def _answer(status: int, body: bytes, headers: dict[str, Any] | None = None) -> bytes:
    """A whole reply as HTTP."""
    words = {"Content-Type": "application/json", "Connection": "close", **(headers or {})}
    words["Content-Length"] = str(len(body))
    phrases = {known.value: known.phrase for known in HTTPStatus}
    first = f"HTTP/1.1 {status} {phrases.get(status, 'Other')}"
    lines = [first, *(f"{name}: {value}" for name, value in words.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def _read_request(reader: asyncio.StreamReader) -> _Request:
    """The path and the body of a request, whose body has a length or comes in chunks."""
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    path = lines[0].split(" ")[1].partition("?")[0]
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return _Request(path, await _read_chunks(reader))
    length = int(headers.get("content-length", "0"))
    if length > _LARGEST_REQUEST:
        raise ValueError(f"a request of {length:,} bytes")
    return _Request(path, await reader.readexactly(length))


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    parts: list[bytes] = []
    while size := int((await reader.readline()).split(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readline()
        if sum(map(len, parts)) > _LARGEST_REQUEST:
            raise ValueError("a request that is too large")
    await reader.readline()
    return b"".join(parts)
