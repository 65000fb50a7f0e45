"""From a raw reply to the words that may hold an answer, every character staying where it was.

Dress (Markdown, LaTeX, tags, full-width letters) is turned into blanks of the same length, so that an offset in the
clean text is an offset in the raw one. Thinking, an echoed chat prompt, turns that the model invents and the middle
of a very long reply are left out.
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
_ODD = (
    {ord("①") + n: str(n + 1) for n in range(9)} | dict.fromkeys((0x3000, 0xA0, 0x202F, 0x2009), " ") | {0x2026: "."}
)
_QUOTES = {ord(c): "'" for c in "’‘‛´"} | {ord(c): '"' for c in "“”„«»「」『』"}
_BLANKED = dict.fromkeys(map(ord, "*`#$_【】《》\u200b\ufeff\u200e\u200f\r\t"), " ")
_STYLED = {
    code: letter
    for code in (*range(0x2100, 0x2150), *range(0x1D400, 0x1D800))
    if len(letter := unicodedata.normalize("NFKC", chr(code))) == 1 and letter.isascii()
}
_PLAIN = _STYLED | _FULL_WIDTH | _CIRCLED | _SMALL | _ODD | _QUOTES | _BLANKED | {ord(c): "-" for c in "−‑"}
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
    r"\\(?:text|textbf|textit|textrm|mathbf|mathrm|mathit|mathsf|mathcal|mathbb|underline|fbox|bf|rm|operatorname|"
    r"boxed|displaystyle|left|right|quad|qquad|[dt]?frac|!|,|;|:|\(|\)|\[|\]|\s)(?![a-z])\*?|[{}\\~]"
)
_SYMBOL = re.compile(r"\^?\{?\\(circ|degree|pi|times|cdot)(?![a-z])\}?")
_SYMBOLS = {"circ": "°", "degree": "°", "pi": "π", "times": "×", "cdot": "×"}
_OVER = re.compile(r"\}\s{0,3}\{")
_SHORT_FRACTION = re.compile(r"\\[dt]?frac\s?(\d)\s?(\d)")
_ESCAPED_LINE = re.compile(r"\\n(?![a-z])")
_TAG = re.compile(r"</?(?!image|[A-Z]>)[A-Za-z|][^<>\n]{0,60}>|<image>|<\|[^|<>\n]{0,40}\|>")

_PROMPT = re.compile(
    r"\s{0,9}(?:A chat between\b[^\n]{0,400}?|<\|im_start\|>\s{0,3}system\b[^<]{0,2000}|<s>\s{0,3})?"
    r"(?:USER:|Human:|### Human:|\[INST\]|<\|im_start\|>\s{0,3}user\b|<start_of_turn>user\b)"
)
_ANSWERER = re.compile(
    r"(?:ASSISTANT|Assistant|GPT|### Response):|\[/INST\]|<\|im_start\|>\s{0,3}assistant\b|<start_of_turn>model\b"
)
_SPEAKER = re.compile(r"\s{0,20}(?:assistant|ASSISTANT|Assistant|GPT|AI|Bot|Model)\s{0,3}:")
_NEXT_TURN = re.compile(
    r"\n[\s#*]{0,10}(?:USER|User|Human|HUMAN|Question|QUESTION|Instruction|Next question|问题|Problem|"
    r"###\s?Input|Q(?=[\s\d.*]{0,6}[:：][^\n]{0,300}\?))\s{0,2}\d{0,3}\s{0,2}[*]{0,2}\s{0,2}[:：]"
)


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
        """Where the characters between two offsets stand in the raw reply."""
        return self._offset(start), self._offset(end)

    def _offset(self, at: int) -> int:
        return self.base + at + (self.gap if at > HEAD else 0)

    def before_turn(self) -> "Body | None":
        """What stands before a turn that the model invents; None where there is no such turn."""
        turn = _NEXT_TURN.search(self.raw) if "\n" in self.raw else None
        if not turn or not self.raw[: turn.start()].strip() or self.raw.startswith(turn.group().strip()):
            return None
        return Body(self.text[: turn.start()], self.raw[: turn.start()], self.base, self.gap, self.why)


def has_further_turn(text: str) -> bool:
    """Whether another speaker's turn may begin in a text."""
    return _NEXT_TURN.search(text) is not None


def plain(text: str) -> str:
    """The same text without dress; every character keeps its offset."""
    text = text.replace("=>", "→ ")
    if not text.isascii():
        text = text.translate(_PLAIN)
    elif _ASCII_DRESS.search(text):
        text = _ASCII_DRESS.sub(" ", text)
    if "~~" in text or "</" in text:
        text = _STRUCK.sub(_blank, text)
    if "\\" in text or "{" in text or "}" in text:
        if "frac" in text:
            text = _SHORT_FRACTION.sub(lambda short: f"{short[1]}/{short[2]}".rjust(len(short[0])), text)
            text = _OVER.sub(lambda over: "/".ljust(len(over[0])), text)
        text = _SYMBOL.sub(lambda symbol: _SYMBOLS[symbol[1]].ljust(len(symbol[0])), text)
        text = _ESCAPED_LINE.sub("\n ", text)
        text = _COMMAND.sub(_blank, text)
    if "<" in text:
        text = PLACEHOLDER.sub(lambda match: f" {match[0][1:-1]} ".replace("|", " "), text)
        text = _TAG.sub(_blank, text)
    return text


def lower(text: str) -> str:
    """A text in lower case, every character keeping its offset."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(small if len(small := c.lower()) == 1 else c for c in text)


def clean(text: str) -> Body:
    """Leave out what is not the reply, and take the dress off."""
    start, end, why = _spoken(text)
    if prompt := _PROMPT.match(text, start, end):
        turns = [turn.end() for turn in _ANSWERER.finditer(text, prompt.end(), end)]
        start = turns[-1] if turns else start
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
    if not (("<" in text or "[" in text or "◁" in text) and any(sign in text for sign in _SIGNS)):
        return start, end, why
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
        if stop.group() == "[/INST]" and _PROMPT.match(text, start, end):
            break
        if text[start : stop.start()].strip():
            return start, stop.start(), why
        start = stop.end()
    return start, end, why


def _blank(match: re.Match[str]) -> str:
    return " " * (match.end() - match.start())
