"""Texts from outside inside Markdown: whatever they hold, they are shown as they are and mean nothing else."""

import re
from collections.abc import Mapping
from typing import Any

import jinja2

from eyetest.pages.texts import clip
from eyetest.probes.subject import percent

_LONGEST = 2_000
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKS = re.compile(r"([\\`*_\[\]#|~!$])")
_LIST_OR_RULE = re.compile(r"^([-+=]|\d+(?=[.)](?:\s|$)))")
_ADDRESS = re.compile(r"https?://[\w.~:/?#@%=&+,;-]+")


class Verbatim(str):
    """Markdown that we wrote ourselves, or fenced."""

    __slots__ = ()


def fill(template: str, contents: Mapping[str, Any]) -> str:
    """A template's text, in which every value is escaped that is not `Verbatim`."""
    environment = jinja2.Environment(  # noqa: S701 (what comes out is Markdown, escaped by escape)
        loader=jinja2.PackageLoader("eyetest.reports"),
        finalize=lambda value: value if isinstance(value, Verbatim) else escape(str(value)),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "fenced": fenced, "address": address, "verbatim": Verbatim}
    return environment.get_template(template).render(contents)


def escape(text: str) -> str:
    """A text as one line that shows itself: no mark-up, no link, no end of a table's cell."""
    line = " ".join(clip(text, _LONGEST).split())
    line = "".join(_ENTITIES.get(character, character) for character in line)
    line = _MARKS.sub(r"\\\1", line).replace("://", "&#58;//")
    return _LIST_OR_RULE.sub(lambda found: f"{found[1]}\\" if found[1].isdigit() else f"\\{found[1]}", line)


def fenced(text: str, language: str = "") -> Verbatim:
    """A text to be copied exactly, behind a fence that is longer than any inside it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Verbatim(f"{fence}{language}\n{clip(text.strip(), 10**6)}\n{fence}")


def address(text: str) -> str:
    """A web address that a person gave, as a link; anything else as text."""
    return Verbatim(f"<{text}>") if _ADDRESS.fullmatch(text) else text
