"""``eyetest read``: how one reply to a choice question is read, and by which rule."""

from typing import Annotated

import typer
from rich.text import Text

from eyetest.cli.options import JsonOption, Words, option
from eyetest.cli.terminal import out, print_json, safe
from eyetest.errors import InputError, nearest
from eyetest.records import MAX_CHOICES, mark
from eyetest.records.condition import Marks
from eyetest.scoring import RULE_SETS, Reading, read_choice

_SHOWN = 2_000
"""So many characters are shown of each end of a text that is longer than two times that."""
_STYLES: tuple[Marks, ...] = ("upper", "lower", "digit")
_COLOURS = {"chosen": "bold green", "refused": "yellow", "ambiguous": "yellow", "unparsed": "red"}


def read(
    text: Annotated[str, option("--text", "The reply.")],
    first: Annotated[list[str], option("--options", "The options in the order as shown.", "OPTION…")],
    others: Annotated[Words, typer.Argument(metavar="", hidden=True)] = None,
    rules: Annotated[str, option("--rules", "Whose rules, or `all`.", "NAME")] = "eyetest",
    marks: Annotated[str, option("--marks", "How options are marked: upper, lower or digit.")] = "upper",
    as_json: JsonOption = False,
) -> None:
    """Read one reply to a choice question: which option it commits to, which rule says so, and where in the text.

    eyetest read --options cat dog bird fish --text "A dog"
    """
    options = [*first, *(others or ())]
    style = next((style for style in _STYLES if style == marks), None)
    if style is None:
        raise InputError(f'--marks: no such style as "{marks}"; {nearest(marks, _STYLES)}')
    if not 2 <= len(options) <= MAX_CHOICES:
        raise InputError(f"{len(options)} options; a choice has from 2 to {MAX_CHOICES}")
    names = list(RULE_SETS) if rules == "all" else [rules]
    found = {name: read_choice(text, options, name, marks=style) for name in names}
    if as_json:
        print_json(found if rules == "all" else found[rules])
        return
    for name, reading in found.items():
        out.print(_line(name, reading, options, style), soft_wrap=True)
    only = next(iter(found.values()))
    if only.span and len(found) == 1:
        out.print(marked(text, only.span), soft_wrap=True)


def marked(text: str, span: tuple[int, int] | None) -> Text:
    """A reply with the words that decided it. Of a long one, its ends and what stands around those words."""
    start, end = span or (0, 0)
    before, words, after = (safe(part, 2 * _SHOWN) for part in (text[:start], text[start:end], text[end:]))
    return Text.assemble(before, (words, "reverse"), after)


def _line(name: str, reading: Reading, options: list[str], style: Marks) -> Text:
    parts: list[str | tuple[str, str]] = [(f"{name}: ", "dim"), (reading.kind, _COLOURS[reading.kind])]
    if reading.index is not None:
        parts.append(f" {mark(style, reading.index)}. {safe(options[reading.index])}")
    by = f"by {reading.rule}" if reading.rule else ""
    why = ", ".join(filter(None, (by, reading.why, "would guess at random" if reading.would_guess else "")))
    return Text.assemble(*parts, (f"  ({why})" if why else "", "dim"))
