"""The workers of a run as its driver knows them: begun, heard, lost, and what the dead had stored."""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

import msgspec
import pyarrow as pa

from eyetest.errors import EyetestError, InputError
from eyetest.running.cluster.pieces import Told, add_told
from eyetest.running.limits import Budget
from eyetest.running.progress import Progress
from eyetest.runs.journal import seal
from eyetest.runs.parts import part_names
from eyetest.runs.stored import read_part
from eyetest.store import refresh

_SECONDS_BETWEEN_LOOKS = 1.0
_DEATHS_IN_VAIN = 12
"""So many workers that die one after another without an answer are nobody's accident."""
_IN_THE_MAKING = "creation task"
"""Ray's words for what failed before it could be asked anything, as it would again."""
_READ = ("request", "outcome", "error", "tokens_in", "tokens_out")


class Worker:
    """One worker. Its parts of the run carry its name."""

    def __init__(self, actor: Any, name: str) -> None:
        self.actor, self.name = actor, name
        self.told = Told()
        self.ending: asyncio.Task[set[str]] | None = None
        """Of one that is lost: what it had stored."""


class Workers:
    """All that are alive. What they tell is counted as if one had done it."""

    def __init__(self, ray: Any, run: Path, progress: Progress, budget: Budget) -> None:
        self._ray, self._run, self._progress, self._budget = ray, run, progress, budget
        self.alive: list[Worker] = []
        self.losses = 0
        self._in_vain = self._done_then = 0
        self.price: Callable[[pa.Table], float] = lambda stored: 0.0
        """What answers cost that were stored and not told of."""

    async def hire(self, start: Callable[[str], Any]) -> Worker:
        """One more, begun under a name of its own; another where it dies at once."""
        while True:
            worker = Worker(start(name := token_hex(4)), name)
            try:
                told = await worker.actor.open.remote()
            except self._ray.exceptions.RayError as error:
                if _IN_THE_MAKING in str(error):
                    raise InputError(f"a worker cannot begin: {last_line(error)}") from None
                self.alive.append(worker)
                self.lose(worker, error)
                continue
            except asyncio.CancelledError:
                self._ray.kill(worker.actor)
                raise
            if told.fault:
                self._ray.kill(worker.actor)
                raise InputError(f"a worker cannot begin: {told.fault}")
            self.alive.append(worker)
            return worker

    async def look(self) -> None:
        """Hear once in a while how they are doing, for whoever watches."""
        while True:
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
            for worker in list(self.alive):
                with suppress(self._ray.exceptions.RayError):
                    self.hear(worker, await worker.actor.look.remote())

    def hear(self, worker: Worker, told: Told) -> None:
        """Count what a worker has done since it was last heard. Words may overtake each other; counts only grow."""
        if worker.ending is None and told.done >= worker.told.done:
            self._count(worker, told)
            self._progress.in_flight = dict(sum((Counter(one.told.in_flight) for one in self.alive), Counter[str]()))
            self._progress.waiting = {name: why for one in self.alive for name, why in one.told.waiting.items()}

    def lose(self, worker: Worker, error: Exception) -> bool:
        """A worker is no more. Gives whether that is news."""
        if worker.ending is not None:
            return False
        self.losses += 1
        is_in_vain = self._progress.done == self._done_then
        self._in_vain, self._done_then = self._in_vain + 1 if is_in_vain else 1, self._progress.done
        if self._in_vain >= _DEATHS_IN_VAIN:
            words = f"{self._in_vain} workers died one after another without an answer"
            raise EyetestError(f"{words}: {last_line(error)}")
        self.alive.remove(worker)
        self._progress.retries["worker lost"] += 1
        self._progress.last_error = f"a worker was lost: {type(error).__name__}"
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(worker.actor)
        worker.ending = asyncio.create_task(self._bury(worker))
        return True

    async def _bury(self, worker: Worker) -> set[str]:
        """Seal what a dead worker left and count what it did unheard; gives the requests that it stored."""
        stored = await asyncio.to_thread(self.seal, worker.name)
        outcomes, errors = (stored.column(name).to_pylist() for name in ("outcome", "error"))
        failed = [error for outcome, error in zip(outcomes, errors, strict=True) if outcome == "failed"]
        told = worker.told
        numbers = {name: sum(filter(None, stored.column(name).to_pylist())) for name in ("tokens_in", "tokens_out")}
        numbers["money"] = max(self.price(stored), told.numbers.get("money", 0.0))
        counts = {"outcomes": Counter(outcomes), "failures": Counter(failed)}
        self._count(
            worker, msgspec.structs.replace(told, counts=told.counts | counts, numbers=told.numbers | numbers)
        )
        return set(stored.column("request").to_pylist())

    def seal(self, name: str) -> pa.Table:
        """Seal the parts of a worker that writes no more, and give what is in them."""
        table = pa.table({column: pa.array([], pa.string()) for column in _READ})
        tables = []
        refresh(self._run)
        for part in part_names(self._run):
            if part.writer == name:
                seal(self._run, part)
                if (found := read_part(self._run, part, _READ).table) is not None:
                    tables.append(found.replace_schema_metadata())
        return pa.concat_tables(tables) if tables else table

    def _count(self, worker: Worker, told: Told) -> None:
        self._budget.settle((0, 0.0), add_told(self._progress, worker.told, told))
        worker.told = told

    async def close(self, *, at_once: bool) -> None:
        """Let all of them seal what they wrote, and go."""
        if not at_once:
            with suppress(self._ray.exceptions.RayError):
                await asyncio.gather(*(worker.actor.close.remote() for worker in self.alive))
        for worker in self.alive:
            self._ray.kill(worker.actor)
        for worker in self.alive:
            await asyncio.to_thread(self.seal, worker.name)


def last_line(error: Exception) -> str:
    """What Ray says of an error in the end, after all the places where it passed."""
    return [line.strip() for line in str(error).splitlines() if line.strip()][-1][:300]
