"""The way to a server: one session that keeps its connections open, and whatever goes wrong on it as a CallError."""

import asyncio
import ssl
from typing import Any, TypeVar

import aiohttp
import msgspec
from yarl import URL

from eyetest.models.base import Blame, CallError, Surroundings
from eyetest.models.openai.address import Secret, proxy_for
from eyetest.models.replies import read_failure
from eyetest.redaction import redact

_LARGEST_REPLY = 32 * 2**20
_LARGEST_ERROR = 2**18
"""Of an error no more than this is looked at."""
_LARGE_REPLY = 2**20
_LARGE_AT_ONCE = 4
"""Replies larger than an answer should be are read a few at a time, so that all together fit into memory."""
encode = msgspec.json.Encoder().encode
Reply = TypeVar("Reply")


class Connection:
    """To one server, by the base of its addresses."""

    def __init__(self, base: URL, key: Secret, surroundings: Surroundings) -> None:
        self._base, self._key, self._world = base, key, surroundings
        self._host = f"{base.host}:{base.port}"
        self._proxy = proxy_for(base)
        self._session: aiohttp.ClientSession | None = None
        self.date = ""
        """What the server's clock said when it last answered, as it stands in its header."""

    async def open(self) -> None:
        """Make the session that all calls share."""
        surroundings = self._world
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
            headers={"Content-Type": "application/json", **self._key.header()},
            timeout=aiohttp.ClientTimeout(
                total=surroundings.total_seconds,
                sock_connect=surroundings.connect_seconds,
                sock_read=surroundings.first_byte_seconds,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    def beside(self, *parts: str) -> URL:
        """An address of the server itself, which lies beside the ``/v1`` of its OpenAI-like ones."""
        base = self._base.parent if self._base.name == "v1" else self._base
        return base.joinpath(*parts).with_query(self._base.query)

    def within(self, *parts: str) -> URL:
        """An address below the one that the spec names."""
        return self._base.joinpath(*parts).with_query(self._base.query)

    async def ask(self, url: URL, body: object, kind: type[Reply]) -> Reply:
        """What a server answers, as a record of that kind; without a body it is looked up, not posted."""
        data, _ = await self.send(url, None if body is None else encode(body))
        try:
            return msgspec.json.decode(data, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            words = f"{url.path} answers in a way that cannot be read: {' '.join(redact(str(error)).split())}"
            raise CallError("garbage", words, passing=True, blame="either") from None

    async def send(self, url: URL, body: bytes | None) -> tuple[bytes, str]:
        """One attempt: the body of a reply with status 200, and its charset."""
        assert self._session is not None
        how: dict[str, Any] = {"allow_redirects": False, "proxy": self._proxy}
        if body is not None:
            how["data"] = _Body(body)
        try:
            async with self._session.request("GET" if body is None else "POST", url, **how) as reply:
                self.date = reply.headers.get("Date", "")
                if reply.status != 200:
                    raise read_failure(reply.status, reply.headers, await _beginning(reply))
                return await self._read(reply), reply.charset or ""
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, ssl.SSLError) as error:
            raise self._unreachable(error) from None
        except aiohttp.ClientHttpProxyError as error:
            words = f"{error.status}: the proxy says {error.message}"
            raise _failed("proxy", words, "either") from None
        except TimeoutError as error:
            words = str(error) or f"no complete answer within {self._world.total_seconds:g} s"
            raise _failed("timeout", words, "either") from None
        except (aiohttp.ClientError, ConnectionError) as error:
            raise _failed("connection", str(error) or type(error).__name__, "either") from None

    def _unreachable(self, error: Exception) -> CallError:
        by = " through the proxy" if self._proxy else ""
        reason = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
        words = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        return _failed("unreachable", f"cannot reach {self._host}{by}: {words}", "endpoint")

    async def _read(self, reply: aiohttp.ClientResponse) -> bytes:
        """The body, unpacked, as long as it is not larger than any answer can be."""
        data = await _beginning(reply, _LARGE_REPLY)
        if len(data) > _LARGE_REPLY:
            async with self._large:
                data += await _beginning(reply, _LARGEST_REPLY)
        if len(data) > _LARGEST_REPLY:
            raise CallError("garbage", f"a reply of more than {_LARGEST_REPLY:,} bytes")
        return data


class _Body(aiohttp.BytesPayload):
    """Bytes of any size; aiohttp's own warns of large ones, which pictures are."""

    def __init__(self, body: bytes) -> None:
        aiohttp.Payload.__init__(self, body, content_type="application/json")
        self._size = len(body)


def _failed(kind: str, words: str, blame: Blame) -> CallError:
    """An attempt that came to nothing on the way, in the words of the library, which may quote a proxy's password."""
    return CallError(kind, " ".join(redact(words).split()), passing=True, blame=blame)


async def _beginning(reply: aiohttp.ClientResponse, most: int = _LARGEST_ERROR) -> bytes:
    """A body up to about so many bytes; more than that only where there is more."""
    data = bytearray()
    while len(data) <= most and (more := await reply.content.readany()):
        data += more
    return bytes(data)
