"""A static copy of the list: the same pages and scripts, with items in scripts, which pages on a disk may load."""

from collections.abc import Iterator
from functools import cache
from math import isnan
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import scipy

from eyetest.measures.results import TAG
from eyetest.pages.item_links import ANSWER_KINDS, INDEX, VERDICTS_TOGETHER
from eyetest.pages.page import fill_page, printable_data
from eyetest.store import refuse_to_lose, replacing_folder
from eyetest.studio.answers import GRADED
from eyetest.studio.app import listing
from eyetest.studio.app.items import show_story
from eyetest.studio.app.listing import Address, Disclosure, ImageUrl, ImageUrls, card
from eyetest.studio.app.server import PACKAGE, Pixels, ServedImages, asset
from eyetest.studio.collection import Collection

_CARDS, _STORIES = 120, 10  # in one file
_SMALL_BYTES = 16 * 2**10  # an image of at most so many bytes is its own thumbnail
_STEP = 1 / 300  # between the points of Student's quantile, in one over the degrees of freedom
_ZERO = ord("0")  # the kinds of an answer are one character: this one plus its bits
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"
)
_FILES = ("app.css", "app.js", "bundle.js", "icon.svg")
_FOLDERS = ("cards", "stories", "images", "thumbnails")
_DATA = "items.js"


def write_bundle(
    collection: Collection, to: Path, *, golds: bool = True, replies: bool = True, overwrite: bool = False
) -> int:
    """Write all pages of a collection as files; returns the number of items. Without ``replies`` it is small."""
    refuse_to_lose(to, overwrite=overwrite, ours={*_FILES, *_FOLDERS, INDEX, _DATA})
    with replacing_folder(to, overwrite=overwrite) as folder:
        for name in _FOLDERS:
            (folder / name).mkdir()
        urls = _image_files(collection, folder)
        for name in _FILES:
            (folder / name).write_bytes(asset(name))
        may = msgspec.structs.replace(listing.EVERYTHING if golds else listing.WITHOUT_GOLDS, replies=replies)
        (folder / _DATA).write_bytes(b"window.EYETEST_ITEMS = " + _json(_columns(collection, may)) + b";\n")
        contents = listing.list_page(collection, Address(), may) | {"rows": [], "bundle": True}
        contents |= {"policy": _POLICY, "scripts": (_DATA, "app.js", "bundle.js")}
        page = fill_page("browse.html.j2", contents, PACKAGE).lstrip()
        (folder / INDEX).write_bytes(page.encode("utf-8", "replace"))
        for kind, size in (("cards", _CARDS), ("stories", _STORIES)):
            for number, pieces in enumerate(_pieces(collection, kind, size, urls, may)):
                data = f'eyetestChunk("{kind}", {number}, '.encode() + _json(pieces) + b");\n"
                (folder / kind / f"{number}.js").write_bytes(data)
    return len(collection)


def _json(data: Any) -> bytes:
    return msgspec.json.encode(printable_data(data))


def _image_files(collection: Collection, folder: Path) -> ImageUrls:
    """A function that writes an image at its first use, and gives its path in the bundle."""
    images = ServedImages(collection.image)

    def write(kind: str, sha256: str, pixels: Pixels | None) -> str:
        if pixels is None:
            return ""  # its file is missing
        name = f"{kind}/{sha256}.{pixels.kind}"
        (folder / name).write_bytes(pixels.data)
        return name

    @cache
    def written(sha256: str) -> ImageUrl:
        whole = images.whole(sha256)
        file = small = write("images", sha256, whole)
        if whole is None or len(whole.data) > _SMALL_BYTES:
            small = write("thumbnails", sha256, images.small(sha256))
        return ImageUrl(file, small)

    return written


def _pieces(collection: Collection, kind: str, size: int, urls: ImageUrls, may: Disclosure) -> Iterator[list[str]]:
    for start in range(0, len(collection), size):
        rows = collection.rows(collection.everything, start, size)
        if kind == "cards":
            cards = (card(row, "#", golds=may.golds, urls=urls) for row in rows)
            yield [fill_page("bundle_card.html.j2", {"row": one}, PACKAGE).strip() for one in cards]
        else:
            known = collection.stories([row.id for row in rows], replies=may.replies)
            stories = (show_story(story, collection, may, urls=urls) for story in known)
            filled = (fill_page("bundle_story.html.j2", {"shown": one}, PACKAGE) for one in stories)
            yield [one.strip() for one in filled]


def _columns(collection: Collection, may: Disclosure) -> dict[str, Any]:
    items = collection.items
    words: dict[str, Any] = {"benchmark": _coded(items.get_column("benchmark"))}
    if may.golds:
        tags = (name for name in items.columns if name.startswith(TAG))
        named = [name for name in ("gold", *tags) if name not in collection.binned]
        words |= {name: _coded(items.get_column(name)) for name in named}
        words["finding"] = _coded(items.get_column("findings"))
        items = items.with_columns(collection.doubts())
    verdicts = map(collection.verdicts, range(len(collection)))
    binned = {name: tag.to_list() for name, tag in collection.binned.items() if may.golds}
    numbers = ("images", "options", *(listing.NUMBERS if may.golds else ()))
    inverse = np.arange(1, round(1.1 / _STEP)) * _STEP  # of degrees of freedom: from infinitely many to below one
    return {
        "ids": items.get_column("id").to_list(),
        "texts": collection.texts.to_list(),
        "words": words,
        "numbers": {name: items.get_column(name).to_list() for name in numbers} | binned,
        "judged": [[(one.stage, one.verdict) for one in some] for some in verdicts] if may.golds else None,
        "kinds": ANSWER_KINDS,
        "together": VERDICTS_TOGETHER,
        "series": list(_series(collection)) if may.golds else [],
        "clusters": collection.answers.clusters.tolist(),
        "quantiles": [float(scipy.special.ndtri(0.975)), *scipy.special.stdtrit(1 / inverse, 0.975).tolist()],
        "step": _STEP,
        "page": listing.PAGE_SIZE,
        "most_ids": listing.MOST_IDS,
        "cards": _CARDS,
        "stories": _STORIES,
    }


def _coded(column: pl.Series) -> dict[str, Any]:
    """A column as its values, and for each item the index of its own: -1 for none, a list for several."""
    is_list = column.dtype.is_nested()
    values = list(dict.fromkeys(value for value in (column.explode() if is_list else column) if value is not None))
    numbers = {value: number for number, value in enumerate(values)}
    if is_list:
        return {"values": values, "codes": [[numbers[value] for value in row or ()] for row in column.to_list()]}
    return {"values": values, "codes": [numbers.get(value, -1) for value in column]}


def _series(collection: Collection) -> Iterator[dict[str, Any]]:
    """By series its words, and for each item a character with the bits of its kinds, and its score."""
    answers = collection.answers
    for one, scores, kinds in zip(answers.series, answers.scores, answers.kinds, strict=True):
        yield {
            "model": one.model,
            "condition": one.condition,
            "words": sorted({*one.condition.split(), *one.protocol}),
            "kinds": "".join(chr(_ZERO + kind) for kind in (kinds % GRADED).tolist()),
            "scores": [None if isnan(score) else score for score in scores.tolist()],
            "graded": np.flatnonzero(kinds & GRADED).tolist(),
        }
