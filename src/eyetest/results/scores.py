"""Scores of a run: plan, responses and items become ``scores/RULES.parquet``, with their provenance.

Whether a table is current is decided by contents, never by file times.
"""

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from eyetest.benchmarks import Benchmark, ReadOptions, is_benchmark
from eyetest.benchmarks.folder import ITEMS, damage_of, to_table
from eyetest.benchmarks.opening import known_benchmark, open_benchmark
from eyetest.errors import DamagedWarning, InputError, as_stored, param, short, typed
from eyetest.records import Item, Score, columns
from eyetest.records.finishes import finishes_version
from eyetest.runs import Run
from eyetest.runs.folder import BENCHMARK, REPAIRED, SCORES
from eyetest.runs.journal import PartName, content_id, part_ids, refuse_lost
from eyetest.runs.stored import (
    PLAN,
    answers_frame,
    is_in,
    named_finishes,
    one_line_if_damaged,
    part_frame,
    scan_plan,
    scan_table,
)
from eyetest.scoring import Scorer
from eyetest.scoring.forms import FormDecision, FormDecisions
from eyetest.scoring.rules import RULE_SETS
from eyetest.scoring.scorer import score_table
from eyetest.store import read_json, replacing_file, store_of, write_json
from eyetest.store.files import add_checksum
from eyetest.store.urls import known_path
from eyetest.version import __version__

KEY = "eyetest.scores"  # its key in the table's metadata
_OUTCOME = (
    "parts",
    "planned",
    "answered",
    "reworded",
    "judge",
    "agreement",
    "dropped_judge",
)  # not compared one by one


class ItemRepair(msgspec.Struct, frozen=True, kw_only=True):
    """An item after people's changes."""

    item: Item
    requests: tuple[str, ...] | None = None  # the requests with its new wording; None if the wording is unchanged


class _ItemRepairs(msgspec.Struct, frozen=True, kw_only=True):
    version: int = 1
    items: tuple[ItemRepair, ...] = ()


class RepairedBenchmark(Benchmark):
    """A benchmark with some items as changed by people."""

    def __init__(self, path: Path, items: Mapping[str, Item]) -> None:
        super().__init__(path)
        self._repaired = items

    def __iter__(self) -> Iterator[Item]:
        return (self._repaired.get(item.id, item) for item in super().__iter__())

    def take(self, positions: Sequence[int]) -> list[Item]:
        """The current items at some positions."""
        return [self._repaired.get(item.id, item) for item in super().take(positions)]

    def table(self, columns: Sequence[str]) -> pa.Table:
        """Some columns of all current items."""
        return to_table(self).select(columns)

    @property
    def repairs(self) -> str:
        """A short hash of all changes."""
        return repairs_id(self._repaired.values())


def read_repairs(folder: Path) -> dict[str, ItemRepair]:
    """People's changes of a run's items, by item."""
    try:
        repairs = read_json(folder / REPAIRED, _ItemRepairs, "run eyetest refine again").items
    except FileNotFoundError:
        return {}
    return {repair.item.id: repair for repair in repairs}


def write_repairs(folder: Path, repairs: Sequence[ItemRepair]) -> None:
    """Write the changes beside the answers; nothing where there are none."""
    if not repairs:
        store_of(folder).remove(folder / REPAIRED)
        return
    ordered = tuple(sorted(repairs, key=lambda repair: repair.item.id))
    write_json(folder / REPAIRED, _ItemRepairs(items=ordered))


def repairs_id(items: Iterable[Item]) -> str:
    """A short hash of some items' changes; empty where there are none."""
    texts = sorted(msgspec.json.encode(item, order="sorted") for item in items)
    return blake2b(b"\n".join(texts), digest_size=16).hexdigest() if texts else ""


def wording(item: Item) -> bytes:
    """A short hash of what a model is shown of an item."""
    shown: tuple[Any, ...] = (item.question, item.hint, [choice.text for choice in item.choices], item.images)
    shown += (item.media,) if item.media else ()
    return blake2b(msgspec.json.encode(shown), digest_size=16).digest()


def about_the_wording(repairs: Mapping[str, ItemRepair], items: Iterable[Item]) -> pl.Expr:
    """Which answers are to the current wording of items."""
    reworded = {name: repair for name, repair in repairs.items() if repair.requests is not None}
    other = [pl.lit(value=False)]
    for item in items if reworded else ():
        if (repair := reworded.get(item.id)) is not None:
            showed_new = is_in("request", repair.requests or ())
            is_new = wording(item) == wording(repair.item)
            other.append((pl.col("item") == item.id) & (~showed_new if is_new else showed_new))
    return ~pl.any_horizontal(other)


class ChangedItems(NamedTuple):
    """Items of a benchmark that people have changed since they were asked."""

    reworded: frozenset[str] = frozenset()
    regraded: frozenset[str] = frozenset()  # with the same wording and another gold


@lru_cache(maxsize=16)
def changed_items(asked: tuple[Path, str], now: tuple[Path, str]) -> ChangedItems:
    """What has changed since it was asked; benchmarks are compared by folder and fingerprint."""
    was = {item.id: item for item in Benchmark(asked[0])}
    both = [(was[item.id], item) for item in Benchmark(now[0]) if item.id in was]
    reworded = frozenset(new.id for old, new in both if wording(old) != wording(new))
    regraded = frozenset(new.id for old, new in both if (old.gold, old.references) != (new.gold, new.references))
    return ChangedItems(reworded, regraded - reworded)


class ScoreProvenance(msgspec.Struct, frozen=True, kw_only=True):
    """Rules, metric, benchmark and answers of a table of scores."""

    version: int = 2
    eyetest: str = __version__  # the version, since metrics may change between versions
    rules: str
    refusals: str  # the rules for refusals
    metric: str | None
    rescored: bool  # whether given scores were ignored where there was a text to score
    benchmark: str
    items: str
    repairs: str  # people's changes of the items by then
    finishes: str = ""  # the table of finish reasons, with the user's own words
    plan: str
    parts: dict[str, str]  # the parts with the answers, and a hash of each
    planned: int = 0
    answered: int = 0
    reworded: int = 0  # answers to an earlier wording, which have no score
    sure: float = 0.0  # readings that are right with a smaller probability are left unread
    forms: str = ""  # a hash of people's decisions on forms of replies
    judge: str = ""
    agreement: str = ""  # of the judge with the rules
    dropped_judge: str = ""  # the judge of an earlier table, whose readings are not in this one

    @property
    def unanswered(self) -> int:
        """Planned calls without an answer."""
        return self.planned - self.answered

    def metadata(self) -> dict[str, str]:
        """The table's metadata."""
        return {KEY: msgspec.json.encode(self).decode()}


def provenance(run: Run, benchmark: Benchmark, scorer: Scorer) -> ScoreProvenance:
    """The provenance of scores made now. Take it before answers are read: later ones are not covered."""
    return ScoreProvenance(
        rules=scorer.rules.version,
        refusals=RULE_SETS["eyetest"].version,
        metric=scorer.metric,
        rescored=scorer.rescore_given,
        benchmark=benchmark.manifest.fingerprint,
        items=content_id(items) if (items := benchmark.path / ITEMS).is_file() else "",
        repairs=benchmark.repairs if isinstance(benchmark, RepairedBenchmark) else "",
        finishes=finishes_version(named_finishes(run.path)),
        sure=scorer.sure,
        forms=scorer.forms.fingerprint,
        plan=content_id(run.path / PLAN),
        parts=part_ids(run.path),
    )


def read_provenance(table: Path) -> ScoreProvenance | None:
    """A table's provenance; None without one."""
    try:
        stored = pq.read_metadata(table).metadata or {}
        return msgspec.json.decode(stored[KEY.encode()], type=ScoreProvenance)
    except (OSError, KeyError, pa.ArrowException, msgspec.DecodeError):
        return None


def holds(made: ScoreProvenance, now: ScoreProvenance, folder: Path) -> bool:
    """Whether scores made then equal those made now."""
    if msgspec.structs.replace(made, **{name: getattr(now, name) for name in _OUTCOME}) != now:
        return False
    if any(now.parts.get(number) != part for number, part in made.parts.items()):
        return False
    new = [name for key in now.parts.keys() - made.parts.keys() if (name := PartName.parse(key))]
    frames = [frame.select("request") for name in new if (frame := part_frame(folder, name)) is not None]
    if not frames:
        return True
    # Parts that answer nothing of the plan hold only requests of judges and describers
    plan = scan_table(folder / PLAN).select("request")
    return pl.concat(frames).join(plan, on="request", how="semi").head(1).collect().is_empty()


_LONGEST_NAME = 40


def benchmark_of(run: Run, named: Benchmark | None = None, hint: str = "") -> Benchmark:
    """The benchmark of a run's answers: the named one, the one at its path, or the run's own copy.

    ``hint`` says how to name it where that is no option of the command.
    """
    hint = hint or f"name it with {param('bench')}"
    about = run.manifest.benchmark
    if named is not None:
        if about and about.fingerprint and about.fingerprint != named.manifest.fingerprint:
            _refuse_other_questions(run, named)
        if about is None:
            _refuse_other_items(run, named)
        _tell_damaged_copy(run)
        return named
    if about is None:
        raise InputError(f"{run.path} does not say what benchmark it is about; {hint}")
    if (asked := _as_asked(run)) is None:
        where = about.path or "a known place"
        raise InputError(f'the benchmark "{about.name}" is not at {where}; {hint}')
    repairs = {name: repair.item for name, repair in read_repairs(run.path).items()}
    return RepairedBenchmark(asked.path, repairs) if repairs else asked


def _tell_damaged_copy(run: Run) -> None:
    """Warn where the run's own copy of its benchmark is damaged, also while the benchmark itself is still there."""
    copy = run.path / BENCHMARK
    if is_benchmark(copy) and (damage := damage_of(copy)):
        hint = "or repeat the eyetest run, which copies it anew from the benchmark"
        warnings.warn(f"{damage}; {hint}", DamagedWarning, stacklevel=1)


def _refuse_other_items(run: Run, named: Benchmark) -> None:
    """Refuse a benchmark that has none of the items that a run without a benchmark answers."""
    with one_line_if_damaged(run.path):
        asked = set(scan_plan(run.path).select(pl.col("item").cast(pl.String)).unique().collect().to_series())
    if asked and not any(item.id in asked for item in named):
        raise InputError(f"{run.path} holds no answer to any item of {named.path}; it is about another benchmark")


def joined_by_id(run: Run, benchmark: Benchmark) -> str:
    """What to say of a run that names no benchmark: nothing but ids tells that its answers are about this one."""
    if run.manifest.benchmark is not None:
        return ""
    name = short(benchmark.manifest.name)
    return f"the answers name no benchmark: matched to {name} by id only, nothing to compare"


def _refuse_other_questions(run: Run, named: Benchmark) -> None:
    """Refuse a benchmark with a changed question or option, which was never asked; golds may differ."""
    kept = _kept(run)
    if kept is None:
        raise InputError(f"{run.path} holds answers to another version than {named.path}")
    prefix = prefix_in(run, named)
    asked = {prefix + item.id: {wording(item)} for item in kept}
    if not any(item.id in asked for item in named):
        raise InputError(f"{run.path} holds no answer to any item of {named.path}; it is about another benchmark")
    for name, repair in read_repairs(run.path).items():
        asked.setdefault(prefix + name, set()).add(wording(repair.item))
    for item in () if _is_revised(run, named) else named:
        if wording(item) not in asked.get(item.id, {wording(item)}):
            raise InputError(
                f"{named.path} asks something else than {run.path} did: item {short(item.id)} has changed"
            )


def prefix_in(run: Run, benchmark: Benchmark) -> str:
    """What is before the ids of a run's items in a pool of its benchmark; empty unless it is a source of one."""
    about = run.manifest.benchmark
    return benchmark.manifest.prefix_of(about.fingerprint) if about and about.fingerprint else ""


def _as_asked(run: Run) -> Benchmark | None:
    """The benchmark as it was asked: at the path that the run names, or the run's own copy; None if it is gone."""
    about, kept = run.manifest.benchmark, run.path / BENCHMARK
    if about and about.path and (asked := known_benchmark(about.path, about.fingerprint)):
        _tell_damaged_copy(run)
        return asked
    return Benchmark(kept) if is_benchmark(kept) else None


def _kept(run: Run) -> Benchmark | None:
    """The same, first from the run's own copy: it is there where the path cannot be reached."""
    return Benchmark(kept) if is_benchmark(kept := run.path / BENCHMARK) else _as_asked(run)


def _is_revised(run: Run, benchmark: Benchmark) -> bool:
    """Whether a benchmark is the run's, as revised by people."""
    about = run.manifest.benchmark
    return about is not None and benchmark.manifest.is_repaired(about.fingerprint)


def answers_of(run: Run, benchmark: Benchmark) -> pl.LazyFrame:
    """The answers of a run to a benchmark's items in their current wording; of a source, to the items of its pool."""
    refuse_gaps(run)
    answers, repairs = answers_frame(run.path), read_repairs(run.path)
    if prefix := prefix_in(run, benchmark):
        answers = answers.with_columns((prefix + pl.col("item").cast(pl.String)).alias("item"))
        repairs = {prefix + name: repair for name, repair in repairs.items()}
    reworded, regraded = (is_in("item", [*names]) for names in changed_since(run, benchmark))
    outdated = regraded & pl.col("given").is_not_null()  # a score that others gave by an earlier gold
    kept = ~reworded & ~(outdated & pl.col("text").is_null())
    answers = answers.filter(about_the_wording(repairs, benchmark), kept)
    return answers.with_columns(pl.when(~outdated).then("given").alias("given"))


def changed_since(run: Run, benchmark: Benchmark) -> ChangedItems:
    """What people have changed of a run's items, where a benchmark is a revision of theirs."""
    asked = _kept(run) if _is_revised(run, benchmark) else None
    if asked is None:
        return ChangedItems()
    changed = changed_items(*((bench.path.resolve(), bench.manifest.fingerprint) for bench in (asked, benchmark)))
    repairs = {name: repair for name, repair in read_repairs(run.path).items() if name in changed.reworded}
    shown = {name for name, repair in repairs.items() if wording(repair.item) == wording(benchmark[name])}
    return changed._replace(reworded=changed.reworded - shown)


def refuse_gaps(run: Run, covered: ScoreProvenance | None = None) -> None:
    """Refuse a run with missing stored answers: the rest would pass for all of them."""
    if not (run.path / PLAN).exists():
        raise InputError(f"{run.path} has no {PLAN}, so the items of its answers are unknown; restore it")
    refuse_lost(run.path, run.manifest.parts, covered.parts if covered else ())


def scores_of(
    run: Run, benchmark: Benchmark, scorer: Scorer, tell: Callable[[str], None] = lambda line: None
) -> tuple[pl.LazyFrame, ScoreProvenance]:
    """The current scores of a run, made anew only where those on disk are outdated."""
    path = table_path(run, benchmark, scorer)
    stored_scores = scan_table(path, _again(run)) if path.is_file() else None
    made = None if stored_scores is None else read_provenance(path)
    refuse_gaps(run, made)
    if made is None or not holds(made, provenance(run, benchmark, scorer), run.path):
        tell(f"scoring {run.path}")
        dropped = (made.judge or made.dropped_judge) if made else ""
        if not os.access(next(folder for folder in path.parents if folder.exists()), os.W_OK):
            frame, made = _scored(run, benchmark, scorer, dropped)  # the run of another user
            with one_line_if_damaged(run.path):
                return frame.collect(engine="streaming").lazy(), made
        made = read_provenance(score_run(run, benchmark, scorer, dropped))
        assert made is not None
        stored_scores = scan_table(path)
    assert stored_scores is not None
    return stored_scores.select(columns(Score)), made


def score_run(run: Run, benchmark: Benchmark, scorer: Scorer, dropped_judge: str = "") -> Path:
    """Score every answer of a run; returns the table's path. ``dropped_judge`` is noted in it."""
    path = table_path(run, benchmark, scorer)
    frame, made = _scored(run, benchmark, scorer, dropped_judge)
    with one_line_if_damaged(run.path), replacing_file(path) as file:
        try:
            frame.sink_parquet(file, compression="zstd", metadata=made.metadata())
        except pl.exceptions.ComputeError:
            with file.open("ab") as rest:  # a full disk is an OSError here, which Polars hides at the footer
                rest.write(bytes(2**16))
            raise
        add_checksum(file)
    return path


def _scored(
    run: Run, benchmark: Benchmark, scorer: Scorer, dropped_judge: str
) -> tuple[pl.LazyFrame, ScoreProvenance]:
    """The table and its provenance, taken first: answers that arrive meanwhile are not covered."""
    refuse_gaps(run)
    made = provenance(run, benchmark, scorer)
    with one_line_if_damaged(run.path):
        planned = scan_table(run.path / PLAN).select(pl.len()).collect().item()
        everything, answers = answers_frame(run.path), answers_of(run, benchmark)
        answered, about = (frame.select(pl.len()).collect().item() for frame in (everything, answers))
        if not answered:
            raise InputError(f"{run.path} holds no answer to any of its {planned:,} planned calls")
        made = msgspec.structs.replace(
            made, planned=planned, answered=answered, reworded=answered - about, dropped_judge=dropped_judge
        )
        return score_table(answers, benchmark, scorer), made


def table_path(run: Run, benchmark: Benchmark, scorer: Scorer) -> Path:
    """The path of scores, whose name states what is unusual about them."""
    words = [scorer.rules.name]
    if scorer.metric is not None:
        words.append(f"metric-{scorer.metric}")
    if scorer.sure:
        words.append(f"sure-{scorer.sure:g}".replace(".", "_"))
    if scorer.forms.decisions:
        words.append(f"forms-{scorer.forms.fingerprint}")
    if not _is_own(run, benchmark):
        name = re.sub(r"[^\w-]+", "-", benchmark.manifest.name)[:_LONGEST_NAME]
        words.append(f"bench-{name}-{benchmark.manifest.fingerprint[:8]}".rstrip("-"))
    if scorer.rescore_given:
        words.append("rescored")
    return run.path / SCORES / f"{'.'.join(words)}.parquet"


def _is_own(run: Run, benchmark: Benchmark) -> bool:
    """Whether a benchmark is, including golds, the run's own."""
    about = run.manifest.benchmark
    if about is None:
        return False
    repairs = benchmark.repairs if isinstance(benchmark, RepairedBenchmark) else ""
    if repairs != repairs_id(repair.item for repair in read_repairs(run.path).values()):
        return False
    if about.fingerprint:
        return about.fingerprint == benchmark.manifest.fingerprint
    return bool(about.path) and about.path == as_stored(str(benchmark.path.resolve()))


_CHOSEN = "chosen.json"


class ChosenScoring(msgspec.Struct, frozen=True, kw_only=True):
    """By whose rules and by which answer key the answers of a run count."""

    version: int = 1
    rules: str = "eyetest"
    metric: str | None = None
    bench: str = ""  # the benchmark that has the answer key, where it is not the one that was asked
    rescore_given: bool = False
    sure: float = 0.0
    forms: dict[str, FormDecision] = {}  # people's decisions on forms of replies
    shared_by: dict[str, int] = {}  # by form of the file of decisions how many replies have it


def chosen_scoring(run: Run) -> ChosenScoring:
    """The scoring that was chosen for a run; the default where none was."""
    try:
        return read_json(run.path / SCORES / _CHOSEN, ChosenScoring, _again(run))
    except FileNotFoundError:
        return ChosenScoring()


def chosen_scorer(run: Run) -> Scorer:
    """Reads and scores the answers of a run as was chosen."""
    chosen = chosen_scoring(run)
    forms = FormDecisions(chosen.forms, chosen.shared_by)
    return Scorer(chosen.rules, chosen.metric, rescore_given=chosen.rescore_given, sure=chosen.sure, forms=forms)


def choose_scoring(run: Run, scorer: Scorer, bench: Path | None) -> None:
    """Use this scoring of a run from now on; ``bench`` has the answer key, where it is not the run's own."""
    named: dict[str, Any] = {} if bench is None else {"bench": as_stored(str(bench.absolute()))}
    named |= {"sure": scorer.sure, "forms": dict(scorer.forms.decisions), "shared_by": dict(scorer.forms.shared_by)}
    chosen = ChosenScoring(rules=scorer.rules.name, metric=scorer.metric, rescore_given=scorer.rescore_given, **named)
    write_json(run.path / SCORES / _CHOSEN, chosen)


def chosen_benchmark(run: Run) -> Benchmark | None:
    """The benchmark whose answer key was chosen for a run; None where it is the run's own."""
    if not (bench := chosen_scoring(run).bench):
        return None
    if not (path := known_path(bench)).exists():
        raise InputError(f"{run.path} is scored by the answer key of {bench}, which does not exist; {_again(run)}")
    return open_benchmark(path, ReadOptions(gold_required=False))


def _again(run: Run) -> str:
    return f"score it again: {typed('eyetest', 'score', run.path)}"
