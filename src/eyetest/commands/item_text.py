"""Items, prompts and answers as text for a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count as counting
from itertools import islice
from typing import Any

import msgspec
from rich.console import Group
from rich.text import Text

from eyetest.commands.results import safe
from eyetest.commands.score import COLOURS, marked
from eyetest.errors import param
from eyetest.prompts import CannotApply
from eyetest.records import GrayImage, ImagePart, Item, Prompt, Words, letter, order_word
from eyetest.records.tables import USUAL_PROMPTS
from eyetest.results.replies import ItemCase
from eyetest.scoring import Scorer

_LONGEST_VALUE = 300
_MOST_LINES = 100
_INDENT = "  "


def item_text(item: Item) -> Text:
    """One item for people: its images, question, options, answer key and tags."""
    lines = [Text(safe(f"item {item.id}"), "bold")]
    sizes = [f"{image.width} × {image.height} {image.format}" for image in item.images]
    lines += _first(f"image {number}: {size}" for number, size in enumerate(sizes, 1))
    lines += _first(f"{media.kind}: {_clipped(media.reference)} (not read)" for media in item.media)
    lines += _first(f"Q: {turn.question}\nA: {turn.answer}" for turn in item.history)
    lines += _first(filter(None, (item.hint, item.question)))
    signs = ("✔" if choice.correct else " " for choice in item.choices)
    options = enumerate(zip(signs, item.choices, strict=True))
    lines += _first(f"{sign} {letter(position)}  {choice.text}" for position, (sign, choice) in options)
    lines += _first(f"✔ {reference}" for reference in item.references)
    if not item.has_gold:
        lines.append(Text("no gold answer", "yellow"))
    known = {"group": item.group, "description": item.description, **item.tags}
    lines += _first(f"{name}: {_clipped(value)}" for name, value in known.items() if value not in ("", None))
    return Text("\n").join(lines)


def _first(texts: Iterable[str]) -> list[Text]:
    """The first of some texts, indented, so that none of a dataset can look like a heading of ours."""
    given = iter(texts)
    lines = [Text(_INDENT + safe(text).replace("\n", f"\n{_INDENT}")) for text in islice(given, _MOST_LINES)]
    if more := sum(1 for _ in given):
        lines.append(Text(f"and {more:,} more ({param('output', 'json')} prints all)", "dim"))
    return lines


def _clipped(value: Any) -> str:
    text = as_text(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]} …"


def as_text(value: Any) -> str:
    """A value as text; as JSON where it is none."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def prompt_text(prompt: Prompt) -> Text:
    """What a model is sent, each message below its role."""
    lines, numbers = list[Text](), counting(1)
    for message in prompt.messages:
        shown = ""
        for part in message.parts:
            if isinstance(part, Words):
                shown += part.text
                continue
            image = part.image if isinstance(part, ImagePart) else part
            kind = "plain gray" if isinstance(image, GrayImage) else image.format
            shown += f"[image {next(numbers)}: {image.width} × {image.height} {kind}]\n"
        lines += [Text(message.role, "bold"), *_first([shown])]
    if prompt.candidates:
        lines += [Text("continuations whose likelihood is measured", "bold"), *_first(prompt.candidates)]
    return Text("\n").join(lines)


def answers_text(item: Item, cases: Sequence[ItemCase], unanswered: int, limit: int) -> Group:
    """An item and the first answers to it, each below what was sent where that differs from the one before."""
    parts = [item_text(item)]
    before = ""
    for case in cases[:limit]:
        if isinstance(case.prompt, CannotApply):
            text = Text(f"would not be asked so: {case.prompt}", "yellow")
        else:
            text = prompt_text(case.prompt)
        if text.plain != before:
            before = text.plain
            parts += [Text(), text]
        parts += [Text(), *_answer(item, case)]
    if len(cases) > limit:
        parts.append(Text(f"and {len(cases) - limit:,} more answers ({param('limit')})", "dim"))
    if unanswered:
        parts.append(Text(f"{unanswered:,} calls have no answer yet", "dim"))
    return Group(*parts)


def _answer(item: Item, case: ItemCase) -> Iterator[Text]:
    """A reply, what our rules extracted from it, the score, and a score from elsewhere."""
    asked, _, response, scored = case
    if response.given is not None:
        scored = Scorer().score(item, asked.condition, msgspec.structs.replace(response, given=None))
    order = f", order {order_word(asked.order)}" if asked.order else ""
    history = f", history {asked.history}" if asked.history != "gold" else ""
    prompts = f", prompts {asked.prompts}" if asked.prompts != USUAL_PROMPTS else ""
    title = f"{asked.model} · {asked.modality}, {asked.ask}{order}{history}{prompts}, sample {asked.sample}"
    yield Text(safe(title), "bold")
    if response.text:
        yield Text.assemble(_INDENT, marked(response.text, scored.span))
    elif response.detail:
        yield Text(_INDENT + safe(response.detail), "red")
    kind = scored.reading or "not read"
    sureness = "" if scored.probability is None else f"right with probability {scored.probability:.2f}"
    by = safe(", ".join(filter(None, (scored.rule, scored.why, sureness))))
    worth = "no score" if scored.score is None else f"{scored.metric} {scored.score:g}"
    if response.given is not None and response.outcome != "failed":
        worth += f"; given {response.given:g} elsewhere, which is used"
    read = (f"{kind} {scored.choice or ''}".strip(), COLOURS.get(kind, "dim"))
    yield Text.assemble("→ ", read, (f"  {by}", "dim") if by else "", f"  {worth}")
