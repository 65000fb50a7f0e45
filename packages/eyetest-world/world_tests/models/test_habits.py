"""Habits of the zoo: tastes, beliefs and memories move guesses, never what is known, and hang on words alone."""

import pytest

from eyetest.records import Condition, Item, Response
from eyetest.scoring.scorer import Scorer
from tests.models.asked import Embedded
from world_tests.world.conftest import World, make

BLIND = Condition(modality="no-image-guess")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make(tmp_path_factory.mktemp("world") / "w", "default", items=80, seed=21)


def chosen(model: Embedded, items: list[Item]) -> list[str | None]:
    """The text of the option that is taken at temperature 0."""
    scorer, texts = Scorer(), []
    for item, reply in zip(items, model.about(items, BLIND), strict=True):
        assert isinstance(reply, Response)
        mark = scorer.score(item, BLIND, reply).choice
        texts.append(item.choices["ABCDE".index(mark)].text if mark else None)
    return texts


def test_beliefs_are_shared_and_knowledge_is_kept(world: World) -> None:
    bench, truths = world.benchmark, world.truths
    sound = [item for item in bench if not truths[item.id].flaws]
    known = [item for item in bench if truths[item.id].fact or "answer-in-question" in truths[item.id].flaws]
    believers = [Embedded(name, bench, sampling={"belief": 1.0}) for name in ("mole-s", "hawk-l")]
    one, other = (chosen(model, sound) for model in believers)
    assert sum(a == b for a, b in zip(one, other, strict=True)) >= 0.85 * len(sound)
    plain, alone = (chosen(Embedded(name, bench), sound) for name in ("mole-s", "hawk-l"))
    assert sum(a == b for a, b in zip(plain, alone, strict=True)) <= 0.7 * len(sound)
    told = chosen(believers[0], known)
    right = [item.choices[item.gold[0]].text for item in known]
    assert sum(a == b for a, b in zip(told, right, strict=True)) >= 0.85 * len(known)
    hits = sum(text == item.choices[item.gold[0]].text for text, item in zip(one, sound, strict=True))
    assert hits <= 0.55 * len(sound), "a belief knows nothing of golds"


@pytest.mark.parametrize("method", ["generate", "first-token"])
def test_what_leaked_is_remembered(world: World, method: str) -> None:
    leaked = [item for name, item in world.items.items() if {"text", "many"} & {*world.truths[name].leaked_to}]
    condition = Condition(modality="no-image-guess", method=method)  # type: ignore[arg-type]
    model = Embedded("mole-l", world.benchmark, sampling={"memory": f"{world.path / 'leaks.jsonl'}#text+many"})
    if method == "first-token":
        replies = model.about(leaked, condition)
        weighed = [[one or 0.0 for one in reply.candidates] for reply in replies if isinstance(reply, Response)]
        right = [one.index(max(one)) == item.gold[0] for item, one in zip(leaked, weighed, strict=True)]
    else:
        texts = chosen(model, leaked)
        right = [text == item.choices[item.gold[0]].text for item, text in zip(leaked, texts, strict=True)]
    assert sum(right) >= 0.95 * len(leaked)
