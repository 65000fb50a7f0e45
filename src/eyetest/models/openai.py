"""``openai:MODEL@URL``: any endpoint that speaks OpenAI's chat completions (vLLM, SGLang, llama.cpp, Ollama, hosted).

The body is put together from parts that are encoded once: a picture's data URL goes in as it is, without being parsed
or escaped again. One session a model keeps its connections open.
"""

import asyncio
import os
import re
import ssl
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec
from yarl import URL

from eyetest.errors import InputError
from eyetest.models.base import Backend, Blame, Call, CallError, Surroundings, target_of
from eyetest.models.replies import read_completion, read_failure
from eyetest.records import Message, ModelEntry, Part, Request, Response, Words
from eyetest.redaction import learn, learn_address, learn_values, plain_address, plain_variable, plain_word, redact

_SPEC = re.compile(r"(?P<model>.+)@(?P<url>https?://[^\s@]+)", re.IGNORECASE | re.DOTALL)
_DEFAULT_URL = "https://api.openai.com/v1"
_LARGEST_REPLY = 32 * 2**20
_LARGEST_ERROR = 2**18
"""Of an error no more than this is looked at."""
_LARGE_REPLY = 2**20
_LARGE_AT_ONCE = 4
"""Replies larger than an answer should be are read a few at a time, so that all together fit into memory."""
_OPENAI_HOST = "api.openai.com"
_SUSPICIOUS = ("key", "token", "secret", "password", "auth")
_CONTINUE = {"add_generation_prompt": False, "continue_final_message": True}
_encode = msgspec.json.Encoder().encode


class OpenAIModel:
    """A model behind an endpoint."""

    likelihoods = False
    knows_items = False

    def __init__(self, name: str, entry: ModelEntry, surroundings: Surroundings) -> None:
        self.name, self.entry, self._world = name, entry, surroundings
        target, url = parse_target(target_of(entry.spec))
        learn_address(url)
        learn_values(entry.sampling)
        base = URL(url)
        self._url = (base / "chat" / "completions").with_query(base.query)
        self._host = f"{base.host}:{base.port}"
        self._key = key_for(url, entry.key_env)
        self.settings: dict[str, Any] = {"model": target, **entry.sampling}
        if entry.logprobs is not None:
            self.settings |= {"logprobs": True, "top_logprobs": entry.logprobs}
        if entry.detail:
            self.settings["detail"] = entry.detail
        self._proxy = _proxy_for(base)
        self._session: aiohttp.ClientSession | None = None

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

    def body(self, request: Request) -> bytes:
        """Exactly what is sent."""
        settings = dict(request.settings)
        detail = settings.pop("detail", None)
        messages = [self._message(message, detail) for message in request.prompt.messages]
        if request.prompt.prefill:
            messages.append({"role": "assistant", "content": request.prompt.prefill})
            settings = _CONTINUE | settings
        return _encode({**settings, "messages": messages})

    async def answer(self, call: Call) -> Response:
        """One attempt, as a response or as a CallError that says what can be done about it."""
        assert self._session is not None
        body = self.body(call.request)
        try:
            async with self._session.post(
                self._url, data=_Body(body), allow_redirects=False, proxy=self._proxy
            ) as reply:
                if reply.status != 200:
                    raise read_failure(reply.status, reply.headers, await _beginning(reply))
                data = await self._read(reply)
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
        return read_completion(call.id, data, reply.charset or "")

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

    def _message(self, message: Message, detail: str | None) -> dict[str, Any]:
        if all(isinstance(part, Words) for part in message.parts):
            return {"role": message.role, "content": message.text}
        return {"role": message.role, "content": [self._part(part, detail) for part in message.parts]}

    def _part(self, part: Part, detail: str | None) -> dict[str, Any]:
        if isinstance(part, Words):
            return {"type": "text", "text": part.text}
        url: dict[str, Any] = {"url": msgspec.Raw(b'"%s"' % self._world.pictures.data_url(part))}
        return {"type": "image_url", "image_url": url | ({"detail": detail} if detail else {})}


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


def _proxy_for(url: URL) -> str | None:
    """The proxy that the environment names for an address, if it names one."""
    proxy = None if proxy_bypass(url.host or "") else getproxies().get(url.scheme)
    if proxy is None:
        return None
    learn_address(proxy)
    try:
        if URL(proxy).host and URL(proxy).scheme in ("http", "https"):
            return proxy
    except ValueError:
        pass
    raise InputError(f"the environment's {url.scheme}_proxy is no address of an http proxy: http://host:port")


def parse_target(target: str) -> tuple[str, str]:
    """``MODEL@URL`` as its two halves; without a URL it is OpenAI's own service."""
    address = re.search("@(https?://.*)", target, re.IGNORECASE | re.DOTALL)
    if address:
        refuse_keys_in(address[1])
    match = _SPEC.fullmatch(target)
    if match is None:
        if "@" in target or "://" in target or not target:
            model = plain_word(target)
            raise InputError(f"openai:{model} needs an address: openai:MODEL@URL, such as http://host:8000/v1")
        return target, _DEFAULT_URL
    url = match["url"].rstrip("/")
    parts = urlsplit(url)
    try:
        usable = bool(URL(url).host) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InputError(f"openai:{plain_word(match['model'])}@… has no address that can be: http://host:8000/v1")
    if parts.path.endswith("/chat/completions"):
        raise InputError(f"{plain_address(url)}: leave /chat/completions off the end")
    return match["model"], url


class Secret:
    """A key that cannot be printed by accident, and that is taken out of all texts from now on."""

    def __init__(self, value: str) -> None:
        self._value = value
        learn(value)

    def header(self) -> dict[str, str]:
        """What the server is shown."""
        return {"Authorization": f"Bearer {self._value}"} if self._value else {}

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not to be stored")


def key_for(url: str, variable: str | None) -> Secret:
    """The key for an endpoint.

    A variable that was named is used as it is. Otherwise OPENAI_API_KEY goes to OpenAI and to nobody else, and
    EYETEST_API_KEY to any other endpoint.
    """
    if variable is None:
        variable = "OPENAI_API_KEY" if urlsplit(url).hostname == _OPENAI_HOST else "EYETEST_API_KEY"
        return _checked_key(os.environ.get(variable, ""), variable)
    if variable not in os.environ:
        name = plain_variable(variable) or "that key_env names"
        raise InputError(f"the environment variable {name} is not set; key_env is its name, not the key itself")
    return _checked_key(os.environ[variable], variable)


def refuse_keys_in(url: str) -> None:
    """A key in an address would be in shell histories and lists of processes, so it is not taken from there."""
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


def _checked_key(value: str, variable: str) -> Secret:
    value = value.strip()
    if not value.isprintable() or not value.isascii():
        name = plain_variable(variable) or "the variable that key_env names"
        raise InputError(f"the key in {name} holds characters that no key has")
    return Secret(value)


BACKEND = Backend("openai", "any OpenAI-compatible endpoint: openai:MODEL@URL", OpenAIModel)
