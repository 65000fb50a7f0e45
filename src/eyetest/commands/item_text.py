"""Items, prompts and answers as text for a terminal."""

from collections.abc import Sequence
from itertools import count as counting
from itertools import islice
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.style import Style
from rich.table import Table
from rich.text import Text

from eyetest.benchmarks import Benchmark
from eyetest.commands.results import safe
from eyetest.commands.score import COLOURS, marked
from eyetest.errors import param
from eyetest.prompts import CannotApply
from eyetest.records import (
    Condition,
    GrayImage,
    ImagePart,
    Item,
    Prompt,
    Words,
    letter,
    mark,
    order_word,
    shown_order,
)
from eyetest.results.cases import ItemCase
from eyetest.runs.folder import RECORDED
from eyetest.scoring import Scorer

_LONGEST_VALUE = 300
_PARTS_SHOWN = 100
_INDENT = "  "


def item_panel(benchmark: Benchmark, item: Item) -> Panel:
    """One item for people: links to its images, question, options, answer key and tags."""
    parts: list[RenderableType] = []
    for number, image in enumerate(item.images[:_PARTS_SHOWN], 1):
        about = f"image {number}: {image.width} × {image.height} {image.format}, {image.size:,} bytes"
        link = Style(dim=True, link=benchmark.images.path(image).resolve().as_uri())
        parts.append(Text.assemble(about, "  ", (image.sha256[:12], link)))
    turns = item.history[:_PARTS_SHOWN]
    parts += [Text(safe(f"Q: {turn.question}\nA: {turn.answer}"), "dim") for turn in turns]
    if item.hint:
        parts.append(Text(safe(item.hint), "italic"))
    parts.append(Text(safe(item.question), "bold"))
    for position, choice in enumerate(item.choices):
        sign = ("✔ ", "bold green") if choice.correct else ("  ", "")
        parts.append(Text.assemble(sign, (f"{letter(position)}  ", "dim"), safe(choice.text)))
    golds = item.references[:_PARTS_SHOWN]
    parts += [Text.assemble(("✔ ", "bold green"), safe(reference)) for reference in golds]
    if not item.has_gold:
        parts.append(Text("no gold answer", "yellow"))
    details = Table.grid(padding=(0, 2))
    tags = islice(item.tags.items(), _PARTS_SHOWN)
    for name, value in (("group", item.group), ("description", item.description), *tags):
        if value not in ("", None):
            text = as_text(value)
            text = text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]} …"
            details.add_row(Text(safe(name), "dim"), Text(safe(text), overflow="fold"))
    for step in item.lineage[:_PARTS_SHOWN]:
        details.add_row(Text("lineage", "dim"), Text(safe(" ".join(map(str, msgspec.structs.astuple(step))))))
    parts += [Text(), details]
    many = {"images": item.images, "turns": item.history, "references": item.references, "tags": item.tags}
    for name, values in many.items():
        if (more := len(values) - _PARTS_SHOWN) > 0:
            parts.append(Text(f"and {more:,} more {name} ({param('output', 'json')} prints all)", "dim"))
    title = Text(safe(f"{benchmark.manifest.name} · {item.id}"))
    return Panel(Group(*parts), title=title, title_align="left")


def sent(item: Item, condition: Condition, prompt: Prompt) -> Text:
    """What a model is sent, and below a line what is not sent: which option letter means which choice.

    Every line that is sent is indented, so that no text of a dataset can look like a heading of ours.
    """
    shown = Text(no_wrap=True, overflow="ignore")
    numbers = counting(1)
    for message in prompt.messages:
        shown.append(f"{message.role}\n", "bold")
        text = Text()
        for position, part in enumerate(message.parts):
            if position and not any(isinstance(earlier, Words) for earlier in message.parts[:position]):
                text.append("\n")  # each image before the text has its own line
            if isinstance(part, Words):
                text.append(safe(part.text))
                continue
            image = part.image if isinstance(part, ImagePart) else part
            about = f"image {next(numbers)}: {image.width} × {image.height} "
            if isinstance(image, GrayImage):
                about += "plain gray"
            else:
                size = f"{image.size / 1000:,.0f} KB" if image.size >= 1000 else f"{image.size} bytes"
                about += f"{image.format}, {size}, sha {image.sha256[:12]}"
            text.append(f"[{about}]", "cyan")
        lines = text.split("\n", allow_blank=True)
        shown.append_text(Text("\n").join(Text.assemble(_INDENT, line) for line in lines)).append("\n\n")
    if prompt.prefill:
        shown.append("assistant, beginning of its turn\n", "bold")
        shown.append(f"{_indented(prompt.prefill)}\n\n")
    if prompt.candidates:
        shown.append("continuations whose likelihood is measured\n", "bold")
        shown.append("".join(f"{_indented(text)}\n" for text in prompt.candidates) + "\n")
    shown.append("── not sent (✔ correct) ──\n", "dim")
    return shown.append_text(_meaning(item, condition))


def _meaning(item: Item, condition: Condition) -> Text:
    """Which choice each option letter stands for, and which of them is correct."""
    lines, is_weighed = Text(), condition.method == "likelihood"
    for index, position in enumerate(range(len(item.choices)) if is_weighed else shown_order(item, condition)):
        choice, sign = item.choices[position], str(index + 1) if is_weighed else mark(condition.letters, index)
        lines.append("✔ " if choice.correct else "  ", "bold green")
        lines.append(f"{sign} → {letter(position)}  {_indented(choice.text).lstrip()}\n")
    for reference in item.references[:_PARTS_SHOWN]:
        lines.append("✔ ", "bold green").append(f"{_indented(reference).lstrip()}\n")
    if not item.has_gold:
        lines.append("  no gold answer\n", "yellow")
    lines.rstrip()
    return lines


def _indented(text: str) -> str:
    return _INDENT + safe(text).replace("\n", f"\n{_INDENT}")


def as_text(value: Any) -> str:
    """A value as text; as JSON where it is none."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def answers_text(benchmark: Benchmark, item: Item, cases: Sequence[ItemCase], unanswered: int, limit: int) -> Group:
    """An item and the first answers to it, each below what was sent where that differs from the one before."""
    parts: list[RenderableType] = [item_panel(benchmark, item)]
    shown: set[str] = set()
    for case in cases[:limit]:
        condition = case.asked.condition
        if case.response.finish == RECORDED:  # only which choice each option letter stood for is known
            why = "prompt not recorded: the answer was imported\n"
            text = Text.assemble((why, "yellow"), _meaning(item, condition))
        elif isinstance(case.prompt, CannotApply):
            text = Text(f"this version would not ask it so: {case.prompt}", "yellow")
        else:
            text = sent(item, condition, case.prompt)
        if text.plain not in shown:
            shown.add(text.plain)
            parts.append(text)
        parts.append(_answer_panel(item, case))
    if len(cases) > limit:
        parts.append(Text(f"and {len(cases) - limit:,} more answers ({param('limit')})", "dim"))
    if unanswered:
        parts.append(Text(f"{unanswered:,} calls have no answer yet", "dim"))
    return Group(*parts)


def _answer_panel(item: Item, case: ItemCase) -> Panel:
    """A reply, what our rules extracted from it, the score, and a score from elsewhere."""
    asked, _, response, scored = case
    if response.given is not None:
        own = msgspec.structs.replace(response, given=None)
        scored = Scorer().score(item, asked.condition, own)
    order = f", order {order_word(asked.order)}" if asked.order else ""
    history = f", history {asked.history}" if asked.history != "gold" else ""
    title = f"{asked.model} · {asked.modality}, {asked.ask}{order}{history}, sample {asked.sample}"
    parts: list[RenderableType] = []
    if response.text:
        parts.append(marked(response.text, scored.span))
    elif response.detail:
        parts.append(Text(safe(response.detail), "red"))
    kind = scored.reading or "not read"
    by = safe(", ".join(filter(None, (scored.rule, scored.why))))
    worth = "no score" if scored.score is None else f"{scored.metric} {scored.score:g}"
    if response.given is not None and response.outcome != "failed":
        worth += f"; given {response.given:g} elsewhere, which is used"
    read = (f"{kind} {scored.choice or ''}".strip(), COLOURS.get(kind, "dim"))
    parts.append(Text.assemble("→ ", read, (f"  {by}", "dim") if by else "", f"  {worth}"))
    return Panel(Group(*parts), title=Text(safe(title)), title_align="left")
