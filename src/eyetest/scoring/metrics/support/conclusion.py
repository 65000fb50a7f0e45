"""Where an answer says what it concludes: the part that is compared with the gold."""

import re

_TAGGED = re.compile(r"<answer>([^<]{1,500})|\\f?box(?:ed)? ?\{", re.IGNORECASE)
_LONGEST_BOX = 300
_MOST_TAGGED = 50
_ANSWER = re.compile(r"\banswer\b(?: is| was| would be| should be|s are)?\b[ :=*]{0,4}(?:that )?", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?。])\s+(?=[^\s])|\n+")


def stated(text: str) -> str | None:
    r"""What stands in the last ``<answer>`` or ``\boxed{}``, or behind the last ``answer is``; None without one."""
    if tagged := tagged_answers(text):
        return tagged[-1]
    announced = list(_ANSWER.finditer(text))
    last = announced[-1] if announced else None
    rest = text[last.end() :].strip() if last else ""
    return rest or None


def tagged_answers(text: str) -> list[str]:
    r"""What stands in the last of ``<answer>`` and ``\boxed{}``, in order."""
    last = list(_TAGGED.finditer(text))[-_MOST_TAGGED:]
    found = ((match[1] or _boxed(text, match.end())) for match in last)
    return [inner for inner in found if inner.strip()]


def _boxed(text: str, start: int) -> str:
    """What stands between braces that match; nothing where they do not."""
    depth = 1
    for at in range(start, min(len(text), start + _LONGEST_BOX)):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return text[start:at]
    return ""


def first_sentence(text: str) -> str:
    """The text up to its first full stop."""
    return _SENTENCE_END.split(text.strip(), maxsplit=1)[0]


def last_sentence(text: str) -> str:
    """The text behind its last full stop but the final one."""
    return _SENTENCE_END.split(text.strip())[-1]
