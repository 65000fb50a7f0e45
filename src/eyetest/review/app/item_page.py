"""One item as its page shows it: pictures, question with formulas, golds, verdicts, findings, replies."""

from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from eyetest.harden.screenshot.mathml import mathml
from eyetest.harden.screenshot.passages import Block, Passages
from eyetest.measures.hits import HIT
from eyetest.measures.results import PROTOCOL
from eyetest.pages.page import clip, plain, printable
from eyetest.prompts import CannotApply
from eyetest.records import BLIND_SIGHTS, GreyPicture, Item, Picture, Words, letter, order_word
from eyetest.results.cases import ItemCase
from eyetest.review.app.address import Address
from eyetest.review.app.disclosure import EVERYTHING, Disclosure
from eyetest.review.app.listing import PAGE_SIZE
from eyetest.review.app.pictures import PictureUrls, served_urls
from eyetest.review.collection import Collection, ItemStory
from eyetest.runs.folder import RECORDED
from eyetest.wording import counted

_LONGEST_REPLY = 12_000
_LONGEST_PROMPT = 20_000
_SHORT_REPLY = 40
_MOST_TAGS = 60
_TONES = {"refused": "odd", "ambiguous": "odd", "unparsed": "odd"}


def item_page(collection: Collection, address: Address, may: Disclosure = EVERYTHING) -> dict[str, Any]:
    """What the template of one item is filled with."""
    may.refuse_telling(address.query)
    told = collection.item(address.item)
    positions = collection.view(address.query).positions
    at = np.flatnonzero(positions == told.row.position)
    ids = collection.items.get_column("id")
    number = int(at[0]) if len(at) else None

    def beside(step: int) -> str:
        if number is None or not 0 <= number + step < len(positions):
            return ""
        return address.to(item=ids[int(positions[number + step])])

    return {
        "name": collection.name,
        "shown": show_story(told, collection, may),
        "mathml": mathml,
        "where": "not among the items shown" if number is None else f"{number + 1:,} of {len(positions):,}",
        "back": address.to(page=(number or 0) // PAGE_SIZE + 1),
        "before": beside(-1),
        "after": beside(1),
    }


def show_story(
    told: ItemStory,
    collection: Collection,
    may: Disclosure = EVERYTHING,
    *,
    urls: PictureUrls = served_urls,
) -> dict[str, Any]:
    """Everything that is known of an item and may be told, ready to be drawn."""
    golds = may.golds
    named = dict.fromkeys(one.condition for one in collection.answers.series)
    conditions = sorted(named, key=lambda name: (name.split()[0] in BLIND_SIGHTS, name.split()[0] != "image"))
    cells = _cells(told.cases if may.replies else [], collection)
    asked = [name for name in conditions if any(key[1] == name for key in cells)]
    models = sorted({model for model, _ in cells})
    shown = {
        "id": told.id,
        "conditions": asked,
        "models": [
            {"name": name, "cells": [[_reply(one, golds) for one in cells.get((name, how), ())] for how in asked]}
            for name in models
        ],
        "sent": _sent(told.cases, collection)
        if may.replies and (golds or not (told.item and told.item.history))
        else [],
        "verdicts": told.verdicts if may.verdicts else (),
        "replies": may.replies,
        "findings": [
            {
                "kind": one.kind,
                "severity": one.severity or "",
                "said": one.evidence or one.title,
                "href": Address().toggled("finding", one.kind),
            }
            for one in (told.findings if may.findings else ())
        ],
        "facts": _facts(told, may),
    }
    return shown | _asked(told, _votes(cells, asked), urls, may)


def _votes(cells: dict[tuple[str, str], list[ItemCase]], conditions: Sequence[str]) -> Counter[str]:
    """How many models chose each option, under the condition that stands first."""
    votes = Counter[str]()
    for (_, how), cases in cells.items():
        if how == conditions[0]:
            votes.update({one.scored.choice for one in cases if one.scored.choice})
    return votes


def _asked(told: ItemStory, votes: Counter[str], urls: PictureUrls, may: Disclosure) -> dict[str, Any]:
    """What the item itself holds; of one that is gone, that."""
    item, golds = told.item, may.golds
    if item is None:
        nothing = dict.fromkeys(("pictures", "turns", "hint", "options", "references"), ())
        return nothing | {"question": _said("No benchmark here has this item any more."), "no_gold": ""}
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
    return {
        "pictures": [
            urls(image.sha256)._asdict() | {"label": f"picture {number}, {image.width:,} × {image.height:,} pixels"}
            for number, image in enumerate(item.images, 1)
        ],
        "turns": parts["turns"] if golds else [turn | {"answer": _said("(left out)")} for turn in parts["turns"]],
        "hint": parts["hint"],
        "question": parts["question"],
        "options": options,
        "references": item.references[:20] if golds else (),
        "no_gold": missing if golds else may.instead,
    }


def _said(words: str, direction: str = "ltr") -> list[Block]:
    return [{"kind": "paragraph", "direction": direction, "runs": [words]}]


def _passages(item: Item) -> dict[str, Any]:
    """The item's texts as blocks; where a text names a picture that is not there, as they are written."""
    try:
        return Passages(item).as_data()
    except CannotApply:
        bare = [printable(text) for text in (item.hint, item.question, *(choice.text for choice in item.choices))]
        hint, question, *options = (_said(text, "auto") for text in bare)
        return {"turns": [], "hint": hint if item.hint else [], "question": question, "options": options}


def _cells(cases: Sequence[ItemCase], collection: Collection) -> dict[tuple[str, str], list[ItemCase]]:
    """Answers by model and by condition, in the words in which the conditions of this collection differ."""
    cells: dict[tuple[str, str], list[ItemCase]] = {}
    for case in cases:
        cells.setdefault((case.asked.model, _condition(case, collection)), []).append(case)
    return cells


def _condition(case: ItemCase, collection: Collection) -> str:
    protocol = tuple(str(getattr(case.asked, axis)) for axis in PROTOCOL)
    named = (one.condition for one in collection.answers.series if tuple(one.protocol) == protocol)
    return next(named, case.asked.sight)


def _reply(case: ItemCase, golds: bool) -> dict[str, Any]:
    """One answer, cut around the words that decided how it is read."""
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
    test += [f"trial {asked.trial}"] if asked.trial else []
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
    """A text whose middle is left out where it is too long for a page."""
    text, half = printable(text), _LONGEST_REPLY // 2
    return (
        text
        if len(text) <= _LONGEST_REPLY
        else f"{text[:half]}\n[… {len(text) - 2 * half:,} signs …]\n{text[-half:]}"
    )


def _sent(cases: Sequence[ItemCase], collection: Collection) -> list[dict[str, str]]:
    """What models were sent, each text once, by condition."""
    texts: dict[tuple[str, str], None] = {}
    for case in cases:
        texts.setdefault((_condition(case, collection), clip(_prompt_text(case), _LONGEST_PROMPT)))
    return [{"condition": condition, "text": text} for condition, text in texts]


def _prompt_text(case: ItemCase) -> str:
    if case.response.finish == RECORDED:
        return "Not recorded: the answer was brought in."
    if isinstance(case.prompt, CannotApply):
        return f"This version would not ask it so: {case.prompt}"
    numbers, lines = count(1), []
    for message in case.prompt.messages:
        said = (
            part.text if isinstance(part, Words) else f"[{_about(part, next(numbers))}]" for part in message.parts
        )
        lines.append(f"{message.role.upper()}\n{''.join(said)}")
    lines += [f"ASSISTANT, begun for the model\n{case.prompt.prefill}"] if case.prompt.prefill else []
    if case.prompt.candidates:
        lines.append("continuations to be weighed\n" + "\n".join(case.prompt.candidates))
    return "\n\n".join(lines)


def _about(part: Picture | GreyPicture, number: int) -> str:
    if isinstance(part, GreyPicture):
        return f"picture {number}: {part.width} × {part.height} plain grey"
    return f"picture {number}: {part.image.width} × {part.image.height} {part.image.format}"


def _facts(told: ItemStory, may: Disclosure) -> list[tuple[str, str]]:
    row, facts = told.row, [("benchmark", told.benchmark)]
    if may.golds and may.replies:
        if row.difficulty is not None:
            facts.append(("difficulty", f"{row.difficulty:.2f}"))
        if row.gain is not None:
            facts.append(("gain of sight", f"{row.gain:+.2f}"))
        if row.disagreement is not None:
            facts.append(("disagreement", f"{row.disagreement:.2f}"))
        if told.doubt is not None:
            facts.append(("doubt of the gold", f"{told.doubt:+.1f}"))
        if told.unanswered:
            facts.append(("without an answer", counted(told.unanswered, "call")))
    if told.item is None:
        return facts
    said = {key: plain(value) for key, value in told.item.tags.items() if may.tags is None or key in may.tags}
    facts += [(key, words) for key, words in list(said.items())[:_MOST_TAGS] if words.strip()]
    facts += [("description", told.item.description)] if told.item.description and may.golds else []
    facts += [("variant of", told.item.group)] if told.item.group else []
    return facts
