"""How a call is made: a place in the queue, attempts with pauses, a line in the journal, an answer."""

import logging
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic, time
from traceback import extract_tb

import msgspec

from eyetest.errors import EyetestError, ImageError
from eyetest.models import Call, CallError, Model
from eyetest.records import Response
from eyetest.redaction import redact
from eyetest.running.endpoint import Endpoint, Tries, now
from eyetest.running.limits import LONGEST_PAUSE, Budget, Limits, Progress

_log = logging.getLogger(__name__)
_PUSHING_BACK = ("rate-limit", "overloaded")
_LONGEST_FAULT = 300


class NotAskedError(EyetestError):
    """The call was not made, because the run is stopping or its model is unreachable. Nothing is stored."""


class Runner:
    """Makes calls, in an ``async with`` block, which opens and closes the models. A budget may be shared."""

    def __init__(
        self,
        models: Sequence[Model],
        store: Callable[[Response], None],
        limits: Limits | Budget | None = None,
        *,
        progress: Progress | None = None,
        seed: int = 0,
    ) -> None:
        self.budget = limits if isinstance(limits, Budget) else Budget(limits or Limits())
        self.limits = self.budget.limits
        self.progress = progress or Progress()
        self._store = store
        chance = random.Random(seed)  # noqa: S311 (jitter, not a secret)
        self.endpoints = {model.name: Endpoint(model, self.limits, self.progress, chance) for model in models}
        self.stopping = False  # whether new calls are withheld

    async def __aenter__(self) -> "Runner":
        for endpoint in self.endpoints.values():
            await endpoint.model.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        for endpoint in self.endpoints.values():
            await endpoint.model.close()

    def close(self, why: str) -> None:
        """Start no new call; running ones may take all their attempts."""
        self.progress.stopped = self.progress.stopped or why
        self.stopping = True

    def stop(self, why: str) -> None:
        """Start no new call and no new attempt; those in flight finish."""
        self.close(why)
        for endpoint in self.endpoints.values():
            endpoint.stop()

    @property
    def most_in_flight(self) -> list[int]:
        """How many calls of each model may be in flight."""
        return [endpoint.throttle.most for endpoint in self.endpoints.values()]

    async def ask(self, call: Call) -> Response:
        """Make a call in as many attempts as it takes, and return what was stored of it."""
        endpoint = self.endpoints[call.request.model]
        self._refuse_if_over(endpoint)
        if self.stopping:
            raise NotAskedError(self.progress.stopped)
        if why := self.budget.refusal:
            self.close(why)
            raise NotAskedError(why)
        self.budget.calls += 1
        endpoint.going += 1
        try:
            response = await self._until_over(endpoint, call)
        finally:
            endpoint.going -= 1
        price = endpoint.model.entry.price
        money = price.of(response.tokens_in or 0, response.tokens_out or 0) if price else 0.0
        self.budget.money += money
        self._store(response)
        self.progress.answered(response, money)
        return response

    async def _until_over(self, endpoint: Endpoint, call: Call) -> Response:
        tries = Tries()
        while True:
            if endpoint.abandoned and tries.used_up and tries.last:
                return _failed(call, CallError("outage", str(tries.last)), tries.made)
            self._refuse_if_over(endpoint)
            async with endpoint.throttle as entered, endpoint.turn():
                if endpoint.is_over:
                    continue
                if not tries.made and (why := self.budget.too_dear):  # spent while the call was waiting
                    self.close(why)
                    raise NotAskedError(why)
                tries.made += 1
                tries.is_fair = endpoint.proven >= tries.first_failed
                began, clock = now(), monotonic()
                reply = await self._once(endpoint, call)
                if isinstance(reply, Response):
                    endpoint.throttle.went_well()
                    endpoint.accepted(began, answered=True)
                    texts = call.request.prompt.candidates if reply.candidates else ()
                    return msgspec.structs.replace(
                        reply,
                        attempts=tries.made,
                        seconds=round(monotonic() - clock, 4),
                        time=round(time(), 3),
                        candidate_bytes=tuple(len(text.encode("utf-8", "replace")) for text in texts),
                    )
                if reply.kind in _PUSHING_BACK and (reply.wait or 0) <= LONGEST_PAUSE:
                    endpoint.throttle.pushed_back(entered, reply.wait)
            _log.info("%s, item %s, attempt %d: %s: %s", endpoint.name, call.item.id, tries.made, reply.kind, reply)
            goes_on = await endpoint.may_go_on(tries, reply, began)
            if all(other.abandoned for other in self.endpoints.values()):
                self.stop(f"{endpoint.name} cannot be used: {endpoint.abandoned}")
            if not goes_on:
                return _failed(call, reply, tries.made)

    async def _once(self, endpoint: Endpoint, call: Call) -> Response | CallError:
        """One attempt. Any error in it ends this call at most."""
        try:
            return await endpoint.answer(call)
        except CallError as error:
            return error.with_traceback(None)  # a traceback would keep the whole reply in memory while the call waits
        except ImageError as error:
            return CallError("image", str(error))
        except Exception as error:
            _log.info("%s, item %s: a fault", endpoint.name, call.item.id, exc_info=True)
            return CallError("internal", _fault(error))

    def _refuse_if_over(self, endpoint: Endpoint) -> None:
        if endpoint.abandoned or endpoint.is_over:
            raise NotAskedError(endpoint.abandoned or self.progress.stopped)


def _failed(call: Call, error: CallError, attempts: int) -> Response:
    """The response of a failed call, or of one that a filter blocked, a separate outcome."""
    blocked = error.kind == "blocked"
    return Response(
        request=call.id,
        outcome="blocked" if blocked else "failed",
        text="" if blocked else None,
        error=error.kind,
        detail=str(error),
        attempts=attempts,
        time=round(time(), 3),
    )


def _fault(error: Exception) -> str:
    """An internal error, with its location."""
    frame = extract_tb(error.__traceback__)[-1]
    words = " ".join(redact(str(error)).split())[:_LONGEST_FAULT]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    return f"a fault in eyetest, not in the answer: {type(error).__name__}: {words} ({where}); please report it"
