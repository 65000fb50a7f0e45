"""Pictures in a terminal, in coloured half blocks."""

import sys
import webbrowser
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from itertools import count as counting
from itertools import islice
from typing import Annotated, Any

import msgspec
from PIL import Image as Pillow
from rich.color import Color
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.style import Style
from rich.table import Table
from rich.text import Text

from eyetest.benchmarks import Benchmark
from eyetest.cli import options
from eyetest.cli.exchange import contents
from eyetest.cli.options import option
from eyetest.cli.tables import show_table
from eyetest.cli.terminal import out, print_json, safe
from eyetest.errors import ImageError, InputError, short
from eyetest.jobs.opening import open_bench
from eyetest.jobs.run import one_condition
from eyetest.prompts import CannotApply, build
from eyetest.records import Condition, GreyPicture, Item, Message, Picture, Prompt, Words, letter, mark, shown_order


def draw(picture: Pillow.Image, columns: int = 56, rows: int = 22) -> Text:
    """A picture as coloured half blocks: two pixels a character."""
    flat = Pillow.new("RGB", picture.size, "white")
    rgba = picture.convert("RGBA")
    flat.paste(rgba, mask=rgba.getchannel("A"))
    scale = min(columns / flat.width, rows * 2 / flat.height, 1.0)
    width, height = max(1, round(flat.width * scale)), max(2, round(flat.height * scale) // 2 * 2)
    small = flat.resize((width, height), Pillow.Resampling.LANCZOS)
    pixels = small.load()
    assert pixels is not None
    drawn = Text()
    for y in range(0, height, 2):
        for x in range(width):
            upper, lower = (Color.from_rgb(*pixels[x, y + row]) for row in (0, 1))  # type: ignore[misc]
            drawn.append("▀", Style(color=upper, bgcolor=lower))
        drawn.append("\n")
    return drawn


def can_draw() -> bool:
    """Whether somebody watches who can see colours."""
    return sys.stdout.isatty() and out.color_system is not None and not out.no_color


_TAGS_SHOWN = 12
_VALUES_SHOWN = 4
_LONGEST_VALUE = 300
_BEGINNING = 100  # so many characters of a question stand in a list of items
_PARTS_SHOWN = 100
_INDENT = "  "


def show(
    bench: options.BenchArgument,
    item_id: Annotated[str | None, options.argument("[ID]", "One item, by its id.")] = None,
    limit: Annotated[int, option("--limit -n", "How many items to list.")] = 8,
    open_images: Annotated[bool, option("--open", "Open the item's pictures in a viewer.")] = False,
    as_json: options.JsonOption = False,
    *,
    condition: options.ConditionOptions,
    prefill: Annotated[bool, options.put("--prefill", "Begin the model's turn, after a format shot.")] = False,
    file: options.GoldFileOptions,
) -> None:
    """Show what a benchmark holds, or one item with its pictures, options, gold and tags.

    With --sight or another option that says how the question is put: show exactly what a model would be sent.
    """
    axes = asdict(condition)
    asked = one_condition(**axes) if prefill or any(word is not None for word in axes.values()) else None
    if asked and item_id is None:
        raise InputError("which item is to be asked so? Give its ID after the benchmark")
    benchmark = open_bench(bench, file.read_all(pictures_required=False))
    if item_id is None:
        if as_json:
            print_json(benchmark.manifest)
        else:
            _print_summary(benchmark, limit)
        return
    item = benchmark[item_id]
    if asked:
        prompt = _prompt(item, asked, prefill)
        print_json(prompt) if as_json else out.print(sent(item, asked, prompt), soft_wrap=True)
    else:
        print_json(item) if as_json else out.print(item_panel(benchmark, item))
    if open_images:
        for image in item.images:
            webbrowser.open(benchmark.images.bring(image).resolve().as_uri())


def _print_summary(benchmark: Benchmark, limit: int) -> None:
    """What the benchmark is, its tags, and its first items."""
    manifest = benchmark.manifest
    title = Text.assemble((safe(manifest.name), "bold"), f" · version {safe(manifest.version)}")
    facts = Table.grid(padding=(0, 2))
    for name, value in (
        ("items", contents(manifest.counts)),
        ("options", ", ".join(f"{n}: {count:,}" for n, count in manifest.counts.options.items())),
        ("from", " ".join(filter(None, (manifest.origin.file, f"({manifest.origin.format})")))),
        ("source", manifest.source),
        ("licence", manifest.licence),
        ("folder", str(benchmark.path)),
    ):
        if value and value != "()":
            facts.add_row(Text(name, "dim"), Text(safe(value), overflow="fold"))
    out.print(title, facts, Text())
    _print_tags(benchmark)
    out.print()
    _print_items(benchmark, limit)


def _print_tags(benchmark: Benchmark) -> None:
    tags: dict[str, Counter[str]] = {}
    for item in benchmark:
        for name, value in item.tags.items():
            tags.setdefault(name, Counter())[_as_text(value)[:40]] += 1
    rows = [
        (
            name,
            f"{len(values):,}",
            ", ".join(f"{value} {count:,}" for value, count in values.most_common(_VALUES_SHOWN)),
        )
        for name, values in list(tags.items())[:_TAGS_SHOWN]
    ]
    show_table(["tag", "values", "most frequent"], [], rows)
    if len(tags) > _TAGS_SHOWN:
        out.print(f"and {len(tags) - _TAGS_SHOWN} more", style="dim")


def _print_items(benchmark: Benchmark, limit: int) -> None:
    rows = []
    for item in islice(benchmark, limit):
        gold = "".join(letter(i) for i in item.gold) if item.choices else "; ".join(item.references[:3])
        gold, question = _beginning(gold, 24), _beginning(item.question, _BEGINNING)
        rows.append((item.id, len(item.images), len(item.choices) or "–", gold, question))
    show_table(["id", "pictures", "options", "gold", "question"], [], rows)


def _beginning(text: str, most: int) -> str:
    """A text in one line; of a long one its first words."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most].rsplit(' ', 1)[0]} …"


def item_panel(benchmark: Benchmark, item: Item, *, golds: bool = True) -> Panel:
    """One item, as a person wants to see it; without golds also without what they might follow from."""
    parts: list[RenderableType] = []
    for number, image in enumerate(item.images[:_PARTS_SHOWN], 1):
        about = f"image {number}: {image.width} × {image.height} {image.format}, {image.size:,} bytes"
        link = Style(dim=True, link=benchmark.images.path(image).resolve().as_uri())
        parts.append(Text.assemble(about, "  ", (image.sha256[:12], link)))
        if can_draw():
            parts.append(_picture(benchmark, item, number))
    for turn in item.history[:_PARTS_SHOWN]:
        answer = turn.answer if golds else "(left out)"
        parts.append(Text(safe(f"Q: {turn.question}\nA: {answer}"), "dim"))
    if item.hint:
        parts.append(Text(safe(item.hint), "italic"))
    parts.append(Text(safe(item.question), "bold"))
    for position, choice in enumerate(item.choices):
        mark = ("✔ ", "bold green") if choice.correct and golds else ("  ", "")
        parts.append(Text.assemble(mark, (f"{letter(position)}  ", "dim"), safe(choice.text)))
    parts += _gold_and_details(item) if golds else []
    return Panel(Group(*parts), title=Text(safe(f"{benchmark.manifest.name} · {item.id}")), title_align="left")


def _gold_and_details(item: Item) -> list[RenderableType]:
    """The gold of an item without options, and what else its source says of it."""
    parts: list[RenderableType] = []
    for reference in item.references[:_PARTS_SHOWN]:
        parts.append(Text.assemble(("✔ ", "bold green"), safe(reference)))
    if not item.has_gold:
        parts.append(Text("no gold answer", "yellow"))
    details = Table.grid(padding=(0, 2))
    tags = islice(item.tags.items(), _PARTS_SHOWN)
    for name, value in (("group", item.group), ("description", item.description), *tags):
        if value not in ("", None):
            details.add_row(Text(safe(name), "dim"), Text(_shortened(_as_text(value)), overflow="fold"))
    for step in item.lineage[:_PARTS_SHOWN]:
        details.add_row(Text("lineage", "dim"), Text(safe(" ".join(map(str, msgspec.structs.astuple(step))))))
    parts += [Text(), details]
    many = {"pictures": item.images, "turns": item.history, "references": item.references, "tags": item.tags}
    for name, values in many.items():
        if len(values) > _PARTS_SHOWN:
            parts.append(Text(f"and {len(values) - _PARTS_SHOWN:,} more {name} (--json shows all)", "dim"))
    return parts


def _picture(benchmark: Benchmark, item: Item, number: int) -> Text:
    try:
        return draw(benchmark.images.open(item.images[number - 1]), columns=min(56, out.width - 6))
    except ImageError as error:
        return Text(f"(cannot be shown: {safe(str(error))})", "red")


def _prompt(item: Item, condition: Condition, prefill: bool) -> Prompt:
    try:
        return build(item, condition, prefill=prefill)
    except CannotApply as refusal:
        raise InputError(f"item {short(item.id)} cannot be asked this way: {refusal.reason}") from None


def sent(item: Item, condition: Condition, prompt: Prompt) -> Text:
    """What a model is sent, and below a line what it is not told: which mark means which choice.

    Every line that is sent is indented, so that no text of a dataset can look like a heading of ours.
    """
    shown = Text()
    numbers = counting(1)
    for message in prompt.messages:
        shown.append(f"{message.role}\n", "bold")
        shown.append_text(_said(message, numbers)).append("\n\n")
    if prompt.prefill:
        shown.append("assistant, begun for the model\n", "bold")
        shown.append(f"{_indented(prompt.prefill)}\n\n")
    if prompt.candidates:
        shown.append("continuations to be weighed\n", "bold")
        shown.append("".join(f"{_indented(text)}\n" for text in prompt.candidates) + "\n")
    shown.append("── not sent (✔ right) ──\n", "dim")
    return shown.append_text(meaning(item, condition))


def _said(message: Message, numbers: Iterator[int]) -> Text:
    """One message. Pictures stand in their places; those before all words have a line each."""
    said = Text()
    for position, part in enumerate(message.parts):
        if position and not any(isinstance(earlier, Words) for earlier in message.parts[:position]):
            said.append("\n")
        if isinstance(part, Words):
            said.append(safe(part.text))
        else:
            said.append(f"[picture {next(numbers)}: {_about(part)}]", "cyan")
    lines = said.split("\n", allow_blank=True)
    return Text("\n").join(Text.assemble(_INDENT, line) for line in lines)


def _about(picture: Picture | GreyPicture) -> str:
    if isinstance(picture, GreyPicture):
        return f"{picture.width} × {picture.height} plain grey"
    image = picture.image
    size = f"{image.size / 1000:,.0f} KB" if image.size >= 1000 else f"{image.size} bytes"
    return f"{image.width} × {image.height} {image.format}, {size}, sha {image.sha256[:12]}"


def meaning(item: Item, condition: Condition) -> Text:
    """Which choice each mark stands for, and which of them is right."""
    rows: list[tuple[bool, str, str]] = []
    if condition.method == "likelihood":
        rows = [(c.correct, str(i), f"{letter(i - 1)}  {c.text}") for i, c in enumerate(item.choices, 1)]
    else:
        for index, position in enumerate(shown_order(item, condition)):
            choice = item.choices[position]
            rows.append((choice.correct, mark(condition.marks, index), f"{letter(position)}  {choice.text}"))
    lines = Text()
    for correct, sign, meaning in rows:
        lines.append("✔ " if correct else "  ", "bold green")
        lines.append(f"{sign} → {_indented(meaning).lstrip()}\n")
    for reference in item.references[:_PARTS_SHOWN]:
        lines.append("✔ ", "bold green").append(f"{_indented(reference).lstrip()}\n")
    if not item.has_gold:
        lines.append("  no gold answer\n", "yellow")
    lines.rstrip()
    return lines


def _indented(text: str) -> str:
    return _INDENT + safe(text).replace("\n", f"\n{_INDENT}")


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _shortened(text: str) -> str:
    return safe(text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]} …")
