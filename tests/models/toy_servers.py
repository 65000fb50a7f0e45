"""Servers of four dialects around one toy language model, each with as much of its dialect as likelihoods need.

The language model gives every token a log-probability that depends on all tokens before it, so that a token that is
missing, doubled or read otherwise changes every sum. Its tokenizer cuts words so that some beginnings of texts are
read otherwise than the whole, and letters beyond ASCII into bytes.
"""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from tests.endpoint import Attempt, Endpoint, completion, draw

_SPECIAL = re.compile(r"(<\|\w+\|>|<image>)")
_WORDS = re.compile(r" ?[A-Za-z]+|\d| ?[^\sA-Za-z\d]|\s")
_CUT = {"twofold": ("twof", "old"), "twof": ("two", "f")}
"""``twofold`` is two tokens of which the first, by itself, is read as two others."""
IMPOSSIBLE = "never"
_IMAGE_TOKENS = 4
Message = dict[str, Any]


class ToyTokenizer:
    """Pieces of bytes, numbered as they are met."""

    def __init__(self) -> None:
        self._ids: dict[bytes, int] = {}
        self._pieces: list[bytes] = []

    def encode(self, text: str) -> list[int]:
        tokens = []
        for part in _SPECIAL.split(text):
            if _SPECIAL.fullmatch(part):
                tokens.append(self.number(part.encode()))
                continue
            for word in _WORDS.findall(part):
                for piece in _pieces(word):
                    tokens.append(self.number(piece))
        return tokens

    def number(self, piece: bytes) -> int:
        if piece not in self._ids:
            self._ids[piece] = len(self._pieces)
            self._pieces.append(piece)
        return self._ids[piece]

    def piece(self, token: int) -> bytes:
        return self._pieces[token]

    def decode(self, tokens: Iterable[int]) -> str:
        return b"".join(map(self.piece, tokens)).decode(errors="replace")


def _pieces(word: str) -> list[bytes]:
    space, bare = word[: len(word) - len(word.lstrip())], word.lstrip()
    if bare in _CUT:
        first, *rest = _CUT[bare]
        return [(space + first).encode(), *(piece.encode() for piece in rest)]
    return [word.encode()] if word.isascii() else [bytes([byte]) for byte in word.encode()]


class ToyServer(Endpoint):
    """What all dialects share: a chat template, images as tokens, and the language model."""

    gap = ""
    """What the template writes before an answer, and not at the end of a prompt."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.tokenizer = ToyTokenizer()

    def render(self, messages: Sequence[Message], *, is_open: bool = False, generation: bool = True) -> str:
        """A conversation as text, in which images are letters; the last message may be left open."""
        written = []
        for message in messages:
            gap = self.gap if message["role"] == "assistant" else ""
            written.append(f"<|{message['role']}|>{gap}{_words(message['content'])}<|end|>")
        text = "".join(written)
        if is_open:  # like real ones, without blanks at the end
            return text.removesuffix("<|end|>").rstrip()
        return text + ("<|assistant|>" if generation else "")

    def expanded(self, tokens: Sequence[int], images: Sequence[str]) -> list[int]:
        """Tokens in which each image is as many as it takes, which depend on what it shows."""
        left, mark, wide = iter(images), self.tokenizer.number(b"<image>"), list[int]()
        for token in tokens:
            if token == mark:
                name = f"<image {draw(next(left).partition(',')[2])}>".encode()
                wide += [self.tokenizer.number(name)] * _IMAGE_TOKENS
            else:
                wide.append(token)
        return wide

    def log(self, before: Sequence[int], token: int) -> float:
        if self.tokenizer.piece(token).strip() == IMPOSSIBLE.encode():
            return -math.inf
        pieces = [self.tokenizer.piece(one) for one in (*before, token)]
        return -0.5 - 5 * draw(*pieces)

    def direct(
        self, messages: Sequence[Message], candidate: str, *, first_token: bool = False, prefill: str = ""
    ) -> tuple[float, int]:
        """The sum over the tokens that hold a candidate's letters, and their number: what every way has to give."""
        begun = self.render([*messages, {"role": "assistant", "content": f"{prefill}answer"}], is_open=True)
        begun = begun.removesuffix("answer")
        tokens = self.tokenizer.encode(begun + candidate)
        ends, size = [], 0
        for token in tokens:
            size += len(self.tokenizer.piece(token))
            ends.append(size)
        first = next(at for at, end in enumerate(ends) if end > len(begun.encode()))
        last = first + 1 if first_token else len(tokens)
        wide = self.expanded(tokens[:first], images_in(messages))
        logs = [self.log([*wide, *tokens[first:at]], tokens[at]) for at in range(first, last)]
        return sum(logs), len(logs)


def _words(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "".join(part["text"] if part["type"] == "text" else "<image>" for part in content)


def images_in(messages: Iterable[Message]) -> list[str]:
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    return [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]


class ToyVllm(ToyServer):
    """``/tokenize`` of conversations, and chat completions with prompt_logprobs and, if new, logprob_token_ids."""

    routes = ("/v1/chat/completions", "/tokenize")
    is_new = True
    is_sentencepiece = False

    def respond(self, attempt: Attempt) -> object:
        body = attempt.body
        is_open = body.get("continue_final_message", False)
        text = self.render(body["messages"], is_open=is_open, generation=body.get("add_generation_prompt", True))
        read = self.tokenizer.encode(text)
        if attempt.path == "/tokenize":
            return {
                "count": len(read),
                "max_model_len": 99,
                "tokens": read,
                "token_strs": list(map(self.spell, read)),
            }
        tokens = self.expanded(read, images_in(body["messages"]))
        usage = {"prompt_tokens": len(tokens), "completion_tokens": 1}
        if not self.is_new or "logprob_token_ids" not in body:
            reply = completion("A", usage=usage)
        else:
            assert body["return_tokens_as_token_ids"]
            assert len(body["logprob_token_ids"]) <= 128
            wanted = body["logprob_token_ids"]
            tops = [{"token": f"token_id:{one}", "logprob": self._given(tokens, one)} for one in wanted]
            tops.insert(0, {"token": "token_id:0", "logprob": -0.1})
            content = [{"token": "token_id:0", "logprob": -0.1, "top_logprobs": tops}]
            reply = completion("A", usage=usage, logprobs={"content": content}) | {"prompt_token_ids": tokens}
        if body.get("prompt_logprobs") is not None:
            scored = [{str(one): {"logprob": self._given(tokens[:at], one)}} for at, one in enumerate(tokens)]
            reply |= {"prompt_logprobs": [None, *scored[1:]]}
        return reply

    def _given(self, before: Sequence[int], token: int) -> float:
        return max(self.log(before, token), -9999.0)

    def spell(self, token: int) -> str:
        piece = self.tokenizer.piece(token)
        if self.is_sentencepiece:
            is_text = piece.decode(errors="ignore").encode() == piece
            return piece.decode().replace(" ", "▁") if is_text else f"<0x{piece[0]:02X}>"
        return "".join(chr(byte if _is_printed(byte) else 256 + _shift(byte)) for byte in piece)


def _is_printed(byte: int) -> bool:
    return 33 <= byte < 127 or 161 <= byte < 173 or byte > 173


def _shift(byte: int) -> int:
    """Where byte-level tokenizers put bytes that cannot be printed: up to 32, then 127 to 160, then 173."""
    return byte if byte < 33 else byte - 94 if byte < 161 else 67


class ToySglang(ToyServer):
    """Tokens of conversations and of texts, back, and ``/generate`` with log-probabilities of the prompt."""

    routes = ("/v1/chat/completions", "/tokenize", "/detokenize", "/generate")

    def respond(self, attempt: Attempt) -> object:
        body = attempt.body
        match attempt.path:
            case "/tokenize" if "messages" in body:
                return {
                    "tokens": self.tokenizer.encode(self.render(body["messages"])),
                    "count": 0,
                    "max_model_len": 9,
                }
            case "/tokenize":
                assert body["add_special_tokens"] is False
                return {"tokens": [self.tokenizer.encode(text) for text in body["prompt"]]}
            case "/detokenize":
                assert body["skip_special_tokens"] is False
                return {"text": self.tokenizer.decode(body["tokens"])}
            case "/generate":
                return self._generate(body)
        return completion("A")

    def _generate(self, body: dict[str, Any]) -> object:
        assert body["sampling_params"] == {"max_new_tokens": 0, "temperature": 0}
        read = body["input_ids"] if "input_ids" in body else self.tokenizer.encode(body["text"])
        tokens = self.expanded(read, body.get("image_data", []))
        meta: dict[str, Any] = {"prompt_tokens": len(tokens), "completion_tokens": 0}
        if body.get("return_logprob"):
            start = body["logprob_start_len"]
            logs = [self.log(tokens[:at], one) for at, one in enumerate(tokens)]
            scored = zip(logs[start + 1 :], tokens[start + 1 :], strict=True)
            given = [(None if log == -math.inf else log, token, None) for log, token in scored]
            meta["input_token_logprobs"] = [(None, tokens[start], None), *given]
        return {"text": "", "meta_info": meta}


class ToyLlama(ToyServer):
    """Templates, tokens with their pieces, and completions under a grammar of token ids."""

    routes = ("/v1/chat/completions", "/props", "/apply-template", "/tokenize", "/completion")
    marker = "<__media_x__>"

    def respond(self, attempt: Attempt) -> object:
        body = attempt.body
        match attempt.path:
            case "/props":
                return {"total_slots": 2, "media_marker": self.marker}
            case "/apply-template":
                return {"prompt": self.render(body["messages"]).replace("<image>", self.marker)}
            case "/tokenize":
                pieces = [(one, self.tokenizer.piece(one)) for one in self.tokenizer.encode(body.get("content", ""))]
                return {"tokens": [{"id": one, "piece": _text_or_bytes(piece)} for one, piece in pieces]}
            case "/completion":
                return self._complete(body)
        return completion("A")

    def _complete(self, body: dict[str, Any]) -> object:
        if isinstance(body["prompt"], dict):
            text = body["prompt"]["prompt_string"].replace(self.marker, "<image>")
            urls = [f"data:image/png;base64,{data}" for data in body["prompt"]["multimodal_data"]]
            tokens = self.expanded(self.tokenizer.encode(text), urls)
        else:
            tokens = list(body["prompt"])
        forced = [int(one) for one in re.findall(r"<\[(\d+)\]>", body["grammar"])]
        assert body["grammar"] == "root ::= " + " ".join(f"<[{one}]>" for one in forced)
        assert body["n_predict"] == len(forced)
        written = []
        for at, one in enumerate(forced):
            log = max(self.log([*tokens, *forced[:at]], one), -3.4e38)
            written.append({"id": one, "token": "", "logprob": log, "top_logprobs": []})
        return {"completion_probabilities": written, "tokens_evaluated": len(tokens)}


def _text_or_bytes(piece: bytes) -> str | list[int]:
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return list(piece)


class ToyHosted(ToyServer):
    """Chat completions alone, with the likeliest tokens if asked, and no more of them than it says."""

    listed = ("A", " B", "The", "B", "c")
    finish = "length"

    def respond(self, attempt: Attempt) -> object:
        if not attempt.body.get("top_logprobs"):
            return completion("A")
        tops = [{"token": word, "logprob": -1.0 - at} for at, word in enumerate(self.listed)]
        content = [{"token": "A", "logprob": -1.0, "top_logprobs": tops[: attempt.body["top_logprobs"]]}]
        return completion("A", logprobs={"content": content}, finish_reason=self.finish)
