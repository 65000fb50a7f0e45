"""What a refinement came to, as its page tells it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import yaml

from eyetest.recipes.panels import Seated
from eyetest.recipes.residual import Residual
from eyetest.records import Item, Recipe, Verdict, sorting_tags, tag_word
from eyetest.reports import Blind, Refinement


def refinement(
    name: str,
    recipe: Recipe,
    panels: Mapping[str, Seated],
    items: Mapping[str, Item],
    stages: Sequence[tuple[str, Sequence[Verdict]]],
    kept: Sequence[Item],
) -> Refinement:
    """Everything but what is still answered blind, and notes."""
    return Refinement(
        name=name,
        recipe=yaml.safe_dump(
            msgspec.to_builtins(recipe.written_down()), sort_keys=False, allow_unicode=True, width=100
        ),
        about=recipe.about.strip(),
        stages=stages,
        items=items,
        kept=len(kept),
        panels=[(panel, _members(seated)) for panel, seated in panels.items()],
        tags=list(_by_tag(items, kept)),
        seed=recipe.seed,
    )


def still_blind(residuals: Sequence[Residual]) -> list[Blind]:
    """The figures of the page's chart, each with its interval."""
    found = []
    for one in residuals:
        value, low, high, _ = one.accuracy
        if value is not None:
            bounds = (value if low is None else low, value if high is None else high)
            who = f"{one.who} ({one.part})" if one.part else one.who
            found.append(Blind(f"{one.panel}, {who}, {one.when}", one.models, value, *bounds))
    return found


def _members(seated: Seated) -> str:
    told = ", ".join(seat.model for seat in seated.seats) or "nobody"
    out = ", ".join(seat.model for seat in seated.held_out)
    condition = seated.panel.condition()
    asked = f"{condition.sight}, {condition.ask}, {seated.tests} × an item"
    return f"{told} ({asked})" + (f"; held out: {out}" if out else "")


def _by_tag(items: Mapping[str, Item], kept: Sequence[Item]) -> Iterator[tuple[str, list[tuple[str, int, int]]]]:
    for tag in sorting_tags(list(items.values())):
        before = Counter(tag_word(item.tags.get(tag)) or "" for item in items.values())
        left = Counter(tag_word(item.tags.get(tag)) or "" for item in kept)
        yield tag, [(value, count, left[value]) for value, count in before.most_common()]
