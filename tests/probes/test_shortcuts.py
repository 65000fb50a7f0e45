"""Golds that can be predicted without an image are found, and a clean set stays quiet."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from scipy import stats

from eyetest.benchmarks import Benchmark, Import, ReadOptions, import_benchmark
from eyetest.measures.stats.sets import group_folds
from eyetest.probes import PROBES, Subject, features, shortcuts
from eyetest.probes.features import Options
from eyetest.probes.shortcuts import image_groups, p_value
from eyetest.records import Choice, Finding, Item
from tests.probes.generated import clean, image_file, subject, vocabulary

pytestmark = pytest.mark.science

KINDS = (
    "surface-shortcut-linear", "surface-shortcut-trees", "surface-given-away",
    "text-shortcut-linear", "text-shortcut-trees", "text-given-away",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _fewer_permutations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortcuts, "PERMUTATIONS", 39)


def with_gold(item: Item, place: int) -> Item:
    choices = tuple(Choice(choice.text, correct=i == place) for i, choice in enumerate(item.choices))
    return msgspec.structs.replace(item, choices=choices)


def longest_gold(items: Sequence[Item], share: float) -> list[Item]:
    rng = np.random.default_rng(0)
    lengths = [[len(choice.text) for choice in item.choices] for item in items]
    longest = [row.index(max(row)) for row in lengths]
    return [
        with_gold(item, place) if rng.random() < share else item for item, place in zip(items, longest, strict=True)
    ]


def found(subject: Subject) -> dict[str, Finding]:
    return {finding.kind: finding for finding in PROBES["shortcuts"].run(subject)}


def test_a_few_golds_given_away_are_found_where_accuracy_hides_them() -> None:
    """In one item of twelve the gold says more than all other options together."""
    items = clean(480, seed=21)
    flawed = set(range(0, 480, 12))
    for number in flawed:
        item = items[number]
        reported = " ".join([*vocabulary()[:12], item.choices[item.gold[0]].text])
        choices = tuple(msgspec.structs.replace(one, text=reported) if one.correct else one for one in item.choices)
        items[number] = msgspec.structs.replace(item, choices=choices)
    case = subject(items)
    findings = found(case)
    few = findings["surface-given-away"]
    assert few.p is not None
    assert few.p < 1e-3
    scores = case.item_scores["shortcut:surface"]
    most = sorted(scores, key=scores.__getitem__, reverse=True)[: few.numbers["given_away"]]
    assert few.numbers["given_away"] >= 10
    assert len({*map(int, most)} & flawed) >= 0.8 * few.numbers["given_away"]
    assert few.numbers["rate_low"] > few.numbers["chance"]
    assert all((findings[kind].p or 0) > few.p for kind in KINDS[:2])
    clear = found(subject(clean(480, seed=22)))["surface-given-away"]
    assert (clear.p or 0) > 0.05


def test_mmmu_pro_gives_golds_away_and_mostly_in_numbers(shared: Path, tmp_path: Path) -> None:
    fields = {"options": "options10_final", "answer": "answer10_final"}
    import_benchmark(shared / "data/mmmu_pro", tmp_path / "b", Import(read=ReadOptions(fields=fields)))
    whole = Subject(Benchmark(tmp_path / "b"))
    findings = found(whole)
    assert set(findings) == set(KINDS)
    for kind in ("surface-shortcut-trees", "surface-shortcut-linear"):
        finding, ten = findings[kind], findings[kind].numbers["commonest"]
        assert ten["options"] == 10
        assert ten["n"] == 1214
        assert 0.15 <= ten["accuracy"] <= 0.19
        assert 0.09 <= ten["null_mean"] <= 0.11
        assert finding.p is not None
        assert finding.p < 1e-4
        assert "mostly where options are numbers" in finding.title
        assert 0.21 <= finding.numbers["by_option_kind"]["numeric"]["accuracy"] <= 0.28
    assert set(whole.item_scores["shortcut:surface"]) == {item.id for item in whole.items}


@pytest.mark.slow
def test_clean_sets_raise_no_more_alarms_than_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortcuts, "TREES", 30)
    monkeypatch.setattr(features, "BUCKETS", 60)
    ps: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for seed in range(40):
        for kind, finding in found(subject(clean(300, seed, 3 + seed % 4), seed=seed)).items():
            assert finding.p is not None
            ps[kind].append(finding.p)
    for kind, values in ps.items():
        alarms = sum(p <= 0.05 for p in values)
        assert stats.binom.sf(alarms - 1, len(values), 0.05) > 0.002, (kind, alarms)
        assert 0.3 < np.mean(values) < 0.7, kind


def test_a_gold_that_is_longest_too_often_is_found() -> None:
    biased = subject(longest_gold(clean(600, 1), 0.6))
    findings = found(biased)
    for kind in KINDS[:2]:
        finding = findings[kind]
        assert finding.p == 1e-6
        assert finding.title.startswith("From how options look alone: ")
        assert finding.numbers["accuracy"] > 0.5
        assert finding.numbers["gain_low"] > 0.2
        assert finding.items == ()
    longest = [max(item.choices, key=lambda choice: len(choice.text)).correct for item in biased.items]
    scores = np.array([biased.item_scores["shortcut:surface"][item.id] for item in biased.items])
    assert scores[longest].mean() > scores[~np.array(longest)].mean() + 0.3


def test_a_bias_in_words_alone_is_pointed_at() -> None:
    items = clean(500, 3)
    numeric = [Options(item).numeric for item in items]
    biased = [
        old if is_numeric else new
        for old, new, is_numeric in zip(items, longest_gold(items, 0.7), numeric, strict=True)
    ]
    finding = found(subject(biased))["surface-shortcut-linear"]
    assert "mostly where options are not numbers" in finding.title
    assert finding.numbers["by_option_kind"]["numeric"]["z"] < 3


def test_a_word_of_the_question_that_calls_for_an_answer_is_seen_by_the_text_view_only() -> None:
    rng = np.random.default_rng(5)
    colours = ["blue", "gold", "grey", "pink"]
    things = dict(zip(["sky", "sun", "rat", "pig"], range(4), strict=True))
    items = []
    for number in range(400):
        thing = str(rng.choice(list(things)))
        gold = things[thing] if rng.random() < 0.7 else int(rng.integers(4))
        order = rng.permutation(4)
        choices = tuple(Choice(colours[i], correct=bool(i == gold)) for i in order)
        items.append(Item(id=str(number), question=f"Which colour is the {thing}?", choices=choices))
    findings = found(subject(items))
    surface, text = findings["surface-shortcut-linear"], findings["text-shortcut-linear"]
    assert text.p == 1e-6
    assert text.numbers["accuracy"] > 0.6
    assert surface.numbers["accuracy"] < 0.35


def test_the_position_of_the_gold_is_not_seen() -> None:
    """Always the first option, under options that differ in nothing but their labels or image numbers."""
    shapes = ([f"{letter}. {{}}" for letter in "ABCD"], ["<image 1>", "<image 2>", "<image 3>", "<image 4>"], "ABCD")
    items = [with_gold(item, 0) for item in clean(400, 8)]
    for item in items[:5]:
        for place, shape in enumerate(shapes):
            texts = [label.format(choice.text) for label, choice in zip(shape, item.choices, strict=True)]
            choices = tuple(Choice(text, correct=i == 0) for i, text in enumerate(texts))
            options = Options(msgspec.structs.replace(item, choices=choices))
            if place:
                assert len(set(options.texts)) == 1
            else:
                assert not any(text[:2] in ("A.", "B.", "C.", "D.") for text in options.texts), texts
    assert all(finding.p is not None and finding.p > 0.001 for finding in found(subject(items)).values())


def test_items_that_share_a_image_or_a_question_are_held_out_together() -> None:
    shown = {"a": (1, 2), "b": (2, 3), "c": (3,), "d": (4,), "e": (), "f": (), "g": ()}
    items = [
        Item(id=name, question="?", references=("y",), images=tuple(map(image_file, seeds)))
        for name, seeds in shown.items()
    ]
    items[4] = msgspec.structs.replace(items[4], group="d")
    groups = image_groups(items)
    assert groups[0] == groups[1] == groups[2]
    assert groups[3] == groups[4]
    assert len(set(groups)) == 4
    folds = group_folds(groups, 3, np.random.default_rng(0))
    assert folds[0] == folds[1] == folds[2]
    assert folds[3] == folds[4]
    assert sorted(np.bincount(folds)) == [2, 2, 3]


def translated(seed: int, kind: str) -> list[Item]:
    """Sixty questions with golds at random, in eight languages that share no word; drawn with numpy alone."""
    rng = np.random.default_rng([seed, len(kind)])
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    languages = [["".join(rng.choice(letters, rng.integers(3, 9))) for _ in range(300)] for _ in range(8)]
    items = []
    for fact in range(60):
        asked, gold = rng.integers(0, 300, 8), int(rng.integers(4))
        options = [rng.integers(0, 300, rng.integers(1, 5)) for _ in range(4)]
        numbers = rng.choice(np.arange(3, 990), 4, replace=False).tolist()
        for number, words in enumerate(languages):
            question = " ".join(words[place] for place in asked)
            texts = [" ".join(words[place] for place in option) for option in options]
            if kind == "options are numbers":
                texts = [str(value) for value in numbers]
            else:
                question += f" {numbers[0]} {numbers[1]}"
            choices = tuple(Choice(text, place == gold) for place, text in enumerate(texts))
            items.append(Item(id=f"{fact}-{number}", question=f"{question}?", choices=choices))
    return items


@pytest.mark.parametrize("kind", ["options are numbers", "questions share numbers"])
def test_translated_files_raise_no_false_alarms(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted one by one, eight or more of ten such files had an alarm in each test of `shortcuts`."""
    monkeypatch.setattr(shortcuts, "TREES", 30)
    monkeypatch.setattr(features, "BUCKETS", 60)
    smallest = []
    for seed in range(6):
        about = subject(translated(seed, kind), seed=seed)
        findings = [
            finding for name in ("shortcuts", "positions", "surface-cues") for finding in PROBES[name].run(about)
        ]
        smallest.append(min(finding.p for finding in findings if finding.p is not None))
    assert sum(p <= 0.005 for p in smallest) <= 1, "about ten tests each, .05 together"


def test_p_values_are_counted_where_they_can_be_and_never_zero() -> None:
    null = np.random.default_rng(0).binomial(500, 0.25, 199) / 500
    middle, how = p_value(float(np.median(null)), null, 0.25, 500)
    assert middle == (1 + (null >= np.median(null)).sum()) / 200
    assert how == "share of random golds"
    for hits in (144, 150, 156):
        p, how = p_value(hits / 500, null, 0.25, 500)
        exact = stats.binom.sf(hits - 1, 500, 0.25)
        assert exact / 4 < p < exact * 4
        assert "curve" in how
    assert p_value(1.0, null, 0.25, 500)[0] == 1e-6
