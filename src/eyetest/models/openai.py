"""``openai:MODEL@URL``: any endpoint that speaks OpenAI's chat completions (vLLM, SGLang, llama.cpp, Ollama, hosted).

The body is put together from parts that are encoded once: a picture's data URL goes in as it is, without being parsed
or escaped again. One session a model keeps its connections open.
"""

import re
import ssl
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec
from yarl import URL

from eyetest.errors import InputError, short
from eyetest.models.base import Call, CallError, Model, Surroundings, target_of
from eyetest.models.replies import read_completion, read_failure
from eyetest.models.secret import key_for, refuse_keys_in
from eyetest.records import Message, ModelEntry, Part, Request, Response, Words

_SPEC = re.compile(r"(?P<model>.+)@(?P<url>https?://[^\s@]+)")
_DEFAULT_URL = "https://api.openai.com/v1"
_LARGEST_REPLY = 32 * 2**20
_CONTINUE = {"add_generation_prompt": False, "continue_final_message": True}
_encode = msgspec.json.Encoder().encode


class OpenAIModel:
    """A model behind an endpoint."""

    likelihoods = False
    knows_items = False

    def __init__(self, name: str, entry: ModelEntry, surroundings: Surroundings) -> None:
        self.name, self.entry, self._world = name, entry, surroundings
        target, url = parse_target(target_of(entry.spec))
        base = URL(url)
        self._url = (base / "chat" / "completions").with_query(base.query)
        self._host = urlsplit(url).netloc
        self._key = key_for(url, entry.key_env)
        self.settings: dict[str, Any] = {"model": target, **entry.sampling}
        if entry.logprobs is not None:
            self.settings |= {"logprobs": True, "top_logprobs": entry.logprobs}
        if entry.detail:
            self.settings["detail"] = entry.detail
        proxies = {} if proxy_bypass(urlsplit(url).hostname or "") else getproxies()
        self._proxy = proxies.get(urlsplit(url).scheme)
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Make the session that all calls share."""
        surroundings = self._world
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
                data = await _read(reply)
                if reply.status != 200:
                    raise read_failure(reply.status, reply.headers, data, self._key.scrub)
        except (aiohttp.ClientConnectorDNSError, aiohttp.ClientConnectorCertificateError, ssl.SSLError) as error:
            raise self._failed("unreachable", f"cannot reach {self._host}: {error}", hopeless=True) from None
        except aiohttp.ClientConnectorError as error:
            reason = error.os_error.strerror or str(error.os_error)
            raise self._failed("unreachable", f"cannot reach {self._host}: {reason}", passing=True) from None
        except (TimeoutError, aiohttp.ServerTimeoutError) as error:
            words = str(error) or f"no complete answer within {self._world.total_seconds:g} s"
            raise self._failed("timeout", words, passing=True) from None
        except (aiohttp.ClientError, ConnectionError) as error:
            raise self._failed("connection", str(error) or type(error).__name__, passing=True) from None
        return read_completion(call.id, data, self._key.scrub)

    def _message(self, message: Message, detail: str | None) -> dict[str, Any]:
        if all(isinstance(part, Words) for part in message.parts):
            return {"role": message.role, "content": message.text}
        return {"role": message.role, "content": [self._part(part, detail) for part in message.parts]}

    def _part(self, part: Part, detail: str | None) -> dict[str, Any]:
        if isinstance(part, Words):
            return {"type": "text", "text": part.text}
        url: dict[str, Any] = {"url": msgspec.Raw(b'"%s"' % self._world.pictures.data_url(part))}
        return {"type": "image_url", "image_url": url | ({"detail": detail} if detail else {})}

    def _failed(self, kind: str, words: str, *, passing: bool = False, hopeless: bool = False) -> CallError:
        return CallError(kind, self._key.scrub(words), passing=passing, hopeless=hopeless)


class _Body(aiohttp.BytesPayload):
    """Bytes of any size; aiohttp's own warns of large ones, which pictures are."""

    def __init__(self, body: bytes) -> None:
        aiohttp.Payload.__init__(self, body, content_type="application/json")
        self._size = len(body)


async def _read(reply: aiohttp.ClientResponse) -> bytes:
    """The body, unpacked, as long as it is not larger than any answer can be."""
    data = b""
    while more := await reply.content.readany():
        data = data + more if data else more
        if len(data) > _LARGEST_REPLY:
            raise CallError("garbage", f"a reply of more than {_LARGEST_REPLY:,} bytes")
    return data


def parse_target(target: str) -> tuple[str, str]:
    """``MODEL@URL`` as its two halves; without a URL it is OpenAI's own service."""
    model, at, address = target.partition("@http")
    if at:
        refuse_keys_in(f"http{address}")
    found = _SPEC.fullmatch(target)
    if found is None:
        if "@" in target or "://" in target or not target:
            raise InputError(
                f"openai: {short(model)} needs an address: openai:MODEL@URL, such as http://host:8000/v1"
            )
        return target, _DEFAULT_URL
    url = found["url"].rstrip("/")
    if url.endswith("/chat/completions"):
        raise InputError(f"{short(url)}: leave /chat/completions off the end")
    return found["model"], url


class OpenAIBackend:
    """Any compatible endpoint."""

    name = "openai"
    summary = "any OpenAI-compatible endpoint: openai:MODEL@URL"

    def make(self, name: str, entry: ModelEntry, surroundings: Surroundings) -> Model:
        """A model behind an endpoint."""
        return OpenAIModel(name, entry, surroundings)


BACKEND = OpenAIBackend()
