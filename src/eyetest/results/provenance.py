"""What a table of scores was made from, which decides whether it still holds: rules, benchmark, answers, mends.

Contents are compared, never the times of files, which copies scramble; parts of answers are told apart by their sizes
and ends. People may mend an item after a run asked about it: a gold may change under an answer, a question or an
option may not. A mended wording counts with the answers of those who were shown it, and with no others.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from eyetest.benchmarks import Benchmark, itemtable
from eyetest.benchmarks.folder import ITEMS
from eyetest.errors import InputError
from eyetest.records import Item
from eyetest.runs import Run
from eyetest.runs.folder import MENDED
from eyetest.runs.parts import PartName, content_id, part_ids
from eyetest.runs.plan import PLAN, scan_table
from eyetest.runs.stored import part_frame
from eyetest.scoring import Scorer
from eyetest.scoring.rules import RULE_SETS
from eyetest.store import replacing_file, store_of
from eyetest.version import __version__

KEY = "eyetest.scores"
"""Under which name it stands among the table's own metadata."""
_OUTCOME = ("parts", "planned", "answered", "reworded", "judge", "dropped_judge")
"""What is not compared field by field."""


class Mend(msgspec.Struct, frozen=True, kw_only=True):
    """An item as people left it."""

    item: Item
    requests: tuple[str, ...] | None = None
    """The requests that showed its new wording; None where the wording is the old one and every answer counts."""


class _Mends(msgspec.Struct, frozen=True, kw_only=True):
    version: int = 1
    items: tuple[Mend, ...] = ()


class MendedBenchmark(Benchmark):
    """A benchmark with some of its items as people left them."""

    def __init__(self, path: Path, items: Mapping[str, Item]) -> None:
        super().__init__(path)
        self._mended = items

    def __iter__(self) -> Iterator[Item]:
        return (self._mended.get(item.id, item) for item in super().__iter__())

    def take(self, positions: Sequence[int]) -> list[Item]:
        """The items at some positions, as they are now."""
        return [self._mended.get(item.id, item) for item in super().take(positions)]

    def table(self, columns: Sequence[str]) -> pa.Table:
        """Some columns of all items, as they are now."""
        return itemtable.to_table(self).select(columns)

    def _proven(self) -> None:
        """What lies on disk are the items as they were."""

    @property
    def mends(self) -> str:
        """A short name for all that was changed."""
        return mends_id(self._mended.values())


def read_mends(folder: Path) -> dict[str, Mend]:
    """What people have changed of a run's items, by item."""
    try:
        text = (folder / MENDED).read_bytes()
    except FileNotFoundError:
        return {}
    try:
        return {mend.item.id: mend for mend in msgspec.json.decode(text, type=_Mends).items}
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{folder / MENDED} is damaged: {error}; run eyetest refine again") from None


def write_mends(folder: Path, mends: Sequence[Mend]) -> None:
    """Write them down beside the answers; nothing where nothing was changed."""
    if not mends:
        store_of(folder).remove(folder / MENDED)
        return
    ordered = tuple(sorted(mends, key=lambda mend: mend.item.id))
    with replacing_file(folder / MENDED) as path:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(_Mends(items=ordered)), indent=2) + b"\n")


def mends_id(items: Iterable[Item]) -> str:
    """A short name for what some items were changed to; empty where there are none."""
    texts = sorted(msgspec.json.encode(item, order="sorted") for item in items)
    return blake2b(b"\n".join(texts), digest_size=16).hexdigest() if texts else ""


def wording(item: Item) -> bytes:
    """What a model is shown of an item, as a short name."""
    shown = (item.question, item.hint, [choice.text for choice in item.choices], item.images)
    return blake2b(msgspec.json.encode(shown), digest_size=16).digest()


def about_the_wording(mends: Mapping[str, Mend], items: Iterable[Item]) -> pl.Expr:
    """Which answers are to the wording that items have now."""
    reworded = {name: mend for name, mend in mends.items() if mend.requests is not None}
    other = [pl.lit(value=False)]
    for item in items if reworded else ():
        if (mend := reworded.get(item.id)) is not None:
            showed_new = pl.col("request").is_in(pl.Series(mend.requests, dtype=pl.String).implode())
            is_new = wording(item) == wording(mend.item)
            other.append((pl.col("item") == item.id) & (~showed_new if is_new else showed_new))
    return ~pl.any_horizontal(other)


class ChangedItems(NamedTuple):
    """Items of a benchmark that people have changed since they were asked."""

    reworded: frozenset[str] = frozenset()
    regraded: frozenset[str] = frozenset()
    """Worded as before, with another gold."""

    def count_only(self, answers: pl.LazyFrame) -> pl.LazyFrame:
        """Answers to the wording that items have now, without scores that others gave by a gold of before."""
        reworded, regraded = (pl.col("item").is_in(pl.Series([*names], dtype=pl.String).implode()) for names in self)
        outdated = regraded & pl.col("given").is_not_null()
        kept = answers.filter(~reworded & ~(outdated & pl.col("text").is_null()))
        return kept.with_columns(pl.when(~outdated).then("given").alias("given"))


@lru_cache(maxsize=16)
def changed_items(asked: tuple[Path, str], now: tuple[Path, str]) -> ChangedItems:
    """What is not as it was asked. A benchmark goes by its folder and its fingerprint, which says what is in it."""
    was = {item.id: item for item in Benchmark(asked[0])}
    both = [(was[item.id], item) for item in Benchmark(now[0]) if item.id in was]
    reworded = frozenset(new.id for old, new in both if wording(old) != wording(new))
    regraded = frozenset(new.id for old, new in both if (old.gold, old.references) != (new.gold, new.references))
    return ChangedItems(reworded, regraded - reworded)


class ScoreProvenance(msgspec.Struct, frozen=True, kw_only=True):
    """Rules, metric, benchmark and answers of a table of scores."""

    version: int = 1
    eyetest: str = __version__
    """The package, whose metrics may change from one version to the next."""
    rules: str
    refusals: str
    """The rules by which a text is read as a refusal."""
    metric: str | None
    rescored: bool
    """Whether scores that others gave were left aside where there were words to score."""
    benchmark: str
    items: str
    mends: str
    """What people had changed of the items by then."""
    plan: str
    parts: dict[str, str]
    """The parts that the answers lay in, and what each held."""
    planned: int = 0
    answered: int = 0
    reworded: int = 0
    """Answers to a wording that people have changed since, which have no score."""
    judge: str = ""
    """The model that read what the rules could not."""
    dropped_judge: str = ""
    """One that had read for an earlier table; its readings are not in this one."""

    @property
    def unanswered(self) -> int:
        """Planned calls that had no answer."""
        return self.planned - self.answered

    def metadata(self) -> dict[str, str]:
        """As it is written into the table."""
        return {KEY: msgspec.json.encode(self).decode()}


def provenance(run: Run, benchmark: Benchmark, scorer: Scorer) -> ScoreProvenance:
    """What scores would be made from now. Take it before the answers are read: what comes after it is missed then."""
    return ScoreProvenance(
        rules=scorer.rules.version,
        refusals=RULE_SETS["eyetest"].version,
        metric=scorer.metric,
        rescored=scorer.rescore_given,
        benchmark=benchmark.manifest.fingerprint,
        items=_items_id(benchmark),
        mends=benchmark.mends if isinstance(benchmark, MendedBenchmark) else "",
        plan=content_id(run.path / PLAN),
        parts=part_ids(run.path),
    )


def _items_id(benchmark: Benchmark) -> str:
    """What the folder holds besides what it says of itself; where there is nothing, reading it tells."""
    path = benchmark.path / ITEMS
    return content_id(path) if path.is_file() else ""


def read_provenance(table: Path) -> ScoreProvenance | None:
    """What a table says of itself; None where there is none, or none that says so."""
    try:
        said = pq.read_metadata(table).metadata or {}
        return msgspec.json.decode(said[KEY.encode()], type=ScoreProvenance)
    except (OSError, KeyError, pa.ArrowException, msgspec.DecodeError):
        return None


def holds(made: ScoreProvenance, now: ScoreProvenance, folder: Path) -> bool:
    """Whether scores that were made then are those that would be made now."""
    if any(getattr(made, name) != getattr(now, name) for name in _COMPARED):
        return False
    if any(now.parts.get(number) != part for number, part in made.parts.items()):
        return False
    new = now.parts.keys() - made.parts.keys()
    return not new or not _are_planned(folder, new)


_COMPARED = [name for name in ScoreProvenance.__struct_fields__ if name not in _OUTCOME]


def _are_planned(folder: Path, parts: set[str]) -> bool:
    """Whether some parts answer anything of the plan, and not only what judges and describers were asked."""
    names = [name for key in parts if (name := PartName.parse(key))]
    frames = [frame.select("request") for name in names if (frame := part_frame(folder, name)) is not None]
    if not frames:
        return False
    plan = scan_table(folder / PLAN).select("request")
    return bool(pl.concat(frames).join(plan, on="request", how="semi").head(1).collect().height)
