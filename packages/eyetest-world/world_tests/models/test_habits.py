"""Habits of the zoo: tastes, beliefs and memories move guesses, never what is known, and hang on words alone."""

from pathlib import Path

import pytest
from eyetest_world import Truth, load_rates, new_world, read_truth
from eyetest_world.toy_models import _vocabulary
from eyetest_world.toy_models.cards import cards, models_file

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.models import make_models, read_models
from eyetest.models.base import Surroundings
from eyetest.prompts import build
from eyetest.records import Condition, Item, ModelEntry, Response
from eyetest.scoring.scorer import Scorer
from tests.models.asked import Embedded

BLIND = Condition(modality="no-image-guess")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("world") / "w"
    new_world(path, load_rates("default"), items=80, seed=21)
    return path


@pytest.fixture(scope="module")
def bench(world: Path) -> Benchmark:
    return Benchmark(world / "benchmark")


@pytest.fixture(scope="module")
def truths(world: Path) -> dict[str, Truth]:
    return {truth.item: truth for truth in read_truth(world)}


def chosen(model: Embedded, items: list[Item], condition: Condition = BLIND) -> list[str | None]:
    """The text of the option that is taken at temperature 0."""
    scorer, texts = Scorer(), []
    for item, reply in zip(items, model.about(items, condition), strict=True):
        assert isinstance(reply, Response)
        mark = scorer.score(item, condition, reply).choice
        texts.append(item.choices["ABCDE".index(mark)].text if mark else None)
    return texts


@pytest.mark.parametrize("condition", [BLIND, Condition(), Condition(modality="no-image", shots="two")])
def test_the_question_is_found_in_a_prompt(bench: Benchmark, condition: Condition) -> None:
    tokens = _vocabulary()
    for item in list(bench)[:10]:
        question, options = tokens.question(tokens.encode_prompt(build(item, condition)))
        assert list(question) == tokens.encode(item.question)
        assert [list(option.text) for option in options] == [tokens.encode(one.text) for one in item.choices]
    assert tokens.question(tokens.encode("Is it late?\nYes.")) == ((), [])


def test_beliefs_are_shared_and_knowledge_is_kept(bench: Benchmark, truths: dict[str, Truth]) -> None:
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


def test_tastes_are_ones_own_and_hang_on_words(bench: Benchmark, truths: dict[str, Truth]) -> None:
    sound = [item for item in bench if not truths[item.id].flaws]
    gourmets = [Embedded(name, bench, sampling={"taste": 6.0}) for name in ("mole-s", "mole-l")]
    one, other = (chosen(model, sound) for model in gourmets)
    assert sum(a == b for a, b in zip(one, other, strict=True)) <= 0.6 * len(sound)
    shuffled = chosen(gourmets[0], sound, Condition(modality="no-image-guess", order=3))
    assert sum(a == b for a, b in zip(one, shuffled, strict=True)) >= 0.75 * len(sound)


@pytest.mark.parametrize("method", ["generate", "first-token"])
def test_what_leaked_is_remembered(world: Path, bench: Benchmark, truths: dict[str, Truth], method: str) -> None:
    leaked = [item for item in bench if {"text", "many"} & {*truths[item.id].leaked_to}]
    condition = Condition(modality="no-image-guess", method=method)  # type: ignore[arg-type]
    memory = {"memory": f"{world / 'leaks.jsonl'}#text+many"}
    replies = Embedded("mole-l", bench, sampling=memory).about(leaked, condition)
    if method == "first-token":
        weighed = [[one or 0.0 for one in reply.candidates] for reply in replies if isinstance(reply, Response)]
        right = [one.index(max(one)) == item.gold[0] for item, one in zip(leaked, weighed, strict=True)]
    else:
        texts = chosen(Embedded("mole-l", bench, sampling=memory), leaked)
        right = [text == item.choices[item.gold[0]].text for item, text in zip(leaked, texts, strict=True)]
    assert sum(right) >= 0.95 * len(leaked)


def test_the_whole_zoo_with_habits(world: Path, tmp_path: Path) -> None:
    (tmp_path / "zoo.yaml").write_text(models_file(1.5, 0.1, str(world / "leaks.jsonl")))
    models = read_models(tmp_path / "zoo.yaml")
    assert list(models) == list(cards())
    assert models["hawk-l"].sampling == {"taste": 1.5, "belief": 0.1, "memory": f"{world / 'leaks.jsonl'}#text+many"}
    assert models["mole-l"].sampling["memory"].endswith("#text")
    (tmp_path / "zoo.yaml").write_text(models_file())
    assert not any(entry.sampling for entry in read_models(tmp_path / "zoo.yaml").values())


@pytest.mark.parametrize(
    ("sampling", "said"),
    [
        ({"belief": 2}, "belief is a share of the questions from 0 to 1, not 2"),
        ({"taste": -1}, "taste is a number from 0 on"),
        ({"memory": "leaks.jsonl"}, "memory is a world's leaks and to whom"),
        ({"memory": "nowhere.jsonl#text"}, "nowhere.jsonl cannot be read as a world's leaks"),
    ],
)
def test_what_is_no_habit(sampling: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        make_models({"x": ModelEntry(spec="embedded:mole-s", sampling=sampling)}, Surroundings())
