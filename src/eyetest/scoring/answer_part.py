"""The part of a text answer that is the answer: behind any thinking, and behind the line we asked for."""

import re

from eyetest.records.condition import Ask

_THINKING_ENDS = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_THINKING_BEGINS = re.compile(r"\s{0,20}<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_ANSWER_LINE = re.compile(r"^[\s*_#>]{0,12}answer[\s*_]{0,4}[:：][\s*_]{0,4}", re.IGNORECASE | re.MULTILINE)
_READ = 20_000
"""Only the end of a long answer is looked through for its last line."""


def answer_part(text: str, ask: Ask) -> str:
    """What a metric compares. A thinking block that never ends is no answer.

    Where the model was asked to reason first and end in a line ``Answer: X``, only what stands there counts; if it
    did not do so, all of it does.
    """
    ends = list(_THINKING_ENDS.finditer(text))
    if ends:
        text = text[ends[-1].end() :].lstrip()
    elif _THINKING_BEGINS.match(text):
        return ""
    if ask == "direct":
        return text
    lines = list(_ANSWER_LINE.finditer(text, max(0, len(text) - _READ)))
    return text[lines[-1].end() :].strip().strip("*_ ") if lines else text
