"""From a raw reply to the words that may hold an answer, every character staying where it was.

Dress (Markdown, LaTeX, tags, full-width letters) is turned into blanks of the same length, so that a place in the
clean text is a place in the raw one. Thinking is left out, and so is the middle of a very long reply.
"""

import re
import unicodedata

import msgspec

from eyetest.records import PLACEHOLDER

HEAD = 4_000
"""So much of the beginning of a very long reply is read: some answer first and explain for ever."""
TAIL = 20_000
"""So much of its end is read: the conclusion. A megabyte of repetition costs no more than this."""

_FULL_WIDTH = {ord("！") + n: chr(ord("!") + n) for n in range(94)}
_CIRCLED = {ord("Ⓐ") + n: chr(ord("A") + n) for n in range(26)} | {ord("ⓐ") + n: chr(ord("a") + n) for n in range(26)}
_SMALL = {ord(c): str(n) for digits in ("⁰¹²³⁴⁵⁶⁷⁸⁹", "₀₁₂₃₄₅₆₇₈₉") for n, c in enumerate(digits)}
_ODD = {ord("①") + n: str(n + 1) for n in range(9)} | {0x3000: " ", 0xA0: " ", 0x202F: " ", 0x2009: " "}
_QUOTES = {ord(c): "'" for c in "’‘‛´"} | {ord(c): '"' for c in "“”„«»「」『』"}
_BLANKED = dict.fromkeys(map(ord, "*`#$_【】《》\u200b\ufeff\u200e\u200f\r\t"), " ")
_STYLED = {
    code: plain_letter
    for code in (*range(0x2100, 0x2150), *range(0x1D400, 0x1D800))
    if len(plain_letter := unicodedata.normalize("NFKC", chr(code))) == 1 and plain_letter.isascii()
}
_PLAIN = (
    _STYLED
    | _FULL_WIDTH
    | _CIRCLED
    | _SMALL
    | _ODD
    | _QUOTES
    | _BLANKED
    | {ord("−"): "-", ord("‑"): "-", ord("…"): "."}
)
_ASCII_DRESS = re.compile(r"[*`#$_\r\t]")

_THINKING = re.compile(
    r"<\|channel\|>\s{0,3}(?P<channel>\w{1,20})[^<]{0,40}<\|message\|>"
    r"|(?P<end><\|end\|>)"
    r"|(?P<shut></(?:seed:)?(?:think|thinking|thought|reasoning|scratchpad|analysis)>|◁/think▷|\[/THINK(?:ING)?\]"
    r"|<\|end_of_thought\|>|</\|?think\|?>)"
    r"|(?P<open><(?:seed:)?(?:think|thinking|thought|reasoning|scratchpad|analysis)>|◁think▷|\[THINK(?:ING)?\]"
    r"|<\|begin_of_thought\|>)",
    re.IGNORECASE,
)
_STOP = re.compile(
    r"</s>|<\|im_end\|>|<\|endoftext\|>|<\|eot_id\|>|<\|end\|>|<end_of_turn>|<eos>|<\|end_of_text\|>|\[/INST\]"
)
_SIGNS = ("hink", "HINK", "easoning>", "hought", "channel|", "cratchpad>", "nalysis>", "</s>", "<|", "<e", "[/INST]")
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~|<(?:s|del|strike)>[^<\n]{1,200}</(?:s|del|strike)>")
_COMMAND = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathbf|mathrm|mathit|mathsf|mathcal|mathbb|underline|fbox|bf|rm|"
    r"operatorname|boxed|"
    r"displaystyle|left|right|[dt]?frac"
    r"|quad|qquad|!|,|;|:|\(|\)|\[|\]|\s)(?![a-z])\*?|[{}\\]"
)
_TAG = re.compile(r"</?(?!image|[A-Z]>)[A-Za-z|][^<>\n]{0,60}>|<image>|<\|[^|<>\n]{0,40}\|>")
_SPEAKER = re.compile(r"\s{0,20}(?:assistant|ASSISTANT|Assistant|GPT|AI|Bot|Model)\s{0,3}:")


class Body(msgspec.Struct):
    """The part of a reply that is read, and where it lies in the raw text.

    ``raw`` is that part before the dress was taken off, of the same length. ``why`` tells why nothing is left.
    """

    text: str
    raw: str
    base: int = 0
    gap: int = 0
    why: str = ""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """A place in the raw reply."""
        return self._place(start), self._place(end)

    def _place(self, at: int) -> int:
        return self.base + at + (self.gap if at > HEAD else 0)


def plain(text: str) -> str:
    """The same text without dress; every character keeps its place."""
    if not text.isascii():
        text = text.translate(_PLAIN)
    elif _ASCII_DRESS.search(text):
        text = _ASCII_DRESS.sub(" ", text)
    if "~~" in text or "</" in text:
        text = _STRUCK.sub(_blank, text)
    if "\\" in text or "{" in text or "}" in text:
        text = _COMMAND.sub(_blank, text)
    if "<" in text:
        text = PLACEHOLDER.sub(lambda match: f" {match[0][1:-1]} ".replace("|", " "), text)
        text = _TAG.sub(_blank, text)
    return text


def clean(text: str) -> Body:
    """Leave thinking, stop tokens and the middle of very long replies out, and take the dress off."""
    start, end, why = _spoken(text)
    if speaker := _SPEAKER.match(text, start, end):
        start = speaker.end()
    raw = text[start:end]
    gap = len(raw) - HEAD - TAIL
    if gap > 1:
        raw = f"{raw[:HEAD]}\n{raw[-TAIL:]}"
        return Body(plain(raw), raw, start, gap - 1, why)
    return Body(plain(raw), raw, start, 0, why)


def _spoken(text: str) -> tuple[int, int, str]:
    """Where the reply proper begins and ends, once thinking and what follows a stop token are gone."""
    start, end, opened, why = 0, len(text), -1, ""
    if ("<" in text or "[" in text or "◁" in text) and any(sign in text for sign in _SIGNS):
        first_open = -1
        for tag in _THINKING.finditer(text):
            if tag["channel"]:
                final = tag["channel"].lower() in ("final", "commentary")
                start, opened = (tag.end(), -1) if final else (start, tag.start() if opened < 0 else opened)
            elif tag["shut"] or (tag["end"] and opened >= 0):
                start, opened = tag.end(), -1
            elif tag["open"]:
                opened = tag.start() if opened < 0 else opened
                first_open = tag.start() if first_open < 0 else first_open
        if opened >= 0:
            end, why = opened, "cut off while thinking"
        elif start and not text[start:].strip():
            why = "nothing after the thinking"
            if first_open > 0 and text[:first_open].strip():
                start, end = 0, first_open
        for stop in _STOP.finditer(text, start, end):
            if text[start : stop.start()].strip():
                return start, stop.start(), why
            start = stop.end()
    return start, end, why


def _blank(found: re.Match[str]) -> str:
    return " " * (found.end() - found.start())
