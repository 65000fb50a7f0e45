"""Tables of estimates as text, for a terminal, a page, a paper; and their notes."""

from typing import Any

import polars as pl
import polars.selectors as cs

from eyetest.errors import counted, listed, param, percent
from eyetest.measures.results import CAPTION_METRICS, ITEM_TYPES, LITERAL_METRICS, TAG, UNREAD, Results
from eyetest.records import GIVEN
from eyetest.records.tables import LONGEST_DIRECT
from eyetest.tabular.table import inert

DASH = "–"
_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
)
_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>|#"} | {"\n": " ", "\r": " "})
_MANY_UNREAD = 0.05


def texts_of(table: pl.DataFrame, limit: int = 0, digits: int = 3) -> dict[str, list[str]]:
    """The columns as text, bounds beside their value, tags without prefix; without empty columns."""
    words: dict[str, list[str]] = {}
    main = next((name for name, kind in table.schema.items() if kind.is_float()), None)
    for column in table.columns:
        cells = table.get_column(column)
        is_empty = cells.null_count() == len(cells) > 0
        if column != main and (is_empty or (column == "benchmark" and cells.n_unique() == 1)):
            continue
        value = column.removesuffix("_low").removesuffix("_high")
        if value != column and value in table.columns:
            continue
        group = [name for name in (column, f"{column}_low", f"{column}_high") if name in table.columns]
        shown = _cells(table.select(group), limit or len(table), digits)
        if len(shown) == 3:
            rows = zip(*shown, strict=True)
            shown[0] = [v if DASH in (low, high) else f"{v} [{low}, {high}]" for v, low, high in rows]
        words[column.removeprefix(TAG).replace("_", " ")] = shown[0]
    return words


def is_text(table: pl.DataFrame, column: str) -> bool:
    """Whether a column of `texts_of` holds words, which are left-aligned."""
    for name in (column, column.replace(" ", "_"), TAG + column, TAG + column.replace(" ", "_")):
        if name in table.columns:
            return table.schema[name] == pl.String
    return True


def plain(table: pl.DataFrame) -> pl.DataFrame:
    """The table for programs: tags by their names, nothing that JSON cannot hold."""
    known = {column: column.removeprefix(TAG) for column in table.columns if column.startswith(TAG)}
    clear = {old: new for old, new in known.items() if new not in table.columns}
    floats = [name for name, kind in table.schema.items() if kind.is_float()]
    finite = [pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name in floats]
    return table.with_columns(finite).rename(clear)


def csv_text(table: pl.DataFrame) -> str:
    """The table for spreadsheets: as `plain`, with texts that are not evaluated as formulas."""
    known = plain(table)
    texts = known.select(cs.string() | cs.categorical() | cs.enum()).cast(pl.String)
    safe = [pl.Series(c.name, [v and inert(v) for v in c], pl.String) for c in texts]
    return known.with_columns(safe).rename(inert).write_csv()


def as_latex(table: pl.DataFrame) -> str:
    """A table for a paper (booktabs)."""
    words = texts_of(table)
    kinds = "".join("l" if is_text(table, column) else "r" for column in words)
    rows = [" & ".join(column.translate(_LATEX) for column in words)]
    rows += [
        " & ".join(cell.translate(_LATEX).replace(DASH, "--") for cell in row)
        for row in zip(*words.values(), strict=True)
    ]
    lines = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", rows[0] + r" \\", r"\midrule"]
    return "\n".join([*lines, *(row + r" \\" for row in rows[1:]), r"\bottomrule", r"\end{tabular}"])


def as_markdown(table: pl.DataFrame) -> str:
    """A table for a model card or an issue."""
    words = texts_of(table)
    rows = [list(words), *zip(*words.values(), strict=True)]
    lines = ["| " + " | ".join(cell.translate(_MARKDOWN) for cell in row) + " |" for row in rows]
    rule = "|" + "|".join("---" if is_text(table, column) else "--:" for column in words) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def _cells(columns: pl.DataFrame, limit: int, digits: int = 3) -> list[list[str]]:
    """A value and its bounds as text. Whole and half numbers, as of ranks, stay short."""
    floats = columns.select(cs.float())
    numbers = floats.unpivot().get_column("value").drop_nulls() if floats.width else pl.Series(dtype=pl.Float64)
    halves = digits == 3 and bool((numbers.abs() > 1).any()) and bool(((2 * numbers).round() == 2 * numbers).all())
    return [
        [f"{v:g}" if halves and isinstance(v, float) else _cell(v, digits) for v in column.head(limit)]
        for column in columns
    ]


def _cell(value: Any, digits: int = 3) -> str:
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{digits}f}" if not value or 10**-digits <= abs(value) < 1e4 else f"{value:.2g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def caveats(results: Results) -> tuple[str, ...]:
    """Notes: models without any score, many unread answers, imported scores, mixed scales."""
    counts = score_counts(results.scores)
    scored = counts.filter(pl.col("score") > 0)
    silent = sorted({*counts.get_column("model")} - {*scored.get_column("model")})
    metrics = sorted({*scored.get_column("metric")})
    notes = [*results.notes]
    if silent:
        notes.append(f"{counted(len(silent), 'model')} without any score: {listed(silent)}")
    notes += [*many_unread(results), *long_replies(results.scores, results.replies), *scored_by_others(counts)]
    if len(metrics) > 1 and any(metric.startswith(CAPTION_METRICS) for metric in metrics):
        notes.append(
            f"scores on different scales are together here ({listed(metrics)}); "
            f"{param('where', 'metric=…')} keeps to one"
        )
    return tuple(notes)


def many_unread_of(benchmark: str, scores: pl.LazyFrame) -> list[str]:
    """The note of `many_unread` on a table of scores of one benchmark."""
    named = scores.with_columns(pl.lit(benchmark).alias("benchmark"))
    return many_unread(Results(named, pl.DataFrame(schema=ITEM_TYPES)))


def many_unread(results: Results) -> list[str]:
    """A note with the series of which more than 5 % of the answers were not read, most first."""
    keys, kind = results.keys(), pl.coalesce(pl.col("reading", "outcome").cast(pl.String))
    counts = results.scores.group_by(keys).agg(
        UNREAD.sum().alias("unread"), pl.len().alias("answers"), kind.filter(UNREAD).mode().min().alias("kind")
    )
    share = pl.col("unread") / pl.col("answers")
    many = counts.filter(share > _MANY_UNREAD).sort(share, *keys, descending=[True, *(False for _ in keys)])
    named = list[str]()
    for row in many.collect(engine="streaming").iter_rows(named=True):
        how = "".join(f", {row[key]}" for key in keys if key != "model")
        of = f"{row['unread']:,} of {row['answers']:,}, mostly {row['kind'].replace('answered', 'without words')}"
        named.append(f"{row['model']}{how} {percent(row['unread'] / row['answers'])} ({of})")
    rule = "refused, ambiguous, cut off, unparsed: wrong; failed: not scored"
    return [f"more than 5 % of answers were not read ({rule}): {listed(named, 12)}"] if named else []


def long_replies(scores: pl.LazyFrame, replies: pl.LazyFrame) -> list[str]:
    """A note where a metric that compares whole replies was given long ones, of which it reads no conclusion.

    ``scores`` and ``replies`` have a ``request``, and ``replies`` its ``text``.
    """
    metric = pl.col("metric").cast(pl.String)
    literal = scores.filter(metric.is_in(LITERAL_METRICS)).select(pl.col("request").cast(pl.String), metric)
    answers = literal.collect(engine="streaming")
    if answers.is_empty():
        return []
    is_long = (pl.col("text").str.len_chars() > LONGEST_DIRECT).fill_null(value=False)
    texts = replies.select(pl.col("request").cast(pl.String), is_long.alias("is_long")).unique("request")
    read = answers.lazy().join(texts, on="request").collect(engine="streaming")
    number = int(read.get_column("is_long").sum())
    if number <= _MANY_UNREAD * len(answers):
        return []
    names = listed(sorted({*answers.get_column("metric")}))
    return [
        f"{number:,} of {len(answers):,} replies that {names} compared as a whole are longer than {LONGEST_DIRECT} "
        f"characters: it reads no conclusion; {param('metric', 'relaxed')} or {param('metric', 'open')} does"
    ]


def score_counts(scores: pl.LazyFrame) -> pl.DataFrame:
    """By model and metric: number of scores."""
    counts = scores.group_by(pl.col("model", "metric").cast(pl.String)).agg(pl.col("score").count())
    return counts.sort("model", "metric").collect(engine="streaming")


def scored_by_others(counts: pl.DataFrame) -> list[str]:
    """A note where some scores came with the answers; ``counts`` as in `score_counts`."""
    theirs = counts.filter((pl.col("metric") == GIVEN) & (pl.col("score") > 0))
    given, total = (int(table.get_column("score").sum()) for table in (theirs, counts))
    if not given:
        return []
    if given == total:
        return [f"all {given:,} answers were scored by others, whose scores stand as given; none by our rules"]
    return [
        f"{given:,} of {total:,} answers were scored by others ({listed(sorted({*theirs['model']}))}), whose "
        f"scores stand as given; the other {total - given:,} by our rules, which may count differently "
        f"({param('where', 'metric=…')} keeps to one)"
    ]
