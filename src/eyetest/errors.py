"""Everything eyetest raises on purpose, so that a caller can catch one name and a person reads one line.

EyetestError
├── InputError            a file, a field or an option from outside is not what it has to be
│   ├── ItemError         one item is wrong: says which item, which field, what was found and expected
│   ├── ImageError        a picture cannot be used: unreadable, too large, not where it may be
│   │   └── MissingImage  a picture that is named and is not there
│   ├── NoQuestionError   a file in which nothing is asked (benchmarks)
│   └── CannotMeet        the pool is too small for a quota (curate)
├── Forbidden             somebody asks for what is not theirs (review)
├── DiskFull              what was said could not be kept: there is no room (review)
├── ExportError           an item that the target format has no way to hold
├── CannotApply           a condition that an item cannot be asked under (prompts)
├── CannotShow            an item that no page can show (harden)
├── CallError             one attempt at a call failed (models)
├── NotMeasurable         a measure that does not apply to these scores (measures)
├── StoppedEarly          asking ended before everything was answered (recipes)
├── NotAskedError         a call that was not made, because the run is stopping (running)
├── JournalError          the journal cannot be written, so nothing more may be asked (runs)
└── MissingExtraError     an optional package is not installed: says which one mends it
"""

import keyword
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

LONGEST_MESSAGE = 2_000
"""In characters. A file may give its columns, tags or items names of any length, and of several lines."""
Spelling = Callable[[str, object, bool], str]
"""How a door writes a parameter: its name, a value for it or None, and whether it stands at a message's head."""
_KEYWORDS = {"own": "settings", "spec": "models", "max_cost": "money"}
_MAPPINGS = ("columns", "constants", "fields", "map_tags", "panels", "said", "spec", "values")
_WRAPPED = re.compile(r"\(os error (\d+)\)")


class EyetestError(Exception):
    """Shown to a person as one line; the command line exits with code 2."""

    def __str__(self) -> str:
        text = " ".join(as_said(super().__str__()).splitlines())
        return text if len(text) <= LONGEST_MESSAGE else f"{text[: LONGEST_MESSAGE - 1]}…"


class InputError(EyetestError):
    """Something that came from outside is not what it has to be."""


class ImageError(InputError):
    """A picture that cannot be used."""


class MissingImage(ImageError):  # noqa: N818 (its parent says that it is an error)
    """A picture that is named and is not there."""


class ItemError(InputError):
    """One item is wrong in one field."""

    def __init__(self, where: str, field: str, found: str, expected: str) -> None:
        super().__init__(f"{where}: {field}: found {found}, expected {expected}")
        self.where, self.field, self.found, self.expected = where, field, found, expected


class DamagedWarning(UserWarning):
    """Part of what was stored is damaged and left out; the rest is used."""


class ReadingWarning(UserWarning):
    """A file was read in a way that whoever wrote it may not have meant; it says how, and what to do if so."""


class Forbidden(EyetestError):  # noqa: N818 (it says what it is)
    """Somebody asks for what is not theirs to see or to do."""


class DiskFull(EyetestError):  # noqa: N818 (it says what it is)
    """What was said could not be kept; what was kept before is as it was."""


class ExportError(EyetestError):
    """The target format has no way to hold this item."""


class MissingExtraError(EyetestError):
    """An optional package is needed and absent."""


def param(name: str, value: object = None) -> str:
    """A parameter, or what to say of it, in words of whoever called: ``--where`` in a terminal, ``where=`` in Python.

    Rooms below the doors name no option. A switch has the value True, a measure's setting is ``own`` with KEY=VALUE.
    """
    return _spelling(name, value, False)


def heading(name: str, value: object = None) -> str:
    """A parameter at the head of a message about what was said of it: ``--where`` or ``where``."""
    return _spelling(name, value, True)


@contextmanager
def spelled(spelling: Spelling) -> Iterator[None]:
    """Let parameters be written as this door writes them, in all threads."""
    global _spelling  # noqa: PLW0603 (a program is entered by one door at a time)
    before, _spelling = _spelling, spelling
    try:
        yield
    finally:
        _spelling = before


def as_keyword(key: str) -> str:
    """A name as Python can write it: ``at-least`` is ``at_least``, ``from`` is ``from_``."""
    word = key.replace("-", "_")
    return f"{word}_" if keyword.iskeyword(word) else word


def in_python(name: str, value: object, at_head: bool) -> str:
    """A parameter as a keyword; a measure's own setting is one itself."""
    word, (key, equals, rest) = _KEYWORDS.get(name, name), str(value).partition("=")
    if name == "own" and value is not None:
        word, value = as_keyword(key), rest if equals else None
    if at_head:
        return word if value is None or value is True else f"{word} {value}"
    if value is None or value is True:
        return f"{word}={value or ''}"
    return f'{word}={{"{key}": "{rest}"}}' if name in _MAPPINGS and equals else f'{word}="{value}"'


_spelling: Spelling = in_python
_said: dict[str, str] = {}


def name_folder(folder: str, said: str) -> None:
    """Let texts for people call a folder as they called it themselves."""
    _said[folder] = said


def as_said(text: str) -> str:
    """A text with folders called as users called them: nobody is shown where on this disk a mirror lies."""
    for folder, said in _said.items():
        text = text.replace(f"{folder}/", f"{said}/")
    return text


def system_words(error: OSError) -> str:
    """What the system says of a file, without the number and the name: ``no space left on device``."""
    words = os.strerror(error.errno) if error.errno else (str(error).splitlines() or [type(error).__name__])[0]
    return words[:1].lower() + words[1:]


def system_error(error: BaseException | None) -> OSError | None:
    """The error of the system that another is or wraps: Polars tells of one in words, ``… (os error 28)``."""
    if isinstance(error, OSError):
        return error
    told = _WRAPPED.search(str(error))
    return OSError(int(told[1]), os.strerror(int(told[1]))) if told else None


def name_file(error: BaseException | None, path: object) -> None:
    """Let an error of the system that names no file name the one that was being written."""
    if isinstance(error, OSError) and error.filename is None:
        error.filename = str(path)


def damaged(path: object, error: Exception) -> InputError:
    """One line about a file that cannot be read: what the system says of it, or what is wrong inside it."""
    if (system := system_error(error)) and system.errno:
        return InputError(f"cannot read {path}: {system_words(system)}")
    return InputError(f"{path} is damaged: {(str(error).splitlines() or [type(error).__name__])[0]}")


def short(value: object, limit: int = 60) -> str:
    """Quote a value from outside for a message: never longer than a line, never with control characters."""
    text = repr(value) if isinstance(value, str) else f"{value!r} ({type(value).__name__})"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def nearest(name: str, known: Iterable[str], most: int = 24) -> str:
    """Say the nearest right name, whatever its case, or all of them if they are few: ``did you mean "jsonl"?``"""
    by_lower = {one.lower(): one for one in sorted(known)}
    close = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    if close:
        return f'did you mean "{by_lower[close[0]]}"?'
    names = sorted(by_lower.values())
    return f"known: {', '.join(names[:most])}" + (f" and {len(names) - most} more" if len(names) > most else "")
