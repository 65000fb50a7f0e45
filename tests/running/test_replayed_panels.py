"""MathVista's eight text runs asked again, with and without a stopping rule; the early verdicts are those of all."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import polars as pl
import pytest

from eyetest.benchmarks import Benchmark
from eyetest.models import parse_models
from eyetest.records import Condition, Item, StoppingRule
from eyetest.records.tables import Cut
from eyetest.results.scores import score_run
from eyetest.running import Asking, Limits, Session
from eyetest.runs import Run
from eyetest.scoring import Scorer, is_hit
from tests.running.benches import read_scores
from tests.running.test_panels import Table, one_by_one, truth
from tests.scoring.test_oracles import bring
from tests.scoring.test_table import make_bench

pytestmark = pytest.mark.journey

RULE = StoppingRule(falls=Cut(op="<=", value=2), models=8)
BLIND = (Condition(modality="no-image"),)
MODELS = (
    *("gpt-4-0613 zero-shot", "gpt-4-0613 2-shot-cot", "gpt-4-0613 2-shot-pot"),
    *("gpt-3.5-turbo zero-shot", "gpt-3.5-turbo 2-shot-cot", "gpt-3.5-turbo 2-shot-pot"),
    *("claude-2 zero-shot", "claude-2 2-shot-cot"),
)
Verdicts = dict[str, bool | None]


def numbered(item: Item) -> Item:
    """Without images 126 of these items ask the same as another, and equal requests share one answer."""
    question = f"[{item.id}] {item.question}"
    return msgspec.structs.replace(item, question=question, images=(), description="")


@pytest.fixture(scope="module")
def source(real_benchmark: Callable[[str], Benchmark]) -> Benchmark:
    return real_benchmark("mathvista")


@pytest.fixture(scope="module")
def bench(source: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return make_bench(tmp_path_factory.mktemp("numbered") / "b", map(numbered, source))


@pytest.fixture(scope="module")
def recorded(shared: Path, source: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What was answered, with the published flags as given scores and no texts, which are not needed then.

    Two answers have no flag and are left as failed calls: nobody knows whether they hit.
    """
    to = tmp_path_factory.mktemp("recorded") / "run"
    maps = ("item=item_id,given=correct_if_given", "model=model+setting")
    said = {"constants": ("modality=no-image,sample=0",), "where": ("condition=text",)}
    return bring(shared / "data/mathvista/predictions.parquet", to, source, maps, **said).path


def session(bench: Benchmark, recorded: Path, models: tuple[str, ...], stop: StoppingRule | None = None) -> Session:
    entries = parse_models([f"{name}=replay:{recorded}#{name}" for name in models])
    asking = Asking(conditions=BLIND, stop=stop, limits=Limits(backoff=0.0, attempts=1))
    return Session(bench, entries, asking, hit=is_hit)


def tallies(bench: Benchmark, run: Path) -> dict[str, dict[str, bool]]:
    """By item and model: whether it hit, where that is known."""
    score_run(Run(run), bench, Scorer())
    found: dict[str, dict[str, bool]] = {item.id: {} for item in bench}
    for item, model, score in read_scores(run).select("item", "model", "score").rows():
        if score is not None:
            found[item][model] = score >= 0.5
    return found


def verdicts(known: dict[str, dict[str, bool]]) -> Verdicts:
    """What the rule says from what is known; None where it could still go either way."""
    return {item: truth(RULE, table(hits, MODELS)) for item, hits in known.items()}


def table(hits: dict[str, bool], models: tuple[str, ...]) -> Table:
    return [[hits.get(model)] for model in models]


@pytest.fixture(scope="module")
def full(bench: Benchmark, recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bool]]:
    to = tmp_path_factory.mktemp("full") / "run"
    progress = session(bench, recorded, MODELS).run(to)
    assert (progress.to_ask, progress.saved) == (8_000, 0)
    full = tallies(bench, to)
    assert Counter(verdicts(full).values()) == {False: 365, True: 635}, "as by the published flags"
    return full


ORDERS = {"as listed": MODELS} | {f"seed {n}": tuple(random.Random(n).sample(MODELS, 8)) for n in (1, 2)}


@pytest.mark.parametrize("models", ORDERS.values(), ids=ORDERS)
def test_stopping_early_ends_in_the_same_verdicts(
    tmp_path: Path,
    bench: Benchmark,
    recorded: Path,
    full: dict[str, dict[str, bool]],
    models: tuple[str, ...],
) -> None:
    progress = session(bench, recorded, models, RULE).run(tmp_path / "run")
    early = tallies(bench, tmp_path / "run")
    assert all(early[item].items() <= full[item].items() for item in full)
    assert verdicts(early) == verdicts(full)
    assert progress.done == sum(len(one_by_one(RULE, table(hits, models))) for hits in full.values())
    assert progress.saved == 8_000 - progress.done
    assert sum(map(len, early.values())) == progress.done - progress.outcomes["failed"]


def test_a_replay_gives_each_item_its_own_answer(tmp_path: Path, source: Benchmark, recorded: Path) -> None:
    """Blind, 126 of MathVista's items ask what another asks. Their recorded answers differ, and so do their flags."""
    name = MODELS[1]
    asking = Asking(conditions=BLIND, limits=Limits(backoff=0.0, attempts=1))
    Session(source, parse_models([f"{name}=replay:{recorded}#{name}"]), asking).run(tmp_path / "run")
    flags = []
    for run in (recorded, tmp_path / "run"):
        score_run(Run(run), source, Scorer())
        mine = read_scores(run).filter(pl.col("model") == name).sort("item")
        flags.append(mine.select("item", "score").rows())
    assert len(flags[0]) == len(flags[1]) == 1_000
    assert flags[0] == flags[1], "each item is replayed with its own flag"
