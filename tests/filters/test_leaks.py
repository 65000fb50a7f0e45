"""Leaks by decoy: what some models have by heart and their language models have not goes; flawless items stay."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from eyetest.errors import InputError
from eyetest.filters import Seat
from eyetest.records import Item, Verdict
from tests.filters.answers import evidence, judge, judged, stage
from tests.filters.dependent import DEPENDENT, HELD_OUT, World, items_of
from tests.filters.simulated import Bools, Drawn, Taste, coins, own_tastes, shared_tastes

RULE = stage(filter="leaks", rate=0.05)
MODELS, BASES, TRIALS, ITEMS = 10, 3, 5, 400
SEATS = [*(Seat(f"m{number}") for number in range(BASES))] + [
    Seat(f"m{BASES + number}", f"m{number % BASES}") for number in range(MODELS)
]


class Leaky(NamedTuple):
    """What leaked to the models, what their language models know as well, and what everybody chose."""

    leaked: Bools
    read: Bools
    drawn: Drawn


def leaky(seed: int, share: float = 0.2, *, options: int = 4, taste: Taste = coins) -> Leaky:
    """Three models of ten have by heart what leaked, and are then right in nine samples of ten."""
    rng = np.random.default_rng([seed, options, ITEMS])
    likely = taste(rng, ITEMS, BASES + MODELS, options)
    firm = np.full(options, 0.1 / (options - 1))
    firm[0] = 0.9
    fate = rng.random(ITEMS)
    leaked, known = fate < share, fate > 0.9
    likely[known] = firm
    for holder in (BASES, BASES + 4, BASES + 8):
        likely[leaked, holder] = firm
    drawn = rng.random((ITEMS, BASES + MODELS, TRIALS))[..., None] > likely.cumsum(axis=2)[:, :, None, :-1]
    return Leaky(leaked, known, Drawn(leaked, drawn.sum(axis=3)))


def decided(panel: Leaky, options: int = 4) -> list[Verdict]:
    return judge(RULE, panel.drawn.items(options), panel.drawn.evidence(), seats=SEATS)


def gone(verdicts: list[Verdict]) -> Bools:
    return np.array([one.verdict == "drop" for one in verdicts])


@pytest.mark.parametrize("taste", [coins, own_tastes(2.0)])
def test_what_leaked_to_a_few_models_is_found(taste: Taste) -> None:
    """And what their language models have read too is no leak."""
    panels = [leaky(seed, taste=taste) for seed in range(3)]
    drops = [gone(decided(panel)) for panel in panels]
    recall = np.mean([drop[panel.leaked].mean() for panel, drop in zip(panels, drops, strict=True)])
    false = np.mean([(~panel.leaked[drop]).mean() for panel, drop in zip(panels, drops, strict=True)])
    assert recall >= (0.9 if taste is coins else 0.7)
    assert false <= 0.05 + 0.03
    assert np.mean([drop[panel.read].mean() for panel, drop in zip(panels, drops, strict=True)]) <= 0.02


@pytest.mark.parametrize("options", [2, 4])
@pytest.mark.parametrize("taste", [coins, own_tastes(0.3), shared_tastes(1.0)])
def test_where_nothing_leaked_next_to_nothing_goes(options: int, taste: Taste) -> None:
    """Three hits of pairs, MMStar's way, drop a tenth of these items and a third at two options."""
    drops = [gone(decided(leaky(seed, 0.0, options=options, taste=taste), options)) for seed in range(3)]
    assert np.mean(drops) <= 0.01


def test_a_few_items_are_too_few_for_a_promise() -> None:
    """At four options seven plain leaks are needed; fewer are for people to look at."""
    chosen = np.random.default_rng(1).integers(4, size=(60, len(SEATS), TRIALS))
    for number, verdict in ((6, "review"), (8, "drop")):
        chosen[:number, BASES:] = 0
        rows = decided(Leaky(np.arange(60) < number, np.zeros(60, bool), Drawn(np.arange(60) < number, chosen)))
        assert {one.verdict for one in rows[:number]} == {verdict}
        assert {one.verdict for one in rows[number:]} == {"keep"}


def test_a_panel_of_language_models_alone_is_refused() -> None:
    with pytest.raises(InputError, match="only language models on the panel; add vision-language models"):
        judged(RULE, evidence({"q": ["1", "0"]}), seats=[Seat("m0", "m1"), Seat("m1", "m0")])


def beside_guessing_bases(world: World, seed: int, options: int) -> tuple[list[Item], Drawn, list[Seat]]:
    """A benchmark of dependent items of which nothing leaked: its models share preferences, their bases guess."""
    rng = np.random.default_rng([seed, options, 11])
    items, models, samples = world.chosen.shape
    guesses = rng.integers(options, size=(items, BASES, samples))
    panel = [*SEATS[:BASES], *(Seat(f"m{BASES + number}", f"m{number % BASES}") for number in range(models))]
    return items_of(world), Drawn(world.leaky, np.concatenate([guesses, world.chosen], axis=1)), panel


def lost(name: str, options: int, seed: int) -> int:
    """How many items the filter drops from a flawless benchmark."""
    drawn_world = (DEPENDENT | HELD_OUT)[name](np.random.default_rng([seed, options, 11]), options)
    items, drawn, panel = beside_guessing_bases(drawn_world, seed, options)
    return int(gone(judge(RULE, items, drawn.evidence(), seats=panel)).sum())


@pytest.mark.science
@pytest.mark.parametrize("name", ["paraphrased", "same options", "same answer", "models differ"])
def test_clusters_in_other_words_are_no_leaks(name: str) -> None:
    """Four options; figures of all cells and of the filter without clusters are in design/refining.md."""
    repeats = 12
    losing = sum(lost(name, 4, seed) > 0 for seed in range(repeats))
    print(f"{name}: {losing} of {repeats} lose items")
    assert stats.binomtest(losing, repeats, 0.05, alternative="greater").pvalue > 0.05
