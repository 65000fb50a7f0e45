"""Tables in the shape of papers: a YAML file names rows, columns and measures, one engine fills the cells."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import polars.selectors as cs
from altair.typing import ChartType

from eyetest.benchmarks import Benchmark
from eyetest.errors import EyetestError, InputError, counted, listed, nearest, short
from eyetest.measures import MEASURES, NotMeasurable, Results, Settings
from eyetest.measures.linked import WORDS, linked_settings
from eyetest.measures.printed import as_latex, csv_text
from eyetest.measures.replies import sources_of
from eyetest.measures.results import EXTERNAL, MODEL, PROTOCOL, TAG, narrowed, own_settings
from eyetest.measures.stats.ranking import METHODS
from eyetest.pages import plots
from eyetest.records.recipe import SuiteBenchmark, TagNames
from eyetest.reports.figures import Figure
from eyetest.reports.report import NOT_MEASURED, Material
from eyetest.reports.report_page import ReportDetails, Section
from eyetest.results.gather import SuitePart, items_table, united
from eyetest.store import replacing_folder
from eyetest.store.handwritten import convert, parse_yaml, read_yaml

_FOLDER = resources.files("eyetest.reports").joinpath("templates", "papers")
_BOUNDS = ("", "_low", "_high")
_DECIMALS = 10  # sums in another order differ in their last bits; files must not
_MOST_NAMED = 6
_OF_GROUPS = {"accuracy": "Accuracy", "differences": "Paired differences"}
_SETTING, _VERSIONS = "setting", ("refined", "original")
_NO_LETTER = re.compile(r"[\W_]+")
Words = str | tuple[str, ...]
Row = tuple[str, ...]


class Block(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Cells from one measure. ``core|category``: the first of these tags that items have."""

    measure: str
    set: dict[str, str] = {}
    by: tuple[str, ...] = ()
    where: dict[str, Words] = {}  # only these scores are measured
    keep: dict[str, Words] = {}  # only these rows of the measure; "!x" is all but x
    across: str = ""  # the column whose values have columns of their own; ``setting``: MMMU-Pro's, by benchmark
    columns: dict[str, Words] = {}  # the paper's, with the values that they stand for; others come after them
    values: dict[str, str] = {}  # columns of the measure and their headings; without any, its table as it is
    down: str = ""  # the headings of values are rows of this column
    row: dict[str, str] = {}  # what is the same in all rows: {model: Random choice}
    head: str = ""  # before the heading of every column
    scale: float | None = None
    needs: str = ""  # what fills cells that are empty


class PaperTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table or a figure of a paper."""

    title: str
    blocks: tuple[Block, ...] = ()
    rows: tuple[str, ...] = ("model",)
    about: dict[str, str] = {}  # headings, and the properties of models below them
    scale: float = 100.0
    sort: str = ""  # a heading, smallest first; "-Overall": largest first
    rank: str = ""  # a heading: adds ranks by it, and how far they rise against the last kind of rows
    correlate: str = ""  # a heading: a last row has every column's correlation with it
    draw: bool = False
    needs: str = ""  # what it takes where no measure gives it


class Paper(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All tables of a paper; ``versions``: benchmarks are joined as one that was refined, and its original."""

    title: str
    tables: dict[str, PaperTable]
    versions: bool = False


def papers() -> list[str]:
    """The names of the papers."""
    return sorted(file.name.removesuffix(".yaml") for file in _FOLDER.iterdir() if file.name.endswith(".yaml"))


def read_paper(name: str | Path) -> Paper:
    """A paper by its name, or a file in the same form."""
    if str(name) in papers():
        text = _FOLDER.joinpath(f"{name}.yaml").read_text(encoding="utf-8")
        return convert(parse_yaml(text, f"{name}.yaml"), Paper, f"{name}.yaml")
    if not str(name).endswith((".yaml", ".yml")):
        raise InputError(f"no paper {short(str(name))}; {nearest(str(name), papers())}, or name a YAML file")
    return convert(read_yaml(Path(name)), Paper, str(name))


@dataclass(frozen=True)
class Filled:
    """A table with its cells, and what would fill those that are empty: columns, rows, what it takes."""

    name: str
    spec: PaperTable
    table: pl.DataFrame
    cells: pl.DataFrame
    """``series, column``, and the value with its interval, not scaled: for a figure."""
    empty: Sequence[tuple[str, str, str]] = ()
    notes: Sequence[str] = ()

    @property
    def digits(self) -> int:
        """Decimals that are shown."""
        return 1 if self.spec.scale == 100 else 3

    @property
    def is_drawn(self) -> bool:
        """Whether it is a figure that has something to show."""
        return self.spec.draw and len(self.cells) > 0

    @property
    def figure(self) -> Figure:
        """The cells as a chart."""
        form = plots.PERCENT if self.spec.scale == 100 else ".2f"
        reading = "Each panel is a column of the table below; lines are intervals."
        return Figure(self.name, 0, self.spec.title, lambda _: self.cells, partial(_draw, form=form), reading, "")


def _draw(frame: pl.DataFrame, form: str) -> ChartType:
    return plots.dot_panels(frame, plots.Dots("cell", "", form, None), split="column")


def fill(paper: Paper, material: Material, benchmarks: Sequence[Benchmark] = ()) -> list[Filled]:
    """Every table of a paper, from scores; answers to a benchmark count for those whose items are all in it."""
    results = with_parts(material.results, benchmarks)
    settings = replace(material.settings, by=(), own=material.own)
    measuring = _Measuring(by_version(results) if paper.versions else results, settings, material.external)
    return [_Filling(name, table, measuring).filled() for name, table in paper.tables.items()]


def plain_tables(paper: Paper, material: Material, by: Sequence[str]) -> dict[str, pl.DataFrame]:
    """The tables that have a cell, without empty columns; and those of groups of models."""
    blocks = {f"{name}-by-{word}": Block(measure=name, by=(word,)) for word in by for name in _OF_GROUPS}
    more = {name: PaperTable(title=name, blocks=(block,)) for name, block in blocks.items()}
    tables = {}
    for made in fill(msgspec.structs.replace(paper, tables=paper.tables | more), material):
        if len(made.cells):
            bare = (name for name in made.table.columns if made.table[name].null_count() == len(made.table))
            tables[made.name] = made.table.drop(bare)
        elif not made.empty and len(made.table):
            tables[made.name] = made.table
    return tables


def write_tables(tables: Mapping[str, pl.DataFrame], folder: Path) -> None:
    """Write each table as NAME.csv, replacing all earlier files."""
    with replacing_folder(folder) as new:
        for name, table in tables.items():
            _write_csv(table, new / f"{name}.csv")


def write_filled(full: Sequence[Filled], folder: Path) -> None:
    """Write each table as NAME.csv and NAME.tex into a folder, and the list of empty cells."""
    for made in full:
        _write_csv(made.table, folder / f"{made.name}.csv")
        text = as_latex(made.table, made.digits, bounds=False)
        (folder / f"{made.name}.tex").write_bytes(f"% {made.spec.title}\n{text}\n".encode("utf-8", "replace"))
    _write_csv(empty_cells(full), folder / f"{NOT_MEASURED}.csv")


def _write_csv(table: pl.DataFrame, path: Path) -> None:
    path.write_bytes(csv_text(table.with_columns(cs.float().round(_DECIMALS) + 0.0)).encode("utf-8", "replace"))


def empty_cells(full: Sequence[Filled]) -> pl.DataFrame:
    """The cells that were not measured: ``table, cells, rows, needs``."""
    rows = [(made.spec.title.partition(":")[0], *gap) for made in full for gap in made.empty]
    return pl.DataFrame(rows, schema=dict.fromkeys(("table", "cells", "rows", "needs"), pl.String), orient="row")


def with_tables(
    about: ReportDetails, material: Material, paper: Paper | None, full: Sequence[Filled]
) -> ReportDetails:
    """A report's details with the tables of a paper and what would fill their empty cells, or of groups of models."""
    if paper is None:
        groups = [
            Section(f"{title} by {word}", table)
            for word in material.settings.by
            for name, title in _OF_GROUPS.items()
            if word.startswith(MODEL) and (table := material.known(name, (word,))) is not None
        ]
        return replace(about, sections=[*about.sections, *groups])
    there = [made for made in full if len(made.cells) or (not made.empty and len(made.table))]
    gaps = empty_cells(full)
    sections = [
        Section(
            made.spec.title, made.table, digits=made.digits, whole=True, note="; ".join(dict.fromkeys(made.notes))
        )
        for made in there
        if not made.is_drawn
    ]
    if len(gaps):
        sections.append(Section("Cells that were not measured", gaps, note="Each line says what would fill them."))
    verdict = f"{len(there)} of {counted(len(full), 'table')} in the shape of {paper.title}."
    verdict += f" {counted(len(gaps), 'group')} of cells were not measured: the last table says what fills them."
    return replace(about, title=f"{paper.title}: {about.title}", verdict=verdict, sections=sections)


def with_parts(results: Results, benchmarks: Sequence[Benchmark]) -> Results:
    """The results with benchmarks that were not asked themselves, where all their items were asked in another one."""
    asked = set(results.items.get_column("benchmark"))
    for about in benchmarks:
        name = about.manifest.name
        if name in asked:
            continue
        mine = items_table(name, about)
        for source in sorted(asked):
            theirs = results.items.filter(benchmark=source)
            if len(mine.join(theirs, on=("item", "content"), how="anti")):
                continue
            relabelled = pl.lit(name).alias("benchmark")
            scores = results.scores.with_columns(pl.col("benchmark").cast(pl.String), pl.col("item").cast(pl.String))
            part = scores.filter(benchmark=source).join(mine.lazy().select("item"), on="item", how="semi")
            replies = results.replies.filter(pl.col("benchmark").cast(pl.String) == source)
            results = replace(
                results,
                scores=pl.concat([scores, part.with_columns(relabelled)]),
                items=pl.concat([results.items, mine], how="diagonal_relaxed"),
                replies=pl.concat([results.replies, replies.with_columns(relabelled)], how="diagonal_relaxed"),
            )
            break
    return results


class _Measuring:
    """Tables of measures over some scores, each computed once."""

    def __init__(self, results: Results, settings: Settings, external: Mapping[str, float]) -> None:
        self.results, self.settings, self.external = results, settings, external
        self._known: dict[bytes, pl.DataFrame | EyetestError] = {}
        self._parts: dict[bytes, Results] = {}

    def measured(self, block: Block) -> pl.DataFrame:
        """The table of a block's measure; raises why there is none."""
        key = msgspec.json.encode((block.measure, block.set, block.by, block.where))
        if key not in self._known:
            try:
                self._known[key] = self._measure(block)
            except (NotMeasurable, InputError) as reason:
                self._known[key] = reason
        known = self._known[key]
        if isinstance(known, EyetestError):
            raise known
        return known

    def _measure(self, block: Block) -> pl.DataFrame:
        if block.measure == EXTERNAL:
            if not self.external:
                raise NotMeasurable("no external scores")
            return pl.DataFrame({"model": list(self.external), "score": list(self.external.values())})
        chosen, results = MEASURES[block.measure], self._narrowed(block.where)
        by = tuple(word if word.startswith(MODEL) else self.tag(word) for word in block.by)
        own = {**self.settings.own, EXTERNAL: dict(self.external), **block.set}
        own = {key: value for key, value in own.items() if key in chosen.own or key in block.set}
        table = chosen.measure(results, replace(self.settings, by=by, own=own_settings(chosen, own))).table
        return self._with_axes(table.cast({cs.categorical(): pl.String, cs.enum(): pl.String}), results, block)

    def _narrowed(self, where: Mapping[str, Words]) -> Results:
        key = msgspec.json.encode(where)
        if key not in self._parts:
            wanted = [(column, [value] if isinstance(value, str) else [*value]) for column, value in where.items()]
            self._parts[key] = narrowed(self.results, wanted)
        return self._parts[key]

    def _with_axes(self, table: pl.DataFrame, results: Results, block: Block) -> pl.DataFrame:
        """The table with what a block needs and a measure leaves out where it does not vary."""
        if block.across == _SETTING and _SETTING not in table.columns:
            roles = linked_settings(self.results, self.settings.own)
            setting = pl.lit(None, pl.String)
            for role, axes in roles.items():
                there = [pl.col(axis) == value for axis, value in axes.items() if axis in table.columns]
                setting = (
                    setting.fill_null(pl.when(pl.all_horizontal(there)).then(pl.lit(WORDS[role])))
                    if there
                    else setting
                )
            return table.with_columns(setting.alias(_SETTING)).drop_nulls(_SETTING)
        for axis in (block.across, *block.keep):
            if axis in ("benchmark", *PROTOCOL) and axis not in table.columns:
                only = results.scores.select(pl.col(axis).cast(pl.String).first()).collect().item()
                table = table.with_columns(pl.lit(only).alias(axis))
        return table

    def tag(self, word: str) -> str:
        """The tag that a word means: of several, the first that items have."""
        tags = word.split("|")
        return next((tag for tag in tags if tag in self.results.tags), tags[0])


class _Filling:
    """One table while it is filled: rows and columns in the order of their appearance."""

    def __init__(self, name: str, spec: PaperTable, measuring: _Measuring) -> None:
        self.name, self.spec, self.measuring = name, spec, measuring
        self.keys = [*spec.rows]
        self.cells: dict[tuple[Row, str], tuple[float | None, ...]] = {}
        self.rows: dict[Row, bool] = {}  # whether a row is one of models, which every column is about
        self.headings: dict[str, float] = {}
        self.empty: list[tuple[str, str, str]] = []
        self.notes: list[str] = []

    def filled(self) -> Filled:
        """The table, and what is missing."""
        blocks, raw = self.spec.blocks, None
        found: list[tuple[Block, list[str], str]] = []
        for block in blocks:
            expected, reason = self._expected(block), ""
            try:
                table = self.measuring.measured(block)
                if not block.values:
                    raw = table
                    continue
                seen = list(dict.fromkeys([*expected, *self._read(block, self._kept(table, block))]))
            except (NotMeasurable, InputError) as error:
                seen, reason = expected, str(error)
            self.headings |= {heading: self._scale(block) for heading in seen if heading not in self.headings}
            found.append((block, seen, reason))
        self.empty += [gap for each in found for gap in self._gaps(*each)]
        if not blocks or (raw is None and not self.cells and not self.empty):
            self.empty.append((self.spec.title, "all", self.spec.needs))
        if raw is not None:
            return Filled(self.name, self.spec, raw, pl.DataFrame(), self.empty)
        return Filled(self.name, self.spec, self._table(), self._long(), self.empty, self.notes)

    def _scale(self, block: Block) -> float:
        return self.spec.scale if block.scale is None else block.scale

    def _expected(self, block: Block) -> list[str]:
        """The headings that a block should fill."""
        across = list(block.columns) or ([] if block.across else [""])
        values = [""] if block.down else block.values.values()
        return [_heading(block.head, name, value) for name in across for value in values]

    def _kept(self, table: pl.DataFrame, block: Block) -> pl.DataFrame:
        for column, values in block.keep.items():
            words = [values] if isinstance(values, str) else [*values]
            no = [word[1:] for word in words if word.startswith("!")]
            there = pl.col(self._column(column, table)).cast(pl.String)
            but = pl.any_horizontal(there.str.starts_with(word).fill_null(False) for word in no) if no else None
            table = table.filter(there.is_in(words) if but is None else ~but)
        return table

    def _column(self, word: str, table: pl.DataFrame) -> str:
        names = [word, TAG + self.measuring.tag(word)]
        found = next((name for name in names if name in table.columns), None)
        if found is None:
            raise NotMeasurable(f"no column {word.split('|', maxsplit=1)[0]}")
        return found

    def _read(self, block: Block, table: pl.DataFrame) -> Iterator[str]:
        """Put the cells of a block; gives their headings."""
        given = {*block.row, block.down}
        known = [key for key in self.keys if key not in given and (key in self.spec.rows or key in table.columns)]
        keys = {key: self._column(key, table) for key in known}
        across = self._column(block.across, table) if block.across else None
        if keys and across != _SETTING:
            taken = (across, *keys.values(), *block.keep)
            varied = [axis for axis in ("benchmark", *PROTOCOL) if axis in table.columns and axis not in taken]
            keys |= {axis: axis for axis in varied if table[axis].n_unique() > 1}
            self.keys += [axis for axis in keys if axis not in self.keys]
        for value in self._order(across, table) if across else [None]:
            part = table if across is None else table.filter(pl.col(across) == value)
            label = "" if value is None else _label(value, block)
            for row in part.iter_rows(named=True):
                place = {key: _average(str(row[column])) for key, column in keys.items() if row[column] is not None}
                for name, title in block.values.items():
                    if row.get(name) is None:
                        continue
                    own = place | block.row | ({block.down: title} if block.down else {})
                    at = tuple(own.get(key, "") for key in self.keys)
                    heading = _heading(block.head, label, "" if block.down else title)
                    self.rows.setdefault(at, bool(keys))
                    cell = tuple(row.get(name + end) for end in _BOUNDS)
                    if self.cells.setdefault((at, heading), cell)[0] != cell[0] and keys:
                        self.notes.append(f"several values of {heading} for {listed(at)}: the first is shown")
                    yield heading

    def _order(self, across: str, table: pl.DataFrame) -> list[str]:
        """The values of a column: tags as items have them, others as the measure has them."""
        known, tag = self.measuring.results, across.removeprefix(TAG)
        values = known.values(tag) if tag != across and tag in known.tags else table.get_column(across).drop_nulls()
        return [str(value) for value in values.unique(maintain_order=True)]

    def _gaps(self, block: Block, headings: Sequence[str], reason: str) -> Iterator[tuple[str, str, str]]:
        """The empty cells of a block, those of the same rows together."""
        fixed = {*self.spec.rows} <= {*block.row, block.down}
        own = dict.fromkeys(self.keys, "") | block.row
        at_own = [(number, own[key]) for number, key in enumerate(self.keys) if own[key]]
        rows = [
            at
            for at, plain in self._padded().items()
            if plain != fixed and all(at[number] == word for number, word in at_own)
        ] or ([tuple(own.values())] if fixed else [])
        what = block.needs or self.spec.needs or reason
        if not headings:
            yield " ".join(filter(None, (block.head, block.across, *block.values.values()))), "all", what
        same: dict[tuple[Row, ...], list[str]] = {}
        for heading in headings:
            gone = tuple(at for at in rows if self._cell(at, heading) is None)
            if gone or not rows:
                same.setdefault(gone, []).append(heading)
        for gone, names in same.items():
            every = (
                "all" if len(gone) == len(rows) else listed([" ".join(filter(None, at)) for at in gone], _MOST_NAMED)
            )
            yield listed(names, 12), every, what

    def _padded(self) -> dict[Row, bool]:
        """Rows as long as there are keys now; those without an axis that varies in others fill these."""
        longer = {at[:n] for at in self.rows for n in range(len(self.spec.rows), len(at))}
        return {
            at + ("",) * (len(self.keys) - len(at)): plain
            for at, plain in self.rows.items()
            if at not in longer or not plain
        }

    def _cell(self, at: Row, heading: str) -> tuple[float | None, ...] | None:
        prefixes = (at[:n] for n in range(len(at), len(self.spec.rows) - 1, -1))
        return next((self.cells[prefix, heading] for prefix in prefixes if (prefix, heading) in self.cells), None)

    def _table(self) -> pl.DataFrame:
        models, rows = self.measuring.results.models, []
        for at in self._padded():
            row: dict[str, Any] = dict(zip([_plain(key) for key in self.keys], at, strict=True))
            entry = models.get(row.get("model", ""))
            row |= {heading: (entry.fact(name) or "") if entry else "" for heading, name in self.spec.about.items()}
            for heading, scale in self.headings.items():
                cell = self._cell(at, heading) or (None,) * 3
                row |= {
                    heading + end: None if value is None else scale * value
                    for end, value in zip(_BOUNDS, cell, strict=True)
                }
            rows.append(row)
        types: dict[str, Any] = {heading + end: pl.Float64 for heading in self.headings for end in _BOUNDS}
        words: dict[str, Any] = dict.fromkeys([*map(_plain, self.keys), *self.spec.about], pl.String)
        table = pl.DataFrame(rows, schema=words | types)
        table = table.drop(c for c in types if c not in self.headings and table[c].null_count() == len(table))
        return _correlated(_sorted(_ranked(table, self.spec), self.spec), self.spec, list(self.headings))

    def _long(self) -> pl.DataFrame:
        rows = [(" · ".join(filter(None, at)), heading, *cell) for (at, heading), cell in self.cells.items()]
        names = ("series", "column", *(f"cell{end}" for end in _BOUNDS))
        schema = {name: pl.Float64 if name.startswith("cell") else pl.String for name in names}
        return pl.DataFrame(rows, schema=schema, orient="row")


def _heading(*words: str) -> str:
    return " ".join(filter(None, words)) or "score"


def _average(word: str) -> str:
    return "Avg." if word.startswith("mean of ") else word


def _plain(key: str) -> str:
    return key.split("|", maxsplit=1)[0]


def _label(value: str, block: Block) -> str:
    """The paper's heading for a value, whatever its case and punctuation; else the value."""
    folded = _NO_LETTER.sub("", value).casefold()
    for heading, names in block.columns.items():
        if folded in {_NO_LETTER.sub("", name).casefold() for name in ([names] if isinstance(names, str) else names)}:
            return heading
    return _average(value)


def _ranked(table: pl.DataFrame, spec: PaperTable) -> pl.DataFrame:
    """With ranks by a column among rows of one kind, and the places gained against the last kind."""
    if not spec.rank or spec.rank not in table.columns:
        return table
    kinds = [_plain(key) for key in spec.rows if key != "model"]
    ranked = table.with_columns(
        pl.col(spec.rank).rank("min", descending=True).over(kinds or [pl.lit(1)]).cast(pl.Int64).alias("rank")
    )
    if not kinds or ranked[kinds[0]].n_unique() < 2:
        return ranked
    last = ranked.filter(pl.col(kinds[0]) == ranked[kinds[0]][-1]).select("model", pl.col("rank").alias("risen"))
    joined = ranked.join(last.unique("model"), on="model", how="left", maintain_order="left")
    return joined.with_columns(pl.col("risen") - pl.col("rank"))


def _sorted(table: pl.DataFrame, spec: PaperTable) -> pl.DataFrame:
    heading = spec.sort.removeprefix("-")
    if not heading or heading not in table.columns:
        return table
    first, *others = [name for name, kind in table.schema.items() if kind == pl.String and name not in spec.about]
    down = spec.sort.startswith("-")
    kinds = [_appearance(table[name]) for name in others]
    return table.sort(*kinds, heading, first, descending=[*(False for _ in others), down, False], nulls_last=True)


def _appearance(column: pl.Series) -> pl.Expr:
    """The position at which each value first appears."""
    places = {value: place for place, value in enumerate(column.unique(maintain_order=True))}
    return pl.col(column.name).replace_strict(places)


def _correlated(table: pl.DataFrame, spec: PaperTable, headings: Sequence[str]) -> pl.DataFrame:
    """With a last row of Pearson's correlations over models with one column."""
    if spec.correlate not in table.columns or len(table.drop_nulls(spec.correlate)) < 3:
        return table
    row: dict[str, Any] = {table.columns[0]: "correlation"}
    for heading in headings:
        both = table.select(heading, pl.col(spec.correlate).alias("other")).drop_nulls()
        value, low, high, *_ = METHODS["pearson"](both[heading].to_numpy(), both["other"].to_numpy(), 0.95)
        row |= {
            name: v
            for name, v in zip((heading + end for end in _BOUNDS), (value, low, high), strict=True)
            if name in table.columns
        }
    return pl.concat([table, pl.DataFrame([row], schema_overrides={c: table.schema[c] for c in row})], how="diagonal")


def by_version(results: Results) -> Results:
    """Benchmarks joined to at most two: all refined ones, and all others; the dataset of an item is its source."""
    sources = sources_of(results)
    parts: dict[str, list[SuitePart]] = {}
    for name in results.items.get_column("benchmark").unique(maintain_order=True):
        mine = pl.col("benchmark").cast(pl.String) == name
        frames = {
            field: getattr(results, field).filter(mine) for field in ("scores", "items", "replies", "exchanged")
        }
        about = SuiteBenchmark(
            bench=name,
            name=sources.get(name, name),
            tags=TagNames(dataset="benchmark" if "benchmark" in results.tags else "dataset"),
        )
        part = SuitePart(about.name, about, replace(results, **frames))
        parts.setdefault(_VERSIONS[name not in sources], []).append(part)
    whole = [united(parts[version], version) for version in _VERSIONS if version in parts]
    if not whole:
        return results
    joined = {
        field: pl.concat([getattr(part, field) for part in whole], how="diagonal_relaxed")
        for field in ("scores", "items", "replies", "exchanged")
    }
    return replace(results, **joined)
