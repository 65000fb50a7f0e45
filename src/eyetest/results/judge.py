"""Judge models: read answers that the rules could not, and label the sentences of replies.

A judge is asked through the journal of the run, once per answer; scoring again without it removes its readings. A
judge also reads a random sample of replies that the rules read for sure; how often both agree is its agreement.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.measures.replies import split_sentences
from eyetest.measures.results import PROTOCOL, SENTENCE_KINDS
from eyetest.measures.stats.intervals import IntervalEstimate, wilson
from eyetest.prompts.sets import Prompts, Wording, load_prompts
from eyetest.records import Condition, Item, Message, ModelEntry, Prompt, Score, Words, columns, mark, shown_order
from eyetest.results.scores import ScoreProvenance, answers_of, read_provenance, table_path
from eyetest.running.limits import Progress
from eyetest.running.session import Questions, Watch
from eyetest.runs import Run
from eyetest.runs.folder import SENTENCES
from eyetest.runs.stored import one_line_if_damaged, scan_table
from eyetest.scoring import Scorer
from eyetest.scoring.rules import judged
from eyetest.scoring.scorer import ACCURACY, answer_part
from eyetest.store import replacing_file
from eyetest.store.files import add_checksum

_KEY = "request"
_ROWS_AT_ONCE = 2_000
_LONGEST_REPLY = 6_000  # end of a long reply, with the conclusion, that a judge is shown
SAMPLE = 100  # replies that the rules read for sure, by which a judge's agreement with them is measured
SURE = 0.95
_JUDGE_RULE = "judge"  # how the rule of a judge's reading ends (`eyetest.scoring.rules.judged`)
LEAST_AGREEMENT = 0.9
_SAMPLED = "is_sampled"
_READ = ("reading", "choice", "rule", "score", "marked", "probability")  # what a judge's reading replaces


class Judge(NamedTuple):
    """A model that judges, and the prompt set with what it is asked."""

    name: str
    entry: ModelEntry
    prompts: Prompts = load_prompts()
    sample: int = SAMPLE

    @property
    def label(self) -> str:
        """Its name, with its prompts where these are not the usual ones."""
        return f"{self.name} ({self.prompts.roles})" if self.prompts.recorded else self.name


class JudgeAgreement(NamedTuple):
    """How often a judge reads the same as the rules, where these are sure."""

    agreed: int
    share: IntervalEstimate

    @property
    def text(self) -> str:
        """``agrees with the rules on 97 of 100 [92, 99]``, the interval in percent."""
        low, high = (100 * (bound or 0.0) for bound in (self.share.low, self.share.high))
        return f"agrees with the rules on {self.agreed} of {self.share.n} [{low:.0f}, {high:.0f}]"

    @property
    def is_low(self) -> bool:
        """Whether the judge disagrees with the rules more often than is acceptable, by the whole interval."""
        return self.share.high is not None and self.share.high < LEAST_AGREEMENT

    @property
    def is_open(self) -> bool:
        """Whether the sample is too small to tell that the judge agrees as often as is acceptable."""
        return not self.is_low and self.share.low is not None and self.share.low < LEAST_AGREEMENT


class JudgeOutcome(NamedTuple):
    """What a judge did: the replies that it could read, of those it was asked about, and its agreement."""

    read: int
    unread: int
    agreement: JudgeAgreement | None
    progress: Progress

    def as_json(self) -> dict[str, Any]:
        """The counts, for programs."""
        facts: dict[str, Any] = {"read": self.read, "of": self.unread}
        facts |= {"asked": self.progress.to_ask, "stored": self.progress.stored}
        facts |= {"tokens_in": self.progress.tokens_in, "tokens_out": self.progress.tokens_out}
        facts["cost"] = self.progress.money
        if self.agreement is not None:
            facts |= {"agreed": self.agreement.agreed, **self.agreement.share.named("agreement")}
        return facts


def judge_run(
    run: Run, benchmark: Benchmark, scorer: Scorer, judge: Judge, watch: Watch | None = None
) -> JudgeOutcome:
    """Have a judge read unparsed and cut-off answers, and a sample of those that the rules read for sure."""
    path = table_path(run, benchmark, scorer)
    scores, made = scan_table(path).collect(), read_provenance(path)
    assert made is not None, "a run is scored by the rules first"
    judged_rows = _judged_rows(run, benchmark, scores, judge.sample)
    positions = benchmark.positions(judged_rows["item"])

    def rows() -> Iterator[tuple[Item, dict[str, Any]]]:
        """The answers, each with its item, few in memory at a time."""
        for start in range(0, len(judged_rows), _ROWS_AT_ONCE):
            items = benchmark.take(positions[start : start + _ROWS_AT_ONCE])
            yield from zip(items, judged_rows.slice(start, _ROWS_AT_ONCE).iter_rows(named=True), strict=True)

    def prompts() -> Iterator[tuple[Item, Prompt]]:
        return ((item, _prompt(item, row, judge.prompts.of(item))) for item, row in rows())

    questions = Questions(run.path, benchmark, {judge.name: judge.entry})
    responses, progress = questions.ask(judge.name, prompts, "judge", watch, judge.prompts.recorded)
    new: list[dict[str, Any]] = []
    agreements: list[bool] = []
    for (item, row), response in zip(rows(), responses, strict=True):
        if response is None or not response.text:
            continue
        condition = _condition(row)
        score = scorer.rescore(item, condition, judged(response.text, len(item.choices), letters=condition.letters))
        if row[_SAMPLED]:
            agreements.append((score.reading, score.choice) == (row["reading"], row["choice"]))
        elif score.reading != "unparsed":
            new.append(row | {name: getattr(score, name) for name in _READ})
    agreement = JudgeAgreement(sum(agreements), wilson(sum(agreements), len(agreements))) if agreements else None
    made = msgspec.structs.replace(
        made,
        judge=", ".join(filter(None, (made.judge, judge.label))),
        agreement="; ".join(filter(None, (made.agreement, agreement.text if agreement else ""))),
    )
    _write(path, _updated(scores, new), made)
    unread = int((~judged_rows[_SAMPLED]).sum())
    return JudgeOutcome(len(new), unread, agreement, progress)


def _judged_rows(run: Run, benchmark: Benchmark, scores: pl.DataFrame, sample: int) -> pl.DataFrame:
    """The scores of the answers that a judge reads, with their texts: those without a reading, and a sample of sure
    ones, that the rules read. What a person confirmed is not asked; no rule gives a reading the probability 1.
    """
    is_confirmed = pl.col("probability").fill_null(0.0) == 1.0
    by_rules = scores.filter(pl.col("metric") == ACCURACY)
    unread = by_rules.filter(pl.col("reading").is_in(["unparsed", "cut off"]) & ~is_confirmed)
    is_sure = pl.col("probability").fill_null(1.0) >= SURE  # the rules of other tools do not say how sure they are
    is_by_rules = ~pl.col("rule").fill_null("").str.ends_with(f" {_JUDGE_RULE}")
    sure = by_rules.filter((pl.col("reading") == "chosen") & is_sure & is_by_rules & ~is_confirmed)
    requests = sure.get_column(_KEY).unique(maintain_order=True)
    draws = [blake2b(request.encode(), digest_size=8).hexdigest() for request in requests]
    drawn = pl.DataFrame({_KEY: requests, "draw": draws}).sort("draw").head(sample).drop("draw")
    sampled = sure.unique(_KEY, keep="first", maintain_order=True).join(drawn, on=_KEY, how="semi")
    marked_rows = [unread.with_columns(pl.lit(value=False).alias(_SAMPLED))]
    marked_rows.append(sampled.with_columns(pl.lit(value=True).alias(_SAMPLED)))
    texts = answers_of(run, benchmark).select(_KEY, "text").filter(pl.col("text").str.len_chars() > 0).unique(_KEY)
    texts = texts.cast({_KEY: pl.String}).join(pl.concat(marked_rows).select(_KEY).lazy(), on=_KEY, how="semi")
    return pl.concat(marked_rows).join(texts.collect(), on=_KEY, maintain_order="left")


def _updated(scores: pl.DataFrame, new: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The scores with a judge's readings, in their order."""
    if not new:
        return scores
    key = [name for name in columns(Score) if name not in _READ]
    table = pl.DataFrame(new, infer_schema_length=None).select(*key, *_READ)
    table = table.cast({name: scores.schema[name] for name in table.columns})
    return scores.update(table, on=key, include_nulls=True)


def _write(path: Path, scores: pl.DataFrame, made: ScoreProvenance) -> None:
    with replacing_file(path) as file:
        scores.write_parquet(file, compression="zstd", metadata=made.metadata())
        add_checksum(file)


def _prompt(item: Item, row: Mapping[str, object], wording: Wording) -> Prompt:
    condition = _condition(row)
    options = [item.choices[position].text for position in shown_order(item, condition)]
    listed = "\n".join(f"{mark(condition.letters, position)}. {option}" for position, option in enumerate(options))
    reply = answer_part(str(row["text"]), condition.ask)[-_LONGEST_REPLY:]
    return Prompt((Message("user", (Words(wording.role("judge", options=listed, reply=reply)),)),))


def _condition(row: Mapping[str, object]) -> Condition:
    return msgspec.convert({axis: row[axis] for axis in Condition.__struct_fields__}, Condition)


_SAMPLE = 100  # replies per model and setting
_MOST_SENTENCES = 60
_LONGEST_SENTENCE = 400
_LABELS = {"D": "descriptive", "A": "analytical", "O": "other"}
_LABEL = re.compile(r"^\W*(\d{1,3})\W+([DAO])\b", re.MULTILINE)
_TABLE = {"request": pl.String, "judge": pl.String} | dict.fromkeys(SENTENCE_KINDS, pl.Int64)


def label_sentences(run: Run, benchmark: Benchmark, judge: Judge, watch: Watch | None = None) -> tuple[int, Progress]:
    """Have a judge label the sentences of some replies; returns how many it labelled, and the progress."""
    replies = _drawn(run, benchmark)
    by_item = {item.id: item for item in benchmark.take(benchmark.positions(dict.fromkeys(replies["item"])))}

    def asked() -> Iterator[tuple[Item, Prompt]]:
        for item, text in replies.select("item", "text").iter_rows():
            own = judge.prompts.of(by_item[item])
            yield by_item[item], sentence_prompt(split_sentences(text)[:_MOST_SENTENCES], own)

    questions = Questions(run.path, benchmark, {judge.name: judge.entry})
    responses, progress = questions.ask(judge.name, asked, "sentences", watch, judge.prompts.recorded)
    rows = []
    for (request, text), response in zip(replies.select("request", "text").iter_rows(), responses, strict=True):
        sentences = split_sentences(text)[:_MOST_SENTENCES]
        counts = labels(response.text or "", len(sentences)) if response is not None else None
        if counts is not None:
            rows.append({"request": request, "judge": judge.label} | {kind: counts[kind] for kind in SENTENCE_KINDS})
    table = pl.DataFrame(rows, schema=_TABLE)
    with replacing_file(run.path / SENTENCES) as file:
        table.write_parquet(file, compression="zstd")
        add_checksum(file)
    return len(table), progress


def _drawn(run: Run, benchmark: Benchmark) -> pl.DataFrame:
    """A reproducible random sample of text replies, of every model and setting."""
    with one_line_if_damaged(run.path):
        answers = answers_of(run, benchmark).filter(pl.col("text").str.contains(r"\w"), pl.col("outcome") != "failed")
        kept = answers.select(pl.col("item", "model", *PROTOCOL, "request", "text").cast(pl.String))
        rows = kept.unique("request").collect()
    known = rows.filter(pl.col("item").is_in([item.id for item in benchmark]))
    draw = [blake2b(item.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() for item in known["item"]]
    keys = ["model", *PROTOCOL]
    ordered = known.with_columns(pl.Series("draw", draw, pl.String)).sort(*keys, "draw", "request")
    return ordered.group_by(keys, maintain_order=True).head(_SAMPLE)


def sentence_prompt(sentences: Sequence[str], wording: Wording) -> Prompt:
    """The judge's prompt: the sentences alone, so that it labels and does not solve."""
    listed = "\n".join(f"{number}. {text[:_LONGEST_SENTENCE]}" for number, text in enumerate(sentences, 1))
    return Prompt((Message("user", (Words(wording.role("sentence_judge", sentences=listed)),)),))


def labels(words: str, sentences: int) -> Counter[str] | None:
    """The number of sentences of each kind; None unless the judge labelled each exactly once."""
    found = [(int(number), letter) for number, letter in _LABEL.findall(words)]
    if sorted(number for number, _ in found) != list(range(1, sentences + 1)):
        return None
    return Counter(_LABELS[letter] for _, letter in found)
