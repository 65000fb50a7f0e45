"""A model's other way in: many calls at once, each still repeated, counted, limited and stored by itself."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from eyetest.models import Call, CallError
from eyetest.records import Asked, Item, Message, Prompt, Request, Response, Words
from eyetest.running import Limits, Progress, Runner
from tests.running.benches import BareModel


class Many(BareModel):
    """A model that answers a list, and remembers which."""

    batch = 8

    def __init__(self) -> None:
        super().__init__("m")
        self.batches: list[list[str]] = []
        self.alone: list[str] = []

    async def answer(self, call: Call) -> Response:
        self.alone.append(call.asked.item)
        return self.reply(call)

    async def answer_many(self, calls: Sequence[Call]) -> Sequence[Response | CallError]:
        self.batches.append([call.asked.item for call in calls])
        await asyncio.sleep(0.002)
        return [self.tried(call) for call in calls]

    def tried(self, call: Call) -> Response | CallError:
        return self.reply(call)

    def reply(self, call: Call) -> Response:
        return Response(request=call.id, outcome="answered", text=call.asked.item)


def call(number: int) -> Call:
    request = Request(model="m", prompt=Prompt((Message("user", (Words(f"{number}?"),)),)))
    return Call(Asked(item=f"q{number}", model="m"), Item(id=f"q{number}", question="?"), request, request.id)


def ask(model: Many, calls: Sequence[Call], limits: Limits | None = None) -> tuple[list[Response], Progress]:
    stored: list[Response] = []

    async def work() -> Progress:
        async with Runner([model], stored.append, limits or Limits(backoff=0.0)) as runner:
            await asyncio.gather(*(runner.ask(one) for one in calls), return_exceptions=True)
            return runner.progress

    return stored, asyncio.run(work())


def test_calls_that_come_together_are_answered_together(tmp_path: Path) -> None:
    model = Many()
    stored, progress = ask(model, [call(n) for n in range(40)])
    assert sorted(response.text or "" for response in stored) == sorted(f"q{n}" for n in range(40))
    assert all(response.request == call(int((response.text or "q")[1:])).id for response in stored)
    assert progress.outcomes == {"answered": 40}
    assert not model.alone
    assert len(model.batches) < 20
    assert max(map(len, model.batches)) == 8


def test_what_fails_is_repeated_by_itself() -> None:
    class Stumbling(Many):
        failed = 0

        def tried(self, call: Call) -> Response | CallError:
            if call.asked.item == "q3" and self.failed < 2:
                self.failed += 1
                return CallError("server", "500: once more", passing=True)
            if call.asked.item == "q5":
                return CallError("bad-request", "400: never")
            return self.reply(call)

    model = Stumbling()
    stored, progress = ask(model, [call(n) for n in range(8)])
    assert progress.outcomes == {"answered": 7, "failed": 1}
    assert progress.retries == {"server": 2}
    assert {response.text: response.attempts for response in stored}["q3"] == 3
    assert [(response.error, response.detail) for response in stored if response.outcome == "failed"] == [
        ("bad-request", "400: never")
    ]
    assert sum(map(len, model.batches)) == 10, "nobody else was asked again"


def test_what_befalls_all_of_them_is_repeated_for_all() -> None:
    class Away(Many):
        async def answer_many(self, calls: Sequence[Call]) -> Sequence[Response | CallError]:
            if not self.batches:
                self.batches.append([])
                raise CallError("overloaded", "503: too many", passing=True, blame="either")
            return await super().answer_many(calls)

    stored, progress = ask(Away(), [call(n) for n in range(6)])
    assert progress.outcomes == {"answered": 6}
    assert progress.retries == {"overloaded": 6}
    assert {response.attempts for response in stored} == {2}


def test_a_fault_in_one_call_costs_no_other() -> None:
    class Faulty(Many):
        def reply(self, call: Call) -> Response:
            if call.asked.item == "q2":
                raise ZeroDivisionError("oops")
            return super().reply(call)

    model = Faulty()
    stored, progress = ask(model, [call(n) for n in range(6)])
    assert progress.outcomes == {"answered": 5, "failed": 1}
    (failed,) = [response for response in stored if response.outcome == "failed"]
    assert failed.error == "internal"
    assert "ZeroDivisionError: oops" in failed.detail
