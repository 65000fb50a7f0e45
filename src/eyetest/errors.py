"""The errors that eyetest raises on purpose, and the wording of messages: parameters, files, counts and commands."""

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

LONGEST_MESSAGE = 2_000  # characters. Columns, tags and items of a file may have names of any length.
Spelling = Callable[[str, object, bool], str]  # writes a parameter from name, value or None, and whether it is a head
_KEYWORDS = {"own": "set", "spec": "models", "max_cost": "money"}
_MAPPINGS = ("columns", "constants", "fields", "map_tags", "own", "panels", "spec", "values")
_KEPT_IN_A_LINE = re.compile(r"(?! )(?:(?!  ).)*(?<! )")
_WRAPPED = re.compile(r"\(os error (\d+)\)")


class EyetestError(Exception):
    """An error shown as one line; the command line exits with code 2."""

    def __str__(self) -> str:
        text = " ".join(as_named(super().__str__()).splitlines())
        return text if len(text) <= LONGEST_MESSAGE else f"{text[: LONGEST_MESSAGE - 1]}…"


class InputError(EyetestError):
    """Invalid input from outside."""


class ImageError(InputError):
    """An image that cannot be used."""


class MissingImage(ImageError):  # noqa: N818 (the parent is named Error)
    """A referenced image that is missing."""


class RowError(InputError):
    """A row or line that cannot be used, while the others of its file may be."""


class ItemError(RowError):
    """An item with an invalid field."""

    def __init__(self, where: str, field: str, found: str, expected: str) -> None:
        super().__init__(f"{where}: {field}: found {found}, expected {expected}")
        self.where, self.field, self.found, self.expected = where, field, found, expected


class DamagedWarning(UserWarning):
    """Part of the stored data is damaged and left out; the rest is used."""


class Forbidden(EyetestError):  # noqa: N818 (it says what it is)
    """A request without the permission it needs."""


class DiskFull(EyetestError):  # noqa: N818 (it says what it is)
    """Data could not be stored; what was stored before is unchanged."""


class ExportError(EyetestError):
    """The target format cannot hold this item."""


class MissingExtraError(EyetestError):
    """An optional package is required and missing."""


def param(name: str, value: object = None) -> str:
    """A parameter as its caller writes it: ``--where`` or ``where=``; a measure's setting is ``own``, KEY=VALUE."""
    return _spelling(name, value, False)


def heading(name: str, value: object = None) -> str:
    """A parameter at the head of a message about its value: ``--where`` or ``where``."""
    return _spelling(name, value, True)


@contextmanager
def spelled(spelling: Spelling) -> Iterator[None]:
    """Set how parameters are written, in all threads."""
    global _spelling  # noqa: PLW0603 (a process has one interface at a time)
    before, _spelling = _spelling, spelling
    try:
        yield
    finally:
        _spelling = before


def in_python(name: str, value: object, at_head: bool) -> str:
    """A parameter as a keyword."""
    word, (key, equals, rest) = _KEYWORDS.get(name, name), str(value).partition("=")
    if at_head:
        return word if value is None or value is True else f"{word} {value}"
    if value is None or value is True:
        return f"{word}={value or ''}"
    return f'{word}={{"{key}": "{rest}"}}' if name in _MAPPINGS and equals else f'{word}="{value}"'


_spelling: Spelling = in_python
_names: dict[str, tuple[str, ...]] = {}
_sources: dict[str, str] = {}


def name_folder(folder: str, *names: str, source: str = "") -> None:
    """Show a folder in messages under the name that the user gave it, or the names of what it was made of.

    ``source``: the file that a folder of the cache holds, for what is stored: it leads there from every folder.
    """
    _names[folder] = names
    if source:
        _sources[folder] = source


def names_of(path: str) -> tuple[str, ...]:
    """What a user would type for a path: one name, or those of all that a pool in the cache was made of."""
    return _names.get(path) or (as_named(path),)


def as_named(text: str) -> str:
    """A text with folders as users named them; the location of a mirror or in the cache is not shown."""
    return _replaced(text, {folder: " ".join(names) for folder, names in _names.items() if folder in text})


def as_stored(text: str) -> str:
    """A path as it is stored: that of the file which the cache holds, the URL of a mirror."""
    sources = {folder: source for folder, source in _sources.items() if folder in text}
    return _replaced(as_reached(text), sources)


def as_reached(text: str) -> str:
    """A path as other machines reach it: the URL of a mirror; any other stays."""
    urls = {folder: names[0] for folder, names in _names.items() if "://" in names[0]}
    return _replaced(text, {folder: url for folder, url in urls.items() if folder in text})


def _replaced(text: str, names: dict[str, str]) -> str:
    for folder, name in names.items():
        text = re.sub(rf"{re.escape(folder)}(?![\w.-])", name.replace("\\", r"\\"), text)
    return text


def first_line(error: BaseException, otherwise: str = "") -> str:
    """The first line of an error's message, else ``otherwise`` or the name of its class."""
    return (str(error).splitlines() or [otherwise or type(error).__name__])[0]


def system_words(error: OSError) -> str:
    """The system's message without error number and file name: ``no space left on device``."""
    words = os.strerror(error.errno) if error.errno else first_line(error)
    return words[:1].lower() + words[1:]


def system_error(error: BaseException | None) -> OSError | None:
    """The system error that an error is or wraps; Polars gives it only as text, ``… (os error 28)``."""
    if isinstance(error, OSError):
        return error
    wrapped = _WRAPPED.search(str(error))
    return OSError(int(wrapped[1]), os.strerror(int(wrapped[1]))) if wrapped else None


def name_file(error: BaseException | None, path: object) -> None:
    """Set the file of a system error that names none."""
    if isinstance(error, OSError) and error.filename is None:
        error.filename = str(path)


def damaged(path: object, error: Exception) -> InputError:
    """One line about a file that cannot be read: the system's message, or what is wrong inside it."""
    if (system := system_error(error)) and system.errno:
        return InputError(f"cannot read {path}: {system_words(system)}")
    return InputError(f"{path} is damaged: {first_line(error)}")


def short(value: object, limit: int = 60) -> str:
    """Quote an outside value for a message: at most a line, without control characters."""
    text = repr(value) if isinstance(value, str) else f"{value!r} ({type(value).__name__})"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def nearest(name: str, known: Iterable[str], most: int = 24) -> str:
    """The nearest valid name, ignoring case, or the first of them: ``did you mean "jsonl"?``"""
    by_lower = {one.lower(): one for one in sorted(known)}
    if not by_lower:
        return "there is none"
    close = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    if close:
        return f'did you mean "{by_lower[close[0]]}"?'
    return f"known: {listed(sorted(by_lower.values()), most)}"


def tallied(reasons: Iterable[str]) -> str:
    """Reasons with their numbers, the most frequent first; those that differ in names and figures are one."""
    kinds: dict[str, list[str]] = {}
    for reason in reasons:
        kinds.setdefault(re.sub(r"'[^']*'|\"[^\"]*\"|/\S+|\d[\d,.]*", "", reason), []).append(reason)
    most = sorted(kinds.values(), key=len, reverse=True)
    return "; ".join(f"{own[0]}{f' ({len(own):,} such)' if len(own) > 1 else ''}" for own in most[:5])


def counted(number: int, what: str) -> str:
    """A number and its noun: ``1 question``, ``1,200 questions``."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def percent(share: float) -> str:
    """A share as text: ``31.0 %``, ``4.2 %``."""
    return f"{100 * share:.1f} %"


def listed(names: Iterable[str], most: int = 3) -> str:
    """The first of many names."""
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def typed(*words: object) -> str:
    """A command to paste into a shell, escaped where needed; a path like an option begins with ./"""
    quoted = []
    for word in words:
        for name in names_of(str(word)):
            quoted.append(_quoted(f"./{name}" if isinstance(word, Path) and name[:1] == "-" else name))
    return " ".join(quoted)


def naming_benchmark(run: object = "RUN") -> str:
    """How the benchmark of a run is named once and for all, for commands that take none themselves."""
    return f"name the benchmark once: {typed('eyetest', 'score', run, '--bench', 'BENCHMARK')}"


def _quoted(word: str) -> str:
    if word.isprintable() and _KEPT_IN_A_LINE.fullmatch(word):
        return shlex.quote(word)
    escapes = ("".join(f"\\x{byte:02x}" for byte in sign.encode("utf-8", "surrogateescape")) for sign in word)
    signs = (s if s.isprintable() and s not in " '\\" else escape for s, escape in zip(word, escapes, strict=True))
    return f"$'{''.join(signs)}'"
