"""Benchmarks whose items depend on each other without a common template, drawn with numpy alone.

A cluster shares one preference of the models, right for all of its items or wrong for all of them; nothing is known.
Texts and answers come from the generator; no code of the product takes part, but for the records of items.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyetest.records import Choice, ImageRef, Item

Rng = np.random.Generator
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
ITEMS, SAMPLES = 400, 10


class World(NamedTuple):
    """Questions, options (the key first), images, which items are known, and choices (items × models × samples)."""

    questions: list[str]
    options: list[list[str]]
    images: list[str]
    leaky: NDArray[np.bool_]
    chosen: Ints


def items_of(world: World) -> list[Item]:
    """The items of a benchmark, the key at the first place."""
    items = []
    for number, question in enumerate(world.questions):
        choices = tuple(Choice(text, place == 0) for place, text in enumerate(world.options[number]))
        image = world.images[number]
        images = (ImageRef(image, "png", 8, 8, 100),) if image else ()
        items.append(Item(id=f"q{number:05}", question=question, choices=choices, images=images))
    return items


def word(rng: Rng, size: int = 7) -> str:
    return "".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), size))


def own_texts(rng: Rng, options: int) -> tuple[list[str], list[list[str]]]:
    """Questions and options that have nothing in common but frequent words."""
    frequent = [word(rng, 4) for _ in range(40)]
    questions = []
    for _ in range(ITEMS):
        words = [*rng.choice(frequent, 4, replace=False), *(word(rng) for _ in range(5))]
        questions.append(" ".join(rng.permutation(words)) + "?")
    return questions, [[word(rng) for _ in range(options)] for _ in range(ITEMS)]


def topic_questions(rng: Rng, cluster: Ints, from_topic: int) -> list[str]:
    """Each question has some of the six words of its topic, among others, in any order."""
    frequent = [word(rng, 4) for _ in range(200)]
    topics = [[word(rng) for _ in range(6)] for _ in range(int(cluster.max()) + 1)]
    questions = []
    for number in cluster:
        words = [*rng.choice(topics[number], from_topic, replace=False), *rng.choice(frequent, 6, replace=False)]
        questions.append(" ".join(rng.permutation(words)) + "?")
    return questions


def shared_options(rng: Rng, cluster: Ints, options: int) -> list[list[str]]:
    sets = [[word(rng) for _ in range(options)] for _ in range(int(cluster.max()) + 1)]
    return [sets[number] for number in cluster]


def preferences(rng: Rng, cluster: Ints, options: int, firmness: Floats, *, one_place: bool = False) -> Ints:
    """Choices by a preference of each cluster; ``firmness`` is clusters × models. Place 0 is the key."""
    number = int(cluster.max()) + 1
    is_right = (rng.random(number) < 1 / options)[cluster]
    wrong = rng.integers(1, options, number)[cluster] if one_place else rng.integers(1, options, ITEMS)
    favourite = np.where(is_right, 0, wrong)
    firm = firmness[cluster]
    likely = np.repeat(((1 - firm) / (options - 1))[:, :, None], options, axis=2)
    likely[np.arange(ITEMS), :, favourite] = firm
    return draw(rng, likely)


def draw(rng: Rng, likely: Floats) -> Ints:
    shape = (*likely.shape[:2], SAMPLES)
    return np.asarray((rng.random(shape)[..., None] > likely.cumsum(axis=2)[:, :, None, :-1]).sum(axis=3))


def one_firm(rng: Rng, clusters: int, models: int, options: int) -> Floats:
    """The first cluster is preferred in .97 of the answers, the others in .50 to .60, by all models alike."""
    del options
    return np.repeat(np.append(0.97, rng.uniform(0.5, 0.6, clusters - 1))[:, None], models, axis=1)


def even(clusters: int) -> Ints:
    return np.repeat(np.arange(clusters), ITEMS // clusters)


def world(questions: list[str], options: list[list[str]], chosen: Ints, images: list[str] | None = None) -> World:
    return World(questions, options, images or [""] * ITEMS, np.zeros(ITEMS, bool), chosen)


def paraphrased(rng: Rng, options: int) -> World:
    cluster = even(10)
    texts = own_texts(rng, options)[1]
    chosen = preferences(rng, cluster, options, one_firm(rng, 10, 4, options))
    return world(topic_questions(rng, cluster, 4), texts, chosen)


def same_options(rng: Rng, options: int) -> World:
    cluster = even(10)
    chosen = preferences(rng, cluster, options, one_firm(rng, 10, 4, options), one_place=True)
    return world(own_texts(rng, options)[0], shared_options(rng, cluster, options), chosen)


def ten_languages(rng: Rng, options: int) -> World:
    """Forty facts in ten languages without a common word; options are the same numbers."""
    fact = even(40)
    numbers = [[str(number) for number in rng.choice(900, options, replace=False)] for _ in range(40)]
    firmness = np.repeat(rng.uniform(0.4, 0.95, 40)[:, None], 4, axis=1)
    chosen = preferences(rng, fact, options, firmness, one_place=True)
    return world(own_texts(rng, options)[0], [numbers[number] for number in fact], chosen)


def models_differ(rng: Rng, options: int) -> World:
    """Nothing in texts; each of eight models follows each cluster's preference to its own extent."""
    chosen = preferences(rng, even(10), options, rng.uniform(0.3, 0.97, (10, 8)))
    return world(*own_texts(rng, options), chosen)


def nothing_shared(rng: Rng, options: int) -> World:
    """Nothing in texts, and models alike: answers are those to items that are known or believed one by one."""
    chosen = preferences(rng, even(10), options, one_firm(rng, 10, 4, options))
    return world(*own_texts(rng, options), chosen)


def uneven_paraphrases(rng: Rng, options: int) -> World:
    """Clusters of 80 to 5 items, three of six topic words each, six models that differ a little."""
    sizes = np.array([80, 70, 60, 50, 40, 30, 25, 20, 15, 10])
    cluster = np.repeat(np.arange(10), sizes)
    firmness = np.clip(rng.uniform(0.5, 0.95, (10, 1)) + rng.normal(0, 0.05, (10, 6)), 0.3, 0.98)
    texts = own_texts(rng, options)[1]
    return world(topic_questions(rng, cluster, 3), texts, preferences(rng, cluster, options, firmness))


def same_answer(rng: Rng, options: int) -> World:
    """One answer is preferred throughout a cluster: the key of all its items, or a distractor of all of them."""
    cluster = even(10)
    preferred = [word(rng) for _ in range(10)]
    texts = own_texts(rng, options)[1]
    is_right = rng.random(10) < 1 / options
    for index, number in enumerate(cluster):
        texts[index][0 if is_right[number] else 1] = preferred[number]
    favourite = np.where(is_right, 0, 1)[cluster]
    firm = one_firm(rng, 10, 4, options)[cluster]
    likely = np.repeat(((1 - firm) / (options - 1))[:, :, None], options, axis=2)
    likely[np.arange(ITEMS), :, favourite] = firm
    return world(own_texts(rng, options)[0], texts, draw(rng, likely))


def languages_with_numbers(rng: Rng, options: int) -> World:
    """Forty facts in ten languages, options translated: questions share two numbers, half of the facts an image."""
    fact = even(40)
    questions, texts = own_texts(rng, options)
    numbers = [rng.choice(np.arange(3, 990), 2, replace=False) for _ in range(40)]
    questions = [
        f"{question[:-1]} {numbers[at][0]} {numbers[at][1]}?" for question, at in zip(questions, fact, strict=True)
    ]
    images = [f"{at:064x}" if at % 2 else "" for at in fact]
    firmness = np.repeat(rng.uniform(0.4, 0.95, 40)[:, None], 4, axis=1)
    return world(questions, texts, preferences(rng, fact, options, firmness), images)


def twenty_profiles(rng: Rng, options: int) -> World:
    """Nothing in texts; twenty clusters, six models that follow preferences by a logistic normal."""
    firmness = 1 / (1 + np.exp(-rng.normal(0.8, 1.2, (20, 6))))
    return world(*own_texts(rng, options), preferences(rng, even(20), options, firmness))


DEPENDENT: dict[str, Callable[[Rng, int], World]] = {
    "paraphrased": paraphrased,
    "same options": same_options,
    "ten languages": ten_languages,
    "models differ": models_differ,
    "nothing shared": nothing_shared,
}
HELD_OUT: dict[str, Callable[[Rng, int], World]] = {
    "uneven paraphrases": uneven_paraphrases,
    "same answer": same_answer,
    "languages with numbers": languages_with_numbers,
    "twenty profiles": twenty_profiles,
}
"""Kept until the method was fixed."""


def known_alone(rng: Rng, options: int, models: int = 4, texts: str = "own", evenness: float = 0.0) -> World:
    """A fifth is known, item by item; other choices are even, or by each model's own taste for the item. Texts may be
    those of a generator above: then they say nothing about answers.
    """
    leaky = rng.permutation(ITEMS) < ITEMS // 5
    knows = leaky[:, None] & (rng.random((ITEMS, models)) < 0.95)
    likely = np.full((ITEMS, models, options), 1 / options)
    if evenness:
        likely = rng.dirichlet(np.full(options, evenness), (ITEMS, models))
    certain = np.full(options, 0.15 / (options - 1))
    certain[0] = 0.85
    chosen = draw(rng, np.where(knows[:, :, None], certain, likely))
    source: dict[str, Any] = {"own": nothing_shared, **DEPENDENT, **HELD_OUT}
    drawn = source[texts](rng, options)
    return World(drawn.questions, drawn.options, drawn.images, leaky, chosen)


INDEPENDENT: dict[str, dict[str, Any]] = {
    "own words, even": {},
    "own words, tastes": {"evenness": 1.0},
    "own words, eight models, tastes": {"models": 8, "evenness": 1.0},
    "paraphrased words, even": {"texts": "paraphrased"},
    "options of ten sets, even": {"texts": "same options"},
}
