"""What several runs know of their models, by name.

Where a model is reached is each site's own; what it is and how it answers is not, and has to be the same.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from eyetest.errors import short
from eyetest.records import ModelEntry

_REACHED = ("spec", "key_env", "price", "concurrency")
"""What may differ from site to site; of a spec, its address."""
_ASKED = ("sampling", "detail", "prefill", "logprobs")
"""What decides the answers, so that saying nothing is saying something too."""
_ADDRESS = re.compile("@https?://.*", re.IGNORECASE | re.DOTALL)
_REPLAY = "replay:"
"""Answers that were brought in have no other spec than the file they came from."""
Named = Sequence[tuple[str, Mapping[str, ModelEntry]]]


def united_entries(runs: Named) -> tuple[dict[str, ModelEntry], dict[str, str]]:
    """All models, as the first run knows each and completed by the others; and, by name, how runs differ about it."""
    entries: dict[str, ModelEntry] = {}
    said_by: dict[str, str] = {}
    differing: dict[str, str] = {}
    for run, models in runs:
        for name, entry in models.items():
            mine = entries.setdefault(name, entry)
            first = said_by.setdefault(name, run)
            if (field := _difference(mine, entry)) and name not in differing:
                ours, theirs = short(getattr(mine, field), 80), short(getattr(entry, field), 80)
                differing[name] = f"{field} is {ours} in {first} and {theirs} in {run}"
            entries[name] = _completed(mine, entry)
    return entries, differing


def _difference(mine: ModelEntry, other: ModelEntry) -> str:
    """The first field that says something else of the model, if there is one."""
    who = [_who(entry.spec) for entry in (mine, other)]
    if all(who) and who[0] != who[1]:
        return "spec"
    for field in mine.__struct_fields__:
        values = getattr(mine, field), getattr(other, field)
        is_compared = all(who) if field in _ASKED else all(map(_is_said, values))
        if field not in _REACHED and is_compared and values[0] != values[1]:
            return field
    return ""


def _completed(mine: ModelEntry, other: ModelEntry) -> ModelEntry:
    taken = _ASKED if not _who(mine.spec) else ()
    missing = {
        field: getattr(other, field)
        for field in mine.__struct_fields__
        if field in taken or (field not in _ASKED and not _is_said(getattr(mine, field)))
    }
    if taken:
        missing["spec"] = other.spec
    return msgspec.structs.replace(mine, **missing)


def _who(spec: str) -> str:
    """The model that a spec names, wherever it is reached; nothing where only its answers are known."""
    return "" if spec.startswith(_REPLAY) else _ADDRESS.sub("", spec)


def _is_said(value: object) -> bool:
    return value not in (None, ())
