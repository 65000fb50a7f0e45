"""Clusters that count by default: width of intervals where items are independent, coverage where they are not.

Benchmarks are drawn with numpy alone; texts, answers and true means come from the generators below.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from eyetest.measures.stats.intervals import mean
from eyetest.measures.stats.paired import paired
from eyetest.records import Choice, ImageRef, Item
from eyetest.results.clusters import clusters_of

Rng = np.random.Generator
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))
ITEMS = 400


class Sampled(NamedTuple):
    """Items, scores (items × models), and the mean of each model over all that could have been drawn."""

    items: list[Item]
    scores: Floats
    truth: Floats


def words(rng: Rng, number: int) -> list[str]:
    return ["".join(row) for row in rng.choice(LETTERS, (number, 7))]


def item(place: int, question: str, options: list[str], **more: Any) -> Item:
    return Item(
        id=f"q{place:04}",
        question=question,
        choices=tuple(Choice(text, n == 0) for n, text in enumerate(options)),
        **more,
    )


def own_texts(rng: Rng) -> list[Item]:
    return [item(place, " ".join(words(rng, 7)) + "?", words(rng, 4)) for place in range(ITEMS)]


def template_texts(rng: Rng, cluster: Ints) -> list[Item]:
    forms = [" ".join(words(rng, 6)) for _ in range(cluster.max() + 1)]
    return [item(place, f"{forms[at]} {place}?", words(rng, 4)) for place, at in enumerate(cluster)]


def topic_texts(rng: Rng, cluster: Ints) -> list[Item]:
    topics = [words(rng, 6) for _ in range(cluster.max() + 1)]
    questions = [[*rng.choice(topics[at], 4, replace=False), *words(rng, 3)] for at in cluster]
    return [item(place, " ".join(text) + "?", words(rng, 4)) for place, text in enumerate(questions)]


def even(clusters: int) -> Ints:
    return np.sort(np.arange(ITEMS) % clusters)


def sized(shares: Floats) -> Ints:
    ends = np.cumsum(shares / shares.sum())
    return np.searchsorted(ends, (np.arange(ITEMS) + 0.5) / ITEMS)


def logistic(values: Floats) -> Floats:
    return 1 / (1 + np.exp(-values))


def answers(rng: Rng, effects: Floats, models: int, spread: float) -> tuple[Floats, Floats]:
    """Scores by ability, a normal effect of an item's cluster with standard deviation ``spread``, and the item."""
    ability = np.linspace(-0.5, 1.2, models)
    own = rng.normal(0, 0.8, (len(effects), 1))
    scores = (rng.random((len(effects), models)) < logistic(ability + effects + own)).astype(float)
    places, weights = np.polynomial.hermite_e.hermegauss(61)
    all_effects = places[:, None] * np.hypot(spread, 0.8)
    truth = (weights[:, None] * logistic(ability + all_effects)).sum(axis=0) / weights.sum()
    return scores, truth


def independent(texts: Callable[[Rng], list[Item]]) -> Callable[[Rng, int], Sampled]:
    def draw(rng: Rng, models: int) -> Sampled:
        return Sampled(texts(rng), *answers(rng, np.zeros((ITEMS, 1)), models, 0.0))

    return draw


def templates(cluster: Ints, spread: float) -> Callable[[Rng, int], Sampled]:
    """Templates whose difficulty differs."""

    def draw(rng: Rng, models: int) -> Sampled:
        effects = rng.normal(0, spread, (cluster.max() + 1, 1))[cluster]
        return Sampled(template_texts(rng, cluster), *answers(rng, effects, models, spread))

    return draw


def topics(rng: Rng, models: int) -> Sampled:
    """Each item has a topic drawn for it, of forty that are fixed and differ in difficulty."""
    effects = np.linspace(-1.6, 1.6, 40)
    topic = rng.integers(0, 40, ITEMS)
    scores, _ = answers(rng, effects[topic][:, None], models, 0.0)
    places, weights = np.polynomial.hermite_e.hermegauss(61)
    ability = np.linspace(-0.5, 1.2, models)
    each = logistic(ability + effects[:, None, None] + 0.8 * places[:, None])
    truth = (each.mean(axis=0) * weights[:, None]).sum(axis=0) / weights.sum()
    return Sampled(topic_texts(rng, topic), scores, truth)


def languages(rng: Rng, models: int) -> Sampled:
    """Forty facts in ten languages, each known by a model or not."""
    fact = even(40)
    numbers = [[str(number) for number in rng.choice(9_000, 4, replace=False)] for _ in range(40)]
    texts = [item(place, " ".join(words(rng, 7)) + "?", numbers[at]) for place, at in enumerate(fact)]
    rates = np.linspace(0.3, 0.8, models)
    difficulty = rng.random((40, 1)) * 0.6
    is_known = 0.6 * rng.random((40, models)) + difficulty < 1.2 * rates
    right = np.where(is_known[fact], 0.95, 0.1)
    scores = (rng.random((ITEMS, models)) < right).astype(float)
    # the sum of two uniform variables up to .6 is triangular
    limit = 1.2 * rates
    share = np.where(limit < 0.6, limit**2 / 0.72, 1 - (1.2 - np.minimum(limit, 1.2)) ** 2 / 0.72)
    return Sampled(texts, scores, 0.1 + 0.85 * share)


def beta_binomial(rng: Rng, models: int) -> Sampled:
    """Templates with sizes that fall geometrically, and a beta distributed share of right answers for each model.

    One uniform number a template gives all models the same order of templates.
    """
    cluster = sized(np.power(0.93, np.arange(45.0)))
    means = np.linspace(0.35, 0.8, models)
    ease = rng.random((cluster.max() + 1, 1))
    shares = stats.beta.ppf(ease, 6 * means, 6 * (1 - means))
    scores = (rng.random((ITEMS, models)) < shares[cluster]).astype(float)
    return Sampled(template_texts(rng, cluster), scores, means)


def passages(rng: Rng, models: int) -> Sampled:
    """Thirty passages with effects of each model's own."""
    cluster = even(30)
    hints = [" ".join(words(rng, 30)) for _ in range(30)]
    texts = [
        item(place, " ".join(words(rng, 7)) + "?", words(rng, 4), hint=hints[at]) for place, at in enumerate(cluster)
    ]
    effects = rng.normal(0, 0.6, (30, 1)) + rng.normal(0, 0.6, (30, models))
    return Sampled(texts, *answers(rng, effects[cluster], models, float(np.hypot(0.6, 0.6))))


def crossed(rng: Rng, models: int) -> Sampled:
    """Sixty images of six or seven questions each, by fifteen templates."""
    image, template = np.arange(ITEMS) % 60, rng.permutation(ITEMS) % 15
    forms = [" ".join(words(rng, 6)) for _ in range(15)]
    texts = [
        item(
            place,
            f"{forms[template[place]]} {place}?",
            words(rng, 4),
            images=(ImageRef(f"{at:064x}", "png", 8, 8, 9),),
        )
        for place, at in enumerate(image)
    ]
    effects = rng.normal(0, 0.4, (60, 1))[image] + rng.normal(0, 0.8, (15, 1))[template]
    return Sampled(texts, *answers(rng, effects, models, float(np.hypot(0.4, 0.8))))


def two_abilities(rng: Rng, models: int) -> Sampled:
    """Independent items of sixteen templates that ask for two abilities to an extent drawn for each item."""
    weight = rng.normal(0, 1.0, (ITEMS, 1))
    lean = np.random.default_rng(7).normal(0, 1.0, models)
    ability = np.linspace(-0.5, 1.2, models)
    scores = (rng.random((ITEMS, models)) < logistic(ability + weight * lean)).astype(float)
    places, weights = np.polynomial.hermite_e.hermegauss(61)
    truth = (weights[:, None] * logistic(ability + places[:, None] * lean)).sum(axis=0) / weights.sum()
    return Sampled(template_texts(rng, even(16)), scores, truth)


INDEPENDENT: dict[str, Callable[[Rng, int], Sampled]] = {
    "own texts": independent(own_texts),
    "40 idle templates": independent(lambda rng: template_texts(rng, even(40))),
    "20 idle templates": independent(lambda rng: template_texts(rng, even(20))),
    "12 idle templates": independent(lambda rng: template_texts(rng, even(12))),
    "idle templates, sizes 1/rank": independent(lambda rng: template_texts(rng, sized(1 / np.arange(1, 61)))),
    "topics in other words": topics,
}
DEPENDENT: dict[str, Callable[[Rng, int], Sampled]] = {
    **{
        f"{number} templates, {spread:g}": templates(even(number), spread)
        for number in (40, 20, 12)
        for spread in (0.4, 1)
    },
    "ten languages": languages,
}
HELD_OUT_INDEPENDENT: dict[str, Callable[[Rng, int], Sampled]] = {
    "100 idle templates": independent(lambda rng: template_texts(rng, even(100))),
    "two abilities": two_abilities,
}
HELD_OUT_DEPENDENT: dict[str, Callable[[Rng, int], Sampled]] = {
    "beta-binomial templates": beta_binomial,
    "passages": passages,
    "images crossed with templates": crossed,
}
RULES = ("items", "images", "found", "auto")


def labels_of(drawn: Sampled, rule: str) -> list[str]:
    """The clusters of a rule; ``images``: images and groups alone."""
    if rule == "items":
        return [of.id for of in drawn.items]
    if rule == "images":
        return clusters_of(drawn.items, "image").labels
    return clusters_of(drawn.items, rule, lambda: drawn.scores).labels


def figures(make: Callable[[Rng, int], Sampled], models: int, repeats: int, first: int = 0) -> dict[str, Floats]:
    """By rule: coverage of means, of a difference, and the mean width as a multiple of that by items."""
    totals = {rule: np.zeros(3) for rule in RULES}
    for seed in range(first, first + repeats):
        drawn = make(np.random.default_rng([seed, models]), models)
        last = models - 1
        for rule in RULES:
            labels = labels_of(drawn, rule)
            ends = np.array([mean(column, labels)[1:3] for column in drawn.scores.T[:: max(1, models // 5)]])
            truth = drawn.truth[:: max(1, models // 5)]
            covered = ((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean()
            gap = np.array(paired(drawn.scores[:, last], drawn.scores[:, 0], labels).gap[1:3], float)
            is_held = gap[0] <= drawn.truth[last] - drawn.truth[0] <= gap[1]
            totals[rule] += covered, is_held, (ends[:, 1] - ends[:, 0]).mean()
    widths = totals["items"][2]
    return {rule: total / (repeats, repeats, widths) for rule, total in totals.items()}


ALL = INDEPENDENT | DEPENDENT | HELD_OUT_INDEPENDENT | HELD_OUT_DEPENDENT


@pytest.mark.science
@pytest.mark.parametrize("name", ["20 idle templates", "12 idle templates", "two abilities"])
def test_intervals_of_independent_items_are_hardly_wider(name: str) -> None:
    table = figures(ALL[name], 3, 60)
    print(name, {rule: row.round(3).tolist() for rule, row in table.items()})
    assert table["auto"][2] <= 1.05


@pytest.mark.science
@pytest.mark.parametrize("name", ["20 templates, 1", "ten languages", "passages"])
def test_intervals_of_dependent_items_hold(name: str) -> None:
    repeats = 60
    table = figures(ALL[name], 3, repeats)
    print(name, {rule: row.round(3).tolist() for rule, row in table.items()})
    assert table["items"][0] < 0.9
    missed = round(repeats * (1 - table["auto"][0]))
    assert stats.binomtest(missed, repeats, 0.07, alternative="greater").pvalue > 0.05


@pytest.mark.parametrize("name", ["40 idle templates", "100 idle templates", "20 templates, 1", "passages"])
def test_clusters_that_are_enough_or_that_answers_show_count(name: str) -> None:
    drawn = ALL[name](np.random.default_rng(1), 6)
    clusters = clusters_of(drawn.items, scores=lambda: drawn.scores)
    assert len(set(clusters.labels)) == len(set(clusters_of(drawn.items, "found").labels)) < ITEMS
    (note,) = clusters.notes
    kind = "passage" if name == "passages" else "question template"
    assert note == f"clusters: 400 items count as {len(set(clusters.labels))}, by {kind}"


def test_few_clusters_count_only_where_answers_show_them() -> None:
    drawn = templates(even(20), 1.0)(np.random.default_rng(1), 6)
    idle = independent(lambda rng: template_texts(rng, even(20)))(np.random.default_rng(1), 6)
    assert len(set(clusters_of(drawn.items, scores=lambda: drawn.scores).labels)) == 20
    assert len(set(clusters_of(idle.items, scores=lambda: idle.scores).labels)) == ITEMS
    assert len(set(clusters_of(drawn.items).labels)) == ITEMS


def test_clusters_that_answers_do_not_show_are_named() -> None:
    idle = independent(lambda rng: template_texts(rng, even(20)))(np.random.default_rng(1), 6)
    (note,) = clusters_of(idle.items, scores=lambda: idle.scores).notes
    assert re.fullmatch(
        r"clusters: 20 by question template do not count: answers do not show them \(deviate -?\d\.\d\)", note
    )
    assert clusters_of(idle.items).notes == ()


def test_a_benchmark_of_a_few_tasks_is_counted_by_item_and_says_so() -> None:
    drawn = templates(even(4), 1.0)(np.random.default_rng(1), 6)
    clusters = clusters_of(drawn.items, scores=lambda: drawn.scores)
    assert len(set(clusters.labels)) == ITEMS
    assert clusters.notes == ("clusters: 4 by question template are too few to count",)


def test_images_count_beside_templates_that_cross_them() -> None:
    """Where answers show nothing of the fifteen templates, the sixty images are counted."""
    drawn = crossed(np.random.default_rng(1), 6)
    idle = np.random.default_rng(0).random((ITEMS, 6))
    assert len(set(clusters_of(drawn.items, scores=lambda: idle).labels)) == 60
    assert len(set(clusters_of(drawn.items, scores=lambda: drawn.scores).labels)) == 15
    assert len(set(clusters_of(drawn.items, "image").labels)) == 60
