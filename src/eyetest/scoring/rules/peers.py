"""The rules by which other tools (MMMU, lmms-eval, MMStar, VLMEvalKit) read replies, to explain why scores differ."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from eyetest.scoring.rules import Reading, Reply, letters_of

_STRIPPED = ",.!?;:'"
_FEW_WORDS = 5
_LOOSE = (("in brackets", "(", ")"), ("before a space", "", " "), ("before a full stop", "", "."))


@dataclass
class _Peer:
    name: str
    summary: str
    read: Callable[[Reply], Reading]

    def __post_init__(self) -> None:
        self.version = f"{self.name}/1"


def read_loosely(reply: Reply) -> Reading:
    """The rule that MMMU and lmms-eval share: any letter that may be a mark, the last of several."""
    text, options, letters = reply.text, reply.options, letters_of(reply.options)
    for char in _STRIPPED:
        text = text.strip(char)
    text = f" {text} "
    for rule, before, after in _LOOSE:
        named = [position for position, mark in enumerate(letters) if f"{before}{mark}{after}" in text]
        if named:
            # several letters are ordered by where they stand between brackets or else between spaces
            ordered = [
                text.rfind(f"({letters[position]})" if before else f" {letters[position]} ") for position in named
            ]
            return Reading("chosen", named[ordered.index(max(ordered))], rule, marked=True)
    if len(text.split()) > _FEW_WORDS:
        lower = text.lower()
        texts = [option.lower() for option in options]
        named = [position for position, option in enumerate(texts) if position < len(letters) and option in lower]
        if named:
            ordered = [lower.rfind(texts[position]) for position in named]
            return Reading("chosen", named[ordered.index(max(ordered))], "option text", marked=False)
    return Reading("unparsed", rule="guess", why="no letter, no option text", would_guess=True)


def _read_mmmu(reply: Reply) -> Reading:
    """Read behind the last ``Answer:`` if exactly one letter stands there, else loosely."""
    _, cue, behind = reply.text.rpartition("Answer:")
    named = [position for position, mark in enumerate(letters_of(reply.options)) if mark in behind] if cue else []
    return Reading("chosen", named[0], "behind Answer:", marked=True) if len(named) == 1 else read_loosely(reply)


_BEFORE = ("", "(", "option ", "the answer is ")


def _read_mmstar(reply: Reply) -> Reading:
    """Look at the four places in turn, whatever follows the letter."""
    text = reply.text.lower().strip().replace("\n", " ")
    letters = letters_of(reply.options).lower()
    for before in _BEFORE:
        mark = text[len(before) : len(before) + 1] if text.startswith(before) else ""
        if mark and mark in letters:
            rule = f"behind {before.strip()!r}" if before else "first letter"
            return Reading("chosen", letters.index(mark), rule, marked=True)
    return Reading("unparsed", rule="none", why="no letter at a known place")


_FAILED = "Failed to obtain answer via API"
_REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
_TO_SPACES = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
_LAST_WORDS = 4
_STATED = re.compile(r"answer is ([A-D])\b", re.IGNORECASE)


def _read_vlmevalkit(reply: Reply) -> Reading:
    """Failure and refusal strings, then one letter, then a stated one, then one option's text."""
    if _FAILED in reply.text:
        return Reading("unparsed", rule="failure", why="API failure", would_guess=True)
    if any(refusal in reply.text for refusal in _REFUSALS):
        return Reading("refused", rule="refusal string")
    reading = _one_letter(reply) or _answer_is(reply) or _one_text(reply)
    return reading or Reading("unparsed", rule="guess", why="left to a judge, then to chance", would_guess=True)


def _one_letter(reply: Reply) -> Reading | None:
    """Exactly one option's letter as a word, among the last words."""
    letters, words = letters_of(reply.options), reply.text.translate(_TO_SPACES).split()
    named = [position for position, mark in enumerate(letters) if mark in words]
    if len(named) == 1 and words.index(letters[named[0]]) >= len(words) - _LAST_WORDS:
        return Reading("chosen", named[0], "one letter", marked=True)
    return Reading("refused", rule="letter Z") if not named and "Z" in words else None


def _answer_is(reply: Reply) -> Reading | None:
    match, letters = _STATED.search(reply.text), letters_of(reply.options)
    if not match or match[1].upper() not in letters:
        return None
    return Reading("chosen", letters.index(match[1].upper()), "answer is", marked=True)


def _one_text(reply: Reply) -> Reading | None:
    """Exactly one option's text, in a reply at most twice as long as all options."""
    if len(reply.text) > 2 * sum(map(len, reply.options)):
        return None
    lower = reply.text.lower()
    named = [position for position, option in enumerate(reply.options) if option.lower() in lower]
    return Reading("chosen", named[0], "option text", marked=False) if len(named) == 1 else None


RULES = (
    _Peer("mmmu", "MMMU's published parser, with MMMU-Pro's look behind the last `Answer:`", _read_mmmu),
    _Peer("lmms-eval", "lmms-eval's rule for MMMU", read_loosely),
    _Peer("mmstar", "MMStar's rule: first letter, or behind `(`, `option ` or `the answer is `", _read_mmstar),
    _Peer("vlmevalkit", "VLMEvalKit's rules without its judge", _read_vlmevalkit),
)
