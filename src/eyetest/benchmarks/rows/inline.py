r"""Options that sit inside the question text, as MMStar's release has them, and back again.

Three layouts that we write too, the first not always, since ``, B: `` may be part of an option:

- ``What is it? ⏎ Options: A: a cat, B: a dog``
- ``What is it? ⏎ Choices: ⏎ (A) a cat ⏎ (B) a dog``
- ``What is it? ⏎ A. a cat ⏎ B. a dog`` (also ``(A)``, ``A)`` and ``A:``)

and two that only others write: ``What is it? (A) a cat (B) a dog`` in one line, and ``Which fits? Select from A-D``,
where the options are in the picture and the question only says how they are called.
"""

import re
from string import ascii_uppercase

from eyetest.records import MAX_CHOICES, letter

_HEADER = re.compile(r"(?:^|\n)[ \t]*(?:Options|Choices)[ \t]*:[ \t]*", re.IGNORECASE)
_LINE_MARKS = ("({})", "{}.", "{})", "{}:")
_RUN_MARKS = (("({})", 2), ("{})", 2), ("{}.", 3), ("{}:", 3))
"""Marks in running text, and how many it takes: ``A. Smith and B. Jones`` are no options."""
_RANGE = re.compile(
    r"(?:\b(?:from|options?|choices?|answers?|figures?|select|choose)\s*\(?|\()A\s?(?:-|–|to|through)\s?([B-J])\b",
    re.IGNORECASE,
)
_LIST = re.compile(r"\bA(?:\s?,\s*(?:and |or )?[B-J]|\s+(?:and|or)\s+[B-J])+\b")


def split_options(text: str) -> tuple[str, tuple[str, ...]] | None:
    """The question alone and its options, or None where there are none or they cannot be told apart."""
    return _after_header(text) or _on_lines(text) or _in_running_text(text)


def named_letters(text: str) -> tuple[str, ...]:
    """The letters that a question offers without saying what they stand for; its picture does."""
    if match := _RANGE.search(text):
        return tuple(ascii_uppercase[: ascii_uppercase.index(match[1].upper()) + 1])
    for match in _LIST.finditer(text):
        letters = tuple(re.findall(r"\b[A-J]\b", match[0]))
        if letters == tuple(ascii_uppercase[: len(letters)]):
            return letters
    return ()


def join_options(question: str, options: tuple[str, ...]) -> str | None:
    """The question with its options inside, in the first layout that reads back the same; None if none does."""
    run = ", ".join(f"{letter(i)}: {option}" for i, option in enumerate(options))
    lines = "\n".join(f"({letter(i)}) {option}" for i, option in enumerate(options))
    dotted = "\n".join(f"{letter(i)}. {option}" for i, option in enumerate(options))
    for body in (f"\nOptions: {run}", f"\nChoices:\n{lines}", f"\n{dotted}"):
        if split_options(question + body) == (question, options):
            return question + body
    return None


def _after_header(text: str) -> tuple[str, tuple[str, ...]] | None:
    header = None
    for header in _HEADER.finditer(text):  # noqa: B007 (the last one counts)
        pass
    if header is None:
        return None
    question, body = text[: header.start()], text[header.end() :]
    if not body.startswith("A: "):
        return None
    options, start = [], len("A: ")
    for position in range(1, MAX_CHOICES + 1):
        separator = f", {letter(position)}: " if position < MAX_CHOICES else ""
        end = body.find(separator, start) if separator else -1
        if end < 0:
            break
        if body.find(separator, end + 1) >= 0:
            return None
        options.append(body[start:end])
        start = end + len(separator)
    return (question, (*options, body[start:])) if options else None


def _on_lines(text: str) -> tuple[str, tuple[str, ...]] | None:
    for mark in _LINE_MARKS:
        start = _line_start(text, mark.format("A"), 0, last=True)
        if start is None:
            continue
        starts = [start]
        while len(starts) < MAX_CHOICES:
            found = _line_start(text, mark.format(letter(len(starts))), starts[-1] + 1)
            if found is None:
                break
            starts.append(found)
        if len(starts) < 2:
            continue
        ends = [s - 1 for s in starts[1:]] + [len(text)]
        width = len(mark.format("A")) + 1
        options = tuple(text[s + width : e] for s, e in zip(starts, ends, strict=True))
        return _without_header(text[: max(starts[0] - 1, 0)]), options
    return None


def _in_running_text(text: str) -> tuple[str, tuple[str, ...]] | None:
    """``What is it? (A) a cat (B) a dog``: marks one after the other, the last such run of the text."""
    for mark, fewest in _RUN_MARKS:
        starts = _run_starts(text, mark)
        if len(starts) < fewest:
            continue
        width = len(mark.format("A"))
        ends = [*starts[1:], len(text)]
        bodies = [text[s + width : e].strip() for s, e in zip(starts, ends, strict=True)]
        bodies = [body.rstrip(",;").rstrip() for body in bodies[:-1]] + bodies[-1:]
        if all(bodies):
            return text[: starts[0]].rstrip(), tuple(bodies)
        if not any(bodies):
            return text[: starts[0]].rstrip(), tuple(letter(position) for position in range(len(bodies)))
    return None


def _run_starts(text: str, mark: str) -> list[int]:
    """Where the marks A, B, C … of the last run stand; a mark does not continue a word."""
    before = r"(?<![\w(])"
    first = list(re.finditer(before + re.escape(mark.format("A")), text))
    if not first:
        return []
    starts = [first[-1].start()]
    while len(starts) < MAX_CHOICES:
        pattern = re.compile(before + re.escape(mark.format(letter(len(starts)))))
        if (found := pattern.search(text, starts[-1] + 1)) is None:
            break
        starts.append(found.start())
    return starts


def _line_start(text: str, mark: str, after: int, *, last: bool = False) -> int | None:
    """Where a line starts with ``mark`` and a space."""
    found = (text.rfind if last else text.find)(f"\n{mark} ", max(after - 1, 0))
    return None if found < 0 else found + 1


def _without_header(question: str) -> str:
    before, _, last = question.rpartition("\n")
    return before if last.replace(" ", "").lower() in ("options:", "choices:") else question
