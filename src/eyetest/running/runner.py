"""How a call is made: a place in the queue, attempts with pauses, a line in the journal, an answer."""

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isinf
from pathlib import Path
from time import monotonic, time
from traceback import extract_tb

import msgspec

from eyetest.errors import EyetestError, ImageError
from eyetest.models import Call, CallError, Model
from eyetest.records import Response
from eyetest.redaction import redact
from eyetest.running.endpoint import Endpoint, now
from eyetest.running.limits import LONGEST_PAUSE, Budget, Limits, Progress

_log = logging.getLogger(__name__)
_PUSHING_BACK = ("rate-limit", "overloaded")
_NOT_THE_SERVERS = ("not-recorded", "recorded-failure", "image", "internal")  # failures not about the endpoint
_LONGEST_FAULT = 300
_MANY = 8  # calls: where fewer are left, one that used up its attempts has failed, whatever the cause
_REFUSALS = 4  # so many refusals without an answer between them are those of the endpoint
_PAUSE_SHOWN = 5.0  # longer pauses are reported, in seconds


class NotAskedError(EyetestError):
    """The call was not made, because the run is stopping or its model is unreachable. Nothing is stored."""


@dataclass
class _Tries:
    """The state of a call."""

    made: int = 0
    counted: int = 0  # attempts that count, because the endpoint was available
    empty: int = 0
    first_failed: float | None = None
    is_fair: bool = False  # whether another call was answered between its first failure and last attempt
    last: CallError | None = None
    used_up: bool = False  # whether its failures may be the question's


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
        self._endpoints = {model.name: Endpoint(model, self.limits) for model in models}
        self._chance = random.Random(seed)  # noqa: S311 (jitter, not a secret)
        self.stopping = False  # whether new calls are withheld
        self._stopped = asyncio.Event()  # whether new attempts are withheld too

    async def __aenter__(self) -> "Runner":
        for endpoint in self._endpoints.values():
            await endpoint.model.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        for endpoint in self._endpoints.values():
            await endpoint.model.close()

    def close(self, why: str) -> None:
        """Start no new call; running ones may take all their attempts."""
        self.progress.stopped = self.progress.stopped or why
        self.stopping = True

    def stop(self, why: str) -> None:
        """Start no new call and no new attempt; those in flight finish."""
        self.close(why)
        self._stopped.set()
        for endpoint in self._endpoints.values():
            endpoint.stop()

    def usable(self, model: str) -> bool:
        """Whether a model can still be asked."""
        return not self._endpoints[model].abandoned

    def most_in_flight(self, model: str) -> int:
        """How many calls of a model may be in flight."""
        return self._endpoints[model].throttle.most

    async def ask(self, call: Call) -> Response:
        """Make a call in as many attempts as it takes, and return what was stored of it."""
        endpoint = self._endpoints[call.request.model]
        self._refuse_if_over(endpoint, begun=False)
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
        _log.debug(
            "%s, item %s: %s after %s attempts, %s s",
            *(endpoint.name, call.item.id, response.outcome, response.attempts, response.seconds),
        )
        self.progress.answered(response, money)
        return response

    async def _until_over(self, endpoint: Endpoint, call: Call) -> Response:
        tries = _Tries()
        while True:
            if endpoint.abandoned and tries.used_up and tries.last:
                return _failed(call, CallError("outage", str(tries.last)), tries.made)
            self._refuse_if_over(endpoint, begun=True)
            async with endpoint.throttle as entered, endpoint.turn():
                if self._is_over(endpoint):
                    continue
                if not tries.made and (why := self.budget.too_dear):  # spent while the call was waiting
                    self.close(why)
                    raise NotAskedError(why)
                tries.made += 1
                tries.is_fair = endpoint.answered_since(tries.first_failed)
                began, clock = now(), monotonic()
                reply = await self._once(endpoint, call)
                if isinstance(reply, Response):
                    endpoint.throttle.went_well()
                    self._accepted(endpoint, began, answered=True)
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
            _log.info(
                "%s, item %s, attempt %d: %s after %.1f s: %s",
                *(endpoint.name, call.item.id, tries.made, reply.kind, monotonic() - clock, reply),
            )
            if not await self._may_go_on(endpoint, tries, reply, began):
                return _failed(call, reply, tries.made)

    async def _may_go_on(self, endpoint: Endpoint, tries: _Tries, error: CallError, began: float) -> bool:
        """After a failed attempt: wait until the next, or report the end."""
        tries.last = error
        tries.empty += error.kind == "empty"
        if error.blame == "question":
            if error.kind not in _NOT_THE_SERVERS:
                self._accepted(endpoint, began, answered=error.kind == "blocked")
        else:
            endpoint.failed(error, began)
            tries.first_failed = now() if tries.first_failed is None else tries.first_failed
            is_long = (error.wait or 0) > LONGEST_PAUSE
            if tries.is_fair and is_long:
                error.wait = None
            elif is_long or (error.hopeless and not endpoint.has_answered):
                return self._refused(endpoint, error)
            elif endpoint.away:
                tries.used_up = error.blame == "either"
                return self._waits(endpoint, error)
        tries.counted += 1
        if endpoint.limits.may_retry(error, tries.counted, tries.empty, known=endpoint.has_answered):
            self.progress.retried(error)
            wait = endpoint.limits.wait_before(tries.counted, error, self._chance)
            if (error.wait or 0) > _PAUSE_SHOWN:
                self.progress.waiting[endpoint.name] = f"{error} (it asks for a pause of {error.wait:,.0f} s)"
            _log.info("%s: asked again in %.1f s", endpoint.name, wait)
            await self._pause(wait)
            return True
        if error.blame == "question" or tries.is_fair or endpoint.going < _MANY:
            return False
        tries.used_up, tries.counted = True, 0
        endpoint.goes_away(error)
        return self._waits(endpoint, error)

    def _refused(self, endpoint: Endpoint, error: CallError) -> bool:
        """Give up a model that refuses several calls in a row for a wrong key or a long pause; else ask again."""
        endpoint.refusals += 1
        is_gone = error.wait is not None and isinf(error.wait)
        if not is_gone and endpoint.refusals < min(_REFUSALS, endpoint.going):
            endpoint.goes_away(error)
            return self._waits(endpoint, error)
        pause = f"it asks for a pause of {error.wait:,.0f} s: " if error.wait and not is_gone else ""
        self.abandon(endpoint.name, f"{pause}{error}")
        return not error.hopeless

    def _waits(self, endpoint: Endpoint, error: CallError) -> bool:
        """Wait for an endpoint that is away, up to a limit. The next session asks what was not answered."""
        self.progress.retried(error)
        waited = f"waited {endpoint.silence:,.0f} s"
        if endpoint.silence >= endpoint.patience:
            self.abandon(endpoint.name, f"{error} ({waited})")
        else:
            _log.info("%s is away: %s, up to %.0f s", endpoint.name, waited, endpoint.patience)
            self.progress.waiting[endpoint.name] = f"{error} ({waited}, up to {endpoint.patience:,.0f} s)"
        return True

    def _accepted(self, endpoint: Endpoint, began: float, *, answered: bool) -> None:
        endpoint.accepted(began, answered=answered)
        self.progress.waiting.pop(endpoint.name, None)

    async def _once(self, endpoint: Endpoint, call: Call) -> Response | CallError:
        """One attempt. Any error in it ends this call at most."""
        endpoint.flying += 1
        self.progress.in_flight[endpoint.name] = endpoint.flying
        try:
            return await endpoint.answer(call)
        except CallError as error:
            return error.with_traceback(None)  # a traceback would keep the whole reply in memory while the call waits
        except ImageError as error:
            return CallError("image", str(error))
        except Exception as error:
            _log.info("%s, item %s: a fault", endpoint.name, call.item.id, exc_info=True)
            return CallError("internal", _fault(error))
        finally:
            endpoint.flying -= 1
            self.progress.in_flight[endpoint.name] = endpoint.flying

    def abandon(self, model: str, why: str) -> None:
        """Ask a model no more."""
        _log.info("%s is given up: %s", model, why)
        endpoint = self._endpoints[model]
        endpoint.abandoned = endpoint.abandoned or why
        endpoint.stop()
        self.progress.waiting.pop(model, None)
        self.progress.abandoned[model] = endpoint.abandoned
        if all(other.abandoned for other in self._endpoints.values()):
            self.stop(f"{model} cannot be used: {endpoint.abandoned}")

    def _refuse_if_over(self, endpoint: Endpoint, *, begun: bool) -> None:
        if self._stopped.is_set() or (self.stopping and not begun):
            raise NotAskedError(self.progress.stopped)
        if endpoint.abandoned:
            raise NotAskedError(endpoint.abandoned)

    def _is_over(self, endpoint: Endpoint) -> bool:
        return self._stopped.is_set() or bool(endpoint.abandoned)

    async def _pause(self, seconds: float) -> None:
        """Wait, at most until the run is stopped."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)


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
