"""What is left is cut so that nothing is lost, nothing doubled, and what belongs together stays together."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.models import Surroundings, make_models, parse_models
from eyetest.records import Condition
from eyetest.running import Budget, Limits, Plan
from eyetest.running.cluster.pieces import Portion, add_told, by_panel, by_picture, fit, told_of
from eyetest.running.ledger import Left
from eyetest.running.progress import Progress
from tests.running.benches import make_bench

BLIND_AND_NOT = (Condition(), Condition(sight="blind"))


@pytest.fixture
def planned(tmp_path: Path) -> tuple[Plan, Left]:
    bench = make_bench(tmp_path / "b", 60, pictures=7)
    models = make_models(parse_models(["a=scripted:", "b=scripted:right=0.4"]), Surroundings())
    plan = Plan(bench, models, BLIND_AND_NOT)
    return plan, plan.estimate()[1]


@pytest.mark.parametrize("workers", [1, 2, 50])
def test_each_call_is_in_one_piece_and_a_picture_too(planned: tuple[Plan, Left], workers: int) -> None:
    plan, left = planned
    groups = plan.benchmark.picture_groups()[np.asarray(plan.positions)]
    seen = []
    for model in (0, 1):
        portions = list(by_picture(left, groups, model, workers))
        pictures = [set(portion.groups.tolist()) for portion in portions]
        assert sum(map(len, pictures)) == len(set.union(*pictures)) == 7
        assert len(portions) <= 7
        assert set(left.ledger.models[np.concatenate([portion.rows for portion in portions])]) == {model}
        seen += [row for portion in portions for row in portion.rows.tolist()]
    assert sorted(seen) == list(range(240))


def test_items_that_share_a_request_are_in_one_panel_piece(tmp_path: Path) -> None:
    """Blind, items about different pictures are the same question."""
    bench = make_bench(tmp_path / "b", 40, pictures=20)
    models = make_models(parse_models(["a=openai:m@http://127.0.0.1:9/v1"]), Surroundings())
    plan = Plan(bench, models, BLIND_AND_NOT)
    left = plan.estimate()[1]
    ledger = left.ledger
    groups = plan.benchmark.picture_groups()[np.asarray(plan.positions)]
    ledger.codes = ledger.codes.copy()
    blind = np.flatnonzero(np.arange(80) % 2)
    ledger.codes[blind[3]], ledger.codes[blind[30]] = ledger.codes[blind[11]], ledger.codes[blind[12]]
    portions = list(by_panel(left, groups, 8))
    assert sorted(row for portion in portions for row in portion.rows.tolist()) == list(range(80))
    pieces = [set(ledger.codes[portion.rows].tolist()) for portion in portions]
    assert sum(map(len, pieces)) == len(set.union(*pieces)) == 78
    assert len(portions) > 4


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40).map(sorted), st.integers(0, 60), st.integers(0, 4_000))
def test_what_may_be_spent_is_never_passed(pictures: list[int], calls: int, tokens: int) -> None:
    portion = Portion(np.arange(len(pictures)), np.array(pictures))
    each = np.arange(len(pictures), dtype=np.int64) * 7 + 1
    number = fit(portion, (each, each.astype(np.float64)), (calls, tokens, 1e9))
    assert number <= calls
    assert each[:number].sum() <= tokens
    assert number in (0, *portion.ends)
    larger = [end for end in portion.ends if end > number]
    assert not larger or larger[0] > calls or each[: larger[0]].sum() > tokens
    first, rest = portion.cut(number)
    assert [*first.rows, *rest.rows] == list(range(len(pictures)))


def test_what_workers_tell_adds_up_whoever_is_heard_first() -> None:
    total, workers = Progress(), [Progress(), Progress()]
    heard = [told_of(worker) for worker in workers]
    for step in range(6):
        worker = workers[step % 2]
        worker.outcomes["answered"] += 5
        worker.tokens_in += 100
        worker.money += 0.5
        now = told_of(worker)
        assert add_told(total, heard[step % 2], now) == (100, 0.5)
        heard[step % 2] = now
        assert add_told(total, heard[step % 2], now) == (0, 0.0)
    assert (total.done, total.tokens_in, total.money) == (30, 600, 3.0)


def test_a_budget_says_how_much_room_it_has() -> None:
    budget = Budget(Limits(calls=10, tokens=1_000))
    first = budget.refuses(300, 0.0, calls=4)
    assert (first, budget.room) == ("", (6, 700, float("inf")))
    assert budget.refuses(10, 0.0, calls=7) == "the limit of 10 calls is reached"
    budget.settle((300, 0.0), (120, 0.0))
    assert budget.room[1] == 880


def test_panels_whose_answers_are_there_are_not_cut_into_pieces(planned: tuple[Plan, Left]) -> None:
    plan, left = planned
    groups = plan.benchmark.picture_groups()[np.asarray(plan.positions)]
    left._when[:] = 0
    assert list(by_panel(left, groups, 2)) == []
