"""Large networks on a cluster: a process for each copy, on its GPUs, and who asks it from elsewhere."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from eyetest.benchmarks import Benchmark
from eyetest.errors import EyetestError
from eyetest.models import BatchModel, Call, CallError, Model, Pictures, Surroundings, make_models
from eyetest.models.base import Blame
from eyetest.records import ModelEntry, Response
from eyetest.store.urls import local_path


class SentError(msgspec.Struct, frozen=True):
    """A `CallError` on its way between processes."""

    kind: str
    words: str
    passing: bool
    wait: float | None
    blame: Blame
    hopeless: bool

    @classmethod
    def of(cls, error: CallError) -> "SentError":
        """What an error says."""
        return cls(error.kind, str(error), error.passing, error.wait, error.blame, error.hopeless)

    def error(self) -> CallError:
        """The error again."""
        return CallError(
            self.kind, self.words, passing=self.passing, wait=self.wait, blame=self.blame, hopeless=self.hopeless
        )


class ModelHost:
    """One copy of a network. Ray starts it anew when it dies, and asks it again what it did not answer."""

    def __init__(self, name: str, entry: ModelEntry, benchmark: str, patience: Surroundings) -> None:
        pictures = Pictures(Benchmark(local_path(benchmark)).images)
        self._model = make_models({name: entry}, msgspec.structs.replace(patience, pictures=pictures))[0]
        self._opening, self._is_open = asyncio.Lock(), False

    async def open(self) -> tuple[str, str]:
        """Load it; gives what is amiss, for people, and how it computes likelihoods."""
        async with self._opening:
            try:
                if not self._is_open:
                    await self._model.open()
                    self._is_open = True
            except EyetestError as error:
                return str(error), ""
        return "", str(getattr(self._model, "way", ""))

    async def answer_many(self, calls: Sequence[Call]) -> list[Response | SentError]:
        """One attempt at each call."""
        if why := (await self.open())[0]:
            return [SentError.of(CallError("host", why, blame="endpoint"))] * len(calls)
        try:
            if isinstance(self._model, BatchModel):
                came = list(await self._model.answer_many(calls))
            else:
                came = [await self._model.answer(call) for call in calls]
        except CallError as error:
            came = [error] * len(calls)
        return [SentError.of(one) if isinstance(one, CallError) else one for one in came]


class HostedModel:
    """A network that is asked where it lives. All that decides a request is that of the model itself."""

    def __init__(self, model: Model, hosts: Sequence[Any]) -> None:
        self.name, self.entry = model.name, model.entry
        self.likelihoods, self.knows_items = model.likelihoods, model.knows_items
        self.batch = model.batch if isinstance(model, BatchModel) else 1
        self._settings = model.settings
        self._hosts, self._busy = list(hosts), [0] * len(hosts)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything but the prompt that decides the answer."""
        return self._settings

    async def open(self) -> None:
        """Nothing: the driver has had it loaded."""

    async def close(self) -> None:
        """Nothing: others may be asking it."""

    async def answer(self, call: Call) -> Response:
        """One attempt at one call."""
        came = (await self.answer_many([call]))[0]
        if isinstance(came, CallError):
            raise came
        return came

    async def answer_many(self, calls: Sequence[Call]) -> list[Response | CallError]:
        """One attempt at each call, by the copy that has least to do."""
        from ray.exceptions import RayError  # noqa: PLC0415 (an extra)

        which = self._busy.index(min(self._busy))
        self._busy[which] += len(calls)
        try:
            came = await self._hosts[which].answer_many.remote(list(calls))
        except RayError as error:
            words = f"the copy of {self.name} was lost: {type(error).__name__}"
            raise CallError("host", words, passing=True, blame="endpoint") from None
        finally:
            self._busy[which] -= len(calls)
        return [one.error() if isinstance(one, SentError) else one for one in came]
