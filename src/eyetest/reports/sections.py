"""Sections of the general report: linked settings of one benchmark."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.benchmarks import Benchmark
from eyetest.errors import counted, listed
from eyetest.measures import NotMeasurable
from eyetest.measures.linked import WORDS, Axes, linked_settings
from eyetest.measures.results import PROTOCOL
from eyetest.pages import plots
from eyetest.pages.page import clip, estimate
from eyetest.prompts import SCREENSHOT_STEP
from eyetest.reports.figures import described
from eyetest.reports.report import Material
from eyetest.reports.report_page import ReportDetails, Section

_DELTAS = {"delta1": "Δ1 ten options", "delta2": "Δ2 vision", "delta3": "Δ3 overall"}
_ASKED = {"direct": 0, "cot": 1, "ocr": 2}
_OCR_STAND_IN = "reader:"


def without_image(material: Material) -> Material:
    """The same, for accuracy without the image in each setting."""
    return replace(material, own={**material.own, "over": "no-image"})


def settings_of(material: Material) -> dict[str, Axes]:
    """Where the answers of each setting are."""
    return linked_settings(material.results, material.own)


def _three(material: Material) -> pl.DataFrame:
    table = plots.named(material.measured("linked", scope="all"))
    return table.with_columns(pl.col("ask").cast(pl.String)) if "ask" in table.columns else table


def _by_ask(table: pl.DataFrame) -> tuple[list[str], pl.DataFrame]:
    """The column of the ways of asking, if there are several, and the table in their order."""
    if "ask" not in table.columns:
        return [], table
    order = pl.col("ask").cast(pl.String).replace_strict(_ASKED, default=9)
    return ["ask"], table.sort(order, maintain_order=True)


def _scores(material: Material) -> pl.DataFrame:
    """One row per series and setting; ``rank`` is among those asked alike and in every setting."""
    table = _three(material)
    how = [axis for axis in PROTOCOL if axis in table.columns and axis not in ("modality", "ask")]
    ask, table = _by_ask(table.with_columns(pl.concat_str("model", *how, separator=" · ").alias("model")))
    parts = [
        table.select("model", *ask, pl.lit(words).alias("setting"), *plots.rebounded(name, "accuracy"), "n")
        for name, words in {**WORDS, "overall": "overall"}.items()
        if name in table.columns
    ]
    long = _by_ask(pl.concat(parts).drop_nulls("accuracy"))[1]
    whole = pl.len().over([*ask, "model"]) == pl.col("setting").n_unique().over(ask or [pl.lit(1)])
    rank = pl.col("accuracy").rank("min", descending=True).over([*ask, "setting", whole]).cast(pl.Int64)
    chance = {}
    for role, where in settings_of(material).items():
        known = material.results.items.filter(pl.col("benchmark") == where.get("benchmark")).get_column("options")
        chance[WORDS[role]] = (1 / known.drop_nulls()).mean() if len(known) else None
    guessing = pl.col("setting").replace_strict(chance, default=None).cast(pl.Float64).alias("guessing")
    return long.with_columns(pl.when(whole).then(rank).alias("rank"), guessing)


def _draw_settings(frame: pl.DataFrame) -> ChartType:
    mean = pl.col("accuracy").mean().over("model").alias("mean")
    ranked = frame.filter(pl.col("setting") != "overall").with_columns(mean, pl.col("model").alias("series"))
    ranked = ranked.sort("mean", "model", descending=True, maintain_order=True)
    dots = plots.Dots("accuracy", "", plots.PERCENT, None)
    return plots.one_each(ranked, "ask", lambda part: plots.dot_panels(part, dots, split="setting"))


def _deltas(material: Material) -> pl.DataFrame:
    known = _three(material).filter(pl.any_horizontal(pl.col(*_DELTAS).is_not_null()))
    if known.is_empty():
        raise NotMeasurable("linked: no model was asked in a setting to start from")
    return known.select("series", *plots.bounded(*_DELTAS), "^.*_risen$", "paired", "n")


def _draw_deltas(frame: pl.DataFrame) -> ChartType:
    ranked = frame.sort("delta3", "delta1", descending=True, nulls_last=True)
    return plots.dot_panels(ranked, *(plots.Dots(name, title) for name, title in _DELTAS.items()))


def _draw_blind(frame: pl.DataFrame) -> ChartType:
    above = plots.Dots("above", "accuracy without the image − guessing")
    return plots.dot_panels(frame.rename({"model": "series"}), above, split="step")


def _lost(before: str, after: str) -> Callable[[Material], pl.DataFrame]:
    """Items right in one setting and wrong in another, with the number of models that lost each, most lost first."""

    def numbers(material: Material) -> pl.DataFrame:
        where = settings_of(material)
        if before not in where or after not in where:
            raise NotMeasurable(f"no model was asked in both {WORDS[before]} and {WORDS[after]}")
        sides = (("from", before), ("to", after))
        own = {side: ",".join(f"{axis}={value}" for axis, value in where[role].items()) for side, role in sides}
        own = {**material.own, **own, "over": "models"}
        table = replace(material, own=own).measured("linked", scope="all")
        ask, kept = _by_ask(table.filter(pl.col("lost") > 0))
        if kept.is_empty():
            raise NotMeasurable(f"nothing that is right in {WORDS[before]} is wrong in {WORDS[after]}")
        return kept.select(*ask, "item", "lost", "won", pl.col("n").alias("models"), "lost_by")

    return numbers


def _draw_lost(frame: pl.DataFrame) -> ChartType:
    def draw(part: pl.DataFrame) -> ChartType:
        counts = part.group_by("lost").agg(pl.len().alias("items"), pl.col("models").max()).sort("lost")
        words = counts.with_columns(pl.format("lost by {} of {}", "lost", "models").alias("words"))
        return plots.labelled_bars(words, "words", alt.Text("items:Q", format=","), 320)

    return plots.one_each(frame, "ask", draw)


_LOST_AT_TEN, _LOST_IN_VISION = _lost("four", "ten"), _lost("ten", "vision")
LINKED_FIGURES = (
    described("settings", _scores, _draw_settings),
    described("deltas", _deltas, _draw_deltas),
    described("blind", lambda material: without_image(material).measured("linked", scope="all"), _draw_blind),
    described("lost-at-ten", _LOST_AT_TEN, _draw_lost),
    described("lost-in-vision", _LOST_IN_VISION, _draw_lost),
)
"""Figures of a report over linked settings."""


def are_linked(benchmarks: Sequence[Benchmark]) -> bool:
    """Whether one of several benchmarks was made of another with more options, or as screenshots."""
    steps = {step.step for benchmark in benchmarks for step in benchmark.manifest.lineage}
    return len(benchmarks) > 1 and bool(steps & {"options", SCREENSHOT_STEP})


def linked_details(about: ReportDetails, material: Material) -> ReportDetails:
    """A report's details with what linked settings add."""
    return replace(
        about,
        verdict=_verdict(material),
        cautions=list(stand_ins(material)),
        sections=[*about.sections, Section("The settings", _settings(material, about.benchmarks))],
    )


def _verdict(material: Material) -> str:
    """The number of models and settings, the best score, and what each step costs, in a few sentences."""
    table = material.measured("linked", scope="all")
    models = counted(table.get_column("model").n_unique(), "model")
    sentence = f"{models} in {counted(len(settings_of(material)), 'setting')} of one benchmark."
    best = table.drop_nulls("overall").sort("overall", descending=True)
    if len(best):
        row = best.row(0, named=True)
        score = estimate(row["overall"], row["overall_low"], row["overall_high"])
        who = f"the best, {clip(row['model'], 60)}," if len(best) > 1 else clip(row["model"], 60)
        sentence += f" Overall {who} scores {score}."
    parts = []
    for name, costs in (("delta1", "ten options cost"), ("delta2", "one image for everything costs")):
        if known := table.get_column(name).drop_nulls().to_list():
            least, most = sorted(round(-100 * end) for end in (max(known), min(known)))
            parts.append(f"{costs} {f'{least} to {most}' if least != most else most} points")
    return f"{sentence} {'; '.join(parts).capitalize()}." if parts else sentence


def stand_ins(material: Material) -> Iterator[str]:
    """Cautions: models that did not see the screenshot, and a source benchmark that was not asked."""
    models = material.results.models
    if names := sorted(name for name, entry in models.items() if entry.spec.startswith(_OCR_STAND_IN)):
        yield (
            f"Vision was answered by a stand-in: {listed(names, 6)} did not see the screenshot. An OCR engine read "
            "it, and a model was given the text and the image cut out of it. Its Δ2 shows what OCR loses, and "
            "nothing about models that see the page."
        )
    if "original" not in settings_of(material):
        yield "The source benchmark was not asked: differences start from few options, not from the original."


def _settings(material: Material, benchmarks: Sequence[Benchmark]) -> pl.DataFrame:
    by_name, rows = {benchmark.manifest.name: benchmark for benchmark in benchmarks}, []
    for role, where in settings_of(material).items():
        row: dict[str, Any] = {"setting": WORDS[role], "asked": ", ".join(map(str, where.values()))}
        if benchmark := by_name.get(str(where.get("benchmark"))):
            options = [len(item.choices) for item in benchmark]
            row |= {"items": len(options), "options on average": round(sum(options) / max(1, len(options)), 1)}
            row["steps"] = " → ".join(step.step for step in benchmark.manifest.lineage)
        rows.append(row)
    return pl.DataFrame(rows)
