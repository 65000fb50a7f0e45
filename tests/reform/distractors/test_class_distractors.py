"""Distractors of a closed list are hard, never right as well, and do not show which option is the gold."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark
from eyetest.records import OptionProvenance
from eyetest.reform.annotation import ClassLabel
from eyetest.reform.distractors import classes as classes_module
from eyetest.reform.distractors.classes import ClassDistractors, Hardness, read_confusions
from tests.support.command import call

DICTIONARY = Path("/usr/share/wordnet/data.noun")
HARD = Hardness(options=4, pool=12, ways=("hierarchy", "similarity"))


def listed(*names: str) -> list[ClassLabel]:
    return [ClassLabel(name=name) for name in names]


def drawn(distractors: ClassDistractors, name: str, least: float = 0) -> set[str]:
    """What stands beside a class in more than a share of many draws."""
    chance = random.Random(0)
    shown = Counter(text for _ in range(100) for text, _ in distractors.draw(name, (), chance))
    return {text for text, times in shown.items() if times > 100 * least}


class Lines:
    """WordNet's nouns once more, by another way: every line of ``data.noun``, words looked up without an index."""

    def __init__(self) -> None:
        self.above: dict[int, set[int]] = {}
        self.senses: dict[str, set[int]] = defaultdict(set)
        for line in DICTIONARY.read_text("ascii").splitlines():
            if line.startswith("  "):
                continue
            head = line.split(" | ")[0].split(" ")
            offset, words = int(head[0]), int(head[3], 16)
            for word in head[4 : 4 + 2 * words : 2]:
                self.senses[word.lower().replace("_", " ")].add(offset)
            rest = head[4 + 2 * words + 1 :]
            self.above[offset] = {int(rest[i + 1]) for i in range(0, len(rest) - 3, 4) if rest[i] in ("@", "@i")}

    def closure(self, offsets: set[int]) -> set[int]:
        reached = set(offsets)
        while new := {up for one in offsets for up in self.above[one]} - reached:
            reached |= new
            offsets = new
        return reached


@pytest.fixture(scope="module")
def lines() -> Lines:
    if not DICTIONARY.is_file():
        pytest.skip("no WordNet: `make wordnet` installs it")
    return Lines()


def cifar(shared: Path) -> list[ClassLabel]:
    return listed(*(shared / "data/native/CIFAR/fine_label_names.txt").read_text().replace("_", " ").splitlines())


def imagenet(shared: Path) -> list[ClassLabel]:
    rows = (shared / "data/native/ImageNet/synset_words.txt").read_text().splitlines()
    named = [(row[:9], [name.strip() for name in row[9:].split(",")]) for row in rows]
    return [ClassLabel(name=names[0], synonyms=tuple(names[1:]), synset=synset) for synset, names in named]


@pytest.mark.parametrize("labels_of", [cifar, imagenet])
def test_no_option_is_a_synonym_ancestor_or_descendant_of_another(
    labels_of: Callable[[Path], list[ClassLabel]], shared: Path, lines: Lines
) -> None:
    labels = labels_of(shared)
    means: dict[str, set[int]] = defaultdict(set)
    for label in labels:
        means[label.name] |= _meanings(label, lines)
    reach = {name: lines.closure(own) for name, own in means.items()}
    distractors = ClassDistractors(labels, Counter(list(means)), HARD)
    chance = random.Random(0)
    for name in means:
        options = [name, *(text for text, _ in distractors.draw(name, (), chance))]
        assert len(options) == 4
        for one, other in permutations(options, 2):
            assert not means[one] & reach[other], (one, other)


def _meanings(label: ClassLabel, lines: Lines) -> set[int]:
    """Every sense of every name; a name with its own id also means that."""
    own = {int(label.synset[1:])} if label.synset else set()
    return own.union(*(lines.senses.get(name.lower(), set()) for name in (label.name, *label.synonyms)))


def test_related_classes_stand_apart_and_near_ones_together(lines: Lines) -> None:
    dogs, strings = ("dog", "poodle", "dalmatian", "beagle"), ("violin", "cello", "harp")
    names = (*dogs, "cat", "wolf", "tench", "goldfish", *strings, "flute")
    distractors = ClassDistractors(listed(*names), Counter(names * 10), Hardness(options=3, pool=3, ways=HARD.ways))
    assert drawn(distractors, "dog").isdisjoint({"poodle", "dalmatian", "beagle"})
    assert drawn(distractors, "violin", 0.5) <= {"cello", "harp", "flute"}
    assert drawn(distractors, "beagle", 0.5) <= {"dalmatian", "poodle", "cat", "wolf"}


@pytest.mark.parametrize("zipf", [False, True])
def test_a_class_is_as_often_a_distractor_as_its_golds_need(zipf: bool) -> None:
    names = [f"{one}{other}" for one in "bdfgklmnprst" for other in ("ab", "ane", "ero", "ila", "omu")]
    golds = Counter({name: 20 + (600 // (rank + 5) if zipf else 0) for rank, name in enumerate(names)})
    distractors = ClassDistractors(listed(*names), golds, HARD)
    chance, right, shown = random.Random(1), Counter[str](), Counter[str]()
    for name in chance.choices(list(golds), list(golds.values()), k=24_000):
        options = [name, *(text for text, _ in distractors.draw(name, (), chance))]
        right[name] += 1
        shown.update(options)
        assert len(set(options)) == 4
    shares = [right[name] / shown[name] for name in names]
    assert max(abs(share - 0.25) for share in shares) < 0.06


def test_without_wordnet_names_are_compared_and_heads_are_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes_module, "find_wordnet", lambda: None)
    bears, mice = ("bear", "brown bear", "bears (zoo)"), ("mouse", "computer mouse")
    names = (*bears, *mice, "goldfish", "fish", "can", "can of soup", "car", "cart")
    distractors = ClassDistractors(listed(*names), Counter(names * 3), Hardness(options=4, pool=4, ways=HARD.ways))
    assert any("no WordNet" in line for line in distractors.notes)
    assert drawn(distractors, "bear").isdisjoint({"brown bear", "bears (zoo)"})
    assert "computer mouse" not in drawn(distractors, "mouse")
    assert "can" not in drawn(distractors, "can of soup")
    assert "cart" in drawn(distractors, "car")
    _, ways = zip(*distractors.draw("car", (), random.Random(0)), strict=True)
    assert set(ways) == {"similarity"}


def test_wrong_answers_of_a_run_are_confusions(tmp_path: Path) -> None:
    rows = "".join(f"{number},{'abcd'[number % 4]}\n" for number in range(40))
    (tmp_path / "rows.csv").write_text(f"id,label\n{rows}")
    (tmp_path / "own.yaml").write_text(
        "{name: own, dimension: CG, task: t, reader: table, reformer: classification, "
        "settings: {question: 'Which?'}, read: {fields: {id: id, label: label}}}"
    )
    bench, run = tmp_path / "bench", tmp_path / "run"
    reform_it = ("reform", tmp_path / "own.yaml", "-a", tmp_path / "rows.csv", "--to")
    call(*reform_it, bench).fine()
    call("run", bench, "--model", "scripted:right=0.5", "--to", run).fine()
    confused = read_confusions(run)
    assert sum(confused.values()) > 5
    assert all(right != chosen and {right, chosen} <= set("abcd") for right, chosen in confused)
    call(*reform_it, tmp_path / "harder", "--set", f"confusions={run}").fine()
    authors = {
        choice.provenance.author
        for item in Benchmark(tmp_path / "harder")
        for choice in item.choices
        if isinstance(choice.provenance, OptionProvenance)
    }
    assert "confusion" in authors
    missing = call(*reform_it, tmp_path / "x", "--set", f"confusions={tmp_path / 'none'}").refused()
    assert "is no run folder" in missing
