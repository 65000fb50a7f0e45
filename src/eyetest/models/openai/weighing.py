"""Likelihoods by requests: the common part, and SGLang, llama.cpp and endpoints that list likeliest tokens."""

import asyncio
import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Generic

import msgspec

from eyetest.models.base import CallError, grey_url, images_of
from eyetest.models.openai.connection import Connection, encode
from eyetest.models.replies import read_completion, read_first_token
from eyetest.models.trie import Beginning, Result, shared_start, side_by_side
from eyetest.records import GrayImage, ImagePart, Message, Part, Prompt, Words
from eyetest.records.item import IMPOSSIBLE
from eyetest.records.tables import Method

CONTINUE = {"add_generation_prompt": False, "continue_final_message": True}
STAND_IN = "stand-in-7391"
"""Takes an answer's place to find what a chat template writes before it; no template contains this word."""
_TEMPLATE = ("model", "chat_template", "chat_template_kwargs", "reasoning_effort", "documents", "tools")
_ANSWERING = (
    *("temperature", "top_p", "top_k", "min_p", "seed", "n", "stop", "stream", "detail"),
    *("max_tokens", "max_completion_tokens", "min_tokens", "logprobs", "top_logprobs"),
    *("presence_penalty", "frequency_penalty", "repetition_penalty", "logit_bias"),
)
DataUrl = Callable[[ImagePart | GrayImage], bytes]


def chat_messages(messages: Sequence[Message], data_url: DataUrl, detail: str | None = None) -> list[dict[str, Any]]:
    """Messages with each image as its data URL; a message without images is one text."""

    def written(part: Part) -> dict[str, Any]:
        if isinstance(part, Words):
            return {"type": "text", "text": part.text}
        url: dict[str, Any] = {"url": msgspec.Raw(data_url(part))}
        return {"type": "image_url", "image_url": url | ({"detail": detail} if detail else {})}

    contents = (
        message.text if all(isinstance(part, Words) for part in message.parts) else [*map(written, message.parts)]
        for message in messages
    )
    return [{"role": message.role, "content": content} for message, content in zip(messages, contents, strict=True)]


def assistant(text: str) -> dict[str, str]:
    """A message of the model itself."""
    return {"role": "assistant", "content": text}


def conversation(messages: Sequence[Any], begun: str) -> dict[str, Any]:
    """A body's messages, and the settings to continue a turn of the model that was begun."""
    return {**CONTINUE, "messages": [*messages, assistant(begun)]} if begun else {"messages": messages}


def with_stand_in(prompt: Prompt, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a conversation with an answer, for a chat template: tiny images and the stand-in."""
    messages = chat_messages(prompt.messages, lambda _: grey_url(8, 8))
    messages += [assistant(prompt.prefill + STAND_IN), {"role": "user", "content": "?"}]
    return {**template_settings(settings), "messages": messages}


def template_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that determine how a conversation is written."""
    return {name: settings[name] for name in _TEMPLATE if name in settings}


def reading_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without those about answers."""
    return {name: value for name, value in settings.items() if name not in _ANSWERING}


_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
_BYTES = {chr(byte): byte for byte in _PRINTABLE}
# The letters of byte-level tokenizers: printable bytes are themselves, the others follow
_BYTES |= {chr(256 + n): byte for n, byte in enumerate(byte for byte in range(256) if byte not in _PRINTABLE)}


class Tokenized(msgspec.Struct, frozen=True):
    """A text as tokenized by a server."""

    tokens: list[int]
    token_strs: list[str]


class TokenizedCandidate(msgspec.Struct, frozen=True):
    """A candidate after a prompt."""

    tokens: Beginning  # the tokens with its letters; a chat template may write something before them
    begins: tuple[str, ...]  # the text of the first token, the first two …; empty if unknown or cut in a character
    after: int | None  # the last token of the prompt; None where more than the candidate follows it


def behind(prompt: Tokenized, text: str, read: Tokenized) -> TokenizedCandidate:
    """A candidate, from the tokens without it and with it."""
    alike = shared_start((prompt.tokens, read.tokens))
    after = prompt.tokens[-1] if 0 < alike == len(prompt.tokens) else None
    letters = _letters(read.token_strs, text) if len(read.token_strs) == len(read.tokens) else None
    if letters is None:
        tokens = tuple(read.tokens[alike:])
        return TokenizedCandidate(tokens, ("",) * len(tokens), after)
    wanted, counted, size = text.encode(), 0, 0
    while size < len(wanted):
        counted += 1
        size += len(letters[-counted])
    begins = []
    for piece in letters[-counted:]:
        size -= len(piece)
        beginning = wanted[: max(0, len(wanted) - size)]
        begins.append(part if (part := beginning.decode(errors="ignore")).encode() == beginning else "")
    is_alone = len(letters) - counted == alike
    return TokenizedCandidate(tuple(read.tokens[-counted:]), tuple(begins), after if is_alone else None)


def _letters(pieces: Sequence[str], text: str) -> list[bytes] | None:
    """The text of each piece, if together they end in a text."""
    for spell in (_sentencepiece, _byte_level):
        letters = [spell(piece) for piece in pieces]
        if b"".join(letters).endswith(text.encode()):
            return letters
    return None


def _sentencepiece(piece: str) -> bytes:
    byte = _BYTE.fullmatch(piece)
    return bytes([int(byte[1], 16)]) if byte else piece.replace("▁", " ").encode()


def _byte_level(piece: str) -> bytes:
    return b"".join(bytes([_BYTES[letter]]) if letter in _BYTES else letter.encode() for letter in piece)


_LEADERS_KEPT = 4_096


class Usage(msgspec.Struct):
    """The tokens of one or more requests."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    def add(self, other: "Usage | None") -> None:
        """Add another request."""
        if other is not None:
            self.prompt_tokens += other.prompt_tokens
            self.completion_tokens += other.completion_tokens


Weights = Mapping[str, tuple[float | None, int]]
"""By candidate, its log-probability and the number of tokens that it is the sum of."""


class Way:
    """How a kind of server gives likelihoods."""

    name = ""
    methods: tuple[Method, ...] = ("likelihood", "first-token")

    def __init__(self, connection: Connection, data_url: DataUrl) -> None:
        self._connection, self._data_url, self._leaders = connection, data_url, Leaders()

    async def weigh(self, prompt: Prompt, settings: Mapping[str, Any], usage: Usage) -> Weights:
        """Score all candidates of a prompt, and add the tokens to ``usage``; raise a CallError if that fails."""
        raise NotImplementedError

    async def _ask(self, path: str, body: object, kind: type[Result]) -> Result:
        return await self._connection.ask(self._connection.beside(path), body, kind)


def before_answer(rendered: str, server: str) -> str:
    """The text of a conversation up to the stand-in for the answer."""
    begun, is_there, _ = rendered.rpartition(STAND_IN)
    if not is_there:
        raise CallError("bad-request", f"the chat template of {server}'s server leaves answers out")
    return begun


def sum_of(logs: Sequence[float | None]) -> float | None:
    """The sum of log-probabilities; None where one of them is unknown or impossible."""
    known = [log for log in logs if log is not None and log > IMPOSSIBLE]
    return sum(known) if len(known) == len(logs) else None


def refuse_empty(tokens: Sequence[int]) -> None:
    """Refuse a candidate without tokens: it would have probability 1."""
    if not tokens:
        raise CallError("garbage", "the server reads an answer as no token at all", passing=True, blame="either")


class Leaders:
    """Sends the first call with an image alone, so that later calls with it find it in the cache."""

    def __init__(self) -> None:
        self._first: OrderedDict[str, asyncio.Event] = OrderedDict()

    @asynccontextmanager
    async def turn(self, prompt: Prompt) -> AsyncIterator[None]:
        """Wait for the first call, or be it."""
        image = next((part.image.sha256 for part in images_of(prompt) if isinstance(part, ImagePart)), "")
        if not image:
            yield
        elif before := self._first.get(image):
            await before.wait()
            yield
        else:
            self._first[image] = done = asyncio.Event()
            while len(self._first) > _LEADERS_KEPT:
                self._first.popitem(last=False)[1].set()
            try:
                yield
            except BaseException:
                self._first.pop(image, None)
                raise
            finally:
                done.set()


_MOST_LISTED = 20


class _Tokens(msgspec.Struct, Generic[Result]):
    tokens: Result


class _Text(msgspec.Struct):
    text: str


class _Meta(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int = 0
    input_token_logprobs: list[tuple[float | None, int, str | None]] | None = None


class _Generated(msgspec.Struct):
    meta_info: _Meta


class SglangServer(Way):
    """A request for the prompt, then parallel requests for the candidates."""

    name = "SGLang, each candidate behind the cached prompt (/generate)"

    async def weigh(self, prompt: Prompt, settings: Mapping[str, Any], usage: Usage) -> Weights:
        """Score all candidates of a prompt."""
        begun, texts = await self._begin(prompt, settings), list(dict.fromkeys(prompt.candidates))
        body = {"prompt": [begun, *(begun + text for text in texts)], "add_special_tokens": False}
        before, *read = (await self._ask("tokenize", body, _Tokens[list[list[int]]])).tokens
        shown = images_of(prompt)
        urls = [msgspec.Raw(self._data_url(part)) for part in shown]

        def given(text: str, tokens: Sequence[int]) -> dict[str, Any]:
            return {"text": text, "image_data": urls} if shown else {"input_ids": tokens}

        async with self._leaders.turn(prompt):
            size = (await self._generate(given(begun, before), usage)).prompt_tokens

        async def weigh(text: str, tokens: list[int]) -> tuple[float | None, int]:
            alike = shared_start((before, tokens))
            refuse_empty(tokens[alike:])
            start = size - (len(before) - alike) - 1
            asked = given(begun + text, tokens) | {"return_logprob": True, "logprob_start_len": start}
            scored = ((await self._generate(asked, usage)).input_token_logprobs or [])[1:]
            if [token for _, token, _ in scored] != tokens[alike:]:
                raise CallError("bad-request", "SGLang reads the answer otherwise behind an image")
            logs = [log for log, *_ in scored][: 1 if prompt.first_token else None]
            return sum_of(logs), len(logs)

        weighed = await side_by_side(weigh(*pair) for pair in zip(texts, read, strict=True))
        return dict(zip(texts, weighed, strict=True))

    async def _begin(self, prompt: Prompt, settings: Mapping[str, Any]) -> str:
        """The text of the conversation up to the answer, by the server's chat template."""
        rendered = await self._ask("tokenize", with_stand_in(prompt, settings), _Tokens[list[int]])
        whole = {"tokens": rendered.tokens, "skip_special_tokens": False}
        return before_answer((await self._ask("detokenize", whole, _Text)).text, "SGLang")

    async def _generate(self, asked: dict[str, Any], usage: Usage) -> _Meta:
        body = asked | {"sampling_params": {"max_new_tokens": 0, "temperature": 0}}
        meta = (await self._ask("generate", body, _Generated)).meta_info
        usage.add(Usage(meta.prompt_tokens, meta.completion_tokens))
        return meta


class _Props(msgspec.Struct):
    total_slots: int
    media_marker: str = "<__media__>"


class _Rendered(msgspec.Struct):
    prompt: str


class _Piece(msgspec.Struct):
    id: int
    piece: str | list[int]


class _Written(msgspec.Struct):
    id: int
    logprob: float


class _Answer(msgspec.Struct):
    completion_probabilities: list[_Written]
    tokens_evaluated: int = 0
    tokens_predicted: int = 0


class LlamaServer(Way):
    """One candidate after the other, so that each finds the prompt in a slot's cache."""

    name = "llama.cpp, each candidate written by a grammar of its tokens"
    _props: _Props | None = None

    async def weigh(self, prompt: Prompt, settings: Mapping[str, Any], usage: Usage) -> Weights:
        """Score all candidates of a prompt."""
        if self._props is None:
            self._props = await self._ask("props", None, _Props)
            self._slots = asyncio.Semaphore(max(1, self._props.total_slots))
        async with self._slots:  # more requests than slots would evict each other's cache
            return await self._weigh(prompt, settings, self._props.media_marker, usage)

    async def _weigh(self, prompt: Prompt, settings: Mapping[str, Any], marker: str, usage: Usage) -> Weights:
        rendered = await self._ask("apply-template", with_stand_in(prompt, settings), _Rendered)
        begun = before_answer(rendered.prompt, "llama.cpp")
        shown = images_of(prompt)
        head, mark, tail = begun.rpartition(marker) if shown else ("", "", begun)
        before = await self._read(tail, is_whole=not shown)
        data = [msgspec.Raw(b'"' + self._data_url(part).partition(b",")[2]) for part in shown]
        known: dict[str, tuple[float | None, int]] = {}
        for candidate in dict.fromkeys(prompt.candidates):
            read = await self._read(tail + candidate, is_whole=not shown)
            tokens = [piece.id for piece in read]
            alike = shared_start(([piece.id for piece in before], tokens))
            if any(not isinstance(piece.piece, str) for piece in read[alike:]):
                raise CallError("bad-request", "llama.cpp does not tell how likely a part of a letter is")
            asked: dict[str, Any] = {"prompt": tokens[:alike]}
            if shown:
                asked["prompt"] = {"prompt_string": head + mark + _cut(tail, before[alike:]), "multimodal_data": data}
            wanted = tokens[alike : alike + 1 if prompt.first_token else None]
            refuse_empty(wanted)
            answer = await self._ask("completion", asked | _forced(wanted), _Answer)
            usage.add(Usage(answer.tokens_evaluated, answer.tokens_predicted))
            written = answer.completion_probabilities[: len(wanted)]
            if [token.id for token in written] != wanted:
                raise CallError("garbage", "llama.cpp wrote other tokens than its grammar allows", passing=True)
            known[candidate] = sum_of([token.logprob for token in written]), len(wanted)
        return known

    async def _read(self, text: str, *, is_whole: bool) -> list[_Piece]:
        """A text as tokens; the server tokenizes what follows an image separately."""
        body = {"content": text, "add_special": is_whole, "parse_special": True, "with_pieces": True}
        return (await self._ask("tokenize", body, _Tokens[list[_Piece]])).tokens


def _forced(tokens: Sequence[int]) -> dict[str, Any]:
    """Settings that force these tokens; without id_slot, which gave other numbers for parallel requests."""
    grammar = "root ::= " + " ".join(f"<[{token}]>" for token in tokens)
    how = {"n_predict": len(tokens), "n_probs": 1, "temperature": 0, "cache_prompt": True}
    return {**how, "grammar": grammar, "response_fields": _Answer.__struct_fields__}


def _cut(text: str, pieces: Sequence[_Piece]) -> str:
    """A text without its last tokens, which may merge with the answer that follows."""
    size = sum(len(part.piece.encode()) if isinstance(part.piece, str) else len(part.piece) for part in pieces)
    return text.encode()[: len(text.encode()) - size].decode(errors="ignore")


class TopLogprobs(Way):
    """One request for one token; an option letter that is not listed has no number."""

    name = "the likeliest first tokens alone (top_logprobs)"
    methods: tuple[Method, ...] = ("first-token",)

    async def weigh(self, prompt: Prompt, settings: Mapping[str, Any], usage: Usage) -> Weights:
        """Score all candidates of a prompt, each an option letter."""
        limit = next((name for name in ("max_completion_tokens", "max_tokens") if name in settings), "max_tokens")
        messages = chat_messages(prompt.messages, self._data_url, settings.get("detail"))
        body = {**reading_settings(settings), "temperature": 0, limit: 1, **conversation(messages, prompt.prefill)}
        body |= {"logprobs": True, "top_logprobs": _MOST_LISTED}
        url = self._connection.within("chat", "completions")
        data = await self._connection.send(url, encode(body))
        reply, first = read_completion("", data), read_first_token(data)
        if reply.outcome not in ("answered", "truncated"):
            kind = "blocked" if reply.outcome == "blocked" else "bad-request"
            raise CallError(kind, reply.detail or f'200: no first token to weigh (finish reason "{reply.finish}")')
        if not first:
            raise CallError("bad-request", "no log-probabilities beside the answer")
        listed = {token.strip(): log for token, log in sorted(first, key=lambda pair: pair[1])}
        usage.add(Usage(reply.tokens_in or 0, reply.tokens_out or 0))
        return {mark: (listed.get(mark), 1) for mark in prompt.candidates}
