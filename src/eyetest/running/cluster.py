"""Plans on a Ray cluster: open calls are split into shards by image, and each worker asks one at a time.

What a dead worker stored counts, and the rest of its shard is asked again; after another death, call by call.
"""

import asyncio
import logging
import os
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from ipaddress import ip_address
from secrets import token_hex
from time import time
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyetest.errors import EyetestError, InputError, heading
from eyetest.measures.stats.sets import set_labels
from eyetest.models import BACKENDS
from eyetest.records import Asked, Response, StoppingRule
from eyetest.running.execution import Hit
from eyetest.running.limits import Budget, Cluster, Progress
from eyetest.running.planning import Left, Plan
from eyetest.running.shards import Order, Shard, Worker
from eyetest.runs import RunWriter
from eyetest.runs.journal import part_names, seal
from eyetest.runs.stored import part_responses
from eyetest.store import refresh

Rows = NDArray[np.int64]  # calls of a plan, by number
_SHARDS_A_WORKER = 16  # at least, so that the last shards do not delay the run
_MOST_CALLS = 200  # per shard, except for calls that share an image: bounds what is counted late, or lost
_CALLS_A_WORKER = 8  # in flight: fewer would not keep a worker busy
_LOSSES_BY_CHANCE = 2  # a shard at which so many workers died is split; a single call has failed
_DEATHS_IN_VAIN = 12  # consecutive worker deaths without an answer that stop the run
_BYTES_FOR_OBJECTS = 256 * 2**20  # only shards and counts go through Ray's memory


_WITH_TOKENS = (2, 52)
# The second makes Ray use 127.0.0.1 as the address of this machine, so that it listens only there
_PRIVATE = {"RAY_AUTH_MODE": "token", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


@contextmanager
def connected(cluster: Cluster) -> Iterator[Any]:
    """Ray, connected within the block; without an address a local one, which only this machine reaches."""
    address = cluster.address or os.environ.get("RAY_ADDRESS") or None
    with _environment({"RAY_USAGE_STATS_ENABLED": "0"} | ({} if address else _PRIVATE | _token())):
        try:
            import ray  # noqa: PLC0415 (an extra)
        except ImportError:
            raise InputError("Ray is not installed: pip install 'eyetest[ray]'") from None
        if ray.is_initialized():
            yield ray
            return
        logging.getLogger("ray").setLevel(logging.ERROR)
        how: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
        if not address:
            if tuple(map(int, ray.__version__.split(".")[:2])) < _WITH_TOKENS:
                raise InputError(f"Ray {ray.__version__} has no token authentication: pip install 'ray>=2.52'")
            ray._private.ray_constants.ENABLE_RAY_CLUSTER = False  # read from the environment before it was set
            how |= {"include_dashboard": False, "object_store_memory": _BYTES_FOR_OBJECTS}
        try:
            ray.init(address=address or "local", **how)
        except (ConnectionError, OSError, ValueError, RuntimeError) as error:
            words, at = " ".join(str(error).split())[:300], address or "this machine"
            raise InputError(f"{heading('on')}: Ray cannot be reached at {at}: {words}") from None
        try:
            if not address and not ip_address(ray.util.get_node_ip_address()).is_loopback:
                raise InputError("Ray listens to other machines; start it yourself, and name it: ray://HOST:PORT")
            yield ray
        finally:
            ray.shutdown()


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables within the block."""
    before = {name: os.environ[name] for name in values if name in os.environ}
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            del os.environ[name]
        os.environ.update(before)


@cache
def _token() -> dict[str, str]:
    """The token of all clusters that this process starts; Ray reads it once."""
    return {"RAY_AUTH_TOKEN": token_hex(32)}


@dataclass
class Portion:
    """A shard for the driver: its calls, the groups that must not be split, and its worker losses."""

    rows: Rows
    groups: Rows
    losses: int = 0

    def keep(self, wanted: slice | NDArray[np.bool_]) -> "Portion":
        """Some of its calls."""
        return Portion(self.rows[wanted], self.groups[wanted], self.losses)

    @property
    def ends(self) -> Rows:
        """The numbers of calls after which it can be split."""
        return np.flatnonzero(np.append(self.groups[1:] != self.groups[:-1], bool(len(self.groups)))) + 1


def by_image(left: Left, groups: Rows, workers: int) -> Iterator[Portion]:
    """Shards of the open calls, those that failed before last. ``groups``: the image of each item."""
    for rows in left.calls():
        yield from _split(rows, groups[left.ledger.items[rows]], workers)


def by_panel(left: Left, groups: Rows, workers: int) -> Iterator[Portion]:
    """Shards of items with open calls, with all their calls; those that share a request stay together."""
    ledger = left.ledger
    several = np.bincount(ledger.codes)[ledger.codes] > 1
    images = np.unique(groups, return_inverse=True)[1]
    bonds = (np.arange(len(groups)), images), (ledger.items[several], ledger.codes[several])
    _, first, inverse = np.unique(set_labels(len(groups), *bonds), return_index=True, return_inverse=True)
    together = np.asarray(first[inverse], np.int64)
    is_left = np.zeros(len(groups), bool)
    is_left[ledger.items[np.concatenate(left.calls())]] = True
    rows = np.flatnonzero(is_left[ledger.items])
    rows = rows[np.argsort(together[ledger.items[rows]], kind="stable")]
    yield from _split(rows, together[ledger.items[rows]], workers)


def _split(rows: Rows, groups: Rows, workers: int) -> Iterator[Portion]:
    most = int(min(_MOST_CALLS, max(1, len(rows) // (workers * _SHARDS_A_WORKER))))
    start = 0
    for end in Portion(rows, groups).ends.tolist():
        if end - start >= most or end == len(rows):
            yield Portion(rows[start:end], groups[start:end])
            start = end


class RayExecutor:
    """Executes plans on a cluster. Use it in an ``async with`` block."""

    def __init__(self, order: Order, run: RunWriter, budget: Budget, progress: Progress) -> None:
        self._order, self._run, self.budget, self.progress = order, run, budget, progress
        self._cluster = order.asking.cluster or Cluster()
        self.stopping = False  # whether new shards are withheld
        self._workers: dict[int, Any] = {}  # the actor of each lane
        self._stack = ExitStack()
        self._losses = self._in_vain = 0
        self._size = 1

    async def __aenter__(self) -> "RayExecutor":
        with ExitStack() as stack:
            self._ray = stack.enter_context(connected(self._cluster))
            stack.callback(self._end_workers)
            self._divide(self._ray.cluster_resources())
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        self._stack.close()

    def _divide(self, there: Mapping[str, float]) -> None:
        """Decide how many workers there are, what each needs, and its share of the concurrency."""
        limits, entries = self.budget.limits, dict(self._order.entries)
        processors, gpus = float(there.get("CPU", 1)), float(there.get("GPU", 0))
        size = self._cluster.workers or int(max(1, min(processors, limits.concurrency // _CALLS_A_WORKER)))
        large = [entry for entry in entries.values() if BACKENDS[entry.spec.partition(":")[0]].hosted]
        needed = sum((1.0 if gpus else 0.0) if entry.gpus is None else entry.gpus for entry in large)
        most = max((node["Resources"].get("GPU", 0.0) for node in self._ray.nodes() if node["Alive"]), default=0.0)
        if needed > most:
            need = f"the checkpoints of this run need {needed:g} GPUs on one machine, and the largest has {most:g}"
            raise InputError(f"{need}; run them one after the other")
        for entry in large:
            size = min(size, entry.copies or max(1, int(gpus // needed) if needed else 1))
        for name, entry in entries.items():
            if entry.concurrency:
                entries[name] = msgspec.structs.replace(entry, concurrency=max(1, entry.concurrency // size))
        share = max(1, limits.concurrency // size)
        its = msgspec.structs.replace(limits, concurrency=share, calls=None, tokens=None, money=None)
        self._size, self._order = size, replace(self._order, entries=entries, limits=its)
        needs = {"num_cpus": min(1.0, processors / size), "num_gpus": needed, "scheduling_strategy": "SPREAD"}
        self._actor = self._ray.remote(Worker).options(**needs)

    def _end_workers(self) -> None:
        for worker in self._workers.values():
            self._ray.kill(worker)

    def stop(self, why: str) -> None:
        """Start no new shard and no new call; those in flight finish."""
        self._close(why)
        for worker in self._workers.values():
            worker.stop.remote(why)

    def _close(self, why: str) -> None:
        self.progress.stopped = self.progress.stopped or why
        self.stopping = True

    async def execute(self, plan: Plan, left: Left) -> None:
        """Make every open call of the plan."""
        await self._ask(plan, left, by_image)

    async def execute_panels(self, plan: Plan, left: Left, rule: StoppingRule, hit: Hit) -> None:
        """Ask about each item only until the rule's verdict on it is settled."""
        self._order = replace(self._order, rule=rule, hit=hit)
        await self._ask(plan, left, by_panel)

    async def _ask(self, plan: Plan, left: Left, split: Callable[[Left, Rows, int], Iterator[Portion]]) -> None:
        """Ask all shards, as many at once as there are workers."""
        groups = plan.benchmark.image_groups()[np.asarray(plan.positions, np.int64)]
        work = _Work(plan, left, self._order, deque(split(left, groups, self._size)))
        async with asyncio.TaskGroup() as tasks:
            for lane in range(min(self._size, len(work.portions))):
                tasks.create_task(self._ask_next(lane, work))

    async def _ask_next(self, lane: int, work: "_Work") -> None:
        while (found := await self._afforded(work)) is not None:
            portion, held = found
            shard = work.shard(portion, self.progress.abandoned, self._losses)
            stored: set[str] | None = None
            try:
                came = await self._submit(lane, shard)
            except self._ray.exceptions.RayTaskError as error:
                raise EyetestError(f"a worker cannot go on: {last_line(error)}") from None
            except self._ray.exceptions.RayError as error:
                self._workers.pop(lane, None)
                came, stored = await asyncio.to_thread(self._recover, work, portion, shard.writer)
                self._count_loss(error, in_vain=not stored)
            self.budget.settle(held, (came.tokens_in + came.tokens_out, came.money))
            self.budget.calls -= len(portion.rows) - came.done
            self.progress.add(came)
            if stored is None:
                self._in_vain = 0
            else:
                self._put_back(work, portion, stored)
            if came.abandoned and all(model.name in self.progress.abandoned for model in work.plan.models):
                name, why = next(iter(came.abandoned.items()))
                self._close(f"{name} cannot be used: {why}")

    async def _submit(self, lane: int, shard: Shard) -> Progress:
        if lane not in self._workers:
            self._workers[lane] = self._actor.remote(self._order)
        came: Progress | str = await self._workers[lane].ask.remote(shard)
        if isinstance(came, str):
            raise EyetestError(came)
        return came

    async def _afforded(self, work: "_Work") -> tuple[Portion, tuple[int, float]] | None:
        """The next shard, or as much of it as the budget allows, and the amount reserved for it."""
        while work.portions and not self.stopping:
            portion = work.portions.popleft()
            tokens, money = (np.cumsum(most) for most in work.left.ledger.most(portion.rows))
            ends = portion.ends if work.order.rule else np.arange(1, len(portion.rows) + 1)
            calls, most_tokens, most_money = self.budget.left
            fits = ends[(ends <= calls) & (tokens[ends - 1] <= most_tokens) & (money[ends - 1] <= most_money)]
            end = int(fits[-1] if len(fits) else ends[0])
            held = int(tokens[end - 1]), float(money[end - 1])
            why = self.budget.refuses(*held, calls=end)
            if not why:
                work.portions.extendleft([portion.keep(slice(end, None))] if end < len(portion.rows) else [])
                return portion.keep(slice(end)), held
            work.portions.appendleft(portion)
            if self.budget.may_change:
                await self.budget.change()
            else:
                self._close(why)
        return None

    def _recover(self, work: "_Work", portion: Portion, writer: str) -> tuple[Progress, set[str]]:
        """Seal what a lost worker stored of a shard; returns its progress and its requests."""
        progress, stored = Progress(self.progress.is_refusal), set[str]()
        models = dict(zip(work.ids(portion.rows), work.left.ledger.models[portion.rows], strict=True))
        refresh(self._run.path)
        for part in part_names(self._run.path):
            if part.writer == writer:
                seal(self._run.path, part)
                for response in part_responses(self._run.path, part):
                    price = work.plan.models[models[response.request]].entry.price
                    spent = response.tokens_in or 0, response.tokens_out or 0
                    progress.answered(response, price.of(*spent) if price else 0.0)
                    stored.add(response.request)
        return progress, stored

    def _count_loss(self, error: Exception, *, in_vain: bool) -> None:
        self._losses += 1
        self._in_vain = self._in_vain + 1 if in_vain else 1
        if self._in_vain >= _DEATHS_IN_VAIN:
            words = f"{self._in_vain} workers died one after another without an answer"
            raise EyetestError(f"{words}: {last_line(error)}")
        self.progress.retries["worker lost"] += 1
        self.progress.last_error = f"a worker was lost: {type(error).__name__}"

    def _put_back(self, work: "_Work", portion: Portion, stored: set[str]) -> None:
        """Requeue the rest of a lost shard, first whole, then call by call; one that kills workers has failed."""
        left = portion.keep(np.array([request not in stored for request in work.ids(portion.rows)], bool))
        left.losses += 1
        if not work.order.rule:
            left.groups = np.arange(len(left.rows))  # questions about one image may be split now
        if not len(left.rows) or self.stopping:
            return
        if left.losses < _LOSSES_BY_CHANCE:
            work.portions.appendleft(left)
        elif len(left.ends) > 1:
            left.losses = 1
            starts = (0, *left.ends[:-1].tolist())
            work.portions.extendleft(map(left.keep, map(slice, starts, left.ends.tolist())))
        else:
            what: dict[str, Any] = {"error": "worker", "detail": "every worker was lost that asked this"}
            for request in dict.fromkeys(work.ids(left.rows)):
                response = Response(request=request, outcome="failed", time=round(time(), 3), **what)
                self._run.journal.append(response)
                self.progress.answered(response, 0.0)


class _Work:
    """A plan, and its shards that are still to be asked."""

    def __init__(self, plan: Plan, left: Left, order: Order, portions: deque[Portion]) -> None:
        self.plan, self.left, self.order, self.portions = plan, left, order, portions
        self._replies: dict[str, list[tuple[Asked, str]]] = defaultdict(list)
        for asked, text in plan.dialogues.replies.items() if plan.turn and plan.dialogues else ():
            self._replies[asked.item].append((asked, text))

    def ids(self, rows: Rows) -> list[str]:
        """The requests of some calls."""
        ledger = self.left.ledger
        return ledger.requests.gather(ledger.codes[rows]).to_list()

    def shard(self, portion: Portion, abandoned: Mapping[str, str], losses: int) -> Shard:
        """A portion as sent to a worker."""
        ledger, plan, dialogues = self.left.ledger, self.plan, self.plan.dialogues
        positions = [plan.positions[item] for item in dict.fromkeys(ledger.items[portion.rows].tolist())]
        rows = portion.rows
        if self.order.rule:
            rows = rows[np.bincount(ledger.codes)[ledger.codes[rows]] > 1]
        earlier: list[str] = []
        if self._replies and dialogues is not None:
            earlier = [name for item in plan.taking(positions) for name in dialogues.earlier(item)]
        return Shard(
            writer=token_hex(4),
            turn=plan.turn,
            positions=positions,
            requests=list(dict.fromkeys(self.ids(rows))),
            replies={asked: text for name in earlier for asked, text in self._replies[name]},
            abandoned=dict(abandoned),
            losses=losses,
        )


def last_line(error: Exception) -> str:
    """The last line of Ray's error, below the traceback."""
    return [line.strip() for line in str(error).splitlines() if line.strip()][-1][:300]
