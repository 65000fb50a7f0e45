"""Trials of the backend for endpoints against every mode of the faulty endpoint, for `doctor`."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from eyetest.benchmarks.images import ImageStore
from eyetest.faults import MODES, FaultyEndpoint, Mode
from eyetest.faults.server import MODEL
from eyetest.models import Call, Images, Surroundings, make_models
from eyetest.records import Asked, Item, Message, ModelEntry, Prompt, Request, Response, Words
from eyetest.running import Limits, Progress, Runner
from eyetest.running.runner import NotAskedError

_CALLS = 6  # more than a mode answers before it begins to fail
_AT_ONCE = 12
_LIMITS = Limits(concurrency=2, attempts=2, backoff=0.01, patience=0.05)
_SECONDS = {"connect_seconds": 5.0, "first_byte_seconds": 3.0, "total_seconds": 6.0}


class Trial(NamedTuple):
    """What became of some calls to a mode."""

    mode: Mode
    responses: list[Response]
    given_up: str  # why the model was asked no more; empty where it was asked to the end

    @property
    def outcomes(self) -> Counter[str]:
        """How many calls ended in each outcome."""
        return Counter(response.outcome for response in self.responses)

    @property
    def problem(self) -> str:
        """What differs from what is expected of the mode; empty where nothing does."""
        outcomes, expect = self.outcomes, self.mode.expect
        ends = ", ".join(f"{outcome} {count}" for outcome, count in outcomes.items()) or "no call ended"
        if expect == "stopped":
            is_right = bool(self.given_up) and outcomes["answered"] == self.mode.good
            return "" if is_right and not outcomes["truncated"] + outcomes["blocked"] else f"not stopped: {ends}"
        if expect == "failed":
            is_right = set(outcomes) <= {"failed"} and bool(outcomes["failed"] or self.given_up)
        else:
            is_right = outcomes == {expect: _CALLS}
        return "" if is_right else f"expected {expect}: {ends}"


async def try_mode(endpoint: FaultyEndpoint, mode: Mode) -> Trial:
    """Put a few questions to a mode, as a run does."""
    entry = ModelEntry(spec=f"openai:{MODEL}@{endpoint.url(mode.mode)}")
    (model,) = make_models({"m": entry}, Surroundings(Images(ImageStore(Path())), **_SECONDS))
    responses: list[Response] = []
    progress = Progress()
    async with Runner([model], responses.append, _LIMITS, progress=progress) as runner:
        calls = [runner.ask(_call(number, model.settings)) for number in range(_CALLS)]
        for result in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(result, BaseException) and not isinstance(result, NotAskedError):
                raise result
    return Trial(mode, responses, progress.abandoned.get("m", ""))


def _call(number: int, settings: object) -> Call:
    prompt = Prompt((Message("user", (Words(f"Question {number}?"),)),))
    request = Request(model="m", prompt=prompt, settings=dict(settings))  # type: ignore[call-overload]
    return Call(Asked(model="m", item=f"q{number}"), Item(id=f"q{number}", question="?"), request, request.id)


def try_all_modes() -> list[Trial]:
    """The trials of all modes, some at the same time."""

    async def trials() -> list[Trial]:
        places = asyncio.Semaphore(_AT_ONCE)

        async def trial(mode: Mode) -> Trial:
            async with places:
                return await try_mode(endpoint, mode)

        return await asyncio.gather(*map(trial, MODES.values()))

    with FaultyEndpoint() as endpoint:
        return asyncio.run(trials())
