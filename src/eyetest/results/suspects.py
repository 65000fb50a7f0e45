"""Replies that look like faults without a word that says so: signs for a reader to look, never a verdict.

Two signs. The same short reply to many different items, which is no option of theirs and no answer in the key: a
service that sends a notice sends the same to everybody. And a share of unread replies that jumps in the course of a
run: a service that began to fail. Neither changes a score.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import counted, listed, percent, short
from eyetest.records import Condition, Item, Response
from eyetest.results.scores import answers_of
from eyetest.runs import Run
from eyetest.runs.stored import one_line_if_damaged, responses_frame
from eyetest.text.folding import folded

_LONGEST = 200  # characters of a reply that can be a notice
_LEAST_ITEMS, _LEAST_SHARE = 8, 0.01  # so many items, and so much of all items, get the same reply
_ITEMS_READ = 12  # of the items with the same reply, so many are looked at
_REPLIES_READ = 240  # of the replies of a series, so many are looked at for a jump, at even distances
_LEAST_REPLIES = 40
_LEAST_JUMP = 0.35  # of the share of unread replies
_LEAST_EVIDENCE = 12.0  # of the likelihood of a jump over that of none, as a logarithm
_LONGEST_END = 6  # words at the end of a reply that can be its answer
_READ = ("chosen", "text")
_SERIES = ("model", "modality", "ask")
_FIELDS = ("item", "model", "modality", "ask", "order", "letters", "outcome", "text")


class _Repeated(NamedTuple):
    """A short reply of a model to many items."""

    model: str
    text: str
    items: int
    of: int
    cases: list[dict[str, object]]


def suspicious_replies(run: Run, benchmark: Benchmark | None, models: Sequence[str] = ()) -> list[str]:
    """Notes on replies that look like faults: a line for each sign. ``models``: only these, where any is named."""
    if benchmark is None:
        return []
    with one_line_if_damaged(run.path):
        times = responses_frame(run.path, ("request", "time"))
        answers = answers_of(run, benchmark).filter(pl.col("candidates").is_null())
        answers = answers.with_columns(pl.col(pl.Categorical).cast(pl.String)).join(times, on="request", how="left")
        if models:
            answers = answers.filter(pl.col("model").is_in(list(models)))
        repeated = list(_repeated_replies(answers))
        series = list(_timed_series(answers))
    if not repeated and not series:
        return []
    names = {str(case["item"]) for reply in repeated for case in reply.cases}
    names |= {str(case["item"]) for _, cases in series for case in cases}
    items = {item.id: item for item in benchmark if item.id in names}
    key = _AnswerKey(benchmark) if repeated else None
    notes = [_repeated_note(reply) for reply in repeated if key and not _is_explained(reply, items, key)]
    return notes + [note for name, cases in series if (note := _jump_note(name, cases, items))]


def _repeated_replies(answers: pl.LazyFrame) -> Iterator[_Repeated]:
    """Each short reply of a model to many different items, with some of these."""
    texts = answers.filter(
        pl.col("outcome").is_in(["answered", "truncated"]), pl.col("text").str.len_chars().is_between(2, _LONGEST)
    ).with_columns(pl.col("text").str.strip_chars().str.to_lowercase().alias("reply"))
    totals = answers.group_by("model").agg(pl.col("item").n_unique().alias("of"))
    counts = texts.group_by("model", "reply").agg(
        pl.col("item").n_unique().alias("items"), pl.struct(_FIELDS).head(_ITEMS_READ).alias("cases")
    )
    many = counts.join(totals, on="model").filter(
        pl.col("items") >= _LEAST_ITEMS, pl.col("items") >= _LEAST_SHARE * pl.col("of")
    )
    frame = many.sort("model", "items", "reply", descending=[False, True, False]).collect(engine="streaming")
    for row in frame.iter_rows(named=True):
        yield _Repeated(row["model"], row["cases"][0]["text"], row["items"], row["of"], row["cases"])


class _AnswerKey:
    """The answers of a benchmark, to which a reply may be equal for good reason."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._answers: set[str] = set()
        self._has_numbers = False
        for item in items:
            texts = [choice.text for choice in item.choices] or list(item.references)
            self._answers.update(folded(text) for text in texts)
            self._has_numbers = self._has_numbers or any(_is_number(text) for text in texts)

    def has(self, text: str) -> bool:
        """Whether a reply is, or ends in, an answer of some item, or a number where numbers are asked for."""
        words = folded(text).split()
        ends = [" ".join(words[place:]) for place in range(max(0, len(words) - _LONGEST_END), len(words))]
        if folded(text) in self._answers or any(end in self._answers for end in ends):
            return True
        return self._has_numbers and any(_is_number(word) for word in words[-2:])


def _is_number(text: str) -> bool:
    return text.strip(" .%$€").replace(",", "").replace(".", "", 1).lstrip("-").isdigit()


def _is_explained(reply: _Repeated, items: Mapping[str, Item], key: _AnswerKey) -> bool:
    """Whether most of the items allow the reply: it is read as an option or a refusal, or the key has it."""
    if key.has(reply.text):
        return True
    readings = [_reading(case, items) for case in reply.cases]
    allowed = [reading in ("chosen", "refused") for reading in readings]
    return 2 * sum(allowed) >= len(allowed)


def _reading(case: Mapping[str, object], items: Mapping[str, Item]) -> str:
    """How a reply is read; a call that failed or was blocked by its outcome."""
    from eyetest.scoring import Scorer  # noqa: PLC0415 (a run without a sign does not load the rules)

    item = items.get(str(case["item"]))
    if case["outcome"] in ("failed", "blocked") or item is None or case["text"] is None:
        return str(case["outcome"])
    condition = Condition(ask=case["ask"], order=case["order"], letters=case["letters"])  # type: ignore[arg-type]
    response = Response(request="", outcome=case["outcome"], text=str(case["text"]))  # type: ignore[arg-type]
    try:
        return Scorer().score(item, condition, response).reading or ""
    except ValueError:
        return ""


def _repeated_note(reply: _Repeated) -> str:
    return (
        f"suspect: {reply.model} gave the same reply to {reply.items:,} of {counted(reply.of, 'item')}, which is no "
        f"answer of theirs: {short(reply.text)}; look whether its service sent it instead of an answer"
    )


def _timed_series(answers: pl.LazyFrame) -> Iterator[tuple[str, list[dict[str, object]]]]:
    """Replies of each model and condition in the order in which they came: some, at even distances."""
    timed = answers.filter(pl.col("time") > 0)
    ranked = timed.with_columns(
        pl.col("time").rank("ordinal").over(_SERIES).alias("place"), pl.len().over(_SERIES).alias("count")
    ).filter(pl.col("count") >= _LEAST_REPLIES)
    step = (pl.col("count") / _REPLIES_READ).ceil().cast(pl.Int64)
    some = ranked.filter(pl.col("place").cast(pl.Int64) % step == 0).sort(*_SERIES, "time")
    frame = some.select(*_FIELDS, "time").collect(engine="streaming")
    for values, rows in frame.group_by(_SERIES, maintain_order=True):
        yield listed([str(value) for value in values]), rows.to_dicts()


def _jump_note(name: str, cases: Sequence[Mapping[str, object]], items: Mapping[str, Item]) -> str:
    """A note where the share of unread replies jumps upwards; empty without."""
    unread = [_reading(case, items) not in _READ for case in cases]
    place, evidence = _jump(unread)
    before, after = unread[:place], unread[place:]
    if evidence < _LEAST_EVIDENCE or not before or not after:
        return ""
    shares = sum(before) / len(before), sum(after) / len(after)
    if shares[1] - shares[0] < _LEAST_JUMP:
        return ""
    when = (
        datetime.fromtimestamp(float(str(cases[place]["time"])), UTC).isoformat(" ", "seconds").removesuffix("+00:00")
    )
    return (
        f"suspect: of the replies of {name}, {percent(shares[0])} were unread, and from {when} UTC on "
        f"{percent(shares[1])}; look whether its service began to fail then"
    )


def _jump(unread: Sequence[bool]) -> tuple[int, float]:
    """The likeliest place of a jump in a series of draws, and the logarithm of its likelihood over that of none."""
    total, count = sum(unread), len(unread)
    none = _likelihood(total, count)
    best, evidence, hits = 0, 0.0, 0
    for place in range(1, count):
        hits += unread[place - 1]
        gain = _likelihood(hits, place) + _likelihood(total - hits, count - place) - none
        if gain > evidence:
            best, evidence = place, gain
    return best, evidence


def _likelihood(hits: int, draws: int) -> float:
    """The logarithm of the greatest likelihood of draws with so many hits."""
    return sum(number * math.log(number / draws) for number in (hits, draws - hits) if number)
