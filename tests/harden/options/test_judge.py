"""Ten options of real files, judged by learners and features that no part of the product uses (`judging`)."""

import math
import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from eyetest.benchmarks import Benchmark
from eyetest.harden.options.growing import grow_options
from eyetest.harden.options.record import OptionSettings
from eyetest.records import Item
from tests.harden.options.items import choice_item, numeric_items
from tests.harden.options.judging import LEARNERS, judge, number
from tests.harden.options.question_judging import QUESTION_LEARNERS, judge_with_question
from tests.scoring.test_table import make_bench


@pytest.mark.science
def test_the_independent_judge_finds_a_key_that_is_the_centre_of_its_distractors() -> None:
    silent = numeric_items(120, 6, 3)
    centred = []
    for at, item in enumerate(silent):
        key = int(item.choices[0].text) + 100
        texts = [str(key + step) for step in (0, 1, -1, 10, -10, 100)]
        centred.append(choice_item(f"c{at}", texts, 0))
    assert judge(centred, "stumps").ratio > 3
    assert judge(silent, "stumps").low < 1 / 6


@pytest.mark.science
@pytest.mark.parametrize("seed", [20, 21])
@pytest.mark.parametrize("name", ["chartqa", "mathvista", "mmmu_pro"])
def test_ten_options_tell_less_than_the_options_that_were_there(
    real_benchmark: Callable[[str], Benchmark], tmp_path: Path, name: str, seed: int
) -> None:
    """Each learner: the lower end of its interval is at most 1.25 times chance, or at most the ratio before."""
    numeric = [item for item in real_benchmark(name) if _is_numeric(item) and (item.is_choice or name == "chartqa")]
    given = make_bench(tmp_path / "given", [msgspec.structs.replace(item, images=()) for item in numeric])
    before = {item.id: item for item in given}
    grown = grow_options(given, tmp_path / "grown", OptionSettings(seed=seed, open=True))
    ten = [item for item in grown.benchmark if len(item.choices) == 10]
    assert len(ten) > 0.3 * len(numeric)
    for learner in LEARNERS:
        after = judge(ten, learner)
        earlier = [before[item.id] for item in ten if before[item.id].is_choice]
        allowed = max(1.25, judge(earlier, learner).ratio if len(earlier) > 60 else 0)
        print(f"{name} seed {seed} {learner}: {after} of {len(numeric)}, allowed {allowed:.2f}")
        assert after.low <= allowed * after.chance, (name, learner, str(after))


def _is_numeric(item: Item) -> bool:
    texts = [choice.text for choice in item.choices] or list(item.references[:1])
    return len(item.gold) <= 1 and all(math.isfinite(number(text)) and len(text) < 16 for text in texts)


@pytest.mark.science
def test_growing_adds_no_cue_to_made_up_numbers_beside_any_words(tmp_path: Path) -> None:
    """Words and numbers of the questions say nothing; no learner finds keys more often than chance."""
    chance = random.Random(6)
    items = []
    for item in numeric_items(130, 4, 5):
        words = " ".join(chance.sample(("long", "red", "old", "north", "steel", "paper", "rain", "tower"), 3))
        question = f"How much is the {words} with {chance.randint(2, 90)} parts?"
        items.append(msgspec.structs.replace(item, question=question))
    given = make_bench(tmp_path / "given", items)
    grown = grow_options(given, tmp_path / "grown", OptionSettings(seed=3))
    ten = [item for item in grown.benchmark if len(item.choices) == 10]
    assert len(ten) > 0.6 * len(items)
    for learner in QUESTION_LEARNERS:
        judgement = judge_with_question(ten, learner)
        print(f"made up {learner}: {judgement}")
        assert judgement.low <= judgement.chance, (learner, str(judgement))


@pytest.mark.science
def test_learners_that_see_the_question_find_few_keys_of_open_numbers(
    real_benchmark: Callable[[str], Benchmark], tmp_path: Path
) -> None:
    """The lower end of the interval of each learner is at most 1.35 times chance."""
    numeric = [item for item in real_benchmark("chartqa") if _is_numeric(item) and not item.is_choice][:300]
    given = make_bench(tmp_path / "given", [msgspec.structs.replace(item, images=()) for item in numeric])
    grown = grow_options(given, tmp_path / "grown", OptionSettings(seed=20, open=True))
    ten = [item for item in grown.benchmark if len(item.choices) == 10]
    for learner in QUESTION_LEARNERS:
        judgement = judge_with_question(ten, learner)
        print(f"chartqa {learner}: {judgement}")
        assert judgement.low <= 1.35 * judgement.chance, (learner, str(judgement))
