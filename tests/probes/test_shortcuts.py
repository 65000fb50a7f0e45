"""Golds that can be told without an image are found, and a clean set stays quiet."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from scipy import stats

from eyetest.benchmarks import Benchmark, BenchmarkWriter, Import, ReadOptions, import_benchmark
from eyetest.measures.stats.sets import group_folds
from eyetest.probes import PROBES, Subject, features, shortcuts
from eyetest.probes.features import Options, Table, number_of
from eyetest.probes.shortcuts import draw_golds, image_groups, p_value, sample_groups, where_it_sits
from eyetest.probes.subject import Thresholds, load_thresholds
from eyetest.records import Choice, Finding, ImageRef, Item, Manifest

WORDS = [f"{a}{b}{c}" for a, b, c in itertools.product("bdfgklmnprst", "aeiou", ["n", "rk", "st", "lm"])]
KINDS = (
    "surface-shortcut-linear", "surface-shortcut-trees", "surface-given-away",
    "text-shortcut-linear", "text-shortcut-trees", "text-given-away",
)  # fmt: skip


def fewer(permutations: int = 39, **changes: float) -> Thresholds:
    base = load_thresholds()
    settings = {"permutations": permutations, "tree_permutations": permutations, **changes}
    return msgspec.structs.replace(base, shortcuts=msgspec.structs.replace(base.shortcuts, **settings))


def made(folder: Path, items: Sequence[Item], thresholds: Thresholds | None = None, seed: int = 0) -> Subject:
    if not folder.exists():
        with BenchmarkWriter(folder, Manifest(name="made")) as writer:
            for item in items:
                writer.add(item)
    return Subject(Benchmark(folder), thresholds or fewer(), seed=seed)


def option(rng: np.random.Generator, numeric: bool) -> str:
    if numeric:
        return str(int(rng.integers(1, 100_000)))
    return " ".join(rng.choice(WORDS, rng.integers(1, 8), replace=False))


def clean(n: int, seed: int, options: int = 4) -> list[Item]:
    """Golds drawn uniformly among options that were drawn before."""
    rng = np.random.default_rng(seed)
    items = []
    for number in range(n):
        numeric = bool(rng.random() < 0.3)
        texts = {option(rng, numeric) for _ in range(4 * options)}
        texts_in_order = [str(text) for text in rng.permutation(sorted(texts))[:options]]
        gold = int(rng.integers(options))
        choices = tuple(Choice(text, correct=place == gold) for place, text in enumerate(texts_in_order))
        items.append(Item(id=f"i{number}", question=f"What is {rng.choice(WORDS)}?", choices=choices))
    return items


def with_gold(item: Item, place: int) -> Item:
    choices = tuple(Choice(choice.text, correct=i == place) for i, choice in enumerate(item.choices))
    return msgspec.structs.replace(item, choices=choices)


def longest_gold(items: Sequence[Item], share: float, seed: int = 0) -> list[Item]:
    rng = np.random.default_rng(seed)
    lengths = [[len(choice.text) for choice in item.choices] for item in items]
    longest = [row.index(max(row)) for row in lengths]
    return [
        with_gold(item, place) if rng.random() < share else item for item, place in zip(items, longest, strict=True)
    ]


def found(subject: Subject) -> dict[str, Finding]:
    return {finding.kind: finding for finding in PROBES["shortcuts"].run(subject)}


def image_file(number: int) -> ImageRef:
    return ImageRef(sha256=f"{number:064x}", format="png", width=8, height=8, size=100)


def test_a_few_golds_given_away_are_found_where_accuracy_hides_them(tmp_path: Path) -> None:
    """In one item of twelve the gold says more than all other options together."""
    items = clean(480, seed=21)
    spoilt = set(range(0, 480, 12))
    for number in spoilt:
        item = items[number]
        told = " ".join([*WORDS[:12], item.choices[item.gold[0]].text])
        choices = tuple(msgspec.structs.replace(one, text=told) if one.correct else one for one in item.choices)
        items[number] = msgspec.structs.replace(item, choices=choices)
    findings = found(made(tmp_path / "b", items))
    few = findings["surface-given-away"]
    assert few.p is not None
    assert few.p < 1e-3
    listed = {int(name[1:]) for name in few.items}
    assert len(listed & spoilt) >= max(10, 0.8 * len(listed))
    assert all((findings[kind].p or 0) > few.p for kind in KINDS[:2])
    clear = found(made(tmp_path / "clean", clean(480, seed=22)))["surface-given-away"]
    assert (clear.p or 0) > 0.05


def test_mmmu_pro_gives_golds_away_and_mostly_in_numbers(shared: Path, tmp_path: Path) -> None:
    fields = {"options": "options10_final", "answer": "answer10_final"}
    import_benchmark(shared / "data/mmmu_pro", tmp_path / "b", Import(read=ReadOptions(fields=fields)))
    subject = Subject(Benchmark(tmp_path / "b"), fewer())
    findings = found(subject)
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
    assert set(subject.item_scores["shortcut:surface"]) == {item.id for item in subject.items}


@pytest.mark.slow
def test_clean_sets_raise_no_more_alarms_than_stated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortcuts, "TREES", 30)
    monkeypatch.setattr(features, "BUCKETS", 60)
    ps: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for seed in range(40):
        for kind, finding in found(made(tmp_path / str(seed), clean(300, seed, 3 + seed % 4), seed=seed)).items():
            assert finding.p is not None
            ps[kind].append(finding.p)
    for kind, values in ps.items():
        alarms = sum(p <= 0.05 for p in values)
        assert stats.binom.sf(alarms - 1, len(values), 0.05) > 0.002, (kind, alarms)
        assert 0.3 < np.mean(values) < 0.7, kind


def test_a_gold_that_is_longest_too_often_is_found(tmp_path: Path) -> None:
    subject = made(tmp_path / "b", longest_gold(clean(600, 1), 0.6))
    findings = found(subject)
    for kind in KINDS[:2]:
        finding = findings[kind]
        assert finding.p == 1e-6
        assert finding.title.startswith("From how options look alone: ")
        assert finding.numbers["accuracy"] > 0.5
        assert len(finding.items) > 150
        assert "chance gives 25 %" in finding.evidence[finding.items[0]]
    longest = [max(item.choices, key=lambda choice: len(choice.text)).correct for item in subject.items]
    scores = np.array([subject.item_scores["shortcut:surface"][item.id] for item in subject.items])
    assert scores[longest].mean() > scores[~np.array(longest)].mean() + 0.3


def test_a_bias_in_words_alone_is_pointed_at(tmp_path: Path) -> None:
    items = clean(500, 3)
    numeric = [Options(item).numeric for item in items]
    biased = [
        old if is_numeric else new
        for old, new, is_numeric in zip(items, longest_gold(items, 0.7), numeric, strict=True)
    ]
    finding = found(made(tmp_path / "b", biased))["surface-shortcut-linear"]
    assert "mostly where options are not numbers" in finding.title
    assert finding.numbers["by_option_kind"]["numeric"]["z"] < 3


def test_a_word_of_the_question_that_calls_for_an_answer_is_seen_by_the_text_view_only(tmp_path: Path) -> None:
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
    findings = found(made(tmp_path / "b", items))
    surface, text = findings["surface-shortcut-linear"], findings["text-shortcut-linear"]
    assert text.p == 1e-6
    assert text.numbers["accuracy"] > 0.6
    assert surface.numbers["accuracy"] < 0.35


def test_the_position_of_the_gold_is_not_seen(tmp_path: Path) -> None:
    """Always the first option, under options that differ in nothing but their labels or image numbers."""
    shapes = ([f"{letter}. {{}}" for letter in "ABCD"], ["<image 1>", "<image 2>", "<image 3>", "<image 4>"], "ABCD")
    rng = np.random.default_rng(0)
    for place, shape in enumerate(shapes):
        for number in range(5):
            texts = [str(text).format(option(rng, numeric=False)) for text in shape]
            item = Item(id="i", question="?", choices=tuple(Choice(t, correct=i == 0) for i, t in enumerate(texts)))
            options = Options(item)
            if place:
                assert len(set(options.texts)) == 1
            else:
                assert not any(text[:2] in ("A.", "B.", "C.", "D.") for text in options.texts), number
    items = [with_gold(item, 0) for item in clean(400, 8)]
    assert all(finding.p is not None and finding.p > 0.001 for finding in found(made(tmp_path / "b", items)).values())


def test_shuffled_options_change_nothing(tmp_path: Path) -> None:
    items = longest_gold(clean(200, 2), 0.4)
    rng = np.random.default_rng(0)
    shuffled = [
        msgspec.structs.replace(item, choices=tuple(item.choices[i] for i in rng.permutation(len(item.choices))))
        for item in items
    ]
    once, again = (found(made(tmp_path / name, rows)) for name, rows in (("a", items), ("b", shuffled)))
    assert {kind: f.numbers for kind, f in once.items()} == {kind: f.numbers for kind, f in again.items()}


def test_too_few_items_are_not_tested(tmp_path: Path) -> None:
    subject = made(tmp_path / "b", clean(99, 0))
    (finding,) = found(subject).values()
    assert finding.severity == "untested"
    assert finding.p is None
    assert not subject.item_scores


def test_items_that_share_a_image_or_a_question_are_held_out_together() -> None:
    base = Item(id="x", question="?", references=("y",))
    items = [
        msgspec.structs.replace(base, id="a", images=(image_file(1), image_file(2))),
        msgspec.structs.replace(base, id="b", images=(image_file(2), image_file(3))),
        msgspec.structs.replace(base, id="c", images=(image_file(3),)),
        msgspec.structs.replace(base, id="d", images=(image_file(4),)),
        msgspec.structs.replace(base, id="e", group="d"),
        msgspec.structs.replace(base, id="f"),
        msgspec.structs.replace(base, id="g"),
    ]
    groups = image_groups(items)
    assert groups[0] == groups[1] == groups[2]
    assert groups[3] == groups[4]
    assert len(set(groups)) == 4
    folds = group_folds(groups, 3, np.random.default_rng(0))
    assert folds[0] == folds[1] == folds[2]
    assert folds[3] == folds[4]
    assert sorted(np.bincount(folds)) == [2, 2, 3]


def test_a_large_benchmark_is_sampled_by_whole_groups(tmp_path: Path) -> None:
    items = [msgspec.structs.replace(item, group=f"i{number // 4 * 4}") for number, item in enumerate(clean(400, 0))]
    subject = made(tmp_path / "b", items, fewer(9, most_items=150))
    kept, groups = sample_groups(subject.items, image_groups(subject.items), subject)
    assert 140 <= len(kept) <= 150
    assert all(groups.count(group) == 4 for group in groups)
    assert all(f.numbers["n"] == len(kept) and "A sample" in f.detail for f in found(subject).values())


def test_rotations_share_their_random_golds_and_others_do_not() -> None:
    first, other = clean(2, 0)
    turned = msgspec.structs.replace(first, id="r", group=first.id, choices=(*first.choices[1:], first.choices[0]))
    items = [first, turned, other]
    table = Table(items)
    golds = draw_golds(table, image_groups(items), np.random.default_rng(0), 400) - table.starts[:, None]
    assert (golds[0] == golds[1]).all()
    assert 0.15 < (golds[0] == golds[2]).mean() < 0.35
    assert all(stats.chisquare(np.bincount(row, minlength=4)).pvalue > 1e-4 for row in golds)


def test_ties_share_the_credit() -> None:
    item = Item(
        id="i", question="?", choices=tuple(Choice(t, correct=t == "one") for t in ("one", "two", "six", "ten"))
    )
    table = Table([item])
    sample = shortcuts.Sample(table, table.gold[:, None], np.zeros(1, dtype=np.int64))
    assert sample.credits(np.zeros((4, 1)))[0, 0] == 0.25
    assert sample.credits(np.array([[1.0], [0.0], [0.0], [0.0]]))[0, 0] == 1


def test_the_same_seed_says_the_same(tmp_path: Path) -> None:
    items = clean(150, 4)
    once, again, other = (found(made(tmp_path / "b", items, fewer(19), seed)) for seed in (1, 1, 2))
    assert once == again
    assert once != other


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


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-3.5 cm", -3.5),
        ("$1,200", 1200),
        ("1/4", 0.25),
        ("1/0", None),
        ("It ended in about 1918", None),
    ],
)
def test_numbers_are_read_with_their_units(text: str, value: float | None) -> None:
    assert number_of(text) == value


def test_an_excess_in_both_kinds_is_blamed_on_neither() -> None:
    one = {"accuracy": 0.4, "null_mean": 0.25, "z": 9.0}
    assert where_it_sits({"numeric": one, "text": one}) == ""
    assert where_it_sits({"numeric": one, "text": one | {"accuracy": 0.26}}) == "numeric"
    assert where_it_sits({"numeric": one}) == ""
