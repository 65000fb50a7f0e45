"""Items that depend on each other: by facts, templates, options and words; what an interval makes of it."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from eyetest.measures import MEASURES, Results, Settings
from eyetest.records import Choice, Item
from eyetest.results.clusters import clusters_of
from eyetest.results.dependence import clusterings, guessed_clusterings
from eyetest.results.gather import clustered_table, items_table
from tests.measures.tables import results


def item(name: str, question: str, *options: str, key: int = 0, **more: Any) -> Item:
    return Item(id=name, question=question, choices=tuple(Choice(t, n == key) for n, t in enumerate(options)), **more)


def others(number: int) -> list[Item]:
    """Items that share nothing."""
    words = np.random.default_rng(number).integers(97, 123, (number, 9, 8)).astype(np.uint8)
    texts = [[row.tobytes().decode() for row in of_item] for of_item in words]
    return [item(f"other{n}", " ".join(row[:5]) + "?", *row[5:]) for n, row in enumerate(texts)]


def together(kinds: dict[str, Any], kind: str) -> bool:
    """Whether the first two items, and no others, are one cluster."""
    numbers = kinds[kind].tolist() if kind in kinds else [0, 1]
    return numbers[0] == numbers[1] and len(set(numbers)) == len(numbers) - 1


TRANSLATIONS = [
    (("Which city is the capital?", "Paris", "Rome"), ("Welche Stadt ist die Hauptstadt?", "Rome", "Paris")),
    (("12 boxes of 30 kg, what mass?", "box", "lid"), ("12 Kisten zu 30 kg, welche Masse?", "Kiste", "Deckel")),
]


@pytest.mark.parametrize(("first", "second"), TRANSLATIONS)
def test_translations_of_one_fact_are_one_cluster(first: tuple[str, ...], second: tuple[str, ...]) -> None:
    key = second[1:].index("Paris") if "Paris" in second else 0
    items = [item("a", *first), item("b", *second, key=key), *others(20)]
    assert together(clusterings(items), "fact")


def test_options_that_recur_with_other_keys_may_be_dependent_and_are_no_fact() -> None:
    items = [item("a", "Which colour?", "red", "blue"), item("b", "What paint?", "blue", "red"), *others(20)]
    assert clusterings(items) == {}
    assert together(guessed_clusterings(items), "options")


def test_what_a_fifth_of_the_items_share_is_a_label() -> None:
    items = [item(f"{n}", f"{other.question}", "yes", "no", key=n % 2) for n, other in enumerate(others(40))]
    assert clusterings(items) == {}
    assert not {"key", "one option"} & guessed_clusterings(items).keys()


def test_words_in_another_order_are_found() -> None:
    items = [
        item("a", "the resistor limits current in circuits", "ohm", "volt"),
        item("b", "in circuits what limits current: a resistor", "amp", "watt"),
        *others(20),
    ]
    assert together(guessed_clusterings(items), "words")


def test_crossed_templates_and_images_leave_the_fewer_clusters() -> None:
    """Ten pictures asked six questions each: joined, all items were one cluster."""
    rng = np.random.default_rng(0)
    words = [" ".join(other.question[:-1].split()) for other in others(6)]
    items = [
        item(
            f"{picture}/{number}", f"{words[number]} {picture}?", *map(str, rng.choice(9_000, 4)), group=f"g{picture}"
        )
        for picture in range(10)
        for number in range(6)
    ]
    sizes = [items_table("b", items, kind).get_column("cluster").n_unique() for kind in ("auto", "template", "found")]
    assert sizes == [10, 6, 6]


def templated(rng: np.random.Generator, templates: int) -> tuple[list[Item], list[dict[str, Any]]]:
    """A flawless benchmark of twenty items a template, and scores of three series without the image. Each template
    has one preference, shared by the series and right in one of four; drawn without any code of the product.
    """
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    items, rows = [], []
    for template in range(templates):
        words = ["".join(row) for row in rng.choice(letters, (6, 7))]
        chance = rng.uniform(0.5, 0.9) if rng.random() < 0.25 else rng.uniform(0.05, 0.17)
        for number in range(20):
            name = f"{template}-{number}"
            question = f"{' '.join(words)} {number}?"
            items.append(item(name, question, *("".join(row) for row in rng.choice(letters, (4, 6)))))
            for series in "abc":
                score = float(rng.random() < chance)
                rows.append({"item": name, "model": series, "modality": "no-image", "score": score})
    return items, rows


def scores_of(items: list[Item], rows: list[dict[str, Any]]) -> np.ndarray:
    """Scores of the three series, items × series."""
    score_of = {(row["item"], row["model"]): row["score"] for row in rows}
    return np.array([[score_of[of.id, series] for series in "abc"] for of in items])


@pytest.mark.science
@pytest.mark.parametrize("templates", [20, 40])
def test_templates_are_no_knowledge_in_a_certificate(templates: int) -> None:
    """The best of three series without the image excludes chance in at most 5 % of flawless benchmarks."""
    excluded = {"none": 0, "found": 0, "auto": 0}
    repeats = 60
    for seed in range(repeats):
        items, rows = templated(np.random.default_rng([templates, seed]), templates)
        for kind in excluded:
            labels = clusters_of(items, kind, partial(scores_of, items, rows)).labels
            of = Results(results(rows).scores, clustered_table("bench", items, labels))
            best = MEASURES["best-no-image"].measure(of, Settings()).table.row(0, named=True)
            excluded[kind] += best["above_low"] > 0
    print(f"{templates} templates: {excluded} of {repeats} exclude chance")
    assert excluded["none"] > 0.2 * repeats
    for kind in ("found", "auto"):
        assert stats.binomtest(excluded[kind], repeats, 0.05, alternative="greater").pvalue > 0.05
