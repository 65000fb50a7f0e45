"""What of an item's media is sent: the one place where a condition gets the name of what it sends.

An item without any medium is asked the same with and without the image, so that such a call is named by what is sent.
A condition that promises a video, a sound or a document is refused, because only images are sent.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from eyetest.errors import InputError, counted, heading, listed, param
from eyetest.records import A_MEDIUM, MEDIA_KINDS, WITH_MEDIUM, Item, MediaKind
from eyetest.records.tables import Condition, Modality

__all__ = ["named_by_what_is_sent", "promises_medium", "refuse_idle_axes", "refuse_unsent"]

_BARE: dict[Modality, Modality] = {"image": "no-image", "no-question": "nothing"}
"""What a modality is for an item without any medium."""
_PROMISING: tuple[Modality, ...] = (*WITH_MEDIUM, "no-question", "screenshot")


def named_by_what_is_sent(item: Item, condition: Condition) -> Condition:
    """The condition by the name of what is sent of an item: without any medium ``image`` is ``no-image``."""
    bare = _BARE.get(condition.modality)
    if bare is None or item.images or item.media:
        return condition
    return msgspec.structs.replace(condition, modality=bare)


def promises_medium(item: Item, condition: Condition) -> bool:
    """Whether a condition promises a medium of an item that is not sent."""
    return condition.modality in MEDIA_KINDS or (bool(item.media) and condition.modality in _PROMISING)


def refuse_unsent(items: Iterable[Item], conditions: Sequence[Condition], remedy: str = "") -> None:
    """Refuse conditions that promise media which are not sent; the message counts the items.

    ``remedy``: what to do, where that is not an option of the command ``run``.
    """
    promising = [condition for condition in conditions if condition.modality in _PROMISING]
    if not promising:
        return
    total, affected = 0, 0
    kinds: Counter[MediaKind] = Counter()
    for item in items:
        total += 1
        if any(promises_medium(item, condition) for condition in promising):
            affected += 1
            kinds.update({media.kind for media in item.media})
    names = list(dict.fromkeys(condition.modality for condition in promising))
    if not affected:
        return
    where = heading("condition", ",".join(names))
    remedy = remedy or f"ask without it: {param('condition', 'no-image')}"
    raise InputError(f"{where}: {_what_is_unsent(kinds, affected, total)}; {remedy}")


def refuse_idle_axes(items: Iterable[Item], conditions: Sequence[Condition]) -> None:
    """Refuse letters, orders of options and own histories where no item has options, or earlier turns."""
    usual = Condition()
    idle_axes = {"letters": "options", "order": "options", "history": "earlier turns"}
    open_axes = {axis for axis in idle_axes if any(_sets_axis(condition, usual, axis) for condition in conditions)}
    if not open_axes:
        return
    for item in items:
        if item.choices:
            open_axes -= {"letters", "order"}
        if item.history:
            open_axes.discard("history")
        if not open_axes:
            return
    for axis, condition_of_effect in idle_axes.items():
        if axis in open_axes:
            why = f"{axis} changes nothing, because no item has {condition_of_effect}"
            raise InputError(f"{heading('condition')}: {why}; leave it out")


def _sets_axis(condition: Condition, usual: Condition, axis: str) -> bool:
    """Whether a condition sets an axis by itself; with another instruction it is a test of `perturb`."""
    return getattr(condition, axis) != getattr(usual, axis) and condition.template == usual.template


def _what_is_unsent(kinds: Counter[MediaKind], affected: int, total: int) -> str:
    """How many items have which medium; of a condition that promises one that they do not have, what is sent."""
    if not kinds:
        return "only images are sent"
    have = "has" if affected == 1 else "have"
    what = A_MEDIUM[next(iter(kinds))]
    if len(kinds) > 1:
        what = f"other media than images ({listed([f'{kind}: {number:,}' for kind, number in kinds.most_common()])})"
    return f"{affected:,} of {counted(total, 'item')} {have} {what}, which is not sent (only images are)"
