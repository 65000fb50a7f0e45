"""Stopping early, by a rule or when one model leads: verdicts of the full run, and no call that was not needed."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.models import Call, CallError, parse_models
from eyetest.records import Condition, Item, Response, StoppingRule, Tally
from eyetest.records.tables import Cut
from eyetest.running import Asking, Limits, Plan, Progress, Runner, Session, execute_panels
from eyetest.running.execution import Waves
from eyetest.runs import Run, read_responses
from tests.endpoint import draw as chance
from tests.running.benches import BareModel, make_bench
from tests.scoring.test_table import animals
from tests.scoring.test_table import make_bench as write_bench

MMMU_PRO = StoppingRule(answers=Cut(op=">", value=5), samples=10, falls=Cut(op=">=", value=3), models=4)
OPERATORS = ("<", "<=", "==", ">=", ">")
Table = list[list[bool | None]]
"""By model and sample: whether it would hit; None where the call would fail."""


def truth(rule: StoppingRule, table: Table) -> bool | None:
    """The verdict of the full run; None where failed calls leave it open."""
    return rule.verdict([tally_of(rule, row) for row in table])


def in_waves(rule: StoppingRule, table: Table) -> tuple[bool | None, list[str], list[list[str]]]:
    panel = Waves(rule, [len(row) for row in table])
    waves = []
    while wave := panel.wave():
        waves.append([f"{model}-{sample}" for model, sample in wave])
        for model, sample in wave:
            panel.observed[model].append(table[model][sample])
        assert len(waves) < 1_000
    return panel.verdict, [call for wave in waves for call in wave], waves


def one_by_one(rule: StoppingRule, table: Table) -> list[str]:
    """Ask a single call at a time, model after model, and look after each whether that was enough."""
    observed: Table = [[] for _ in table]
    asked: list[str] = []
    for model, row in enumerate(table):
        for sample, hit in enumerate(row):
            if truth(rule, observed) is not None:
                return asked
            if rule.model_answers(tally_of(rule, observed[model])) is not None:
                break
            asked.append(f"{model}-{sample}")
            observed[model].append(hit)
    return asked


def cuts(most: int) -> st.SearchStrategy[Cut]:
    return st.builds(Cut, op=st.sampled_from(OPERATORS), value=st.integers(0, most))


@st.composite
def rules_and_tables(draw: st.DrawFn) -> tuple[StoppingRule, Table]:
    samples, models = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    rule = StoppingRule(answers=draw(cuts(samples)), samples=samples, falls=draw(cuts(models)), models=models)
    hit = st.sampled_from([True, False, None])
    table = draw(st.lists(st.lists(hit, min_size=samples, max_size=samples), min_size=models, max_size=models))
    missing = draw(st.sets(st.integers(0, models - 1), max_size=1))
    return rule, [[] if place in missing else row for place, row in enumerate(table)]


@given(rules_and_tables())
def test_the_verdict_is_that_of_the_full_run(case: tuple[StoppingRule, Table]) -> None:
    rule, table = case
    verdict, asked, _ = in_waves(rule, table)
    assert len(set(asked)) == len(asked)
    full = truth(rule, table)
    assert verdict == full
    if full is None:
        decided = [rule.model_answers(tally_of(rule, row)) for row in table]
        for model, row in enumerate(table):
            if decided[model] is None:
                assert {f"{model}-{sample}" for sample in range(len(row))} <= set(asked), "nothing was left untried"


def tally_of(rule: StoppingRule, row: Sequence[bool | None]) -> Tally:
    known = [hit for hit in row if hit is not None]
    return Tally(hits=sum(known), unknown=rule.samples - len(known))


@given(rules_and_tables())
def test_no_wave_holds_a_call_that_asking_one_by_one_would_have_saved(case: tuple[StoppingRule, Table]) -> None:
    rule, table = case
    _, asked, waves = in_waves(rule, table)
    assert sorted(asked) == sorted(one_by_one(rule, table))
    assert len(waves) <= max(1, len(asked))


def test_waves_are_as_large_as_they_can_be() -> None:
    assert Waves(MMMU_PRO, [10] * 4).wave() == [(m, t) for m in range(2) for t in range(5)]


def simulated(items: int) -> dict[str, Table]:
    """Four models of mixed skill, items of mixed difficulty, one call in fifty failed."""
    found = {}
    for number in range(items):
        ease = chance("ease", number)
        rows: Table = []
        for model, skill in enumerate((0.9, 0.7, 0.5, 0.3)):
            rate = min(0.97, max(0.03, skill + (ease - 0.5) * 1.2))
            draws = [chance("hit", number, model, sample) for sample in range(10)]
            fails = [chance("fail", number, model, sample) < 0.02 for sample in range(10)]
            rows.append([None if fail else drawn < rate for drawn, fail in zip(draws, fails, strict=True)])
        found[f"q{number}"] = rows
    return found


class TableModel(BareModel):
    """A model that says what a table tells it to."""

    def __init__(self, name: str, place: int, tables: dict[str, Table]) -> None:
        super().__init__(name, place)
        self._place, self._tables = place, tables

    async def answer(self, call: Call) -> Response:
        hit = self._tables[call.asked.item][self._place][call.asked.sample]
        if hit is None:
            raise CallError("bad-request", "400: cannot")
        return Response(request=call.id, outcome="answered", text="yes" if hit else "no")


def says_yes(item: Item, condition: Condition, response: Response) -> bool | None:
    return None if response.outcome == "failed" else response.text == "yes"


def bare_bench(path: Path, items: int) -> Benchmark:
    return write_bench(path, [Item(id=f"q{n}", question=f"Is it {n}?", references=("yes",)) for n in range(items)])


class Asker:
    """Puts tables to the running room, and keeps what was stored."""

    def __init__(self, bench: Benchmark, tables: dict[str, Table], rule: StoppingRule) -> None:
        models = len(next(iter(tables.values())))
        self.rule, self.tables = rule, tables
        self.stored: dict[str, Response] = {}
        self.log: list[str] = []
        self.models = [TableModel(f"m{place}", place, tables) for place in range(models)]
        self.plan = Plan(bench, self.models, Asking(samples=rule.samples))

    def run(self, *, after: int | None = None) -> Progress:
        async def work() -> Progress:
            def store(response: Response) -> None:
                self.log.append(response.request)
                self.stored[response.request] = response
                if after is not None and len(self.log) >= after:
                    runner.stop("enough")

            runner = Runner(self.models, store)
            runner.progress.to_ask = self.plan.estimate()[0].calls
            async with runner:
                await execute_panels(self.plan, runner, self.rule, says_yes, dict(self.stored).get)
            return runner.progress

        return asyncio.run(work())

    def verdicts(self) -> dict[str, bool | None]:
        """What can be said from what is stored alone."""
        found = {}
        for item in self.plan.items():
            observed: Table = [[] for _ in self.models]
            for call in self.plan.calls(item, self.models):
                assert isinstance(call, Call)
                if call.id in self.stored:
                    observed[int(call.asked.model[1:])].append(says_yes(item, Condition(), self.stored[call.id]))
            found[item.id] = self.rule.verdict([tally_of(self.rule, row) for row in observed])
        return found


@pytest.mark.journey
def test_a_thousand_items_of_four_models_and_ten_samples(tmp_path: Path) -> None:
    tables = simulated(1_000)
    rule = MMMU_PRO
    asker = Asker(bare_bench(tmp_path / "b", 1_000), tables, rule)
    progress = asker.run()
    assert asker.verdicts() == {name: truth(rule, table) for name, table in tables.items()}
    asked = len(asker.log)
    saved = 1 - asked / 40_000
    assert len(set(asker.log)) == asked
    assert sum(len(one_by_one(rule, table)) for table in tables.values()) == asked
    assert saved >= 0.35
    assert progress.saved == 40_000 - asked


@pytest.mark.parametrize("seed", range(3))
def test_an_interrupted_run_asks_the_same_calls_as_an_uninterrupted_one(tmp_path: Path, seed: int) -> None:
    tables = simulated(40)
    rule = MMMU_PRO
    bench = bare_bench(tmp_path / "b", 40)
    whole = Asker(bench, tables, rule)
    whole.run()
    broken = Asker(bench, tables, rule)
    sessions = 0
    while True:
        before = len(broken.log)
        broken.run(after=before + 1 + int(200 * chance(seed, sessions)))
        sessions += 1
        if len(broken.log) == before:
            break
    assert sessions >= 4
    assert len(broken.log) == len(set(broken.log))
    assert set(broken.log) == set(whole.log)
    assert broken.verdicts() == whole.verdicts()


def test_items_that_share_a_request_are_judged_each_by_its_own_gold(tmp_path: Path) -> None:
    """Two items that differ only in which choice is right give the same prompt: one answer, two judgements."""
    bench = write_bench(tmp_path / "b", [animals("first", 0), animals("second", 1)])
    answered: list[str] = []
    judged: list[tuple[str, bool]] = []

    class Left(TableModel):
        async def answer(self, call: Call) -> Response:
            answered.append(call.asked.model)
            return Response(request=call.id, outcome="answered", text="A")

    def hit(item: Item, condition: Condition, response: Response) -> bool:
        judged.append((item.id, 0 in item.gold))
        return judged[-1][1]

    models = [Left(name, place, {}) for place, name in enumerate(("m0", "m1"))]
    rule, plan = StoppingRule(models=2), Plan(bench, models, Asking())
    plan.estimate()

    async def work() -> None:
        async with Runner(models, lambda response: None) as runner:
            await execute_panels(plan, runner, rule, hit, lambda request: None)

    asyncio.run(work())
    assert Counter(answered) == {"m0": 1, "m1": 1}, "the second item is missed by the first model, so both are asked"
    assert sorted(set(judged)) == [("first", True), ("second", False)]


ITEMS = 200
LIMITS = Limits(backoff=0.0, concurrency=7)


def says_gold(item: Item, condition: Condition, response: Response) -> bool | None:
    return None if response.outcome == "failed" else response.text == "ABCD"[item.gold[0]]


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    return make_bench(tmp_path / "b", ITEMS)


def raced(bench: Benchmark, rates: tuple[float, float], **more: Any) -> Session:
    """Two models that are right so often, asked until one leads."""
    specs = parse_models([f"one=scripted:right={rates[0]},seed=1", f"two=scripted:right={rates[1]},seed=2"])
    how: dict[str, Any] = {"until": "one>two", "limits": LIMITS, **more}
    return Session(bench, specs, Asking(**how), hit=says_gold)


def requests(run: Path) -> set[str]:
    return {response.request for response in read_responses(run)}


@pytest.mark.parametrize(("rates", "leader"), [((0.9, 0.4), "one leads two"), ((0.4, 0.9), "two leads one")])
def test_it_ends_early_with_who_leads(
    tmp_path: Path, bench: Benchmark, rates: tuple[float, float], leader: str
) -> None:
    session = raced(bench, rates)
    progress = session.run(tmp_path / "r")
    assert session.race is not None
    assert session.race.finding.startswith(f"{leader} on the whole benchmark, by between ")
    assert len(requests(tmp_path / "r")) == progress.done < ITEMS
    assert progress.saved == 2 * ITEMS - progress.done
    assert progress.left == 0
    assert Run(tmp_path / "r").manifest.steps[-1].options["until"] == "one>two"


def test_in_pieces_the_same_is_asked_and_told_as_at_once(tmp_path: Path, bench: Benchmark) -> None:
    whole = raced(bench, (0.9, 0.4))
    whole.run(tmp_path / "whole")
    for _ in range(20):
        piece = raced(bench, (0.9, 0.4), limits=Limits(backoff=0.0, concurrency=7, calls=23))
        if not piece.run(tmp_path / "pieces").done:
            break
    assert requests(tmp_path / "pieces") == requests(tmp_path / "whole")
    assert whole.race is not None
    assert piece.race is not None
    assert piece.race.finding == whole.race.finding


def test_equals_are_asked_everything_and_found_level(tmp_path: Path, bench: Benchmark) -> None:
    session = raced(bench, (1.0, 1.0))
    assert session.run(tmp_path / "r").done == 2 * ITEMS
    assert session.race is not None
    assert session.race.finding == "one and two are level on all 200 items"


def test_where_calls_fail_nobody_gains(tmp_path: Path, bench: Benchmark) -> None:
    specs = parse_models(["one=scripted:right=1.0", "two=scripted:right=1.0,fail=1.0"])
    asking = Asking(until="one>two", limit=30, limits=Limits(backoff=0.0, attempts=1))
    session = Session(bench, specs, asking, hit=says_gold)
    session.run(tmp_path / "r")
    assert session.race is not None
    expected = "one and two are level on all 30 items; on 30 that one of both has no score on, they count as level"
    assert session.race.finding == expected


def test_what_is_no_race_is_refused(bench: Benchmark) -> None:
    with pytest.raises(InputError, match="in one way, once"):
        raced(bench, (0.9, 0.4), samples=2)
