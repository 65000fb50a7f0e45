"""Runs become what measures are made of: scores, what is known of the items, what is known of the models.

A run that was not scored yet, or whose scores are of something else than it holds now, is scored on the way.
Verdicts that were brought in without a benchmark are measured as they are.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.measures import Results
from eyetest.measures.results import ITEM_TYPES, REPLY_TYPES, TAG
from eyetest.measures.stats.recurring import recurring, short_texts
from eyetest.measures.stats.sets import DisjointSets
from eyetest.records import GIVEN, Asked, Item, ModelEntry, Score, columns, letter, tag_word
from eyetest.results.exchanged import exchanged
from eyetest.results.provenance import ScoreProvenance
from eyetest.results.scores import benchmark_of, refuse_gaps, scores_of
from eyetest.results.sentences import labelled
from eyetest.results.transcripts import transcribed
from eyetest.runs import Run
from eyetest.runs.stored import answers_frame, one_line_if_damaged, responses_frame
from eyetest.scoring import Scorer
from eyetest.scoring.metrics.yes_no import read_yes_no
from eyetest.wording import counted, listed, typed

CLUSTERS = ("auto", "image", "group", "passage", "none")
"""What makes items depend on each other; the name of a tag will do as well. ``auto`` is pictures and groups."""
_NEED_NO_ITEMS = ("auto", "none")
_VERDICTS = {"yes": True, "true": True, "no": False, "false": False}


def results_of(
    runs: Sequence[Run],
    scorer: Scorer,
    cluster: str = "auto",
    bench: Benchmark | None = None,
    models: Mapping[str, ModelEntry] | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Results:
    """What some runs found, together. Runs about the same benchmark complete each other.

    ``tell`` hears of work that takes a while.
    """
    names = benchmark_names(runs, bench)
    tables, items, notes, replies, kin = [], {}, list[str](), [], []
    for run, name in zip(runs, names, strict=True):
        about = benchmark_if_needed(run, bench, rescore=scorer.rescore_given)
        frame, said = scores_if_known(run, about, scorer, tell)
        tables.append(frame.with_columns(pl.lit(name).alias("benchmark")))
        notes += said
        kin.append(exchanged(run, about, scorer).select(pl.lit(name).alias("benchmark"), pl.all()))
        if about is not None and name not in items:
            items[name] = items_table(name, about, cluster)
        replies.append(_replies(run, name, about, verdicts=name in items and items[name]["yes"].is_not_null().any()))
    if not items and cluster not in _NEED_NO_ITEMS:
        mend = f"name the benchmark with {param('bench')}"
        raise InputError(f"{heading('cluster', cluster)}: nothing is known of the items; {mend}")
    scores = pl.concat(tables)
    if len(set(names)) < len(names):
        _refuse_twice(scores)
    known = {name: entry for run in runs for name, entry in run.manifest.models.items()}
    table = pl.concat(items.values(), how="diagonal") if items else pl.DataFrame(schema=ITEM_TYPES)
    return Results(
        *(scores.select("benchmark", *columns(Score)), table, known | dict(models or {}), tuple(notes)),
        replies=pl.concat(replies).unique(("benchmark", "request")),
        exchanged=pl.concat(kin).unique(("benchmark", "request", "whose")),
    )


def _replies(run: Run, name: str, about: Benchmark | None, *, verdicts: bool) -> pl.LazyFrame:
    said = responses_frame(run.path).select(
        pl.lit(name).alias("benchmark"), pl.col("request").cast(pl.String), "text", "candidates"
    )
    says = pl.col("text").map_elements(read_yes_no, pl.String) if verdicts else pl.lit(None, pl.String)
    said = said.with_columns(says.alias("says"))
    judged = said.join(labelled(run), on="request", how="left")
    return judged.join(transcribed(run, about), on="request", how="left").select(*REPLY_TYPES)


def items_table(name: str, items: Iterable[Item], cluster: str = "auto") -> pl.DataFrame:
    """What measures know of a benchmark's items: the columns that `Results` names."""
    joined = DisjointSets[str]()
    kind = _cluster_kind(cluster)
    rows: list[dict[str, Any]] = []
    answers: list[tuple[str, ...]] = []
    for item in items:
        gold = item.gold[0] if item.gold else None
        words = {tag: tag_word(value) for tag, value in item.tags.items()}
        tags = {TAG + tag: word for tag, word in words.items() if word is not None}
        own = {"benchmark": name, "item": item.id, "group": item.group or None}
        for shared in kind(item):
            joined.join(item.id, "\0" + shared)
        answers.append(short_texts([choice.text for choice in item.choices]))
        rows.append(
            own
            | {"options": len(item.choices) or None, "position": gold, "gold": None if gold is None else letter(gold)}
            | {"golds": item.gold or None, "yes": _is_yes(item)}
            | tags
        )
    if cluster not in CLUSTERS and not any(TAG + cluster in row for row in rows):
        raise InputError(f"{heading('cluster')}: no tag {short(cluster)}; {nearest(cluster, CLUSTERS)}")
    heads = {row["group"] for row in rows} - {None}
    for row, own in zip(rows, recurring(answers).tolist(), strict=True):
        row["kinds"] = own[: row["options"]] if any(own) else None
        row["cluster"] = joined.root(row["item"])
        if row["group"] is None and row["item"] in heads:
            row["group"] = row["item"]
    known = dict.fromkeys(key for row in rows for key in row if key.startswith(TAG))
    return pl.DataFrame(rows, schema=ITEM_TYPES | dict.fromkeys(known, pl.String))


def _is_yes(item: Item) -> bool | None:
    """Whether yes is right; None where the item asks for something else."""
    offered = [_VERDICTS.get(choice.text.strip(" .").casefold()) for choice in item.choices]
    if item.choices:
        return (
            offered[item.gold[0]] if sorted(map(str, offered)) == ["False", "True"] and len(item.gold) == 1 else None
        )
    golds = {_VERDICTS.get(text.strip(" .").casefold()) for text in item.references}
    return golds.pop() if len(golds) == 1 else None


def _cluster_kind(cluster: str) -> Callable[[Item], list[str]]:
    kinds: dict[str, Callable[[Item], list[str]]] = {
        "none": lambda item: [],
        "image": lambda item: [image.sha256 for image in item.images],
        "group": lambda item: [item.group or item.id],
        "passage": lambda item: [item.hint] if item.hint else [],
        "auto": lambda item: [*(image.sha256 for image in item.images), item.group or item.id],
    }
    return kinds.get(cluster, lambda item: [str(item.tags[cluster])] if cluster in item.tags else [])


def benchmark_names(runs: Sequence[Run], bench: Benchmark | None = None) -> list[str]:
    """What each run is about. Two versions of a benchmark are told apart by the folder of the run.

    Runs on versions of which ``bench`` is a revision all count by that, and are about one benchmark.
    """
    if not runs:
        raise InputError("no run to measure")
    about = [run.manifest.benchmark for run in runs]
    names = [asked.name if asked else run.path.resolve().name for run, asked in zip(runs, about, strict=True)]
    revised = bench.manifest if bench else None
    versions: dict[str, set[str]] = {name: set() for name in names}
    for asked in filter(None, about):
        is_older = revised is not None and revised.is_mended(asked.fingerprint)
        versions[asked.name].add(revised.fingerprint if revised and is_older else asked.fingerprint)
    return [
        name if len(versions[name]) < 2 else f"{name} ({run.path.resolve().name})"
        for run, name in zip(runs, names, strict=True)
    ]


def benchmark_if_needed(run: Run, named: Benchmark | None, *, rescore: bool) -> Benchmark | None:
    """The benchmark, or None where nobody needs one: every answer is a verdict, and is to stay one."""
    if named is not None or run.manifest.benchmark is not None or rescore:
        return benchmark_of(run, named)
    refuse_gaps(run)
    with one_line_if_damaged(run.path):
        unread = answers_frame(run.path).filter(pl.col("given").is_null() & (pl.col("outcome") != "failed"))
        some = unread.select(pl.len()).collect().item()
    return benchmark_of(run) if some else None


def scores_if_known(
    run: Run, benchmark: Benchmark | None, scorer: Scorer, tell: Callable[[str], None]
) -> tuple[pl.LazyFrame, list[str]]:
    """A run's scores, and what has to be said of them."""
    if benchmark is None:
        frame = _verdicts(run)
        answered = frame.select(pl.len()).collect(engine="streaming").item()
        return frame, _incomplete(run, len(run.plan()), answered)
    frame, made = scores_of(run, benchmark, scorer, tell)
    return frame, [*_incomplete(run, made.planned, made.answered), *_about(run, frame, made)]


def _incomplete(run: Run, planned: int, answered: int) -> list[str]:
    """Planned calls without an answer: of a run that is going on, was stopped, or needed no more of them."""
    if answered >= planned:
        return []
    spared = any(step.saved for step in run.manifest.steps)
    early = "; a stopping rule spared some of them, so what is measured on the others is biased" if spared else ""
    why = f"; process {run.writer} is at it" if run.writer else early
    return [f"{run.path}: {planned - answered:,} of {planned:,} planned calls have no answer{why}"]


def _about(run: Run, frame: pl.LazyFrame, made: ScoreProvenance) -> list[str]:
    """Who else had a say in the scores, which answers have none, and whether a lead decided how many there are."""
    notes = []
    goals = [step.options["until"] for step in run.manifest.steps if step.saved and "until" in step.options]
    for goal in goals[-1:] if made.unanswered else ():
        chosen = "answers themselves chose the number of items, which intervals and tests here take as given"
        notes.append(f"{run.path}: asked only until {goal} was certain; {chosen}")
    if made.unanswered and any(step.options.get("drawn") for step in run.manifest.steps):
        uneven = "items that tell models apart were likelier to be drawn"
        notes.append(f"{run.path}: {uneven}, so means over them are not those of the benchmark")
    left_out = made.answered - made.reworded - frame.select(pl.len()).collect(engine="streaming").item()
    if left_out:
        notes.append(f"{run.path}: {counted(left_out, 'answer')} to items that the benchmark does not have left out")
    if made.reworded:
        notes.append(
            f"{run.path}: {counted(made.reworded, 'answer')} to a wording that people have changed since left out"
        )
    if made.judge:
        notes.append(f"{run.path}: {made.judge} read what the rules could not")
    if made.dropped_judge:
        again = f"{typed('eyetest', 'score', run.path)} --judge … has it read again, and asks nothing twice"
        notes.append(
            f"{run.path}: without the readings of {made.dropped_judge}, made before the run changed; {again}"
        )
    if made.rescored:
        kept = frame.filter(pl.col("rule") == GIVEN).select(pl.len()).collect(engine="streaming").item()
        if kept:
            notes.append(
                f"{run.path}: {counted(kept, 'answer')} with the score that others gave: no words or no gold"
            )
    return notes


def _verdicts(run: Run) -> pl.LazyFrame:
    """Scores that were given, of items of which nothing is known."""
    frame = answers_frame(run.path).with_columns(pl.col(pl.Categorical).cast(pl.String))
    return frame.with_columns(
        pl.lit(None, pl.String).alias("reading"),
        pl.lit(None, pl.String).alias("choice"),
        pl.lit(GIVEN).alias("rule"),
        pl.lit(GIVEN).alias("metric"),
        pl.when(pl.col("outcome") != "failed").then("given").alias("score"),
        pl.lit(None, pl.Boolean).alias("marked"),
    ).select(columns(Score))


def _refuse_twice(scores: pl.LazyFrame) -> None:
    """Two runs may complete each other, but an answer that both hold would count twice."""
    key = ["benchmark", *columns(Asked)]
    twice = scores.group_by(key).len().filter(pl.col("len") > 1).head(1).collect(engine="streaming")
    if len(twice):
        row = twice.row(0, named=True)
        what = listed([f"{row['model']} on {row['item']}", f"sight {row['sight']}", f"ask {row['ask']}"])
        raise InputError(f"two runs hold an answer to the same question of {row['benchmark']}: {what}")
