"""Parts of a benchmark that are fair to some models, or of use to somebody.

A model-oriented part leaves out every dataset that one of the compared models was trained on; a user-oriented part
keeps the dimensions, tasks or datasets that were asked for.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from unicodedata import normalize

import msgspec

from eyetest.curate.selection import Candidate, by_value, check_tags
from eyetest.errors import InputError, nearest, short
from eyetest.records import ModelEntry

_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015]+")


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A dataset that went, how many items it had, and the models that were trained on it."""

    dataset: str
    items: int
    models: tuple[str, ...]


class Unmatched(msgspec.Struct, frozen=True, kw_only=True):
    """Something that models were trained on and that is no dataset here. ``near`` has a name like it, if any has."""

    name: str
    models: tuple[str, ...]
    near: str = ""


class HeldOut(msgspec.Struct, frozen=True, kw_only=True):
    """Items that no compared model is known to have trained on, and what this rests on."""

    ids: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    unmatched: tuple[Unmatched, ...]
    undeclared: tuple[str, ...]
    """Models of which nothing says what they were trained on: nothing was left out because of them."""
    untagged: int
    """Items that were kept although nothing says which dataset they are from."""


def user_oriented(items: Sequence[Candidate], wanted: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """The items that have, of each of these tags, one of these values: ``{"dimension": ["CG"], "task": […]}``."""
    check_tags(items, wanted)
    for tag, values in wanted.items():
        known = set(by_value(items, tag)) - {""}
        for value in values:
            if value not in known:
                raise InputError(f"no item has the {tag} {short(value)}; {_nearest(value, known)}")
    kept = tuple(item.id for item in items if all(item.tags.get(tag, "") in wanted[tag] for tag in wanted))
    if not kept:
        asked = " and ".join(f"{tag} {' or '.join(map(short, values)) or 'none'}" for tag, values in wanted.items())
        raise InputError(f"no item has {asked or 'anything'}")
    return kept


def model_oriented(items: Sequence[Candidate], entries: Mapping[str, ModelEntry], tag: str = "source") -> HeldOut:
    """The items whose dataset, named by ``tag``, none of these models was trained on."""
    check_tags(items, [tag])
    pools = by_value(items, tag)
    untagged = len(pools.pop("", ()))
    trained: dict[str, dict[str, str]] = {}
    for model, entry in entries.items():
        for name in entry.trained_on:
            trained.setdefault(plain_name(name), {})[model] = name
    here = {plain_name(dataset): dataset for dataset in pools}
    left_out = [
        LeftOut(dataset=dataset, items=len(pool), models=tuple(trained[plain_name(dataset)]))
        for dataset, pool in pools.items()
        if plain_name(dataset) in trained
    ]
    gone = {dropped.dataset for dropped in left_out}
    return HeldOut(
        ids=tuple(item.id for item in items if item.tags.get(tag, "") not in gone),
        left_out=tuple(left_out),
        unmatched=tuple(
            Unmatched(name=next(iter(by.values())), models=tuple(by), near=_near(plain, here))
            for plain, by in trained.items()
            if plain not in here
        ),
        undeclared=tuple(model for model, entry in entries.items() if not entry.trained_on),
        untagged=untagged,
    )


def plain_name(name: str) -> str:
    """A dataset's name however it is written: ``OK-VQA``, ``ok_vqa`` and ``OK VQA`` are one."""
    folded = normalize("NFKC", name).casefold()
    return _SEPARATORS.sub("", folded) or folded


def _nearest(value: str, known: Collection[str]) -> str:
    alike = [name for name in sorted(known) if plain_name(name) == plain_name(value)]
    return f'did you mean "{alike[0]}"?' if alike else nearest(value, known)


def _near(plain: str, here: Mapping[str, str]) -> str:
    close = get_close_matches(plain, here, n=1)
    return here[close[0]] if close else ""
