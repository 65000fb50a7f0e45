"""Gathers runs for measures: scores, items, models, and replies with their metadata."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, counted, heading, naming_benchmark, param, typed
from eyetest.measures import Results
from eyetest.measures.results import EXCHANGED_TYPES, ITEM_TYPES, REPLY_TYPES, SENTENCE_KINDS, TAG
from eyetest.measures.stats.consensus import recurring, short_texts
from eyetest.measures.stats.intervals import Floats
from eyetest.prompts.building import remove
from eyetest.records import (
    EDITION,
    GIVEN,
    ORIGINAL,
    TWIN,
    Asked,
    Condition,
    Item,
    ModelEntry,
    Response,
    Score,
    columns,
    joined_words,
    letter,
)
from eyetest.results.clusters import clusters_of
from eyetest.results.scores import (
    ScoreProvenance,
    answers_of,
    benchmark_of,
    joined_by_id,
    prefix_in,
    refuse_gaps,
    scores_of,
    wording,
)
from eyetest.results.suspects import suspicious_replies
from eyetest.runs import Run
from eyetest.runs.folder import SENTENCES
from eyetest.runs.importing import LABEL_BY_DEFAULT
from eyetest.runs.stored import ANSWER, SPENT, answers_frame, one_line_if_damaged, responses_frame, scan_table
from eyetest.scoring import Scorer
from eyetest.scoring.metrics.same_text import edit_similarity
from eyetest.scoring.metrics.verdicts import read_verdict
from eyetest.scoring.scorer import answer_part

_EXCHANGED = {name: EXCHANGED_TYPES[name] for name in ("request", "whose", "worth")}


def exchanged(run: Run, benchmark: Benchmark | None, scorer: Scorer) -> pl.LazyFrame:
    """Each text reply to an original or a twin, by each gold of its family: ``request, whose, worth``."""
    if benchmark is None:
        return pl.LazyFrame(schema=_EXCHANGED)
    answers = answers_of(run, benchmark).select(pl.col("item", "request", "ask", "outcome").cast(pl.String), "text")
    plain = answers.filter(pl.col("outcome") != "failed").unique(("item", "request"))

    def valued(rows: pl.DataFrame) -> pl.DataFrame:
        families = _families(benchmark) if len(rows) else {}
        values = [
            (
                request,
                other.id,
                scorer.score(other, Condition(ask=ask), Response(request="", outcome=outcome, text=text)).score,
            )
            for item, request, ask, outcome, text in rows.iter_rows()
            for other in families.get(item, ())
        ]
        return pl.DataFrame(values, schema=_EXCHANGED, orient="row").drop_nulls("worth").unique()

    return plain.map_batches(valued, schema=_EXCHANGED)


def _families(items: Iterable[Item]) -> dict[str, list[Item]]:
    """By item, all that share its question and differ in image and gold."""
    families: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        if item.tags.get(EDITION) in (ORIGINAL, TWIN) and item.has_gold and not item.is_choice:
            families[item.id if item.tags[EDITION] == ORIGINAL else item.group].append(item)
    return {item.id: family for family in families.values() for item in family}


_COPIED = {name: REPLY_TYPES[name] for name in ("request", "copied")}
_ANSWER = re.compile(r"^\W*answer\W*:", re.IGNORECASE | re.MULTILINE)
_MARK = re.compile(r"^[ \t]*[*_]*[(\[]?[A-Z][)\].:][*_]*[ \t]+", re.MULTILINE)


def transcript_of(reply: str) -> str:
    """The copied text of a reply: before its last ``Answer:``, without option letters."""
    answers = list(_ANSWER.finditer(reply))
    return _MARK.sub("", reply[: answers[-1].start()] if answers else reply)


def text_of(item: Item) -> str:
    """The text to be copied: hint, question and options, in the order of the page."""
    return "\n".join(remove(text) for text in (item.hint, item.question, *(choice.text for choice in item.choices)))


def transcribed(run: Run, benchmark: Benchmark | None) -> pl.LazyFrame:
    """The similarity to its text of each reply that had to copy a screenshot first: ``request, copied``."""
    if benchmark is None:
        return pl.LazyFrame(schema=_COPIED)
    asked = (pl.col("ask").cast(pl.String) == "ocr") & (pl.col("modality").cast(pl.String) == "screenshot")
    answers = answers_of(run, benchmark).filter(asked).drop_nulls("text")
    plain = answers.select(pl.col("item", "request").cast(pl.String), "text").unique("request")

    def copied(rows: pl.DataFrame) -> pl.DataFrame:
        texts = {item.id: text_of(item) for item in benchmark} if len(rows) else {}
        values = [
            (request, edit_similarity(transcript_of(text), texts[item]))
            for item, request, text in rows.iter_rows()
            if item in texts
        ]
        return pl.DataFrame(values, schema=_COPIED, orient="row")

    return plain.map_batches(copied, schema=_COPIED)


def labelled(run: Run) -> pl.LazyFrame:
    """A judge's labels in a run: by request, the number of sentences of each kind."""
    path = run.path / SENTENCES
    if not path.exists():
        return pl.LazyFrame(schema={name: REPLY_TYPES[name] for name in ("request", *SENTENCE_KINDS)})
    again = f"have them labelled again: {typed('eyetest', 'score', run.path)} {param('sentences', 'MODEL')}"
    return scan_table(path, again).select("request", *SENTENCE_KINDS)


_NEED_NO_ITEMS = ("auto", "none")
_VERDICTS = {"yes": True, "true": True, "no": False, "false": False}


def results_of(
    runs: Sequence[Run],
    scorer: Scorer | list[Scorer],
    cluster: str = "auto",
    bench: Benchmark | list[Benchmark | None] | None = None,
    models: Mapping[str, ModelEntry] | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Results:
    """The results of some runs together; each may have its own scorer and its own benchmark with the answer key."""
    scorers = scorer if isinstance(scorer, list) else [scorer] * len(runs)
    keys = bench if isinstance(bench, list) else [bench] * len(runs)
    names = benchmark_names(runs, keys)
    tables, notes, replies, kin = [], list[str](), [], []
    items_of: dict[str, list[Item]] = {}
    for number, (run, name, own, key) in enumerate(zip(runs, names, scorers, keys, strict=True)):
        about = benchmark_if_needed(run, key, rescore=own.rescore_given)
        frame, more = scores_if_known(run, about, own, tell)
        tables.append(frame.with_columns(pl.lit(name).alias("benchmark"), pl.lit(number).alias(_RUN)))
        notes += more
        notes += suspicious_replies(run, about)
        kin.append(exchanged(run, about, own).select(pl.lit(name).alias("benchmark"), pl.all()))
        if about is not None and name not in items_of:
            items_of[name] = list(about)
        replies.append(_replies(run, name, about, items_of.get(name, [])))
    if not items_of and cluster not in _NEED_NO_ITEMS:
        unknown = f"{heading('cluster', cluster)}: nothing is known of the items of {runs[0].path}"
        raise InputError(f"{unknown}; {naming_benchmark(runs[0].path)}")
    scores = pl.concat(tables)
    if len(set(names)) < len(names):
        scores, older = _each_once(scores, runs)
        notes += older
    items = []
    for name, asked_items in items_of.items():
        rows, counted_clusters = _with_clusters(name, asked_items, cluster, scores)
        items.append(rows)
        notes += counted_clusters
    known = {name: entry for run in runs for name, entry in run.manifest.models.items()}
    table = pl.concat(items, how="diagonal") if items else pl.DataFrame(schema=ITEM_TYPES)
    return Results(
        *(scores.select("benchmark", *columns(Score)), table, known | dict(models or {}), tuple(notes)),
        replies=pl.concat(replies).unique(("benchmark", "request")),
        exchanged=pl.concat(kin).unique(("benchmark", "request", "whose")),
    )


def pool_keys(runs: Sequence[Run], pool: Benchmark) -> list[Benchmark | None]:
    """The answer keys of runs: the pool for runs on sources of it, their own for others."""
    return [pool if prefix_in(run, pool) else None for run in runs]


def _replies(run: Run, name: str, about: Benchmark | None, items: Sequence[Item]) -> pl.LazyFrame:
    """The replies of a run, with what they say to the items of its benchmark."""
    replies = responses_frame(run.path, (*ANSWER, *SPENT)).with_columns(pl.lit(name).alias("benchmark"))
    judged = replies.join(labelled(run), on="request", how="left")
    with_verdicts = judged.join(_said(run, about, items), on="request", how="left")
    return with_verdicts.join(transcribed(run, about), on="request", how="left").select(*REPLY_TYPES)


_SAYS = {name: REPLY_TYPES[name] for name in ("request", "says")}


def _said(run: Run, about: Benchmark | None, items: Sequence[Item]) -> pl.LazyFrame:
    """What each reply to a yes/no question says, read as a metric reads it: ``request, says``."""
    questions = {item.id: item.question for item in items if _is_yes(item) is not None}
    if not questions:
        return pl.LazyFrame(schema=_SAYS)
    answers = answers_frame(run.path) if about is None else answers_of(run, about)
    replies = answers.select(pl.col("item", "request", "ask").cast(pl.String), "text").drop_nulls("text")
    to_verdicts = replies.filter(pl.col("item").is_in([*questions])).unique("request")

    def read(rows: pl.DataFrame) -> pl.DataFrame:
        values = [
            (request, read_verdict(answer_part(text, ask), questions[item]))
            for item, request, ask, text in rows.iter_rows()
        ]
        return pl.DataFrame(values, schema=_SAYS, orient="row")

    return to_verdicts.map_batches(read, schema=_SAYS)


def items_table(name: str, items: Iterable[Item], cluster: str = "auto") -> pl.DataFrame:
    """What measures know of a benchmark's items: the columns that `Results` names. Without answers."""
    items = list(items)
    return clustered_table(name, items, clusters_of(items, cluster).labels)


def clustered_table(name: str, items: Sequence[Item], clusters: Sequence[str]) -> pl.DataFrame:
    """The same table, with the labels of the items' clusters."""
    rows: list[dict[str, Any]] = []
    answers: list[tuple[str, ...]] = []
    for item in items:
        gold = item.gold[0] if item.gold else None
        tags = {TAG + tag: word for tag, word in joined_words(item.tags).items()}
        own = {"benchmark": name, "item": item.id, "group": item.group or None, "content": wording(item).hex()}
        own |= {"own_id": item.own_id} if item.own_id != item.id else {}
        answers.append(short_texts([choice.text for choice in item.choices]))
        rows.append(
            own
            | {"options": len(item.choices) or None, "position": gold, "gold": None if gold is None else letter(gold)}
            | {"golds": item.gold or None, "yes": _is_yes(item), "medium": medium_of(item)}
            | tags
        )
    heads = {row["group"] for row in rows} - {None}
    for row, own, cluster in zip(rows, recurring(answers).tolist(), clusters, strict=True):
        row["kinds"] = own[: row["options"]] if any(own) else None
        row["cluster"] = cluster
        if row["group"] is None and row["item"] in heads:
            row["group"] = row["item"]
    known = dict.fromkeys(key for row in rows for key in row if key.startswith(TAG))
    return pl.DataFrame(rows, schema=ITEM_TYPES | dict.fromkeys(known, pl.String))


def _with_clusters(
    name: str, items: Sequence[Item], cluster: str, scores: pl.LazyFrame
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The table of a benchmark's items, and notes on what counts as a cluster; ``scores`` are those of all runs."""
    of_benchmark = scores.filter(pl.col("benchmark") == name)
    clusters = clusters_of(items, cluster, lambda: _scores_by_item(items, of_benchmark))
    return clustered_table(name, items, clusters.labels), clusters.notes


def _scores_by_item(items: Sequence[Item], scores: pl.LazyFrame) -> Floats:
    """The mean score of each item in each series of one benchmark: items × series, nan where there is none."""
    series = ("model", "modality")
    means = scores.group_by("item", *series).agg(pl.col("score").mean()).drop_nulls("score")
    numbered_series = pl.struct(series).rank("dense").cast(pl.Int64) - 1
    coded = means.select(pl.col("item").cast(pl.String), "score", numbered_series.alias("series"))
    places = pl.DataFrame({"item": [item.id for item in items]}).with_row_index("place")
    rows = coded.join(places.lazy(), on="item").collect(engine="streaming")
    series_numbers = rows["series"].to_numpy()
    table = np.full((len(items), int(series_numbers.max(initial=0)) + 1), np.nan)
    table[rows["place"].to_numpy(), series_numbers] = rows["score"].to_numpy()
    return table


def medium_of(item: Item) -> str:
    """What an item shows beside its text: ``image``, ``video``, ``image+audio``; empty for nothing."""
    kinds = dict.fromkeys(media.kind for media in item.media)
    return "+".join((*(["image"] if item.images else []), *kinds))


def _is_yes(item: Item) -> bool | None:
    """Whether yes is right; None where the item is no yes/no question."""
    texts = [choice.text for choice in item.choices] or item.references
    verdicts = [_VERDICTS.get(text.strip(" .").casefold()) for text in texts]
    if item.choices:
        is_verdict = sorted(map(str, verdicts)) == ["False", "True"] and len(item.gold) == 1
        return verdicts[item.gold[0]] if is_verdict else None
    return verdicts[0] if len(set(verdicts)) == 1 else None


def benchmark_names(runs: Sequence[Run], keys: Sequence[Benchmark | None]) -> list[str]:
    """Each run's benchmark, or the pool of it in ``keys``; versions that no benchmark of ``keys`` revises differ by
    the run's folder.
    """
    if not runs:
        raise InputError("no run to measure")
    named = [_named_version(run, key) for run, key in zip(runs, keys, strict=True)]
    places = [run.path.resolve() for run in runs]
    for labels in ([""] * len(runs), [place.name for place in places], [str(place) for place in places]):
        names = _with_labels(named, labels)
        if len({*zip(names, named, strict=True)}) == len({*names}):
            break  # no name is shared by two versions
    return names


def _named_version(run: Run, key: Benchmark | None) -> tuple[str, str]:
    """The name of a run's benchmark and what tells its version; of unknown items, both are the run's folder."""
    asked = run.manifest.benchmark
    pool = key if key and prefix_in(run, key) else None
    if pool is not None:
        return pool.manifest.name, pool.manifest.fingerprint
    if asked is None:
        return run.path.resolve().name, str(run.path.resolve())
    is_key = key is not None and key.manifest.is_repaired(asked.fingerprint)
    return asked.name, key.manifest.fingerprint if key and is_key else asked.fingerprint


def _with_labels(named: Sequence[tuple[str, str]], labels: Sequence[str]) -> list[str]:
    """The names, with a label where several versions have the same one."""
    versions = Counter(name for name, _ in {*named})
    pairs = zip(named, labels, strict=True)
    return [f"{name} ({label})" if label and versions[name] > 1 else name for (name, _), label in pairs]


def benchmark_if_needed(run: Run, named: Benchmark | None, *, rescore: bool) -> Benchmark | None:
    """The benchmark, or None where none is needed: every answer is a verdict and remains one."""
    if named is None and run.manifest.benchmark is None and not rescore:
        refuse_gaps(run)
        with one_line_if_damaged(run.path):
            unread = answers_frame(run.path).filter(pl.col("given").is_null() & (pl.col("outcome") != "failed"))
            if not unread.select(pl.len()).collect().item():
                return None
    return benchmark_of(run, named, naming_benchmark(run.path))


def scores_if_known(
    run: Run, benchmark: Benchmark | None, scorer: Scorer, tell: Callable[[str], None]
) -> tuple[pl.LazyFrame, list[str]]:
    """A run's scores, and the notes on them."""
    if benchmark is None:
        frame = _verdicts(run)
        answered = frame.select(pl.len()).collect(engine="streaming").item()
        return frame, _incomplete(run, len(run.plan()), answered)
    frame, made = scores_of(run, benchmark, scorer, tell)
    notes = [*_incomplete(run, made.planned, made.answered), *_about(run, frame, made)]
    if unchecked := joined_by_id(run, benchmark):
        notes.append(f"{run.path}: {unchecked}")
    return frame, notes


def _incomplete(run: Run, planned: int, answered: int) -> list[str]:
    """Planned calls without an answer, of a run that is going on, was stopped, or needed no more of them."""
    if answered >= planned:
        return []
    spared = any(step.saved for step in run.manifest.steps)
    early = "; a stopping rule spared some of them, so what is measured on the others is biased" if spared else ""
    why = f"; process {run.writer} is at it" if run.writer else early
    return [f"{run.path}: {planned - answered:,} of {planned:,} planned calls have no answer{why}"]


def _about(run: Run, frame: pl.LazyFrame, made: ScoreProvenance) -> list[str]:
    """Which judges read answers, which answers have no score, and whether a lead decided their number."""
    notes = []
    if any(step.options.get("label") == LABEL_BY_DEFAULT for step in run.manifest.steps):
        notes.append("answers that do not say what was sent are labelled image by default, but no item has one")
    goals = [step.options["until"] for step in run.manifest.steps if step.saved and "until" in step.options]
    for goal in goals[-1:] if made.unanswered else ():
        chosen = "answers themselves chose the number of items, which intervals and tests here take as given"
        notes.append(f"asked only until {goal} was certain; {chosen}")
    left_out = made.answered - made.reworded - frame.select(pl.len()).collect(engine="streaming").item()
    if left_out:
        notes.append(f"{counted(left_out, 'answer')} to items that the benchmark does not have left out")
    if made.reworded:
        notes.append(f"{counted(made.reworded, 'answer')} to a wording that people have changed since left out")
    if made.judge:
        agreement = f"; {made.agreement}" if made.agreement else ""
        notes.append(f"{made.judge} read what the rules could not{agreement}")
    if made.sure and frame.select(pl.col("probability").is_not_null().any()).collect(engine="streaming").item():
        notes.append(f"readings that are right with a probability below {made.sure:g} count as unread")
    elif made.sure:
        notes.append(f"no reply has a probability, so the threshold {made.sure:g} has no effect")
    if made.forms:
        notes.append(f"readings as confirmed and refused by form ({made.forms})")
    if made.dropped_judge:
        again = f"{typed('eyetest', 'score', run.path)} --judge … has it read again, and asks nothing twice"
        notes.append(f"without the readings of {made.dropped_judge}, made before the run changed; {again}")
    if made.rescored:
        kept = frame.filter(pl.col("rule") == GIVEN).select(pl.len()).collect(engine="streaming").item()
        if kept:
            notes.append(f"{counted(kept, 'answer')} with the score that others gave: no words or no gold")
    return [f"{run.path}: {note}" for note in notes]


def _verdicts(run: Run) -> pl.LazyFrame:
    """Given scores of items of which nothing else is known."""
    frame = answers_frame(run.path).with_columns(pl.col(pl.Categorical).cast(pl.String))
    return frame.with_columns(
        *(pl.lit(None, pl.String).alias(name) for name in ("reading", "choice")),
        *(pl.lit(GIVEN).alias(name) for name in ("rule", "metric")),
        pl.when(pl.col("outcome") != "failed").then("given").alias("score"),
        pl.lit(None, pl.Boolean).alias("marked"),
        pl.lit(None, pl.Float64).alias("probability"),
    ).select(columns(Score))


_RUN = "run"  # the column with the number of the run that an answer is from


def _each_once(scores: pl.LazyFrame, runs: Sequence[Run]) -> tuple[pl.LazyFrame, list[str]]:
    """The scores of several runs, in which one answer to each question counts, and notes on those left out.

    Of two answers the one of the newer run counts, but a failed call never stands for an answer. What is left out is
    named where it differs: averaged with the other, it would be a score of neither run.
    """
    key = ["benchmark", *columns(Asked)]
    newest_first = sorted(range(len(runs)), key=lambda number: _age(runs[number]), reverse=True)
    age = pl.col(_RUN).replace_strict(newest_first, range(len(runs)), return_dtype=pl.Int64)
    is_failed = (pl.col("outcome").cast(pl.String) == "failed").cast(pl.Int64)
    place = (age + is_failed * len(runs)).alias("place")
    ranked = scores.with_columns(place).with_columns(pl.col("place").min().over(key).alias("best"))
    counted_ones = ranked.filter(pl.col("place") == pl.col("best"))
    same = ["outcome", "choice", "score"]
    left_out = ranked.filter(pl.col("place") > pl.col("best"), is_failed == 0).select(*key, *same, _RUN)
    pairs = left_out.join(counted_ones.select(*key, *same, _RUN), on=key, suffix="_newer", nulls_equal=True)
    is_other = pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name}_newer")) for name in same)
    differing = pairs.filter(is_other).group_by(_RUN, f"{_RUN}_newer").len().sort(_RUN, f"{_RUN}_newer")
    notes = [
        f"{counted(count, 'answer')} of {runs[older].path} left out: {runs[newer].path} has newer ones to the same "
        "questions"
        for older, newer, count in differing.collect(engine="streaming").iter_rows()
    ]
    return counted_ones.drop("place", "best"), notes


def _age(run: Run) -> str:
    """When the last answers of a run were asked for or imported."""
    return max((step.time for step in run.manifest.steps), default="")
