"""Models × benchmarks with shared ranks: with the image, without it and the gain; as a table and as a page."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import polars as pl
from markupsafe import Markup

from eyetest.errors import counted, listed
from eyetest.measures.gain import WITH_IMAGE
from eyetest.measures.printed import DASH, caveats
from eyetest.measures.results import MODEL, PROTOCOL, UNREAD
from eyetest.measures.stats.intervals import Floats, column_means, mean
from eyetest.measures.stats.ranking import standings
from eyetest.measures.tables import Protocol, distinct_benchmarks, like, protocol_label, side_by_side
from eyetest.pages.item_links import NOWHERE, ItemsAt
from eyetest.pages.page import clip, estimate, printable, printable_data, write_page
from eyetest.records import BLIND_MODALITIES
from eyetest.reports.report import Material

VIEWS = {"image": "with image", "no_image": "without image", "gain": "gain"}
_ENDS = ("", "_low", "_high", "_rank")
_SPENT = ("cost", "tokens", "seconds")
MEAN = "mean of {}"
TYPES: dict[str, Any] = {
    **dict.fromkeys(("benchmark", "model"), pl.String),
    **{view + end: pl.Int64 if end == "_rank" else pl.Float64 for view in VIEWS for end in _ENDS},
    **{"unread": pl.Float64, "n": pl.Int64},
}
_Part = tuple[Sequence[str], Floats, Sequence[str]]  # models, items × models, clusters of items


def leaderboard(material: Material) -> pl.DataFrame:
    """One row a benchmark and model, then one a model over all benchmarks, each of which counts alike; a benchmark
    with items of a larger one is in no mean. A ``_rank`` is 1 + the number of models that are significantly better;
    ``unread`` is of the answers with the image, if any.
    """
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    parts: dict[str, dict[str, _Part]] = {view: {} for view in VIEWS}
    known, level = _estimates(material), material.settings.level
    for part in side_by_side(material.usual_and_blind, ["benchmark"], ("model", *PROTOCOL)):
        benchmark = str(part.key["benchmark"])
        usual, asked = material.usual_ways[benchmark], dict[str, list[Protocol]]()
        for model, *protocol in part.columns:
            asked.setdefault(model, []).append(tuple(protocol))
        models, nothing = sorted(asked), ("",)
        blind = [known.way(benchmark, model, asked[model], usual) or nothing for model in models]
        tables = [part.table([(model, *usual) for model in models])]
        tables.append(part.table([(model, *way) for model, way in zip(models, blind, strict=True)]))
        if usual[0] not in WITH_IMAGE:
            tables[0] = np.full_like(tables[0], np.nan)
        tables.append(tables[0] - tables[1])
        for view, table in zip(VIEWS, tables, strict=True):
            parts[view][benchmark] = models, table, [f"{benchmark}\0{cluster}" for cluster in part.clusters]
            places = standings(table, part.clusters, level)
            for model, way, place in zip(models, blind, places, strict=True):
                row = rows.setdefault((benchmark, model), {"benchmark": benchmark, "model": model})
                if place.score is not None:
                    found = known.of(benchmark, model, usual if view == "image" else way, view)
                    row |= found | {f"{view}_rank": place.tie}
    together = [name for name in distinct_benchmarks(material.usual_and_blind).names if name in parts["image"]]
    if len(together) > 1:
        for view in VIEWS:
            averaged = {name: parts[view][name] for name in together}
            for row in _over_benchmarks(averaged, view, level):
                rows.setdefault((row["benchmark"], row["model"]), {}).update(row)
    order = {benchmark: place for place, (benchmark, _) in enumerate(rows)}
    best = sorted(rows.values(), key=lambda row: (order[row["benchmark"]], -(row.get("image") or -1), row["model"]))
    return _with_unread(pl.DataFrame(best, schema=TYPES | {"n": pl.Int64}), material, together)


class _Known(NamedTuple):
    """Estimates of the measures ``accuracy`` and ``gain`` by benchmark, model and protocol."""

    scores: Mapping[tuple[str, str, Protocol], dict[str, Any]]
    gains: Mapping[tuple[str, str], dict[str, Any]]

    def way(self, benchmark: str, model: str, asked: Sequence[Protocol], usual: Protocol) -> Protocol | None:
        """The protocol without the image that counts for a model: that of its gain, or of its best score."""
        ways = like([way for way in asked if way[0] in BLIND_MODALITIES], usual)
        chosen = self.gains.get((benchmark, model), {}).get("no_image_by")
        best = max(ways, key=lambda way: self.scores[benchmark, model, way]["accuracy"] or 0.0, default=None)
        return next((way for way in ways if protocol_label(way) == chosen), best)

    def of(self, benchmark: str, model: str, way: Protocol, view: str) -> dict[str, Any]:
        """An estimate and its interval as columns of a view; with the image also its number of items."""
        row = self.gains.get((benchmark, model), {}) if view == "gain" else self.scores[benchmark, model, way]
        name = view if view == "gain" else "accuracy"
        found = {view + end: row.get(name + end) for end in _ENDS[:3]}
        return found | ({} if view == "gain" else {"n": row["n"]} if view == "image" or way == ("",) else {})


def _estimates(material: Material) -> _Known:
    usual = material.usual_ways
    only = next(iter(usual))
    table = material.measured("accuracy", scope="usual and blind")
    fixed = (
        material.usual_and_blind.scores.select(pl.col(PROTOCOL).cast(pl.String)).head(1).collect().row(0, named=True)
    )
    scores = {
        (row.get("benchmark", only), row["model"], tuple(str(row.get(axis, fixed[axis])) for axis in PROTOCOL)): row
        for row in table.cast({name: pl.String for name in table.columns if name in PROTOCOL}).iter_rows(named=True)
    }
    gained = material.known("gain", scope="usual and blind")
    rows = [] if gained is None else gained.iter_rows(named=True)
    gains = {}
    for row in rows:
        benchmark = row.get("benchmark", only)
        if benchmark in usual and row["with_image_by"] == protocol_label(usual[benchmark]):
            gains[benchmark, row["model"]] = row
    return _Known(scores, gains)


def _over_benchmarks(parts: Mapping[str, _Part], view: str, level: float) -> Iterator[dict[str, Any]]:
    """Means over benchmarks of the models that have all of them. Items are scaled around their model's mean, so that
    tests of paired items hold for the mean of benchmarks of different sizes.
    """
    whole = set.intersection(
        *({model for model, score in zip(models, column_means(table), strict=True) if not np.isnan(score)}
          for models, table, _ in parts.values())
    )  # fmt: skip
    if not whole:
        return
    names = sorted(whole)
    tables = [table[:, [models.index(name) for name in names]] for models, table, _ in parts.values()]
    counts = [(~np.isnan(table)).sum(axis=0) for table in tables]
    means = [column_means(table) for table in tables]
    overall, items = np.mean(means, axis=0), np.sum(counts, axis=0)
    scaled = [
        (table - centre) * items / (len(tables) * count) + overall
        for table, centre, count in zip(tables, means, counts, strict=True)
    ]
    stacked, clusters = np.vstack(scaled), np.concatenate([part[2] for part in parts.values()])
    for name, column, place in zip(names, stacked.T, standings(stacked, clusters, level), strict=True):
        there = ~np.isnan(column)
        found = mean(column[there], clusters[there], level)
        row = {"benchmark": MEAN.format(len(parts)), "model": name, f"{view}_rank": place.tie}
        yield row | found.named(view) | ({"n": found.n} if view == "image" else {})


def _with_unread(table: pl.DataFrame, material: Material, together: Sequence[str]) -> pl.DataFrame:
    """With shares of unread answers and what the answers cost; over the benchmarks in ``together`` their mean and
    sum. What is unknown on one benchmark is unknown over all.
    """
    scores = material.usual.scores.with_columns(pl.col("benchmark", "model").cast(pl.String))
    shares = scores.group_by("benchmark", "model").agg(UNREAD.mean().alias("unread")).collect(engine="streaming")
    spent = material.known("cost")
    if spent is not None:
        if "benchmark" not in spent.columns:
            spent = spent.with_columns(pl.lit(next(iter(material.usual_ways))).alias("benchmark"))
        spent = spent.select("benchmark", "model", *_SPENT)
        shares = shares.join(spent.unique(["benchmark", "model"]), on=("benchmark", "model"), how="left")
    averaged = shares.filter(pl.col("benchmark").is_in(together))
    totals = [_known_sum(name) for name in _SPENT if name in shares.columns]
    name = pl.lit(MEAN.format(len(together))).alias("benchmark")
    every = averaged.group_by("model").agg(pl.col("unread").mean(), *totals)
    shares = pl.concat([shares, every.select(name, pl.all()).select(shares.columns)])
    return table.drop("unread").join(shares, on=("benchmark", "model"), how="left", maintain_order="left")


def _known_sum(name: str) -> pl.Expr:
    """The sum of a column; null where a part of it is unknown, as a sum of the others would be too small."""
    return pl.when(pl.col(name).null_count() == 0).then(pl.col(name).sum()).alias(name)


class Cell(NamedTuple):
    """A score of a model as shown, in per cent."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    rank: int | None = None

    @property
    def words(self) -> str:
        """The value without its interval."""
        return estimate(None if self.value is None else self.value / 100)

    @property
    def interval(self) -> str:
        """The interval, or nothing."""
        ends = [estimate(end / 100) for end in (self.low, self.high) if end is not None]
        return f"[{', '.join(ends)}]" if len(ends) == 2 else ""

    @property
    def place(self) -> str:
        """The rank, or nothing."""
        return "" if self.rank is None else f"#{self.rank}"

    @property
    def parts(self) -> tuple[Any, ...] | int:
        """The numbers and the texts that the page's script puts into a cell; 0 where there is no value."""
        return 0 if self.value is None else (*self, self.words, self.interval, self.place)


class Line(NamedTuple):
    """A model on the board: its cells by view and column, and what else is known of it."""

    model: str
    facts: Mapping[str, str]
    cells: Mapping[str, list[Cell]]
    unread: float | None
    spent: float | None


class Board(NamedTuple):
    """A leaderboard as pages show it; the first column is the mean over benchmarks, or the first of them."""

    views: list[str]
    columns: list[str]
    lines: list[Line]
    facts: dict[str, list[str]]
    spent: str
    links: Mapping[str, Any]
    benchmarks: int

    @property
    def first(self) -> str:
        """The view that is shown first."""
        return self.views[0]

    def spent_words(self, line: Line) -> str:
        """What a model's answers cost, in words; a dash where that is unknown."""
        if line.spent is None:
            return DASH
        return f"{line.spent:,.2f}" if self.spent == "cost" else f"{line.spent:,.0f}"

    @property
    def data(self) -> Markup:
        """What the page's script needs, as JSON that ends no element."""
        data: dict[str, Any] = {name: [getattr(line, name) for line in self.lines] for name in ("unread", "spent")}
        data |= {"facts": [line.facts for line in self.lines], "links": self.links, "spending": self.spent}
        data |= {"columns": self.columns, "models": [line.model for line in self.lines]}
        data["cells"] = {
            view: [[cell.parts for cell in line.cells[view]] for line in self.lines] for view in self.views
        }
        escapes = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&"}
        return Markup(msgspec.json.encode(printable_data(data)).decode("utf-8", "replace").translate(escapes))  # noqa: S704 (no mark-up is left)


def board_of(material: Material, at: ItemsAt = NOWHERE, table: pl.DataFrame | None = None) -> Board:
    """The board of some results, best first."""
    table = leaderboard(material) if table is None else table
    names = list(dict.fromkeys(table["benchmark"]))
    benchmarks = [name for name in names if name in material.usual_ways]
    averages = [name for name in names if name not in benchmarks]
    columns = [*averages, *benchmarks]
    views = [view for view in VIEWS if table[view].count()] or ["image"]
    by_place = {(row["benchmark"], row["model"]): row for row in table.iter_rows(named=True)}
    spent = next((name for name in _SPENT if name in table.columns and table[name].count()), "")
    facts = _facts(material)
    lines = []
    for model in dict.fromkeys(table["model"]):
        cells = {view: [_cell(by_place.get((column, model)), view) for column in columns] for view in views}
        row = by_place.get((columns[0], model)) or {}
        mine = {name: values[model] for name, values in facts.items() if model in values}
        lines.append(Line(model, mine, cells, row.get("unread"), row.get(spent)))
    lines.sort(key=partial(_order, view=views[0]))
    choices = {name: list(dict.fromkeys(values.values())) for name, values in facts.items()}
    return Board(views, columns, lines, choices, spent, _links(material, at), len(benchmarks))


def _order(line: Line, view: str) -> tuple[Any, ...]:
    """By the first column, the best first; models without it by how many of the others they have."""
    first, *others = line.cells[view]
    known = [cell.value for cell in others if cell.value is not None]
    value = float("inf") if first.value is None else -first.value
    return value, -len(known), -sum(known) / max(1, len(known)), line.model


def _cell(row: Mapping[str, Any] | None, view: str) -> Cell:
    if row is None or row[view] is None:
        return Cell()
    value, low, high = (None if row[view + end] is None else round(100 * row[view + end], 2) for end in _ENDS[:3])
    return Cell(value, low, high, row[f"{view}_rank"])


def _facts(material: Material) -> dict[str, dict[str, str]]:
    """The named properties of models, each with its value by model."""
    named = [word.removeprefix(MODEL) for word in material.settings.by if word.startswith(MODEL)]
    if named:
        material.results.groups([MODEL + name for name in named])  # refuses unknown ones
    entries = material.results.models.items()
    return {
        name: {model: printable(value) for model, entry in entries if (value := entry.fact(name))} for name in named
    }


def _links(material: Material, at: ItemsAt) -> dict[str, Any]:
    """How the address of a cell's items begins, and the condition of each benchmark under which they were asked."""
    named = ("modality", *material.results.varied(PROTOCOL))
    asked = {}
    for benchmark, way in material.usual_ways.items():
        words = (value for axis, value in zip(PROTOCOL, way, strict=True) if axis in named)
        asked[benchmark] = " ".join(words)
    return {"before": at.before, "asked": asked, "several": len(asked) > 1} if at.before else {}


def write_leaderboard_page(
    material: Material, board: Board, at: ItemsAt, about: tuple[str, str], to: Path, *, overwrite: bool
) -> None:
    """Write the page; ``about``: its title and the command."""
    title, command = about
    contents = {"board": board, "title": title, "at": at, "command": command, "level": material.settings.level,
                "answer": first_sentence(board), "views": VIEWS,
                "cautions": caveats(material.results)}  # fmt: skip
    write_page("leaderboard.html.j2", contents, to, overwrite=overwrite)


def first_sentence(board: Board) -> str:
    """Who leads, in plain words."""
    whole = [(line, line.cells[board.first][0]) for line in board.lines]
    best = [line.model for line, cell in whole if cell.rank == 1]
    scope = f"{counted(len(board.lines), 'model')} on {counted(board.benchmarks, 'benchmark')}"
    if not best:
        return f"{scope}."
    top = whole[0]
    score = f"{clip(top[0].model, 60)} scores highest, {top[1].words} {top[1].interval}".rstrip()
    others = [clip(name, 60) for name in best if name != top[0].model]
    alike = f"; {listed(others)} {'is' if len(others) == 1 else 'are'} not significantly worse" if others else ""
    return f"{scope}: {score}{alike}."
