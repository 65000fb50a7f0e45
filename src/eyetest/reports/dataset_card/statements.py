"""What only people know of a benchmark: ``card.yaml``, which they write, or have ``--fact`` write for them.

It outlives the card, so that a card that is written anew still says whom to ask and what the licence is. Licences are
written as the hub and Croissant do. Nothing is guessed: what nobody said is unknown.
"""

from collections.abc import Sequence
from datetime import date
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import yaml

from eyetest.errors import InputError, heading, nearest, short
from eyetest.store import replacing_file
from eyetest.store.handwritten import convert, parse_yaml, read_yaml

PracticeAnswer = Literal["yes", "no", "ask"]
_ANSWERS = {"yes": True, "no": False}
_CREATIVE = ("CC-BY", "CC-BY-SA", "CC-BY-NC", "CC-BY-ND", "CC-BY-NC-SA", "CC-BY-NC-ND")
_SPDX = (
    "CC0-1.0",
    *(f"{name}-{version}" for name in _CREATIVE for version in ("3.0", "4.0")),
    *("MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MPL-2.0", "Unlicense"),
    *("ODbL-1.0", "ODC-By-1.0", "PDDL-1.0"),
    *("CDLA-Permissive-1.0", "CDLA-Permissive-2.0", "CDLA-Sharing-1.0"),
)
_ON_THE_HUB = {"ODbL-1.0": "odbl", "ODC-By-1.0": "odc-by", "PDDL-1.0": "pddl"}
_BY_WORD = {name.lower(): name for name in _SPDX}
_UNKNOWN = "unknown"


class Statements(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Everything is optional, and what is absent stays unknown on the card."""

    name: str = ""
    """How people call it."""
    about: str = ""
    """What it tests, in a paragraph."""
    licence: str = ""
    language: tuple[str, ...] = ()
    """Codes of the languages of its texts: ``en``."""
    creators: tuple[str, ...] = ()
    contact: str = ""
    feedback: str = ""
    """Where faults are reported."""
    homepage: str = ""
    paper: str = ""
    citation: str = ""
    published: date | None = None
    sources: dict[str, str] = {}
    """The licence of each dataset that items come from."""
    practices: dict[str, bool] = {}
    """Which good practices a person says are kept, by name, or are not."""


class Practice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One good practice: how it is decided, by a check, or by what people said."""

    name: str
    practice: str
    check: str = ""
    said: str = ""
    absent: PracticeAnswer = "ask"
    """What it means that nobody said it."""


class Licence(NamedTuple):
    """A licence in the words of whoever named it."""

    said: str

    @property
    def is_known(self) -> bool:
        """Whether anybody said what it is; "unknown" is nobody."""
        return self.said.strip().lower() not in ("", _UNKNOWN, "none", "?")

    @property
    def spdx(self) -> str:
        """Its SPDX name, where it is a common one."""
        return _BY_WORD.get("-".join(self.said.lower().replace("_", " ").split()), "")

    @property
    def on_the_hub(self) -> str:
        """What the hub calls it."""
        if not self.is_known:
            return _UNKNOWN
        return _ON_THE_HUB.get(self.spdx, self.spdx.lower()) or "other"

    @property
    def address(self) -> str:
        """Where it can be read, or its name if nobody knows where."""
        if self.spdx:
            return f"https://spdx.org/licenses/{self.spdx}"
        return self.said if self.is_known else "UNKNOWN: nobody has said under what licence this may be used"


@cache
def practices() -> dict[str, tuple[Practice, ...]]:
    """The list of good practices (``practices.yaml``), by the stage of a benchmark's life."""
    text = resources.files(__package__).joinpath("practices.yaml").read_text(encoding="utf-8")
    return convert(parse_yaml(text, "practices.yaml"), dict[str, tuple[Practice, ...]], "practices.yaml")


def read_said(path: Path) -> Statements:
    """What a ``card.yaml`` says; nothing where there is none."""
    return _checked(read_yaml(path) or {}, str(path)) if path.exists() else Statements()


def write_said(path: Path, said: Statements) -> None:
    """Keep what was said."""
    text = yaml.safe_dump(msgspec.to_builtins(said), sort_keys=False, allow_unicode=True)
    with replacing_file(path) as file:
        file.write_text(text, encoding="utf-8")


def with_settings(said: Statements, words: Sequence[str]) -> Statements:
    """What was said before, and ``KEY=VALUE`` on top of it; an empty value takes a statement back."""
    content: dict[str, Any] = msgspec.to_builtins(said)
    names = Statements.__struct_fields__
    for word in words:
        key, equals, value = word.partition("=")
        name, _, inner = key.strip().partition(".")
        if not equals:
            raise InputError(f"{heading('said')}: found {short(word)}, expected KEY=VALUE")
        if name not in names:
            raise InputError(f'{heading("said")}: no "{name}"; {nearest(name, names)}')
        kind = type(getattr(Statements(), name))
        if (kind is dict) != bool(inner):
            raise InputError(f"{heading('said', key)}: expected {name + '.NAME' if kind is dict else name}=VALUE")
        values, last = (content.setdefault(name, {}), inner) if inner else (content, name)
        values.pop(last, None)
        if value.strip():
            values[last] = _value(name, kind, value.strip())
    return _checked(content, heading("said"))


def _checked(content: Any, where: str) -> Statements:
    said = convert(content, Statements, where)
    known = [practice.name for stage in practices().values() for practice in stage]
    for name in said.practices:
        if name not in known:
            raise InputError(f'{where}: no practice "{name}"; {nearest(name, known)}')
    return said


def _value(name: str, kind: type, text: str) -> Any:
    if name == "practices":
        if text not in _ANSWERS:
            raise InputError(f"{heading('said', 'practices')}: found {short(text)}, expected yes or no")
        return _ANSWERS[text]
    return [part.strip() for part in text.split(",") if part.strip()] if kind is tuple else text
