"""Pieces are handed out until nothing is left, whoever dies meanwhile: against workers that die on command."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ray.exceptions import ActorDiedError

from eyetest.errors import EyetestError
from eyetest.models import Surroundings, make_models
from eyetest.records import Condition, ModelEntry, Response
from eyetest.records.settings import Price
from eyetest.running import Budget, Limits, Plan, Progress
from eyetest.running.cluster.handing import Handing, Lane
from eyetest.running.cluster.pieces import Piece, Told, by_picture, told_of
from eyetest.running.cluster.workers import Worker, Workers
from eyetest.runs import Journal, read_responses
from tests.running.benches import make_bench


class Method:
    """A method of an actor, called as Ray's are."""

    def __init__(self, work: Callable[..., Any]) -> None:
        self.remote = work


class Actor:
    """Answers everything, except that what is deadly kills it half-way."""

    def __init__(self, folder: Path, name: str, deadly: Callable[["Actor", Piece], bool]) -> None:
        self.folder, self.name, self._deadly, self.pieces = folder, name, deadly, 0
        self.progress, self.dead = Progress(), False
        self.carry_out, self.look, self.open = Method(self._carry_out), Method(self._look), Method(self._look)
        self.stop = Method(lambda why: None)

    async def _look(self) -> Told:
        await asyncio.sleep(0)
        if self.dead:
            raise ActorDiedError
        return told_of(self.progress)

    async def _carry_out(self, piece: Piece) -> Told:
        await self._look()
        self.pieces += 1
        journal = Journal(self.folder, self.name, adopts=False)
        dies = self._deadly(self, piece)
        for request in piece.requests[: len(piece.requests) // 2 if dies else None]:
            response = Response(request=request, outcome="answered", text="A", tokens_in=10, tokens_out=2)
            journal.append(response)
            self.progress.answered(response, 0.01)
        journal.close()
        self.dead = self.dead or dies
        await asyncio.sleep(0)
        return await self._look()


class Ray:
    """As much of Ray as the driver uses."""

    class exceptions:
        RayError = ActorDiedError

    def kill(self, actor: Actor) -> None:
        actor.dead = True


def hand_out(
    folder: Path, deadly: Callable[[Actor, Piece], bool], limits: Limits | None = None
) -> tuple[Progress, list[Response], list[Actor], int]:
    bench = make_bench(folder / "b", 120, pictures=30)
    price = Price(input=500.0, output=2_500.0)
    models = make_models({name: ModelEntry(spec="scripted:", price=price) for name in ("a", "b")}, Surroundings())
    plan = Plan(bench, models, (Condition(),))
    left = plan.estimate()[1]
    groups = bench.picture_groups()[list(plan.positions)]
    actors: list[Actor] = []
    progress, budget = Progress(), Budget(limits or Limits())

    def start(name: str) -> Actor:
        actors.append(Actor(folder / "r", name, deadly))
        return actors[-1]

    async def work() -> None:
        workers = Workers(Ray(), folder / "r", progress, budget)
        lanes = [Lane(m.name, list(by_picture(left, groups, n, 2))) for n, m in enumerate(models)]
        handing = Handing(plan, left, lanes, budget, progress)
        journal = Journal(folder / "r", "driver")

        async def hire(*, spare: bool = False) -> Worker:
            return await workers.hire(start)

        try:
            await handing.carry_out(workers, 2, hire, journal.append)
        finally:
            journal.close()

    asyncio.run(asyncio.wait_for(work(), 60))
    return progress, list(read_responses(folder / "r")), actors, budget.calls


def test_workers_that_die_cost_nothing_that_they_stored(tmp_path: Path) -> None:
    died: list[str] = []

    def often(actor: Actor, piece: Piece) -> bool:
        if actor.pieces == 3 and len(died) < 6:
            died.append(actor.name)
            return True
        return False

    progress, stored, actors, calls = hand_out(tmp_path, often)
    requests = [response.request for response in stored]
    assert len(requests) == len(set(requests)) == 240, "each once: a worker that dies here stores before it is told"
    assert len(died) == 6
    assert len(actors) in (8, 9), "one more tries a piece alone at which two died"
    assert progress.done == progress.outcomes["answered"] == 240
    assert progress.tokens_in == 2_400
    assert progress.money == pytest.approx(2.4)
    assert calls == 240


def test_the_one_call_that_kills_is_found_and_noted_as_failed(tmp_path: Path) -> None:
    poison: list[str] = []

    def deadly(actor: Actor, piece: Piece) -> bool:
        poison.extend(piece.requests[-1:] if not poison else ())
        return poison[0] in piece.requests

    progress, stored, actors, _ = hand_out(tmp_path, deadly)
    failed = [response for response in stored if response.outcome == "failed"]
    assert [response.request for response in failed] == poison
    assert failed[0].error == "worker"
    assert progress.outcomes == {"answered": 239, "failed": 1}
    assert len({response.request for response in stored}) == 240
    assert len(actors) < 20


def test_workers_that_all_die_at_once_end_the_run_with_a_line(tmp_path: Path) -> None:
    def always(actor: Actor, piece: Piece) -> bool:
        piece.requests.clear()
        return True

    with pytest.raises(ExceptionGroup) as raised:
        hand_out(tmp_path, always)
    assert "workers died one after another without an answer" in str(raised.value.exceptions[0])
    assert isinstance(raised.value.exceptions[0], EyetestError)


@pytest.mark.parametrize(
    ("limits", "most"),
    [(Limits(calls=50), 50), (Limits(tokens=12 * 40), 0), (Limits(tokens=30_000), 240)],
)
def test_what_all_workers_may_spend_is_counted_once(tmp_path: Path, limits: Limits, most: int) -> None:
    progress, stored, _, calls = hand_out(tmp_path, lambda actor, piece: False, limits)
    assert len(stored) == progress.done == calls
    assert len(stored) == most if limits.calls else len(stored) <= most
    if len(stored) < 240:
        assert "limit" in progress.stopped
