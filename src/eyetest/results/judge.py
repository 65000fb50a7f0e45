"""What the rules could not read is put to a judge model; its readings are marked as such.

In: a scored run, a judge. Out: the same table, in which answers that were unparsed have the judge's reading, and
which says whose. It is asked through the run's own journal, once; scoring again without it takes its readings back.
"""

from collections.abc import Iterator, Mapping

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.records import Condition, Item, Message, ModelEntry, Prompt, Score, Words, columns, shown_order
from eyetest.results.provenance import read_provenance
from eyetest.results.scores import answers_of, table_path
from eyetest.running.progress import Progress
from eyetest.running.questions import Questions
from eyetest.running.session import Watch
from eyetest.runs import Run
from eyetest.scoring import Scorer
from eyetest.scoring.rules.judge import judge_prompt, judged
from eyetest.scoring.scorer import answer_part
from eyetest.store import replacing_file
from eyetest.store.files import add_checksum

_KEY = "request"
_ROWS_AT_ONCE = 2_000
_READ = ("reading", "choice", "rule", "score", "marked")
"""What a judge's reading takes the place of."""


def judge_run(
    run: Run, benchmark: Benchmark, scorer: Scorer, judge: tuple[str, ModelEntry], watch: Watch | None = None
) -> tuple[int, Progress]:
    """Have a judge read what stayed unparsed; says how many answers it could read, and how asking went."""
    path = table_path(run, benchmark, scorer)
    scores, made = pl.read_parquet(path, glob=False), read_provenance(path)
    assert made is not None, "a run is scored by the rules first"
    open_ = scores.filter((pl.col("reading") == "unparsed") & (pl.col("metric") == "accuracy"))
    texts = answers_of(run, benchmark).select(_KEY, "text").filter(pl.col("text").str.len_chars() > 0).unique(_KEY)
    unread = _Unread(open_.join(texts.collect().cast({_KEY: pl.String}), on=_KEY, maintain_order="left"), benchmark)
    name, entry = judge
    said, progress = Questions(run.path, benchmark, {name: entry}).ask(name, unread.prompts, "judge", watch)
    new = []
    for (item, row), response in zip(unread, said, strict=True):
        if response is None or not response.text:
            continue
        condition = _condition(row)
        score = scorer.rescore(item, condition, judged(response.text, len(item.choices), marks=condition.marks))
        if score.reading != "unparsed":
            new.append(row | {name: getattr(score, name) for name in _READ})
    judges = ", ".join(filter(None, (made.judge, name)))
    with replacing_file(path) as file:
        metadata = msgspec.structs.replace(made, judge=judges).metadata()
        _replaced(scores, new).write_parquet(file, compression="zstd", metadata=metadata)
        add_checksum(file)
    return len(new), progress


class _Unread:
    """Answers that stayed unparsed, each with its item; few are in memory at a time but as columns."""

    def __init__(self, rows: pl.DataFrame, benchmark: Benchmark) -> None:
        self._rows, self._benchmark = rows, benchmark
        self._positions = benchmark.positions(rows["item"])

    def __iter__(self) -> Iterator[tuple[Item, dict[str, object]]]:
        for start in range(0, len(self._rows), _ROWS_AT_ONCE):
            items = self._benchmark.take(self._positions[start : start + _ROWS_AT_ONCE])
            yield from zip(items, self._rows.slice(start, _ROWS_AT_ONCE).iter_rows(named=True), strict=True)

    def prompts(self) -> Iterator[tuple[Item, Prompt]]:
        """What the judge is asked about each."""
        return ((item, _prompt(item, row)) for item, row in self)


def _prompt(item: Item, row: Mapping[str, object]) -> Prompt:
    condition = _condition(row)
    options = [item.choices[position].text for position in shown_order(item, condition)]
    words = judge_prompt(answer_part(str(row["text"]), condition.ask), options, condition.marks)
    return Prompt((Message("user", (Words(words),)),))


def _condition(row: Mapping[str, object]) -> Condition:
    return msgspec.convert({axis: row[axis] for axis in Condition.__struct_fields__}, Condition)


def _replaced(scores: pl.DataFrame, rows: list[dict[str, object]]) -> pl.DataFrame:
    """The table with some rows read anew, in its order."""
    key = [name for name in columns(Score) if name not in _READ]
    if not rows:
        return scores
    new = pl.DataFrame(rows, infer_schema_length=None).select(*key, *_READ)
    new = new.cast({name: scores.schema[name] for name in new.columns})
    both = scores.join(new, on=key, how="left", suffix="_judge", nulls_equal=True, maintain_order="left")
    judged_ = pl.col("reading_judge").is_not_null()
    return both.with_columns(
        pl.when(judged_).then(pl.col(f"{name}_judge")).otherwise(pl.col(name)).alias(name) for name in _READ
    ).select(columns(Score))
