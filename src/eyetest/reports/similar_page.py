"""A page of similar items: a map of all items, the most alike side by side in it, and the nearest pairs."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from eyetest.errors import InputError, counted, heading, nearest, short
from eyetest.pages.item_links import items_at
from eyetest.pages.item_view import Album, Thumbnail, lot, show_item
from eyetest.pages.page import clip, write_page
from eyetest.pages.palette import CATEGORIES, QUIET
from eyetest.records import Item, tag_word
from eyetest.similarity.encoders import Floats
from eyetest.similarity.search import SOURCE, Vectors

_MOST_POINTS, _MOST_PAIRS = 1_500, 12
_WIDTH, _HEIGHT, _CELL = 1_000, 700, 50
_THUMBNAIL = 160
_ENDS = ("item", "other")


def write_similar_page(
    sides: Sequence[Vectors], pairs: pl.DataFrame, to: Path, tag: str, *, overwrite: bool = False
) -> None:
    """Write the page. Colours are those of benchmarks, or of a tag's values; links open the first benchmark."""
    album = Album(*(side.benchmark for side in sides), side=_THUMBNAIL)
    at = items_at(None, to, [sides[0].benchmark.path])
    every = [(number, row) for number, side in enumerate(sides) for row in range(len(side.items))]
    drawn = sorted(range(len(every)), key=lambda n: lot(str(n)))[:_MOST_POINTS]
    items = [(every[n][0], sides[every[n][0]].benchmark.take([every[n][1]])[0]) for n in drawn]
    values = _values(sides, items, tag)
    common = [value for value, _ in Counter(values).most_common(len(CATEGORIES)) if value]
    colours = dict(zip(common, CATEGORIES, strict=False))
    points: dict[tuple[int, int], dict[str, Any]] = {}
    places = _placed(np.vstack([side.together() for side in sides])[drawn])
    for place, (side, item), value in zip(places, items, values, strict=True):
        cell = place[0] // _CELL * _CELL, place[1] // _CELL * _CELL
        shown = album.add(item.images[0], 1) if item.images and cell not in points else Thumbnail()
        spot = cell if shown.ref or cell in points else place  # an image stands for all items of its cell
        new = {"place": spot, "shown": shown, "items": [], "colour": colours.get(value, QUIET)}
        points.setdefault(spot, new)["items"].append((side, item))
    for point in points.values():
        point["href"] = at.named(item.id for side, item in point["items"] if side == 0).href
        first = point["items"][0][1]
        point["title"] = clip(f"{counted(len(point['items']), 'item')}: {first.id}: {first.question}", 160)
    cards = [
        (
            row,
            [
                show_item(row[end], "", [], side.benchmark[row[end]], album)
                for end, side in zip(_ENDS, (sides[0], sides[-1]), strict=True)
            ],
        )
        for row in pairs.head(_MOST_PAIRS).to_dicts()
    ]
    contents = {
        "names": [side.benchmark.manifest.name for side in sides],
        "encoders": [encoder.name for encoder in sides[0].encoders.values()],
        "items": len(every),
        "pairs": pairs,
        "kinds": Counter(kind for kind in pairs["kind"] if kind),
        "points": points.values(),
        "drawn": len(drawn),
        "legend": [*colours.items(), *([("other", QUIET)] if len(set(values)) > len(colours) and colours else [])],
        "size": (_WIDTH, _HEIGHT, _CELL - 4),
        "cards": cards,
        "at": at,
        "album": album.images,
    }  # fmt: skip
    write_page("similar.html.j2", contents, to, overwrite=overwrite)


def _values(sides: Sequence[Vectors], items: Sequence[tuple[int, Item]], tag: str) -> list[str]:
    """What colours each item: its benchmark, or its value of a tag."""
    if len(sides) > 1 and not tag:
        return [sides[side].benchmark.manifest.name for side, _ in items]
    known = {name for _, item in items for name in item.tags}
    if tag and tag not in known:
        raise InputError(f"{heading('color')}: no item has a tag {short(tag)}; {nearest(tag, known)}")
    return [tag_word(item.tags.get(tag or SOURCE)) or "" for _, item in items]


def _placed(table: Floats) -> list[tuple[int, int]]:
    """Two coordinates of each row within the map: t-SNE of the principal components."""
    flat = np.stack([np.arange(len(table)), np.zeros(len(table))], axis=1)
    if len(table) > 4:
        parts = PCA(min(50, *table.shape), random_state=0).fit_transform(table)
        flat = TSNE(2, perplexity=min(30, (len(table) - 1) / 3), init="pca", random_state=0).fit_transform(parts)
    flat = (flat - flat.min(axis=0)) / (np.ptp(flat, axis=0) + 1e-9)
    return [(x, y) for x, y in (flat * (_WIDTH - _CELL, _HEIGHT - _CELL) + _CELL / 2).astype(int).tolist()]
