"""What the faulty endpoint sends where a body is not enough: bytes on the wire, and pauses between them."""

import asyncio
import gzip
import socket
import struct
from collections.abc import Awaitable, Callable
from functools import cache

import msgspec

from eyetest.faults.modes import completion

Wire = Callable[[asyncio.StreamWriter], Awaitable[None]]
_FOREVER = 3_600.0
_PAUSE = 0.01
_HEADERS = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"


def usual_body() -> bytes:
    """The body of a usual completion."""
    return msgspec.json.encode(completion())


def _with_length(body: bytes, more: bytes = b"") -> bytes:
    return _HEADERS + more + b"Content-Length: %d\r\n\r\n" % len(body) + body


async def byte_order_mark(writer: asyncio.StreamWriter) -> None:
    """A byte order mark before the body."""
    writer.write(_with_length(b"\xef\xbb\xbf" + usual_body()))


async def invalid_utf8(writer: asyncio.StreamWriter) -> None:
    """A byte in the answer that is no UTF-8."""
    writer.write(_with_length(usual_body().replace(b'"B"', b'"B caf\xe9"')))


async def deep(writer: asyncio.StreamWriter) -> None:
    """A hundred thousand brackets."""
    writer.write(_with_length(b"[" * 100_000))


async def huge(writer: asyncio.StreamWriter) -> None:
    """A body of forty megabytes."""
    writer.write(_HEADERS + b'Content-Length: 39000014\r\n\r\n{"choices":[')
    for _ in range(13):
        writer.write(b"[]," * 1_000_000)
        await writer.drain()
    writer.write(b"0]}")


async def no_content(writer: asyncio.StreamWriter) -> None:
    """A status that says that there is no body."""
    writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")


async def hang(writer: asyncio.StreamWriter) -> None:
    """Nothing, for an hour."""
    await asyncio.sleep(_FOREVER)


async def hang_in_body(writer: asyncio.StreamWriter) -> None:
    """Half a body, then nothing."""
    writer.write(_with_length(usual_body())[:-40])
    await writer.drain()
    await asyncio.sleep(_FOREVER)


async def trickle(writer: asyncio.StreamWriter) -> None:
    """The body in small pieces."""
    sent = _with_length(usual_body())
    for start in range(0, len(sent), 32):
        writer.write(sent[start : start + 32])
        await writer.drain()
        await asyncio.sleep(_PAUSE)


async def blanks_then_answer(writer: asyncio.StreamWriter) -> None:
    """Blank lines that keep the connection, then the body."""
    writer.write(_HEADERS + b"\r\n")
    for _ in range(20):
        writer.write(b"\n")
        await writer.drain()
        await asyncio.sleep(_PAUSE)
    writer.write(usual_body())


async def endless_blanks(writer: asyncio.StreamWriter) -> None:
    """Blank lines that keep the connection, and never a body."""
    writer.write(_HEADERS + b"\r\n")
    while True:
        writer.write(b"\n")
        await writer.drain()
        await asyncio.sleep(_PAUSE)


async def close_at_once(writer: asyncio.StreamWriter) -> None:
    """Nothing: the connection is closed behind it."""


async def reset(writer: asyncio.StreamWriter) -> None:
    """A connection that is reset."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def cut_in_headers(writer: asyncio.StreamWriter) -> None:
    """The beginning of the headers."""
    writer.write(_HEADERS[:30])


async def cut_in_body(writer: asyncio.StreamWriter) -> None:
    """Fewer bytes than announced."""
    writer.write(_with_length(usual_body())[:-40])


async def cut_in_chunks(writer: asyncio.StreamWriter) -> None:
    """A chunk, and no end."""
    part = usual_body()[:60]
    writer.write(_HEADERS + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(part), part))


async def bad_chunk(writer: asyncio.StreamWriter) -> None:
    """A chunk whose size is no number."""
    writer.write(_HEADERS + b"Transfer-Encoding: chunked\r\n\r\nmany\r\n" + usual_body() + b"\r\n0\r\n\r\n")


async def short_length(writer: asyncio.StreamWriter) -> None:
    """More bytes than announced."""
    body = usual_body()
    writer.write(_HEADERS + b"Content-Length: %d\r\n\r\n" % (len(body) // 2) + body)


async def not_http(writer: asyncio.StreamWriter) -> None:
    """Bytes that are not HTTP."""
    writer.write(b"\xff\xfe\x00 \xc3\x28 220 mail.example.org ESMTP\r\n\r\n")


async def long_headers(writer: asyncio.StreamWriter) -> None:
    """A header that is too long for any client."""
    writer.write(_with_length(usual_body(), b"X-Trace: " + b"x" * 200_000 + b"\r\n"))


async def not_packed(writer: asyncio.StreamWriter) -> None:
    """A plain body with the header of a packed one."""
    writer.write(_with_length(usual_body(), b"Content-Encoding: gzip\r\n"))


async def half_packed(writer: asyncio.StreamWriter) -> None:
    """Half of a packed body."""
    packed_body = gzip.compress(usual_body())
    writer.write(_with_length(packed_body[: len(packed_body) // 2], b"Content-Encoding: gzip\r\n"))


async def packed(writer: asyncio.StreamWriter) -> None:
    """A packed body."""
    writer.write(_with_length(gzip.compress(usual_body()), b"Content-Encoding: gzip\r\n"))


@cache
def _packed_bomb() -> bytes:
    return gzip.compress(b" " * 60_000_000)


async def bomb(writer: asyncio.StreamWriter) -> None:
    """A small packed body that unfolds into sixty megabytes."""
    writer.write(_with_length(_packed_bomb(), b"Content-Encoding: gzip\r\n"))


async def chunked(writer: asyncio.StreamWriter) -> None:
    """A body in chunks of one byte."""
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in usual_body())
    writer.write(_HEADERS + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")


async def no_length(writer: asyncio.StreamWriter) -> None:
    """A body whose end is the end of the connection."""
    writer.write(_HEADERS + b"\r\n" + usual_body())


_ALL: tuple[Wire, ...] = (
    byte_order_mark, invalid_utf8, deep, huge, no_content, hang, hang_in_body, trickle, blanks_then_answer,
    endless_blanks, close_at_once, reset, cut_in_headers, cut_in_body, cut_in_chunks, bad_chunk, short_length,
    not_http, long_headers, not_packed, half_packed, packed, bomb, chunked, no_length,
)  # fmt: skip
WIRES: dict[str, Wire] = {wire.__name__: wire for wire in _ALL}
