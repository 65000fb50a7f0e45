"""Pages from templates: web pages without network and with one known script, and Markdown; texts are escaped."""

import base64
import re
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import yaml
from markupsafe import Markup, escape

from eyetest.errors import as_named, percent
from eyetest.harden.screenshot.formulas import Formula, mathml, split_formulas, whole_formula
from eyetest.pages.palette import dark_rules
from eyetest.store import refuse_to_lose, write_file
from eyetest.version import __version__

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_LONGEST_LINE = 2_000
_FORMULA_COUNTS = 20  # characters of a shortened text
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKS = re.compile(r"([\\`*_\[\]#|~!$])")
_LIST_OR_RULE = re.compile(r"^([-+=]|\d+(?=[.)](?:\s|$)))")
_ADDRESS = re.compile(r"https?://[\w.~:/?#@%=&+,;-]+")


def printable(text: str) -> str:
    """External text without characters that reverse text direction or are not allowed in pages."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def printable_data(data: Any) -> Any:
    """Values for JSON, with all texts in them printable."""
    if isinstance(data, str):
        return printable(data)
    if isinstance(data, dict):
        return {printable_data(key): printable_data(value) for key, value in data.items()}
    return [printable_data(value) for value in data] if isinstance(data, list | tuple) else data


def clip(text: str, limit: int) -> str:
    """External text, shortened to the limit of a page."""
    text = printable(str(text))
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def p_value(p: float) -> str:
    """A p-value as papers print it."""
    if p < 0.0001:
        return "p < 0.0001"
    return f"p = {p:.2g}" if p < 0.995 else "p = 1"


def odds(p: float) -> str:
    """A probability in words: ``once in 4,000``."""
    if p < 1e-6:
        return "less than once in a million"
    if p <= 0.1:
        times = 1 / p
        unit = 10 ** max(0, len(str(int(times))) - 2)
        return f"once in {round(times / unit) * unit:,}"
    return f"{round(100 * p)} times in 100" if p < 0.995 else "nearly always"


def estimate(
    value: float | None, low: float | None = None, high: float | None = None, *, signed: bool = False
) -> str:
    """A share as all pages show it, in per cent and with its interval: ``79.5 [73.2, 84.6]``."""
    if value is None:
        return "–"
    ends = [end for end in (low, high) if end is not None]
    words = [f"{100 * number:{'+' if signed else ''}.1f}" for number in (value, *ends)]
    first, *bounds = ["0.0" if word in ("-0.0", "+0.0") else word.replace("-", "−") for word in words]
    return f"{first} [{', '.join(bounds)}]" if len(bounds) == 2 else first


def with_formulas(text: str, whole: bool = False, most: int = 0) -> Markup:
    """A text with its formulas typeset, if they can be parsed; ``whole``: it may be one formula without dollars.

    With ``most``, it ends after about so many characters, and never inside a formula.
    """
    formula = whole_formula(text) if whole else None
    shown, left = list[Markup](), float(most or "inf")
    for part in [formula] if formula else split_formulas(text)[0]:
        if left <= 0:
            shown.append(Markup("…"))
            break
        if isinstance(part, Formula):
            shown.append(mathml(part.nodes, part.alone))
            left -= _FORMULA_COUNTS
        else:
            shown.append(escape(clip(part, int(left))) if len(part) > left else escape(part))
            left -= len(part)
    return Markup("").join(shown)


def plain(value: object) -> str:
    """A value in readable form."""
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, list | tuple):
        return ", ".join(plain(part) for part in value[:20]) + (" …" if len(value) > 20 else "")
    if isinstance(value, dict):
        return "; ".join(f"{key}: {plain(part)}" for key, part in list(value.items())[:20])
    return "" if value is None else str(value)


def fill_page(template: str, contents: Mapping[str, Any], package: str = "eyetest.reports") -> str:
    """A web page from a template of some package, which may use those of this one; inserted values are escaped."""
    return _web(package).get_template(template).render(contents)


def write_page(
    template: str, contents: Mapping[str, Any], to: Path, *, overwrite: bool = False, package: str = "eyetest.reports"
) -> None:
    """Fill a web page and write it atomically."""
    page = fill_page(template, contents, package)
    refuse_to_lose(to, overwrite=overwrite, ours=None)
    write_file(to, as_named(page.lstrip()), overwrite=overwrite)


@cache
def template_data(name: str) -> dict[str, Any]:
    """A YAML file of texts beside the templates of reports."""
    text = resources.files("eyetest.reports").joinpath("templates", name).read_text("utf-8")
    data: dict[str, Any] = yaml.safe_load(text)
    return data


class Verbatim(str):
    """Markdown written by eyetest, or fenced."""

    __slots__ = ()


def fill_markdown(template: str, contents: Mapping[str, Any], package: str = "eyetest.reports") -> str:
    """Markdown from a template; every value that is not `Verbatim` is escaped."""
    return _markdown(package).get_template(template).render(contents)


def escape_markdown(text: str) -> str:
    """A text as one line of literal Markdown: no mark-up, no link, no end of a table cell."""
    line = " ".join(clip(text, _LONGEST_LINE).split())
    line = "".join(_ENTITIES.get(character, character) for character in line)
    line = _MARKS.sub(r"\\\1", line).replace("://", "&#58;//")
    return _LIST_OR_RULE.sub(lambda match: f"{match[1]}\\" if match[1].isdigit() else f"\\{match[1]}", line)


def _fenced(text: str, language: str = "") -> Verbatim:
    """A text to be copied exactly, behind a fence that is longer than any inside it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Verbatim(f"{fence}{language}\n{clip(text.strip(), 10**6)}\n{fence}")


def _address(text: str) -> str:
    """A web address as a link; anything else as text."""
    return Verbatim(f"<{text}>") if _ADDRESS.fullmatch(text) else text


@cache
def _web(package: str) -> jinja2.Environment:
    environment = _environment(package, autoescape=True)
    environment.filters |= {"p": p_value, "odds": odds, "clip": clip, "tex": with_formulas, "estimate": estimate}
    script = resources.files(__package__).joinpath("templates", "page.js").read_text("utf-8")
    digest = base64.b64encode(sha256(script.encode()).digest()).decode()
    environment.globals |= {"dark": lambda: Markup(dark_rules()), "script": Markup(script), "script_hash": digest}  # noqa: S704 (ours)
    environment.globals["mathml"] = mathml
    return environment


@cache
def _markdown(package: str) -> jinja2.Environment:
    environment = _environment(
        package, finalize=lambda value: value if isinstance(value, Verbatim) else escape_markdown(str(value))
    )
    environment.filters |= {"fenced": _fenced, "address": _address, "verbatim": Verbatim}
    return environment


def _environment(package: str, **settings: Any) -> jinja2.Environment:
    shared = [jinja2.PackageLoader(name) for name in dict.fromkeys((package, __package__))]
    environment = jinja2.Environment(  # noqa: S701 (web pages say so themselves; Markdown is escaped by escape_markdown)
        loader=jinja2.ChoiceLoader(shared),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **settings,
    )
    environment.filters["percent"] = percent
    environment.globals["version"] = __version__
    return environment
