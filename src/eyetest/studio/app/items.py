"""Pages that show items: the list, one item with all that is known of it, and exports."""

import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from starlette.responses import Response

from eyetest.errors import ImageError, counted
from eyetest.harden.screenshot.page import Block, Passages
from eyetest.measures.hits import HIT
from eyetest.measures.results import PROTOCOL
from eyetest.pages.item_links import write_query
from eyetest.pages.page import plain, printable
from eyetest.pages.serving import LOCAL, Front
from eyetest.prompts import CannotApply
from eyetest.records import BLIND_MODALITIES, Item, letter, order_word
from eyetest.results.replies import ItemCase
from eyetest.studio.app.listing import EVERYTHING, PAGE_SIZE, Address, Disclosure, ImageUrls, list_page, served_urls
from eyetest.studio.app.server import PageCall, PageRoute, Refusal, ServedImages, Site, asset_page, html_page
from eyetest.studio.collection import Collection, ItemStory
from eyetest.tabular.table import sheet_text

TABLE = "items.csv"
_DOWNLOAD = {"content-disposition": f'attachment; filename="{TABLE}"'}
ASSETS = ("app.css", "app.js", "icon.svg")
_KEPT_A_DAY = "private, max-age=86400, immutable"
_LONGEST_REPLY = 12_000
_SHORT_REPLY = 40
_MOST_TAGS = 60
_TONES = {"refused": "odd", "ambiguous": "odd", "cut off": "odd", "unparsed": "odd"}


def make_app(collection: Collection, front: Front = LOCAL, places: Sequence[Path] = ()) -> Site:
    """The pages of a collection; ``places``: where its items come from."""
    site, browsing = Site(front), Browsing(collection, places)
    pages: dict[str, Callable[[PageCall], Response]] = {"/": browsing.page, f"/{TABLE}": browsing.export}
    pages |= dict.fromkeys(("/image/{sha256}", "/thumbnail/{sha256}"), browsing.image)
    pages |= {f"/{name}": asset_page(name) for name in ASSETS}
    site.add(PageRoute("GET", path, answer) for path, answer in pages.items())
    return site


class Browsing:
    """The pages of a collection. ``places``: where its items come from, for the command that starts a review."""

    def __init__(self, collection: Collection, places: Sequence[Path] = ()) -> None:
        self._collection, self._images = collection, ServedImages(collection.image)
        self._command = shlex.join(["eyetest", "review", *map(str, places)]) if places else ""

    def page(self, call: PageCall, may: Disclosure = EVERYTHING, more: dict[str, Any] | None = None) -> Response:
        """The list, or one item of it; ``more``: values for the surrounding page."""
        address = Address.parse(call.request.url.query)
        if address.item:
            return html_page("item.html.j2", item_page(self._collection, address, may) | (more or {}))
        contents = list_page(self._collection, address, may)
        contents |= {"command": self._command, "query": write_query(address.query)}
        contents["exports"] = [(TABLE, "A table (CSV)", f"{TABLE}{address.to()}")] if may.golds else []
        return html_page("browse.html.j2", contents | (more or {}))

    def image(self, call: PageCall) -> Response:
        """An image of the address ``/image/HASH`` or ``/thumbnail/HASH``."""
        find = self._images.small if "/thumbnail/" in call.request.url.path else self._images.whole
        try:
            pixels = find(call.request.path_params["sha256"])
        except ImageError as error:
            raise Refusal(404, str(error)) from None
        if pixels is None:
            raise Refusal(404, "no item has that image")
        return Response(pixels.data, media_type=f"image/{pixels.kind}", headers={"cache-control": _KEPT_A_DAY})

    def export(self, call: PageCall) -> Response:
        """The items shown, as a table."""
        items = self._collection.table[self._collection.view(Address.parse(call.request.url.query).query).positions]
        rows = (
            [" | ".join(map(str, cell)) if isinstance(cell, list) else cell for cell in row] for row in items.rows()
        )
        table = sheet_text(items.columns, rows).encode("utf-8", "replace")
        return Response(table, media_type="text/csv; charset=utf-8", headers=_DOWNLOAD)


def item_page(collection: Collection, address: Address, may: Disclosure = EVERYTHING) -> dict[str, Any]:
    """The template values of one item."""
    may.refuse_revealing(address.query)
    story = collection.item(address.item)
    positions = collection.view(address.query).positions
    at = np.flatnonzero(positions == story.row.position)
    ids = collection.items.get_column("id")
    number = int(at[0]) if len(at) else None
    near = [] if number is None else [number - 1, number + 1]
    links = [address.to(item=ids[int(positions[to])]) if 0 <= to < len(positions) else "" for to in near] or ["", ""]
    return {
        "name": collection.name,
        "shown": show_story(story, collection, may, only=address.compared),
        "where": "not among the items shown" if number is None else f"{number + 1:,} of {len(positions):,}",
        "back": address.to(page=(number or 0) // PAGE_SIZE + 1),
        "before": links[0],
        "after": links[1],
    }


def show_story(
    story: ItemStory,
    collection: Collection,
    may: Disclosure = EVERYTHING,
    *,
    urls: ImageUrls = served_urls,
    only: Sequence[str] = (),
) -> dict[str, Any]:
    """Everything known about an item that may be shown, as template values; ``only``: the replies of these models."""
    golds = may.golds
    named = dict.fromkeys(one.condition for one in collection.answers.series)
    conditions = sorted(named, key=lambda name: (name.split()[0] in BLIND_MODALITIES, name.split()[0] != "image"))
    cells: dict[tuple[str, str], list[ItemCase]] = {}
    for case in story.cases if may.replies else ():
        cells.setdefault((case.asked.model, _condition(case, collection)), []).append(case)
    asked = [name for name in conditions if any(how == name and (not only or who in only) for who, how in cells)]
    shown = {
        "id": story.id,
        "conditions": asked,
        "models": [
            {"name": name, "cells": [[_reply(one, golds) for one in cells.get((name, how), ())] for how in asked]}
            for name in only or sorted({model for model, _ in cells})
        ],
        "versus": bool(only),
        "verdicts": story.verdicts if may.verdicts else (),
        "replies": may.replies,
        "findings": [
            {"kind": one["kind"], "severity": one["severity"] or "", "text": one["evidence"] or one["title"]}
            | {"href": Address().toggled("finding", one["kind"])}
            for one in (story.findings if may.findings else ())
        ],
        "facts": _facts(story, may),
    }
    first = [some for (_, how), some in cells.items() if how in asked[:1]]
    chosen = Counter(choice for some in first for choice in {one.scored.choice for one in some} if choice)
    return shown | _asked(story, chosen, urls, may)


def _asked(story: ItemStory, votes: Counter[str], urls: ImageUrls, may: Disclosure) -> dict[str, Any]:
    item, golds = story.item, may.golds
    parts = _passages(item)
    options = [
        {
            "letter": letter(index),
            "blocks": blocks,
            "gold": golds and item.choices[index].correct,
            "votes": counted(votes[letter(index)], "model") if votes[letter(index)] else "",
        }
        for index, blocks in enumerate(parts["options"])
    ]
    missing = "" if item.has_gold else "No gold is given."
    return parts | {
        "images": [
            urls(image.sha256)._asdict() | {"label": f"image {number}, {image.width:,} × {image.height:,} pixels"}
            for number, image in enumerate(item.images, 1)
        ],
        "turns": [turn if golds else turn | {"answer": _paragraph("(left out)")} for turn in parts["turns"]],
        "options": options,
        "references": item.references[:20] if golds else (),
        "no_gold": missing if golds else "Golds are left out of this copy.",
    }


def _paragraph(words: str, direction: str = "ltr") -> list[Block]:
    return [{"kind": "paragraph", "direction": direction, "runs": [words]}]


def _passages(item: Item) -> dict[str, Any]:
    """The item's texts as blocks; as plain text where a text refers to an image that is missing."""
    try:
        return Passages(item).as_data()
    except CannotApply:
        bare = [printable(text) for text in (item.hint, item.question, *(choice.text for choice in item.choices))]
        hint, question, *options = (_paragraph(text, "auto") for text in bare)
        return {"turns": [], "hint": hint if item.hint else [], "question": question, "options": options}


def _condition(case: ItemCase, collection: Collection) -> str:
    protocol = tuple(str(getattr(case.asked, axis)) for axis in PROTOCOL)
    named = (one.condition for one in collection.answers.series if tuple(one.protocol) == protocol)
    return next(named, case.asked.modality)


def _reply(case: ItemCase, golds: bool) -> dict[str, Any]:
    """One answer, clipped around the words that decided how it is read."""
    asked, _, response, scored = case
    kind: str = scored.reading or response.outcome
    if response.outcome in ("failed", "blocked"):
        tone, word = ("none" if response.outcome == "failed" else "odd"), str(response.outcome)
    elif golds and scored.score is not None:
        hit = scored.score >= HIT.value
        tone = _TONES.get(kind, "right" if hit else "wrong")
        word = kind if kind in _TONES else "right" if hit else "wrong"
    else:
        tone, word = _TONES.get(kind, "none"), kind
    text = response.text or ""
    start, end = scored.span or (0, 0)
    by = [scored.rule or "", scored.why]
    by += ["score given by others"] if golds and response.given is not None else []
    test = [f"order {order_word(asked.order)}"] if asked.order else []
    test += [f"sample {asked.sample}"] if asked.sample else []
    return {
        "tone": tone,
        "word": word,
        "choice": scored.choice,
        "by": ", ".join(filter(None, by)),
        "test": ", ".join(test),
        "short": len(text) <= _SHORT_REPLY and "\n" not in text,
        "text": _ends(text[:start]) if end else _ends(text),
        "marked": printable(text[start:end])[:_LONGEST_REPLY],
        "rest": _ends(text[end:]) if end else "",
        "detail": response.detail,
    }


def _ends(text: str) -> str:
    text, half = printable(text), _LONGEST_REPLY // 2
    left_out = len(text) - 2 * half
    return text if left_out <= 0 else f"{text[:half]}\n[… {left_out:,} characters …]\n{text[-half:]}"


def _facts(story: ItemStory, may: Disclosure) -> list[tuple[str, str]]:
    row, facts = story.row, [("benchmark", story.row.benchmark)]
    if may.golds and may.replies:
        if row.blind_asked:
            facts += [("without the image", f"{row.blind_right} of {row.blind_asked} right")]
        facts += [("difficulty", f"{row.difficulty:.2f}")] if row.difficulty is not None else []
        facts += [("without an answer", counted(story.unanswered, "call"))] if story.unanswered else []
    if may.golds:
        tags = [(key, plain(value)) for key, value in story.item.tags.items()][:_MOST_TAGS]
        facts += [(key, words) for key, words in tags if words.strip()]
        facts += [("description", story.item.description)] if story.item.description else []
    return [*facts, ("variant of", story.item.group)] if story.item.group else facts
