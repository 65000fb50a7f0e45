"""Where an answer says what it concludes: the part that is compared with the gold."""

import re

_TAGGED = re.compile(r"<answer>([^<]{1,500})|\\boxed ?\{([^\n]{1,200})\}", re.IGNORECASE)
_ANSWER = re.compile(r"\banswer\b(?: is| was| would be| should be|s are)?\b[ :=*]{0,4}(?:that )?", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?。])\s+(?=[^\s])|\n+")


def stated(text: str) -> str | None:
    r"""What stands in the last ``<answer>`` or ``\boxed{}``, or behind the last ``answer is``; None without one."""
    if tagged := list(_TAGGED.finditer(text)):
        return str(tagged[-1][1] or tagged[-1][2])
    announced = list(_ANSWER.finditer(text))
    last = announced[-1] if announced else None
    rest = text[last.end() :].strip() if last else ""
    return rest or None


def first_sentence(text: str) -> str:
    """The text up to its first full stop."""
    return _SENTENCE_END.split(text.strip(), maxsplit=1)[0]


def last_sentence(text: str) -> str:
    """The text behind its last full stop but the final one."""
    return _SENTENCE_END.split(text.strip())[-1]
