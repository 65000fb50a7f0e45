"""What only people know of a benchmark: ``card.yaml``, which they write, or have ``--set`` write for them.

It outlives the card, so that a card that is written anew still says whom to ask and what the licence is.
"""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import yaml

from eyetest.errors import InputError, heading, nearest, short
from eyetest.reports.dataset_card.practices import check_practices
from eyetest.store.handwritten import convert, read_yaml
from eyetest.store.replacing import replacing_file

_ANSWERS = {"yes": True, "no": False}


class Said(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
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


def read_said(path: Path) -> Said:
    """What a ``card.yaml`` says; nothing where there is none."""
    return _checked(read_yaml(path) or {}, str(path)) if path.exists() else Said()


def write_said(path: Path, said: Said) -> None:
    """Keep what was said."""
    text = yaml.safe_dump(msgspec.to_builtins(said), sort_keys=False, allow_unicode=True)
    with replacing_file(path) as place:
        place.write_text(text, encoding="utf-8")


def with_settings(said: Said, words: Sequence[str]) -> Said:
    """What was said before, and ``KEY=VALUE`` on top of it; an empty value takes a statement back."""
    content: dict[str, Any] = msgspec.to_builtins(said)
    for word in words:
        key, equals, value = word.partition("=")
        name, _, inner = key.strip().partition(".")
        if not equals:
            raise InputError(f"{heading('said')}: found {short(word)}, expected KEY=VALUE")
        if name not in Said.__struct_fields__:
            raise InputError(f'{heading("said")}: no "{name}"; {nearest(name, Said.__struct_fields__)}')
        kind = type(getattr(Said(), name))
        if (kind is dict) != bool(inner):
            raise InputError(f"{heading('said', key)}: expected {name + '.NAME' if kind is dict else name}=VALUE")
        place, last = (content.setdefault(name, {}), inner) if inner else (content, name)
        place.pop(last, None)
        if value.strip():
            place[last] = _value(name, kind, value.strip())
    return _checked(content, heading("said"))


def _checked(content: Any, where: str) -> Said:
    said = convert(content, Said, where)
    check_practices(said.practices, where)
    return said


def _value(name: str, kind: type, text: str) -> Any:
    if name == "practices":
        if text not in _ANSWERS:
            raise InputError(f"{heading('said', 'practices')}: found {short(text)}, expected yes or no")
        return _ANSWERS[text]
    return [part.strip() for part in text.split(",") if part.strip()] if kind is tuple else text
