"""The first pass: most replies are a mark and little else, or end with a sentence that states the answer.

It reads only what the whole rules would read in the same way: a reply that is a mark, alone or with its own text, or
a last sentence that announces a mark and ends with it (``Answer: B``, ``Therefore, the answer is (B) a tram.``), in a
reply without thinking, stop tokens, struck words or further turns. Everything else is left to the whole rules.
"""

import re

from eyetest.scoring.rules import Reading, Reply
from eyetest.scoring.rules.cleaning import NEXT_TURN

_LONGEST_BARE = 40
_LONGEST_END = 400
_LONGEST_WHOLE = 1_000
_EDGE = " \n\t.*()[]:"
_TEXT_EDGE = " .,*_()$"
_STOP = "</s>"
_BARE = re.compile(
    r"[\s(\[*]{0,4}(?:(?:the\s)?(?:answer|option|choice)\s{0,3}(?:is\s|[:\s])[:\s]{0,2})?[\s(\[*]{0,3}"
    r"(?:(?:\\boxed\{)?([a-z])\}?|<answer>([a-z])</answer>)[)\].*\s]{0,6}",
    re.IGNORECASE | re.ASCII,
)
_MARK = (
    r"(?:\\[(\[]|\$)?\s?(?:\\boxed\{(?:\\text\{)?)?\(?(?P<mark>[A-Z])\)?\}{0,2}\s?(?:\\[)\]]|\$)?[*_]{0,2}[.:)]{0,2}[*_]{0,2}"
    r"(?P<text>(?:(?:(?<=\))|,?\s)(?:(?!nswer)[^\n])*?)?)[\s*_]{0,4}"
)
_STATED = re.compile(
    r"(?:^|\n|[.!?:]\s{1,2})[\s#>*_-]{0,8}(?:(?:So|Thus|Therefore|Hence|Consequently|In conclusion),? )?"
    r"(?:[Tt]he |THE )?(?:(?:[Ff]inal|FINAL|[Cc]orrect|CORRECT|[Bb]est|[Rr]ight|most likely) ){0,2}"
    r"(?:[Aa]nswer|ANSWER|[Oo]ption|[Cc]hoice)(?: is)?"
    rf"[\s*_]{{0,4}}[:=]?[\s*_]{{0,4}}(?:option )?{_MARK}$"
)
_LINE = re.compile(rf"[\s*_]{{0,4}}\(?{_MARK}")
_SPECIAL = ("</", "<|", "<think", "<start", "<｜", "<e", "<s", "◁", "[/", "[INST", "[THINK", "~~", "<del")
"""Signs of thinking, stop tokens, turns and struck words."""
_TURNS = ("USER", "User", "Human", "HUMAN", "uestion", "QUESTION", "nstruction", "问", "roblem", "Input", "\nQ")
_PROMPTS = ("A chat", "system", "user\n", "USER", "Human", "###")
_ABOVE = 1_000
_MARKED_LINE = re.compile(r"[\s*_-]{0,6}(?:(?:[Oo]ption|[Cc]hoice) )?\(?[A-Z](?:[.:)]|[\s*]*$)")


def read_plain(reply: Reply) -> Reading | None:
    """The option of a plain reply; None where the whole rules are needed."""
    text = reply.text
    if reply.letters not in ("upper", "lower"):
        return None
    if len(text) <= _LONGEST_BARE:
        bare = _read_bare(reply)
        if bare is not None:
            return bare
    if reply.letters == "lower":
        return None
    reading = _read_whole(reply) or _read_end(reply)
    return reading if reading and _is_plain(text) else None


def _read_bare(reply: Reply) -> Reading | None:
    """Read a bare letter that is on offer."""
    text = reply.text
    core = text.strip(_EDGE)
    if len(core) == 1:
        is_letter = core.isascii() and core.isalpha()
        return _reading(reply, core.upper(), text.index(core), "whole reply") if is_letter else None
    match = _BARE.fullmatch(text)
    if match is None:
        return None
    at = match.start(match.lastindex or 1)
    return _reading(reply, text[at].upper(), at, "whole reply")


def _read_whole(reply: Reply) -> Reading | None:
    """Read a reply that is a mark with the text of its option."""
    text = reply.text
    if len(text) > _LONGEST_WHOLE or "\n" in text.strip():
        return None
    match = _LINE.fullmatch(text)
    if match is None:
        return None
    reading = _reading(reply, match["mark"], match.start("mark"), "whole reply")
    return reading if reading and _is_own_text(reply, reading, match["text"]) else None


def _read_end(reply: Reply) -> Reading | None:
    """Read a last sentence that announces a mark, or a last line that is a mark with the text of its option."""
    text = reply.text
    end = len(text.rstrip().removesuffix(_STOP).rstrip())
    line = text.rfind("\n", 0, end) + 1
    match = _STATED.search(text, max(0, line - 1, end - _LONGEST_END), end)
    rule = "answer is"
    if match is None and line > 0 and end - line <= _LONGEST_END:
        match = _LINE.fullmatch(text, line, end)
        rule = "closing line"
    if match is None:
        return None
    if _MARKED_LINE.match(text, line) and _continues_list(text, line):
        return None
    reading = _reading(reply, match["mark"], match.start("mark"), rule)
    if reading is None:
        return None
    is_alone = not match["text"].strip(_TEXT_EDGE) and rule == "answer is"
    return reading if is_alone or _is_own_text(reply, reading, match["text"]) else None


def _is_own_text(reply: Reply, reading: Reading, text: str) -> bool:
    """Whether the words behind a mark are the text of its option, and of no other."""
    words = text.strip(_TEXT_EDGE).casefold()
    if not words or reading.index is None:
        return False
    texts = [option.strip(_TEXT_EDGE).casefold() for option in reply.options]
    return texts[reading.index] == words and texts.count(words) == 1


def _continues_list(text: str, start: int) -> bool:
    """Whether a line above begins with a mark as well: the line may be an item of a list."""
    lines = text[max(0, start - _ABOVE) : start].split("\n")
    return any(_MARKED_LINE.match(line) for line in lines)


def _is_plain(text: str) -> bool:
    """Whether a reply has no thinking, stop tokens, struck words or further turns."""
    body = text.rstrip().removesuffix(_STOP)
    if any(sign in body for sign in _SPECIAL) or text.startswith(_PROMPTS):
        return False
    return not any(word in text for word in _TURNS) or NEXT_TURN.search(text) is None


def _reading(reply: Reply, mark: str, at: int, rule: str) -> Reading | None:
    """The option of a mark; None where it is not on offer."""
    index = ord(mark) - ord("A")
    if not 0 <= index < len(reply.options):
        return None
    return Reading("chosen", index, rule, (at, at + 1), marked=True)
