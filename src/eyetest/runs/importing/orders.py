"""The order in which somebody's options were shown, out of whatever their table says about it.

A number alone says nothing: it may be a pass, a row or somebody's seed. Taken for a seed of ours it would make every
letter mean another option than the model meant.
"""

import json
from collections.abc import Sequence
from typing import Any

from eyetest.errors import InputError, param, short
from eyetest.records import order_shown, read_order
from eyetest.records.order import read_positions


def read_shown(value: Any, options: Sequence[str] | None) -> int:
    """The order that a cell says: in words, as a permutation, or as the options' own texts as they were shown.

    ``options`` are the item's texts as written, where the benchmark is known.
    """
    parts = _parts(value)
    words = _words(value) if parts is None else ",".join(map(_words, parts))
    try:
        order = read_order(words)
    except ValueError:
        order = None
    by_text = _by_text([str(part) for part in parts], options) if parts and options else None
    if order is not None and by_text is not None and order != by_text:
        raise InputError(f"order: {short(value)} may be marks or the options' own texts; write it as 1,0 …")
    order = by_text if order is None else order
    if order is None:
        raise InputError(_not_understood(value, parts, options))
    if options and by_text is None:
        _refuse_other_number(words, options)
    return order


def _refuse_other_number(words: str, options: Sequence[str]) -> None:
    try:
        listed = read_positions(words)
    except ValueError:
        return
    if len(listed) != len(options):
        raise InputError(f"order: {short(words, 30)} names {len(listed)} options, and the item has {len(options)}")


def _parts(value: Any) -> list[Any] | None:
    """The members of a list, also of one that is written as JSON."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return list(value) if isinstance(value, list | tuple) else None


def _words(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else str(value)


def _by_text(shown: Sequence[str], options: Sequence[str]) -> int | None:
    """The order that puts the options' texts so; None where these are other texts, or two of them are alike."""
    written = [_folded(text) for text in options]
    seen = [_folded(text) for text in shown]
    if len(set(written)) < len(written) or sorted(seen) != sorted(written):
        return None
    try:
        return order_shown([written.index(text) for text in seen])
    except ValueError:
        return None


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _not_understood(value: Any, parts: list[Any] | None, options: Sequence[str] | None) -> str:
    found = f"order: found {short(value)}, which does not say what was shown"
    if parts and options is None:
        return f"{found}; where it lists the options' texts, name the benchmark with {param('bench')}"
    if parts:
        return f"{found}: these are not the {len(options or ())} options of the item"
    word = " ".join(_words(value).split())[:20]
    return (
        f"{found}; expected original, reversed, or the options as shown (BADC or 1,0,3,2). "
        f"Say {param('values', f'order={word}>reversed')}, or '>seed 1' where eyetest drew it, or "
        f"{param('constants', 'order=original')} if the column means something else"
    )
