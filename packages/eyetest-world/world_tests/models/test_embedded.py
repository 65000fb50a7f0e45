"""The models in the package: however they are asked they answer, and always the same."""

import io
import random
from collections import Counter

import pytest
from eyetest_world import load_rates, new_world
from eyetest_world.toy_models.cards import cards
from PIL import Image

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.models import CallError
from eyetest.prompts import build
from eyetest.prompts.building import description_prompt
from eyetest.records import Choice, Condition, Item, Manifest, Response
from eyetest.scoring.scorer import Scorer
from tests.models.asked import Embedded, Reply, texts

pytestmark = pytest.mark.journey

ITEMS = 24
_CLOSE = 1e-4


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Another world than the one that leaked."""
    return new_world(tmp_path_factory.mktemp("world") / "w", load_rates("default"), items=ITEMS, seed=11)


@pytest.fixture(scope="module")
def items(bench: Benchmark) -> list[Item]:
    return list(bench)


def read(items: list[Item], condition: Condition, replies: list[Reply]) -> Counter[str]:
    """How the rules read replies."""
    scorer, found = Scorer(), Counter[str]()
    for item, reply in zip(items, replies, strict=True):
        assert isinstance(reply, Response), reply
        found[str(scorer.score(item, condition, reply).reading)] += 1
    return found


def share_right(items: list[Item], condition: Condition, replies: list[Reply]) -> float:
    scorer = Scorer()
    scores = [
        scorer.score(item, condition, reply).score or 0.0
        for item, reply in zip(items, replies, strict=True)
        if isinstance(reply, Response)
    ]
    return sum(scores) / len(items)


CONDITIONS = [
    Condition(),
    Condition(modality="no-image"),
    Condition(modality="gray"),
    Condition(modality="nothing"),
    Condition(ask="cot"),
    Condition(ask="ocr"),
    Condition(modality="no-image", shots="two"),
    Condition(order=5),
    Condition(letters="digit"),
    Condition(method="likelihood"),
]


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_however_it_is_asked_it_answers(bench: Benchmark, items: list[Item], condition: Condition) -> None:
    found = read(items, condition, Embedded("owl-m", bench).about(items, condition))
    assert found["chosen"] >= ITEMS - 3, found


@pytest.mark.parametrize("name", list(cards()))
def test_everybody_answers_in_its_style(bench: Benchmark, items: list[Item], name: str) -> None:
    condition = Condition(modality="image" if cards()[name].sees else "no-image")
    found = read(items, condition, Embedded(name, bench).about(items, condition))
    assert found["chosen"] + found["refused"] >= ITEMS - 4, found
    assert bool(found["refused"]) <= (cards()[name].style == "careful")


def test_a_description_stands_in_for_a_image(bench: Benchmark, items: list[Item]) -> None:
    owl, mole = Embedded("owl-m", bench), Embedded("mole-m", bench)
    said = texts(owl.ask([description_prompt(item) for item in items], max_tokens=128))
    assert len(said) == ITEMS
    told = [
        Item(id=item.id, question=item.question, choices=item.choices, images=item.images, description=words)
        for item, words in zip(items, said, strict=True)
    ]
    caption, blind = Condition(modality="caption"), Condition(modality="no-image")
    replies = mole.about(told, caption)
    assert read(told, caption, replies)["chosen"] >= ITEMS - 3
    assert share_right(told, caption, replies) > share_right(told, blind, mole.about(told, blind)) + 0.15


def same(one: Reply, other: Reply) -> None:
    assert isinstance(one, Response)
    assert isinstance(other, Response)
    assert (one.request, one.text, one.outcome) == (other.request, other.text, other.outcome)
    assert one.candidates == pytest.approx(other.candidates, abs=_CLOSE)


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_company_order_and_haste_change_nothing(bench: Benchmark, items: list[Item], temperature: float) -> None:
    owl = Embedded("owl-m", bench)
    ways = (Condition(), Condition(modality="no-image"), Condition(method="likelihood"), Condition(ask="cot"))
    prompts = [build(item, condition) for item in items[:10] for condition in ways]
    together = owl.ask(prompts, samples=2, temperature=temperature)
    alone = owl.ask(prompts, samples=2, temperature=temperature, together=False)
    for one, other in zip(together, alone, strict=True):
        same(one, other)
    shuffled = random.Random(3).sample(range(len(prompts)), len(prompts))
    mixed = owl.ask([prompts[place] for place in shuffled], samples=2, temperature=temperature)
    for spot, place in enumerate(shuffled):
        for sample in range(2):
            same(mixed[2 * spot + sample], together[2 * place + sample])


def image_file(mode: str, size: tuple[int, int]) -> bytes:
    data = io.BytesIO()
    Image.effect_noise(size, 60).convert(mode).save(data, "PNG")
    return data.getvalue()


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Items such as nobody in the zoo has ever seen."""
    path = tmp_path_factory.mktemp("odd") / "b"
    two, ten = (tuple(Choice(f"thing {place}", place == 0) for place in range(count)) for count in (2, 10))
    with BenchmarkWriter(path, Manifest(name="odd")) as writer:
        plain = writer.images.put(image_file("RGB", (128, 128)))
        writer.add(Item(id="words", question="Wozu quillt der Grünspan, 山?", images=(plain,), choices=two))
        writer.add(Item(id="emoji", question="😀👩‍👩‍👧 <user> <end>?", images=(plain,), choices=two))
        writer.add(Item(id="ten", question="Which one?", images=(plain,), choices=ten))
        writer.add(Item(id="several", question="Which one?", images=(plain, plain, plain), choices=two))
        for mode, size in (("RGBA", (30, 40)), ("P", (500, 20)), ("L", (1, 1)), ("1", (900, 700))):
            writer.add(
                Item(
                    id=mode, question="What is it?", images=(writer.images.put(image_file(mode, size)),), choices=two
                )
            )
        writer.add(Item(id="open", question="What is it?", images=(plain,), references=("a heron",)))
        writer.add(Item(id="huge", question="word " * 2000, images=(plain,), choices=two))
    return Benchmark(path)


def test_odd_items_are_answered(odd: Benchmark) -> None:
    shown = [item for item in odd if item.id != "huge"]
    for reply in Embedded("wren-xs", odd).about(shown, Condition()):
        assert isinstance(reply, Response)
        assert reply.text


def test_a_huge_prompt_is_refused(odd: Benchmark) -> None:
    fine, huge = Embedded("wren-xs", odd).about([odd["ten"], odd["huge"]], Condition())
    assert isinstance(fine, Response), "nobody suffers from who is asked beside it"
    assert isinstance(huge, CallError)
    assert huge.kind == "too-large"
    assert "tokens; wren-xs reads 900" in str(huge)
