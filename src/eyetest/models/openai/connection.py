"""The address and key of an endpoint, and a session whose failures are CallErrors."""

import asyncio
import os
import re
import ssl
from collections.abc import Iterable
from contextlib import suppress
from typing import TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec
from yarl import URL

from eyetest.errors import InputError
from eyetest.models.base import Blame, CallError, Surroundings
from eyetest.models.replies import read_failure
from eyetest.redaction import learn, learn_address, plain_address, plain_variable, plain_word, redact

_SPEC = re.compile(r"(?P<model>.+)@(?P<url>https?://[^\s@]+)", re.IGNORECASE | re.DOTALL)
_DEFAULT_URL = "https://api.openai.com/v1"
_ALLOWED = "EYETEST_ALLOW_ENV"
_PREFIX = "EYETEST_"
_PROVIDERS = {
    "OPENAI_API_KEY": "api.openai.com",
    "ANTHROPIC_API_KEY": "api.anthropic.com",
    "GEMINI_API_KEY": "generativelanguage.googleapis.com",
    "OPENROUTER_API_KEY": "openrouter.ai",
    "MISTRAL_API_KEY": "api.mistral.ai",
    "GROQ_API_KEY": "api.groq.com",
    "DEEPSEEK_API_KEY": "api.deepseek.com",
    "TOGETHER_API_KEY": "api.together.xyz",
    "FIREWORKS_API_KEY": "api.fireworks.ai",
}  # variables that may go to one host without permission, over https: that of the service that issues the key
_SUSPICIOUS = ("key", "token", "secret", "password", "auth")


def proxy_for(url: URL) -> str | None:
    """The proxy that the environment sets for an address, if any."""
    proxy = None if proxy_bypass(url.host or "") else getproxies().get(url.scheme)
    if proxy is None:
        return None
    learn_address(proxy)
    with suppress(ValueError):
        if URL(proxy).host and URL(proxy).scheme in ("http", "https"):
            return proxy
    raise InputError(f"the environment's {url.scheme}_proxy is no address of an http proxy: http://host:port")


def parse_target(target: str) -> tuple[str, str]:
    """The two parts of ``MODEL@URL``; without a URL it is OpenAI's own service."""
    if address := re.search("@(https?://.*)", target, re.IGNORECASE | re.DOTALL):
        refuse_keys_in(address[1])
    match = _SPEC.fullmatch(target)
    if match is None:
        if "@" in target or "://" in target or not target:
            model = plain_word(target)
            raise InputError(f"openai:{model} needs an address: openai:MODEL@URL, such as http://host:8000/v1")
        return target, _DEFAULT_URL
    url, usable = match["url"].rstrip("/"), False
    with suppress(ValueError):
        usable = bool(URL(url).host) and urlsplit(url).port != 0
    if not usable:
        raise InputError(f"openai:{plain_word(match['model'])}@… has no address that can be: http://host:8000/v1")
    if urlsplit(url).path.endswith("/chat/completions"):
        raise InputError(f"{plain_address(url)}: leave /chat/completions off the end")
    return match["model"], url


class Secret:
    """A key that cannot be printed by accident and is redacted in all texts from now on."""

    def __init__(self, value: str, sent: str = "") -> None:
        """``sent``: which variable goes to which host, as text."""
        self._value, self.sent = value, sent if value else ""
        learn(value)

    def header(self) -> dict[str, str]:
        """The value for the authorization header."""
        return {"Authorization": f"Bearer {self._value}"} if self._value else {}

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not to be stored")


def key_for(url: str, named: str | None) -> Secret:
    """The key for an endpoint, from the named variable or the usual one for its host."""
    variable = key_variable(url, named)
    shown = plain_variable(variable) or "that key_env names"
    if named is not None and variable not in os.environ:
        raise InputError(f"the environment variable {shown} is not set; key_env is its name, not the key itself")
    value = os.environ.get(variable, "").strip()
    if not value.isprintable() or not value.isascii():
        raise InputError(f"the key in the variable {shown} holds characters that no key has")
    return Secret(value, f"the key in {shown} is sent to {urlsplit(url).hostname}")


def key_variable(url: str, named: str | None) -> str:
    """The environment variable with the key for an endpoint; refused unless the user allows sending it."""
    parts = urlsplit(url)
    host = (parts.hostname or "") if parts.scheme.lower() == "https" else ""
    variable = named or ("OPENAI_API_KEY" if host == _PROVIDERS["OPENAI_API_KEY"] else f"{_PREFIX}API_KEY")
    allowed = os.environ.get(_ALLOWED, "").replace(",", " ").split()
    if variable.startswith(_PREFIX) or _PROVIDERS.get(variable, "") == host != "" or variable in allowed:
        return variable
    shown = plain_variable(variable)
    raise InputError(
        f"the variable {shown or 'that key_env names'} may not be sent to {parts.hostname} without permission: "
        f"eyetest --allow-env {shown or 'NAME'} …, or {_ALLOWED}={shown or 'NAME'} in the environment"
    )


def allow_variables(names: Iterable[str]) -> None:
    """Allow sending these environment variables to the hosts that model entries name."""
    os.environ[_ALLOWED] = " ".join([os.environ.get(_ALLOWED, ""), *names])


def refuse_keys_in(url: str) -> None:
    """Refuse a key in an address: it would be in shell histories and process lists."""
    try:
        parts = urlsplit(url)
        carries = parts.username is not None or any(word in parts.query.lower() for word in _SUSPICIOUS)
    except ValueError:
        return
    if carries:
        raise InputError(
            f"the address of {parts.hostname} carries a key or password; "
            "put it into an environment variable and name that with key_env"
        )


_LARGEST_REPLY = 32 * 2**20
_LARGEST_ERROR = 2**18
_LARGE_REPLY = 2**20
_LARGE_AT_ONCE = 4  # replies of unusual size are read a few at a time, so that together they fit into memory
encode = msgspec.json.Encoder().encode
Reply = TypeVar("Reply")


class Connection:
    """A connection to a server, by its base address."""

    def __init__(self, base: URL, key: Secret, surroundings: Surroundings) -> None:
        self._base, self._key, self._world = base, key, surroundings
        self._host = f"{base.host}:{base.port}"
        self._proxy = proxy_for(base)
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Open the session that all calls share."""
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
            headers={"Content-Type": "application/json", **self._key.header()},
            timeout=aiohttp.ClientTimeout(
                total=self._world.total_seconds,
                sock_connect=self._world.connect_seconds,
                sock_read=self._world.first_byte_seconds,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=self._proxy,
        )

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    def beside(self, *parts: str) -> URL:
        """An address of the server itself, beside the ``/v1`` of its OpenAI routes."""
        base = self._base.parent if self._base.name == "v1" else self._base
        return base.joinpath(*parts).with_query(self._base.query)

    def within(self, *parts: str) -> URL:
        """An address below the one in the spec."""
        return self._base.joinpath(*parts).with_query(self._base.query)

    async def ask(self, url: URL, body: object, kind: type[Reply]) -> Reply:
        """A server's reply as a record of that kind: GET without a body, else POST."""
        data = await self.send(url, None if body is None else encode(body))
        try:
            return msgspec.json.decode(data, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            words = f"{url.path} answers in a way that cannot be read: {' '.join(redact(str(error)).split())}"
            raise CallError("garbage", words, passing=True, blame="either") from None

    async def send(self, url: URL, body: bytes | None) -> bytes:
        """One attempt: the body of a reply with status 200."""
        assert self._session is not None
        method, data = ("GET", None) if body is None else ("POST", _Body(body))
        try:
            async with self._session.request(method, url, data=data, allow_redirects=False) as reply:
                if reply.status != 200:
                    raise read_failure(reply.status, reply.headers, await _beginning(reply))
                return await self._read(reply)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, ssl.SSLError) as error:
            raise self._unreachable(error) from None
        except aiohttp.ClientHttpProxyError as error:
            raise _failed("proxy", f"{error.status}: the proxy says {error.message}") from None
        except TimeoutError as error:
            words = str(error) or f"no complete answer within {self._world.total_seconds:g} s"
            raise _failed("timeout", words) from None
        except (aiohttp.ClientError, ConnectionError) as error:
            raise _failed("connection", str(error) or type(error).__name__) from None

    def _unreachable(self, error: Exception) -> CallError:
        by = " through the proxy" if self._proxy else ""
        reason = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
        words = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        return _failed("unreachable", f"cannot reach {self._host}{by}: {words}", "endpoint")

    async def _read(self, reply: aiohttp.ClientResponse) -> bytes:
        """The decompressed body, up to the largest size that an answer can have."""
        data = await _beginning(reply, _LARGE_REPLY)
        if len(data) > _LARGE_REPLY:
            async with self._large:
                data += await _beginning(reply, _LARGEST_REPLY)
        if len(data) > _LARGEST_REPLY:
            raise CallError("garbage", f"a reply of more than {_LARGEST_REPLY:,} bytes")
        return data


class _Body(aiohttp.BytesPayload):
    """Bytes of any size; aiohttp's own class warns of large ones, which images are."""

    def __init__(self, body: bytes) -> None:
        aiohttp.Payload.__init__(self, body, content_type="application/json")
        self._size = len(body)


def _failed(kind: str, words: str, blame: Blame = "either") -> CallError:
    """A transport error with the library's message, which may quote a proxy's password."""
    return CallError(kind, " ".join(redact(words).split()), passing=True, blame=blame)


async def _beginning(reply: aiohttp.ClientResponse, most: int = _LARGEST_ERROR) -> bytes:
    """A body up to about so many bytes."""
    data = bytearray()
    while len(data) <= most and (more := await reply.content.readany()):
        data += more
    return bytes(data)
