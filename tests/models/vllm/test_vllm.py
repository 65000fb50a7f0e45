"""The ``vllm:`` backend before a toy engine whose log-probabilities are known, so that every sum can be checked."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from eyetest_world import load_rates, new_world
from PIL import Image

import eyetest as et
from eyetest.models import Call, CallError, Surroundings
from eyetest.models import vllm as backend
from eyetest.models.checkpoint import loading
from eyetest.models.vllm import BACKEND
from eyetest.records import Asked, GrayImage, Item, Message, ModelEntry, Prompt, Request, Response, Words
from eyetest.runs import read_responses
from tests.models.vllm import toy

pytestmark = pytest.mark.journey

CHOICES = ("two birds", "two", "too", "on top", "a cone", "a")
"""With equal beginnings, one that begins another, and two that the prompt's last letter joins."""


class Images:
    """Blank ones, counted."""

    def __init__(self) -> None:
        self.opened = 0

    def open(self, part: Any) -> Image.Image:
        self.opened += 1
        return Image.new("RGB", (part.width, part.height))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What looks like a checkpoint, with the toy in vLLM's place."""
    monkeypatch.setitem(sys.modules, "vllm", toy)
    monkeypatch.setattr(loading, "find_spec", lambda name: name)
    monkeypatch.setattr(backend, "load_processor", lambda checkpoint: (toy.Processor(), True))
    path = tmp_path / "own"
    path.mkdir()
    (path / "config.json").write_text('{"dtype": "bfloat16"}')
    (path / "model.safetensors").write_bytes(b"weights")
    return path


def call(question: str, sizes: Sequence[int] = (), candidates: Sequence[str] = (), **settings: Any) -> Call:
    parts: tuple[Any, ...] = (*(GrayImage(size, 4) for size in sizes), Words(question))
    prompt = Prompt((Message("user", parts),), candidates=tuple(candidates))
    request = Request(model="m", prompt=prompt, settings=settings)
    return Call(Asked(item=question, model="m"), Item(id=question, question="?"), request, request.id)


def using(folder: Path, work: Callable[[Any], Any], images: Any = None, **sampling: Any) -> Any:
    async def do() -> Any:
        entry = ModelEntry(spec=f"vllm:{folder}", sampling=sampling)
        model: Any = BACKEND.make("m", entry, Surroundings(images=images or Images()))
        try:
            await model.open()
            return await work(model)
        finally:
            await model.close()

    return asyncio.run(do())


def answers(folder: Path, calls: Sequence[Call], images: Any = None, **sampling: Any) -> list[Any]:
    return list(using(folder, lambda model: model.answer_many(calls), images, **sampling))


def directly(question: str, sizes: Sequence[int], candidate: str) -> tuple[float, int]:
    """A candidate's sum and number of tokens, token by token from the toy itself."""
    names = [f"grey {size} × 4" for size in sizes]
    start = "user:" + "<image>" * len(sizes) + question + "\nassistant:"
    read = toy.Tokenizer()([start + candidate], add_special_tokens=False, return_offsets_mapping=True)
    tokens: list[int] = []
    logs = []
    for token, (_, end) in zip(read["input_ids"][0], read["offset_mapping"][0], strict=True):
        if end > len(start):
            logs.append(toy.log(tokens, names, token))
        tokens += [token] * (toy.PATCHES if token == toy.MARK else 1)
    return sum(logs), len(logs)


def test_sums_are_those_of_the_model_and_nothing_is_asked_twice(folder: Path) -> None:
    asked = [
        ("What is there?", (3,)),
        ("Be brief: what is there?", (3,)),
        ("Which of both?", (3, 5)),
        ("And now?", ()),
    ]
    for response, (question, sizes) in zip(
        answers(folder, [call(question, sizes, CHOICES) for question, sizes in asked]), asked, strict=True
    ):
        expected = [directly(question, sizes, candidate) for candidate in CHOICES]
        assert response.candidates == pytest.approx([log for log, _ in expected], abs=1e-9)
        assert response.candidate_tokens == tuple(number for _, number in expected)
        assert response.tokens_in == len(f"user:{question}\nassistant:") + toy.PATCHES * len(sizes)
    llm = toy.LLM.made
    assert len(set(llm.asked)) == len(llm.asked)
    read = toy.Tokenizer()(CHOICES, add_special_tokens=False)["input_ids"]
    assert len(llm.asked) == len(asked) * len({tuple(ids[:at]) for ids in read for at in range(len(ids))})
    assert llm.llm_engine.together > len(asked)
    assert llm.llm_engine.stopped


def test_a_letter_that_joins_the_prompt_is_weighed_with_it(folder: Path) -> None:
    wanted = call("Say it.", (), ("oh", "ah"))
    prompt = msgspec.structs.replace(wanted.request.prompt, prefill="wo")
    request = msgspec.structs.replace(wanted.request, prompt=prompt)
    (response,) = answers(folder, [msgspec.structs.replace(wanted, request=request, id=request.id)])
    begun = [ord(letter) for letter in "user:Say it.\nassistant:w"]
    joined = toy.log(begun, [], toy.PAIR) + toy.log([*begun, toy.PAIR], [], ord("h"))
    apart = [*begun, ord("o")]
    alone = toy.log(apart, [], ord("a")) + toy.log([*apart, ord("a")], [], ord("h"))
    assert response.candidates == pytest.approx([joined, alone], abs=1e-9)
    assert response.candidate_tokens == (2, 2)


def test_what_it_writes_does_not_depend_on_who_is_asked_beside(folder: Path) -> None:
    plain: dict[str, Any] = {"temperature": 0, "max_tokens": 6}
    for settings in (plain, {"temperature": 1, "max_tokens": 16}):
        wanted = [call(f"What is {number}?", (3,), **settings) for number in range(9)]
        together = answers(folder, wanted)
        assert together == [answers(folder, [one])[0] for one in wanted]
        for one in together:
            assert one.outcome == ("answered" if one.finish == "stop" else "truncated")
            assert one.tokens_out <= settings["max_tokens"]
    assert {one.outcome for one in together} == {"answered", "truncated"}
    assert len({one.text for one in together}) > 1


def test_a_call_that_cannot_be_answered_costs_no_other(folder: Path) -> None:
    calls = [
        call("How many?", (3,), CHOICES),
        call("How many? " * 99, (3,), CHOICES),
        call("Why?", (4,), max_tokens=2),
    ]
    good, bad, short = answers(folder, calls)
    assert isinstance(good, Response)
    assert isinstance(short, Response)
    assert isinstance(bad, CallError)
    assert (bad.kind, bad.passing) == ("bad-request", False)
    assert "longer than the maximum model length" in str(bad)
    marked = [call("What is <image>?", (3,), CHOICES) for _ in range(2)]
    (odd, *_), fine = answers(folder, marked), answers(folder, [call("How many?", (3,), CHOICES)])[0]
    assert isinstance(odd, CallError)
    assert "1 images for 2 letters" in str(odd)
    assert isinstance(fine, Response)


@pytest.mark.filterwarnings("ignore:.*calls? left")
def test_an_engine_that_breaks_is_given_up_and_no_call_is_blamed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = new_world(tmp_path / "world", load_rates("none"), items=18, seed=5)
    models = {"own": {"spec": f"vllm:{folder}", "sampling": {"max_model_len": 4000}, "concurrency": 2}}
    step, steps = toy.Core.step, count()

    def breaking(core: toy.Core) -> list[Any]:
        core.broken = next(steps) == 9
        return step(core)

    monkeypatch.setattr(toy.Core, "step", breaking)
    how: dict[str, Any] = {"max_tokens": 4, "to": tmp_path / "run"}
    with pytest.warns(
        UserWarning, match="own was given up: its engine broke: CUDA error: an illegal memory access was encountered"
    ):
        et.run(bench, models=models, **how)
    assert toy.LLM.made.llm_engine.stopped
    stored = list(read_responses(tmp_path / "run"))
    assert 0 < len(stored) < 18
    assert {one.outcome for one in stored} <= {"answered", "truncated"}
    run = et.run(bench, models=models, **how)
    assert run.responses().num_rows == 18


def test_what_nobody_waits_for_is_given_up(folder: Path) -> None:
    async def work(model: Any) -> None:
        never = asyncio.ensure_future(model.answer(call("Go on.", (), max_tokens=toy.ENDLESS)))
        core = toy.LLM.made.llm_engine
        while not core.going:
            await asyncio.sleep(0.001)
        (name,) = core.going
        never.cancel()
        await model.answer(call("How many?", (), max_tokens=1))
        assert core.aborted == [name]
        assert name not in core.going

    using(folder, work)


def test_settings_reach_the_engine_and_decide_who_it_is(folder: Path) -> None:
    def made(**sampling: Any) -> Any:
        return BACKEND.make("m", ModelEntry(spec=f"vllm:{folder}", sampling=sampling), Surroundings())

    plain, other = made(), made(tensor_parallel_size=2, gpu_memory_utilization=0.5)
    assert plain.settings == other.settings
    assert plain.settings["dtype"] == "bfloat16"
    assert made(dtype="float32").settings != plain.settings
    answers(folder, [], dtype="float16", enforce_eager=True, tensor_parallel_size=2)
    assert (
        toy.LLM.made.options.items() >= {"dtype": "float16", "enforce_eager": True, "tensor_parallel_size": 2}.items()
    )
    assert toy.LLM.made.options["trust_remote_code"] is False
    assert toy.LLM.made.options["load_format"] == "safetensors"
