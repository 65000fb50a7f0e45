"""Clean a raw reply, every character keeping its offset: markup becomes blanks; thinking, an echoed chat prompt,
invented turns and the middle of a very long reply are left out.
"""

import re
import unicodedata

import msgspec

from eyetest.records import PLACEHOLDER

HEAD = 4_000  # characters read of the beginning of a very long reply: some answer first
TAIL = 20_000  # characters read of its end, the conclusion; bounds the cost of repetitions

_DIGITS = {base + n: str(n) for base in (0x660, 0x6F0, 0x966, 0x9E6, 0xE50) for n in range(10)}
_QUOTES = {ord(c): "'" for c in "’‘‛´"} | {ord(c): '"' for c in "“”„«»「」『』"}
_BLANKED = dict.fromkeys(map(ord, "*`#$_【】《》\u200b\ufeff\u200e\u200f\r\t"), " ")
_SMALL_AND_BLANKS = map(ord, "⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉\u3000\xa0\u202f\u2009")
_CIRCLED, _FULL_WIDTH = range(ord("①"), ord("⓪")), range(ord("！"), ord("～") + 1)
_STYLED = {
    code: letter
    for code in (*_SMALL_AND_BLANKS, *_CIRCLED, *_FULL_WIDTH, *range(0x2100, 0x2150), *range(0x1D400, 0x1D800))
    if len(letter := unicodedata.normalize("NFKC", chr(code))) == 1 and letter.isascii()
}
_PLAIN = _STYLED | _DIGITS | _QUOTES | _BLANKED | {ord("…"): "."} | {ord(c): "-" for c in "−‑"}
_ASCII_DRESS = re.compile(r"[*`#$_\r\t]")
_DRESS = re.compile("[*`#$_\r\t\x80-\U0010ffff]+")

_THOUGHT = "(?:seed:)?(?:think|thinking|thought|reasoning|scratchpad|analysis)"
_THINKING = re.compile(
    r"<\|channel\|>\s{0,3}(?P<channel>\w{1,20})[^<]{0,40}<\|message\|>"
    r"|(?P<end><\|end\|>)"
    rf"|(?P<shut></{_THOUGHT}>|◁/think▷|\[/THINK(?:ING)?\]|<\|end_of_thought\|>|</\|?think\|?>|(?<![<\w/])/?think>)"
    rf"|(?P<open><{_THOUGHT}>|◁think▷|\[THINK(?:ING)?\]|<\|begin_of_thought\|>)",
    re.IGNORECASE,
)
_SIGNS = ("hink", "HINK", "easoning>", "hought", "channel|", "cratchpad>", "nalysis>")
_ANSWER_PART = re.compile(
    r"<(?:final_?)?answer>|<\|begin_of_box\|>|\\boxed|\n[\s*#]{0,6}(?:final\s)?answer[\s*]{0,4}:", re.IGNORECASE
)
_ANSWER_LENGTH = 200  # inside thinking an answer part counts only if no more than this follows its beginning
_ROLE = r"(?:<\|im_start\|>|<start_of_turn>|<\|start_header_id\|>|<\|start\|>)\s{0,3}"
_STOPS = (
    r"</s>|<\|im_end\|>|<\|endoftext\|>|<\|eot_id\|>|<\|end\|>|<end_of_turn>|<eos>|<\|end_of_text\|>|\[/INST\]"
    r"|<｜end▁of▁sentence｜>|<\|end_of_turn\|>|<\|END_OF_TURN_TOKEN\|>|<end_of_utterance>|<\|return\|>|<eoa>"
)
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
_TAG = re.compile(r"</?(?!image|[A-Z]>)[A-Za-z|｜][^<>\n]{0,60}>|<image>|<\|[^|<>\n]{0,40}\|>|\[/?INST\]")

_PROMPT = re.compile(
    r"\s{0,9}(?:(?:<s>|<bos>|<\|begin_of_text\|>|<｜begin▁of▁sentence｜>)\s{0,3}){0,2}"
    rf"(?:A chat between\b[^\n]{{0,400}}?|(?:{_ROLE}|<\|)?system\b[^<]{{0,4000}}(?:(?:{_STOPS})\s{{0,3}})?)?"
    rf"(?:{_ROLE}user\b|<\|user\|>|<｜User｜>|\[INST\]|(?:### ?)?(?:USER|Human|Instruction|问) ?[:：]|user\n)"
)
_ANSWERER = re.compile(
    rf"{_ROLE}(?:assistant|model)\b(?:<\|end_header_id\|>)?|<\|assistant\|>|<｜Assistant｜>|\[/INST\]"
    r"|(?:ASSISTANT|Assistant|GPT|### ?Response|\n答) ?[:：]|\n(?:assistant|model)\n"
)
_SPEAKER = re.compile(rf"\s{{0,20}}(?:{_ROLE}assistant\b|(?:assistant|ASSISTANT|Assistant|GPT|AI|Bot|Model)\s?[:\n])")
NEXT_TURN = re.compile(
    r"\n[\s#*]{0,10}(?:USER|User|Human|HUMAN|Question|QUESTION|Instruction|Next question|问题|Problem|"
    r"###\s?Input|Q(?=[\s\d.*]{0,6}[:：][^\n]{0,300}\?))\s{0,2}\d{0,3}\s{0,2}[*]{0,2}\s{0,2}[:：]"
)
_STOP = re.compile(_STOPS)


class Body(msgspec.Struct):
    """The part of a reply that is read, its offset, letters of another script, and ``why`` nothing is left."""

    raw: str
    letters: str = ""
    base: int = 0
    gap: int = 0
    why: str = ""

    def text(self) -> str:
        """The part without markup; on demand, since most long replies are decided by their tail."""
        return latin_letters(plain(self.raw), self.letters)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Position in the raw reply of the characters between two offsets."""
        return self._offset(start), self._offset(end)

    def _offset(self, at: int) -> int:
        return self.base + at + (self.gap if at > HEAD else 0)

    def tail(self, size: int) -> "Body | None":
        """Its last lines, of at least so many characters; None where that is nearly all of it."""
        start = self.raw.rfind("\n", 0, max(0, len(self.raw.rstrip()) - size)) + 1
        is_whole = start < size or (self.gap and start <= HEAD)
        return None if is_whole else Body(self.raw[start:], self.letters, self._offset(start), 0, self.why)

    def before_turn(self) -> "Body | None":
        """Text before a stop token or an invented turn; None where there is neither."""
        end = _first_turn(self.raw)
        return Body(self.raw[:end], self.letters, self.base, self.gap, self.why) if end else None


def _first_turn(raw: str) -> int:
    """Start of the first stop token or invented turn with text before it; 0 where there is none."""
    turn = NEXT_TURN.search(raw, len(raw) - len(raw.lstrip())) if "\n" in raw else None
    stop = _STOP.search(raw) if "<" in raw or "[/" in raw else None
    stop = _STOP.search(raw, len(raw) - len(plain(raw).lstrip()) + 1) if stop else None
    return min((end.start() for end in (turn, stop) if end), default=0)


def plain(text: str) -> str:
    """The text without markup; every character keeps its offset."""
    text = text.replace("=>", "→ ")
    if not text.isascii():
        text = _DRESS.sub(lambda dress: dress[0].translate(_PLAIN), text)
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


_ALPHABETS = (
    "АБВГДЕЖЗИКС", "ΑΒΓΔΕΖΗΘΙΚ", "אבגדהוזחטי", "أبجدهوزحطي", "ابجدهوزحطي", "アイウエオカキクケコ",
    "가나다라마바사아자차", "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊ", "甲乙丙丁戊己庚辛壬癸",
    "कखगघङचछजझञ", "কখগঘঙচছজঝঞ", "กขคงจฉชซฌญ", "აბგდევზთიკ", "ԱԲԳԴԵԶԷԸԹԺ",
)  # fmt: skip
_ALONE = r"(?:(?<!\w)|(?<=[は是为選选]))[{}](?=\s*(?:$|[).:;,\]/\n–—。、-])| (?:і|и|або|или|و|או)\s)"
_OTHER_MARK = re.compile(_ALONE.format("".join(_ALPHABETS)))
_AS_LATIN = {mark: chr(ord("A") + place) for alphabet in _ALPHABETS for place, mark in enumerate(alphabet)}
_LATIN_C = re.compile(_ALONE.format("С"))  # a Cyrillic C is no Cyrillic mark: letters beside it are Latin lookalikes
_HOMOGLYPHS = _AS_LATIN | dict(zip("АВСЕ", "ABCE", strict=True))


def latin_letters(text: str, shown: str = "") -> str:
    """The text with option letters of another script as Latin capitals, by their place in ``shown``."""
    if text.isascii():
        return text
    if shown:
        return re.sub(_ALONE.format(re.escape(shown)), lambda mark: chr(ord("A") + shown.index(mark[0])), text)
    latin = _HOMOGLYPHS if "С" in text and _LATIN_C.search(text) else _AS_LATIN
    return _OTHER_MARK.sub(lambda mark: latin[mark[0]], text)


def lower(text: str) -> str:
    """A text in lower case, every character keeping its offset."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(small if len(small := c.lower()) == 1 else c for c in text)


def _bounds(text: str) -> tuple[int, int, str]:
    """Bounds of the reply proper: behind an echoed prompt, thinking and the name of the speaker."""
    start = 0
    if prompt := _PROMPT.match(text):
        size = len(text.rstrip())
        turns = [turn.end() for turn in _ANSWERER.finditer(text, prompt.end()) if turn.end() < size]
        start = turns[-1] if turns else start
    start, end, why = _without_thinking(text, start)
    if speaker := _SPEAKER.match(text, start, end):
        start = speaker.end()
    return start, end, why


def reply_proper(text: str) -> str:
    """A reply as written, without echoed prompt and thinking, up to where its first answer ends."""
    start, end, _ = _bounds(text)
    raw = text[start:end]
    cut = _first_turn(raw)
    return (raw[:cut] if cut else raw).lstrip() if cut or start else raw


def clean(text: str, letters: str = "") -> Body:
    """Leave out what is not the reply."""
    start, end, why = _bounds(text)
    raw = text[start:end]
    gap = len(raw) - HEAD - TAIL
    raw = f"{raw[:HEAD]}\n{raw[-TAIL:]}" if gap > 1 else raw
    return Body(raw, letters, start, max(gap - 1, 0), why)


def _without_thinking(text: str, start: int) -> tuple[int, int, str]:
    """Bounds of the reply proper without thinking; an answer part that ends the thinking is kept."""
    end, opened, first_open = len(text), -1, -1
    begin = start
    for tag in _THINKING.finditer(text, start) if any(sign in text for sign in _SIGNS) else ():
        if tag["channel"]:
            final = tag["channel"].lower() in ("final", "commentary")
            start, opened = (tag.end(), -1) if final else (start, tag.start() if opened < 0 else opened)
        elif tag["shut"] or (tag["end"] and opened >= 0):
            start, opened = tag.end(), -1
        elif tag["open"]:
            opened = tag.start() if opened < 0 else opened
            first_open = tag.start() if first_open < 0 else first_open
    if opened < 0 and (start == begin or text[start:].strip()):
        return start, end, ""
    inside = max(begin, opened)
    parts = [part.start() for part in _ANSWER_PART.finditer(text, inside)]
    if parts and end - parts[-1] <= _ANSWER_LENGTH:
        return parts[-1], end, ""
    if opened >= 0:
        return start, opened, "cut off while thinking"
    if text[begin : max(begin, first_open)].strip():
        return begin, first_open, "nothing after the thinking"
    return start, end, "nothing after the thinking"


def _blank(match: re.Match[str]) -> str:
    return " " * (match.end() - match.start())
