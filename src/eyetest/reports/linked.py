"""Linked settings of one benchmark (few options, ten options, everything in one image): figures and page sections."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import altair as alt
import msgspec
import polars as pl
from altair.typing import ChartType

from eyetest.benchmarks import Benchmark
from eyetest.measures import NotMeasurable
from eyetest.measures.linked import EVERYBODY, WORDS, LinkedSettings, linked_settings
from eyetest.measures.results import PROTOCOL
from eyetest.pages import palette, plots
from eyetest.pages.item_view import Album, ItemView, lot, show_item
from eyetest.pages.page import clip
from eyetest.prompts import SCREENSHOT_STEP
from eyetest.records import Item
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material
from eyetest.reports.report_page import Section
from eyetest.wording import counted, listed, percent

IMAGE_SIDE = 480  # longer side of an image on the page: a screenshot has to be legible
_WORDS = {**WORDS, "overall": "overall"}
_DELTAS = {"delta1": "Δ1 ten options", "delta2": "Δ2 vision", "delta3": "Δ3 overall"}
_LOSSES = (("four", "ten"), ("ten", "vision"))
_ASKED = {"direct": 0, "cot": 1, "ocr": 2}
_OCR_STAND_IN = "reader:"
_MOST_AUTHORS = 12


def settings_of(material: Material) -> LinkedSettings:
    """Where the answers of each setting are."""
    return linked_settings(material.results, material.own)


def _three(material: Material) -> pl.DataFrame:
    table = plots.named(material.measured("three-settings", scope="all"))
    return table.with_columns(pl.col("ask").cast(pl.String)) if "ask" in table.columns else table


def _scores(material: Material) -> pl.DataFrame:
    """One row per series and setting; ``rank`` is among those asked alike and in every setting."""
    table = _three(material)
    how = [axis for axis in PROTOCOL if axis in table.columns and axis not in ("modality", "ask")]
    table = table.with_columns(pl.concat_str("model", *how, separator=" · ").alias("model"))
    ask = [name for name in ("ask",) if name in table.columns]
    parts = [
        table.select("model", *ask, pl.lit(word).alias("setting"), *plots.rebounded(name, "accuracy"), "n")
        for name, word in _WORDS.items()
        if name in table.columns
    ]
    long = pl.concat(parts).drop_nulls("accuracy")
    if ask:
        long = long.sort(pl.col("ask").replace_strict(_ASKED, default=9), maintain_order=True)
    whole = pl.len().over([*ask, "model"]) == pl.col("setting").n_unique().over(ask or [pl.lit(1)])
    rank = pl.col("accuracy").rank("min", descending=True).over([*ask, "setting", whole]).cast(pl.Int64)
    chance = {}
    for role, where in settings_of(material).where.items():
        known = material.results.items.filter(pl.col("benchmark") == where.get("benchmark")).get_column("options")
        chance[WORDS[role]] = (1 / known.drop_nulls()).mean() if len(known) else None
    guessing = pl.col("setting").replace_strict(chance, default=None).cast(pl.Float64).alias("guessing")
    return long.with_columns(pl.when(whole).then(rank).alias("rank"), guessing)


def _draw_by_setting(value: str, form: str) -> Callable[[pl.DataFrame], ChartType]:
    """A row per model and a dot per setting, with its interval if any; a grey tick is the score of guessing."""

    def draw(part: pl.DataFrame) -> ChartType:
        there = [word for word in WORDS.values() if word in set(part.get_column("setting"))]
        means = part.group_by("model").agg(pl.col("accuracy").mean()).sort("accuracy", "model", descending=True)
        order = means.get_column("model").to_list()
        y, x = plots.rows(order, "model", paddingInner=0.35), plots.across(value, form=form)
        if value == "rank":
            x = plots.across(value, form=form, at=range(1, len(order) + 1))
            part = part.with_columns(*(pl.col("rank").alias(f"rank{end}") for end in ("_low", "_high")))
            return plots.grouped(part, value, x, y, "setting", there)
        guess = alt.Chart(plots.values(part)).mark_tick(color=palette.QUIET, thickness=3, height=9)
        at = {"x": x("guessing"), "y": y, "yOffset": alt.YOffset("setting:N", sort=there)}
        return plots.layered(guess.encode(**at), plots.grouped(part, value, x, y, "setting", there))

    return lambda frame: plots.one_each(frame.filter(pl.col("setting") != "overall").drop_nulls(value), "ask", draw)


def _deltas(material: Material) -> pl.DataFrame:
    table = _three(material)
    known = table.filter(pl.any_horizontal(pl.col(name).is_not_null() for name in _DELTAS))
    if known.is_empty():
        raise NotMeasurable("three-settings: no model was asked in a setting to start from")
    return known.select("series", *plots.bounded(*_DELTAS), "^.*_risen$", "paired", "n")


def _draw_deltas(frame: pl.DataFrame) -> ChartType:
    order = frame.sort("delta3", "delta1", descending=True, nulls_last=True).get_column("series").to_list()
    there = {name: title for name, title in _DELTAS.items() if frame.get_column(name).drop_nulls().len()}
    panels = [
        (partial(plots.panel, frame, name, plots.across(title, form=plots.POINTS, ticks=4)), 190, "")
        for name, title in there.items()
    ]
    return plots.side_by_side(order, panels, 16)


def _draw_blind(frame: pl.DataFrame) -> ChartType:
    steps = frame.get_column("step").unique(maintain_order=True).to_list()
    whole, single = frame.filter(pl.col("model") == EVERYBODY), frame.filter(pl.col("model") != EVERYBODY)
    x, y = plots.across("accuracy without the image"), plots.rows(steps, "step")
    swarm = alt.Chart(plots.values(single)).mark_point(filled=True, size=30, opacity=0.55)
    guess = alt.Chart(plots.values(whole)).mark_tick(color=palette.INK, thickness=2, height=26, strokeDash=[3, 2])
    dots = plots.intervals(alt.Chart(plots.values(whole)), "accuracy", x, y=y, color=alt.value(palette.BLIND))
    return alt.layer(
        swarm.encode(x=x("accuracy"), y=y, color=alt.value(palette.QUIET)), guess.encode(x=x("guessing"), y=y), dots
    ).properties(width=plots.WIDTH + 60, height=alt.Step(44))


def _lost(before: str, after: str) -> Callable[[Material], pl.DataFrame]:
    """Items right in one setting and wrong in another, with the number of models that lost each, most lost first."""

    def numbers(material: Material) -> pl.DataFrame:
        where = settings_of(material).where
        if before not in where or after not in where:
            raise NotMeasurable(f"no model was asked in both {WORDS[before]} and {WORDS[after]}")
        sides = (("from", before), ("to", after))
        own = {side: ",".join(f"{axis}={value}" for axis, value in where[role].items()) for side, role in sides}
        own = {**material.own, **own, "over": "models"}
        table = replace(material, own=own).measured("flips", scope="all")
        ask = [name for name in ("ask",) if name in table.columns]
        kept = table.filter(pl.col("lost") > 0)
        if kept.is_empty():
            raise NotMeasurable(f"nothing that is right in {WORDS[before]} is wrong in {WORDS[after]}")
        if ask:
            kept = kept.sort(pl.col("ask").cast(pl.String).replace_strict(_ASKED, default=9), maintain_order=True)
        return kept.select(*ask, "item", "lost", "won", pl.col("n").alias("models"), "lost_by")

    return numbers


def _draw_lost(frame: pl.DataFrame) -> ChartType:
    def draw(part: pl.DataFrame) -> ChartType:
        counts = part.group_by("lost").agg(pl.len().cast(pl.Int64).alias("items")).sort("lost")
        models = int(part.select(pl.col("models").max()).item())
        x = alt.X("lost:O", title=f"models that lost the item, of {models}").axis(labelAngle=0)
        chart = alt.Chart(plots.values(counts)).encode(x=x, y=alt.Y("items:Q", axis=None))
        text = chart.mark_text(dy=-8).encode(text=alt.Text("items:Q", format=","))
        bars = chart.mark_bar(color=palette.SIGHTED, opacity=0.85)
        return plots.layered(bars, text).properties(width=alt.Step(54), height=110)

    return plots.one_each(frame, "ask", draw)


_NEEDS = "runs over few options, ten options and screenshots of the same items"
_linked = partial(Figure, needs=_NEEDS, by="", part="Linked settings")
LINKED_FIGURES = (
    _linked(
        *("settings", 201, "From setting to setting"),
        _scores,
        _draw_by_setting("accuracy", plots.PERCENT),
        reading="A row is a model, a colour a setting: few options, ten, everything in one image. The grey tick is "
        "what guessing scores there. Only items that a model has in all of its settings count.",
    ),
    _linked(
        *("deltas", 202, "What hardening costs", _deltas, _draw_deltas),
        reading="Ten options, vision and the mean of both, each less where it began, in points, with intervals. "
        "Paired where the items are the same.",
    ),
    _linked(
        *("ranks", 203, "Ranks in each setting", _scores, _draw_by_setting("rank", "d")),
        reading="Ranks among the models that were asked in every setting, 1 for the best; eyetest compare tests "
        "whether models differ at all.",
    ),
    _linked(
        *("blind", 204, "Answered without the image"),
        lambda material: material.measured("blind-steps", scope="all"),
        _draw_blind,
        reading="After each step, every model that was asked without the image (grey) and all of them together with "
        "an interval; the dark mark is what guessing scores there. The nearer to it, the less is answered blind.",
        needs="models that were asked without the image: eyetest run --condition no-image",
    ),
    _linked(
        *("lost-at-ten", 205, "Right with few options, wrong with ten", _lost("four", "ten"), _draw_lost),
        reading="Items by how many models lost them when options were added; the numbers name them and the models.",
        needs="runs over few and over ten options",
    ),
    _linked(
        *("lost-in-vision", 206, "Right with ten options, wrong in one image", _lost("ten", "vision"), _draw_lost),
        reading="Items by how many models lost them when everything went into one image.",
        needs="runs over ten options and over screenshots",
    ),
)
"""Figures of a report over linked settings."""


def are_linked(benchmarks: Sequence[Benchmark]) -> bool:
    """Whether one of several benchmarks was made of another with more options, or as screenshots."""
    steps = {step.step for benchmark in benchmarks for step in benchmark.manifest.lineage}
    return len(benchmarks) > 1 and bool(steps & {"options", SCREENSHOT_STEP})


def verdict(material: Material) -> str:
    """The number of models and settings, the best score, and what each step costs, in a few sentences."""
    table = material.measured("three-settings", scope="all")
    models = counted(table.get_column("model").n_unique(), "model")
    sentence = f"{models} in {counted(len(settings_of(material).where), 'setting')} of one benchmark."
    best = table.drop_nulls("overall").sort("overall", descending=True)
    if len(best):
        row = best.row(0, named=True)
        bounds = f"[{100 * row['overall_low']:.1f}, {100 * row['overall_high']:.1f}]"
        who = f"the best, {clip(row['model'], 60)}," if len(best) > 1 else clip(row["model"], 60)
        sentence += f" Overall {who} scores {100 * row['overall']:.1f} % {bounds}."
    parts = []
    for name, costs in (("delta1", "ten options cost"), ("delta2", "one image for everything costs")):
        if known := table.get_column(name).drop_nulls().to_list():
            least, most = sorted(round(-100 * end) for end in (max(known), min(known)))
            parts.append(f"{costs} {f'{least} to {most}' if least != most else most} points")
    return f"{sentence} {'; '.join(parts).capitalize()}." if parts else sentence


def cautions(material: Material) -> Iterator[str]:
    """Cautions on the figures."""
    models = material.results.models
    stand_ins = sorted(name for name, entry in models.items() if entry.spec.startswith(_OCR_STAND_IN))
    if stand_ins:
        yield (
            f"Vision was answered by a stand-in: {listed(stand_ins, 6)} did not look at the screenshot. An OCR "
            "engine read it, and a model was given the text and the image cut out of it. Its Δ2 shows what OCR "
            "loses, and nothing about models that see the page."
        )
    if "original" not in settings_of(material).where:
        yield "The source benchmark was not asked: differences start from few options, not from the original."


def tiles(material: Material) -> Iterator[tuple[str, str, str]]:
    """Main figures: names, values, and their basis."""
    table = material.measured("three-settings", scope="all")
    for name, title in _DELTAS.items():
        known = table.drop_nulls(name)
        if len(known):
            mean = 100 * float(known.select(pl.col(name).mean()).item())
            below = f"{known.filter(pl.col(f'{name}_high') < 0).height} of {len(known)} surely below 0"
            yield title, f"{mean:+.1f}".replace("-", "−"), f"points on average; {below}"
    moved = [column for column in ("ten_risen", "vision_risen") if column in table.columns]
    if moved:
        changed = table.filter(pl.any_horizontal(pl.col(column).fill_null(0) != 0 for column in moved))
        yield "ranks that moved", f"{len(changed)} of {len(table)}", "rows of the table, in ten options or vision"
    with suppress(NotMeasurable):
        blind = material.measured("blind-steps", scope="all").filter(pl.col("model") == EVERYBODY)
        last = blind.row(-1, named=True)
        yield f"blind, {last['step']}", percent(last["accuracy"]), f"guessing scores {percent(last['guessing'])}"


def sections(material: Material, known: Sequence[Benchmark], album: Album, shown: int) -> Iterator[Section]:
    """The settings, the items that most models lost, and the authors of the options."""
    by_name = {benchmark.manifest.name: benchmark for benchmark in known}
    where = settings_of(material).where
    benchmarks = {role: by_name[name] for role in where if (name := str(where[role].get("benchmark"))) in by_name}
    yield Section("The settings", pl.DataFrame(list(_settings(material, benchmarks))))
    for (before, after), figure in zip(_LOSSES, LINKED_FIGURES[-2:], strict=True):
        with suppress(NotMeasurable):
            table = _lost(before, after)(material)
            ranked = table.group_by("item").agg(pl.col("lost").sum(), pl.col("models").sum())
            order = sorted(ranked.iter_rows(named=True), key=lambda row: (-row["lost"], lot(row["item"])))[:shown]
            ways = ", ways of asking counted apart" if "ask" in table.columns else ""
            views = _views([row["item"] for row in order], benchmarks, album)
            remarks = [f"lost by {row['lost']} of {counted(row['models'], 'model')}{ways}" for row in order]
            items = [(name, words, views[name]) for name, words in zip(views, remarks, strict=True) if views[name]]
            yield Section(f"{figure.title}: items", items=items)
    if authors := option_authors(benchmarks.get("ten")):
        yield Section("Authors of the options", pl.DataFrame(authors))


def _settings(material: Material, benchmarks: Mapping[str, Benchmark]) -> Iterator[dict[str, Any]]:
    for role, where in settings_of(material).where.items():
        row: dict[str, Any] = {"setting": WORDS[role], "asked": ", ".join(map(str, where.values()))}
        if benchmark := benchmarks.get(role):
            options = [len(item.choices) for item in benchmark]
            row |= {"items": len(options), "options on average": round(sum(options) / max(1, len(options)), 1)}
            row["steps"] = " → ".join(step.step for step in benchmark.manifest.lineage)
        yield row


def _views(
    names: Sequence[str], benchmarks: Mapping[str, Benchmark], album: Album
) -> dict[str, list[tuple[str, ItemView]]]:
    """Items as each setting shows them; of a screenshot its image alone, which is all that a model sees."""
    views: dict[str, list[tuple[str, ItemView]]] = {name: [] for name in names}
    for role in ("four", "ten", "vision"):
        if (benchmark := benchmarks.get(role)) is None:
            continue
        for item in benchmark.take(benchmark.positions([name for name in names if name in benchmark])):
            is_shot = any(step.step == SCREENSHOT_STEP for step in item.lineage)
            if role != "vision" or is_shot:
                views[item.id].append((WORDS[role], _view(item, album, is_shot=is_shot)))
    return views


def _view(item: Item, album: Album, *, is_shot: bool) -> ItemView:
    if not is_shot:
        return show_item(item.id, "", [], item, album)
    image = msgspec.structs.replace(item, question="", choices=(), references=("",), hint="", history=())
    return msgspec.structs.replace(show_item(item.id, "", [], image, album), question=[], item=image)


def option_authors(benchmark: Benchmark | None) -> list[dict[str, Any]]:
    """Authors and checkers of a benchmark's options with the number of options; none where nothing is recorded."""
    counts: Counter[tuple[str, str]] = Counter()
    for item in benchmark if benchmark is not None else ():
        for choice in item.choices:
            known = choice.provenance is not msgspec.UNSET and choice.provenance
            counts[(known.author, ", ".join(known.checked_by)) if known else ("", "")] += 1
    if counts.keys() <= {("", "")}:
        return []
    return [
        {"written by": author or "as they were", "checked by": checked or "–", "options": number}
        for (author, checked), number in counts.most_common(_MOST_AUTHORS)
    ]
