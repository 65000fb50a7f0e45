"""A copy of the list for any web host, or for no host at all: the same pages and scripts, items in files beside them.

A page that lies on a disk may not fetch data, but it may load scripts; so items lie in scripts that hold nothing but
data. Without golds, nothing is written from which a gold follows: no scores, no verdicts, no findings, and of tags
only those that sort items and do not say the gold.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
from scipy import stats

from eyetest.harden.screenshot.mathml import mathml
from eyetest.measures.results import TAG
from eyetest.pages.item_links import ANSWER_KINDS, Query
from eyetest.pages.page import fill_page, printable
from eyetest.records import Item
from eyetest.review.app.address import Address
from eyetest.review.app.item_page import show_story
from eyetest.review.app.listing import BANDS, PAGE_SIZE, card, list_page
from eyetest.review.app.pictures import Pictures, PictureUrl, Pixels
from eyetest.review.app.server import PACKAGE, asset
from eyetest.review.collection import Collection
from eyetest.store import refuse_to_lose, replacing_folder

_CARDS, _STORIES = 120, 10
"""How many lie in one file."""
_QUANTILES = 300
_DIGITS = "0123456789abcdefghijklmnopqrstuv"
_POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"
_FILES = ("app.css", "app.js", "bundle.js", "icon.svg")
_FOLDERS = ("cards", "stories", "pictures", "thumbnails")
_INDEX, _DATA = "index.html", "items.js"


def write_bundle(collection: Collection, to: Path, *, golds: bool = True, overwrite: bool = False) -> int:
    """Write everything that can be seen of a collection as files; gives how many items."""
    refuse_to_lose(to, overwrite=overwrite, ours={*_FILES, *_FOLDERS, _INDEX, _DATA})
    with replacing_folder(to, overwrite=overwrite) as folder:
        for name in _FOLDERS:
            (folder / name).mkdir()
        urls = _PictureFiles(collection, folder)
        for name in _FILES:
            (folder / name).write_bytes(asset(name))
        shown = collection if golds else _WithoutGolds(collection)
        (folder / _DATA).write_bytes(b"window.EYETEST_ITEMS = " + _encoded(_columns(shown, golds=golds)) + b";\n")
        (folder / _INDEX).write_bytes(_page(shown, golds=golds))
        for kind, size in (("cards", _CARDS), ("stories", _STORIES)):
            for number, pieces in enumerate(_pieces(shown, kind, size, urls, golds=golds)):
                data = f'eyetestChunk("{kind}", {number}, '.encode() + _encoded(pieces) + b");\n"
                (folder / kind / f"{number}.js").write_bytes(data)
    return len(collection)
