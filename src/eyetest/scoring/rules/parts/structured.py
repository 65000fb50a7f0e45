"""Answers in a box, a tag, a JSON field or a ticked list: where a reply was told to put them."""

import re

from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.content import read_content
from eyetest.scoring.rules.parts.stated import statement
from eyetest.scoring.rules.parts.statement import Statement

_BOX = re.compile(r"\\f?box(?:ed)?\s{0,3}\{|<\|begin_of_box\|>")
_BOX_END = "<|end_of_box|>"
_TAG = re.compile(
    r"<(answer|final|final_answer|finalanswer|conclusion|ans|output|choice|option|result|solution|"
    r"response)>([^<]{0,2000})(?:<|$)",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"[\"'](?:final[ _]?|correct[ _]?|selected[ _]?|my[ _]?)?(?:answer|choice|option|prediction|response|letter|"
    r"label|result|selection|ans|final)(?:[ _](?:letter|choice|option))?[\"']\s{0,5}:\s{0,5}"
    r"(?:\"([^\"\n]{0,400})|'([^'\n]{0,400})|(\[[^\]\n]{0,100})|([\w.]{1,40}))",
    re.IGNORECASE,
)
_TICKED = re.compile(r"(?:^|\n)[\s\-*•]{0,10}(?:\[[xX✓✔]\]|☑|✅|☒|✔|✓)([^\n]{1,400})")
_UNTICKED = re.compile(r"\[ \]|☐")
_LONGEST_BOX = 600
_MOST = 8
"""So many fields are tried, the last ones first."""


def structured(case: Case) -> Statement | None:
    """The last filled field of the reply, if it names an option."""
    raw = case.body.raw
    spans: list[tuple[int, int]] = []
    if "box" in raw:
        spans += _boxes(raw)
    if "<" in raw:
        spans += [found.span(2) for found in _TAG.finditer(raw)]
    if ":" in raw and ('"' in raw or "'" in raw):
        for found in _FIELD.finditer(raw):
            spans.append(found.span(found.lastindex or 0))
    if "[" in raw or "☑" in raw or "✅" in raw:
        ticked = [found.span(1) for found in _TICKED.finditer(raw)]
        if len(ticked) == 1 and _UNTICKED.search(raw):
            spans += ticked
    for start, end in sorted(spans, reverse=True)[:_MOST]:
        content = read_content(case.text, start, end, case.offer)
        if content is None:
            inner = statement(case, start, end)
            content = inner.content if inner else None
        if content:
            return Statement(content, 4, "structured")
        if case.text[start:end].strip():
            case.off_list = True
            return None
    return None


def _boxes(raw: str) -> list[tuple[int, int]]:
    """The insides of boxes; braces are counted, because a box may hold another command."""
    found: list[tuple[int, int]] = []
    for box in _BOX.finditer(raw):
        start = box.end()
        tagged = box.group().startswith("<")
        end = raw.find(_BOX_END, start, start + _LONGEST_BOX) if tagged else _closing(raw, start)
        if end > start:
            found.append((start, end))
    return found


def _closing(raw: str, start: int) -> int:
    depth = 1
    for at in range(start, min(len(raw), start + _LONGEST_BOX)):
        if raw[at] == "{":
            depth += 1
        elif raw[at] == "}":
            depth -= 1
            if not depth:
                return at
    return -1
