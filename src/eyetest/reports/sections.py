"""Sections of the general report: linked settings of one benchmark, reformed datasets, tables of a suite."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import altair as alt
import msgspec
import polars as pl
from altair.typing import ChartType

from eyetest.benchmarks import Benchmark
from eyetest.errors import counted, listed
from eyetest.measures import NotMeasurable
from eyetest.measures.linked import WORDS, Axes, linked_settings
from eyetest.measures.results import PROTOCOL
from eyetest.pages import plots
from eyetest.pages.item_view import Album, ItemView, in_turns, lot, show_item
from eyetest.pages.page import clip, estimate
from eyetest.prompts import SCREENSHOT_STEP
from eyetest.records import Item, OptionProvenance, letter, tag_word
from eyetest.reform.building import MISSING
from eyetest.reform.catalog import DIMENSIONS
from eyetest.reports.figures import described
from eyetest.reports.report import Material, tell, unanswered
from eyetest.reports.report_page import ReportDetails, Section, write_report_page
from eyetest.results.gather import items_table

IMAGE_SIDE = 480  # longer side of an image on the page: screenshots must be legible
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


def linked_details(about: ReportDetails, material: Material, shown: int) -> ReportDetails:
    """A report's details with what linked settings add; ``shown``: items of each list."""
    return replace(
        about,
        verdict=_verdict(material),
        cautions=list(stand_ins(material)),
        sections=[*about.sections, *_sections(material, about, shown)],
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


def _sections(material: Material, about: ReportDetails, shown: int) -> Iterator[Section]:
    """The settings, and the items that most models lost."""
    by_name = {benchmark.manifest.name: benchmark for benchmark in about.benchmarks}
    where = settings_of(material)
    benchmarks = {role: by_name[name] for role in where if (name := str(where[role].get("benchmark"))) in by_name}
    yield Section("The settings", pl.DataFrame(list(_settings(material, benchmarks))))
    for figure in LINKED_FIGURES[-2:]:
        with suppress(NotMeasurable):
            table = figure.numbers(material)
            ranked = table.group_by("item").agg(pl.col("lost").sum(), pl.col("models").sum())
            order = sorted(ranked.iter_rows(named=True), key=lambda row: (-row["lost"], lot(row["item"])))[:shown]
            ways = ", each way of asking counted" if "ask" in table.columns else ""
            views = _views([row["item"] for row in order], benchmarks, about.album)
            remarks = [f"lost by {row['lost']} of {counted(row['models'], 'model')}{ways}" for row in order]
            items = [(name, words, views[name]) for name, words in zip(views, remarks, strict=True) if views[name]]
            yield Section(f"{figure.title}: items", items=items)


def _settings(material: Material, benchmarks: Mapping[str, Benchmark]) -> Iterator[dict[str, Any]]:
    for role, where in settings_of(material).items():
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
                hidden = {"question": "", "choices": (), "references": ("",), "hint": "", "history": ()}
                shown = msgspec.structs.replace(item, **hidden) if is_shot else item
                views[item.id].append((WORDS[role], show_item(item.id, "", [], shown, album)))
    return views


_MOST_SHOWN, _IN_TASK = 3, 3


def write_reform_page(benchmarks: Sequence[Benchmark], to: Path, *, seed: int = 0, overwrite: bool = False) -> None:
    """Write the page about one reformed dataset or several."""
    statistics, album = gather_statistics(benchmarks), Album(*benchmarks)
    tasks = statistics.get_column("task").n_unique()
    counts = f"{counted(len(statistics), 'dataset')}, {counted(tasks, 'task')}"
    tables = [items_table(benchmark.manifest.name, benchmark) for benchmark in benchmarks]
    about = ReportDetails(
        title=benchmarks[0].manifest.name if len(benchmarks) == 1 else f"{len(statistics)} reformed datasets",
        benchmarks=benchmarks,
        method=[("seed", str(seed)), *map(_source, benchmarks)],
        album=album,
        verdict=f"{counted(int(statistics.get_column('items').sum()), 'item')} of {counts}.{_chance(statistics)}",
        sections=[
            Section("Questions and distractors", statistics),
            Section("Three items, a random sample", views=_sample(benchmarks, album)),
        ],
    )
    report = tell(Material(unanswered(pl.concat(tables, how="diagonal"))))
    write_report_page(report, about, to, overwrite=overwrite)


def _chance(statistics: pl.DataFrame) -> str:
    known = statistics.drop_nulls("chance")
    if known.is_empty():
        return ""
    chance, longest = (known.select((pl.col(name) * pl.col("items")).sum() / pl.col("items").sum()).item()
                       for name in ("chance", "longest option is right"))  # fmt: skip
    return f" Guessing scores {chance:.1f}; choosing the longest option scores {longest:.1f}."


def _source(benchmark: Benchmark) -> tuple[str, str]:
    manifest = benchmark.manifest
    last = [manifest.lineage[-1].source, manifest.lineage[-1].note] if manifest.lineage else []
    return manifest.name, " · ".join(filter(None, [*last, manifest.licence, manifest.source]))


def gather_statistics(benchmarks: Iterable[Benchmark]) -> pl.DataFrame:
    """A row per dataset, in the order of the dimensions: questions, options, images, authors of the distractors."""
    rows: list[dict[str, Any]] = []
    sizes: dict[str, dict[str, tuple[int, int]]] = {}
    authors: dict[str, Counter[str]] = {}
    for benchmark in benchmarks:
        for item in benchmark:
            row = _row(item, benchmark)
            rows.append(row)
            images = {image.sha256: (image.width, image.height) for image in item.images}
            sizes.setdefault(row["dataset"], {}).update(images)
            authors.setdefault(row["dataset"], Counter()).update(
                choice.provenance.author if isinstance(choice.provenance, OptionProvenance) else "the dataset"
                for choice in item.choices
                if not choice.correct
            )
    chosen = pl.col("options") > 0
    table = pl.DataFrame(rows, infer_schema_length=None).group_by("dataset", "dimension", "task").agg(
        pl.len().cast(pl.Int64).alias("items"),
        pl.col("options").filter(chosen).unique().sort().cast(pl.String).str.join(" ").alias("options"),
        pl.col("question").mean().round(1).alias("words a question"),
        (pl.col("words").sum() / pl.col("texts").sum()).round(1).alias("words an option or answer"),
        pl.col("missing").sum().cast(pl.Int64).alias("images missing"),
        (100 / pl.col("options").filter(chosen)).mean().round(1).alias("chance"),
        (100 * pl.col("longest").filter(chosen).mean()).round(1).alias("longest option is right"),
        pl.col("place").filter(chosen).sort().value_counts(sort=False).alias("places"),
    )  # fmt: skip
    ordered = sorted(table.to_dicts(), key=lambda row: (_order(row["dimension"]), row["task"], row["dataset"]))
    for row in ordered:
        images, made = sizes[row["dataset"]], authors[row["dataset"]]
        places = {letter(place["place"]): place["count"] for place in row.pop("places") if place["place"] is not None}
        row["right options"] = ", ".join(f"{name} {estimate(n / row['items'])}" for name, n in sorted(places.items()))
        means = [f"{sum(side) / len(images):.0f}" for side in zip(*images.values(), strict=True)]
        row |= {"images": len(images), "mean size": " × ".join(means) or "–"}
        shares = (f"{name} {estimate(count / made.total())}" for name, count in made.most_common())
        row["distractors by"] = ", ".join(shares)
    return pl.DataFrame(ordered, infer_schema_length=None)


def _row(item: Item, benchmark: Benchmark) -> dict[str, Any]:
    texts = [choice.text for choice in item.choices] or list(item.references)
    row: dict[str, Any] = dict(zip(("dataset", "dimension", "task"), _key(item, benchmark), strict=True))
    row |= {"question": len(item.question.split()), "options": len(item.choices), "missing": MISSING in item.tags}
    longest = max((len(choice.text) for choice in item.choices), default=0)
    lengths = [len(choice.text) == longest for choice in item.choices]
    right = [place for place, choice in enumerate(item.choices) if choice.correct]
    row["longest"] = sum(lengths[place] for place in right) / max(1, sum(lengths))
    row["place"] = right[0] if right else None
    return row | {"words": sum(len(text.split()) for text in texts), "texts": len(texts)}


def _key(item: Item, benchmark: Benchmark) -> tuple[str, str, str]:
    dataset, dimension, task = (tag_word(item.tags.get(tag)) or "" for tag in ("dataset", "dimension", "task"))
    return dataset or benchmark.manifest.name, dimension, task


def _order(dimension: str) -> tuple[int, str]:
    known = list(DIMENSIONS)
    return (known.index(dimension) if dimension in DIMENSIONS else len(known), dimension)


def _sample(benchmarks: Sequence[Benchmark], album: Album) -> list[ItemView]:
    """Random items of all tasks in turns, in the order of the dimensions."""
    tasks: dict[tuple[str, str], list[tuple[bytes, int, int]]] = {}
    for number, benchmark in enumerate(benchmarks):
        for position, item in enumerate(benchmark):
            _, dimension, task = _key(item, benchmark)
            tasks.setdefault((dimension, task), []).append((lot(item.id), number, position))
    order = sorted(tasks, key=lambda key: (_order(key[0]), key[1]))
    chosen = in_turns(([(key, *place) for place in sorted(tasks[key])[:_IN_TASK]] for key in order), _MOST_SHOWN)
    views = []
    for _, _, number, position in sorted(chosen, key=lambda sample: order.index(sample[0])):
        item = benchmarks[number].take([position])[0]
        record = f"record {item.lineage[-1].item}: {item.lineage[-1].note}" if item.lineage else ""
        views.append(show_item(item.id, clip(record, 200), [], item, album))
    return views
