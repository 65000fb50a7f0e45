"""Leaks by decoy: what some models have by heart and their language models have not goes; flawless items stay."""

from typing import NamedTuple

import numpy as np
import pytest

from eyetest.errors import InputError
from eyetest.filters import FILTERS, FilterInput, Seat
from eyetest.records import Verdict
from tests.filters.said import Table, evidence, item, judged, stage, told
from tests.filters.simulated import Bools, Drawn, Taste, coins, own_tastes, shared_tastes

RULE = stage(filter="leaks", rate=0.05)
MODELS, BASES, TRIALS = 10, 3, 5
SEATS = [*(Seat(f"m{number}") for number in range(BASES))] + [
    Seat(f"m{BASES + number}", f"m{number % BASES}") for number in range(MODELS)
]
ALONE = [Seat(seat.model) for seat in SEATS]


class Leaky(NamedTuple):
    """What leaked to the models, what their language models know as well, and what everybody chose."""

    leaked: Bools
    read: Bools
    drawn: Drawn


def leaky(
    seed: int, share: float = 0.2, *, items: int = 400, options: int = 4, taste: Taste = coins, read: float = 0.1
) -> Leaky:
    """Three models of ten have by heart what leaked, and are then right in nine samples of ten."""
    rng = np.random.default_rng([seed, options, items])
    likely = taste(rng, items, BASES + MODELS, options)
    firm = np.full(options, 0.1 / (options - 1))
    firm[0] = 0.9
    fate = rng.random(items)
    leaked, known = fate < share, fate > 1 - read
    likely[known] = firm
    for holder in (BASES, BASES + 4, BASES + 8):
        likely[leaked, holder] = firm
    drawn = rng.random((items, BASES + MODELS, TRIALS))[..., None] > likely.cumsum(axis=2)[:, :, None, :-1]
    return Leaky(leaked, known, Drawn(leaked, drawn.sum(axis=3)))


def decided(panel: Leaky, options: int = 4, seats: list[Seat] = SEATS) -> list[Verdict]:
    heard = panel.drawn.evidence()
    return list(FILTERS["leaks"].judge(FilterInput(RULE, panel.drawn.items(options), heard, seats, len(seats))))


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


def test_without_language_models_what_is_known_blind_goes() -> None:
    """Models are then held against their tastes alone: what everybody has read is gone as well."""
    panel = leaky(7)
    drop = gone(decided(panel, seats=ALONE))
    assert drop[panel.leaked].mean() >= 0.9
    assert drop[panel.read].mean() >= 0.9
    assert (~(panel.leaked | panel.read)[drop]).mean() <= 0.08


def test_verdicts_say_how_many_have_it() -> None:
    panel = leaky(1)
    verdicts = decided(panel)
    dropped = [one for one in verdicts if one.verdict == "drop"]
    assert np.median([one.hits or 0 for one in dropped]) == 3
    assert dropped[0].reason == f"{dropped[0].hits} of 10 models probably memorized it"
    assert dropped[0].n == MODELS
    assert set(told(dropped[0])["seats"]) == {seat.model for seat in SEATS}


def test_a_stage_may_say_what_becomes_of_leaked_items() -> None:
    panel = leaky(1)
    rule = stage(filter="leaks", then="review")
    case = FilterInput(rule, panel.drawn.items(), panel.drawn.evidence(), SEATS, len(SEATS))
    assert {one.verdict for one in FILTERS["leaks"].judge(case)} == {"keep", "review"}


def test_a_few_items_are_too_few_for_a_promise() -> None:
    """At four options seven plain leaks are needed; fewer are for people to look at."""
    chosen = np.random.default_rng(1).integers(4, size=(60, len(SEATS), TRIALS))
    for number, verdict in ((6, "review"), (8, "drop")):
        chosen[:number, BASES:] = 0
        rows = decided(Leaky(np.arange(60) < number, np.zeros(60, bool), Drawn(np.arange(60) < number, chosen)))
        assert {one.verdict for one in rows[:number]} == {verdict}
        assert {one.verdict for one in rows[number:]} == {"keep"}


PAIR = [Seat("m0", "m1"), Seat("m1")]


def test_a_model_without_its_language_models_answer_goes_to_people() -> None:
    table: Table = {"q": [[1], ["failed"]]}
    row = judged(RULE, evidence(table), seats=PAIR)["q"]
    assert (row.verdict, row.reason, row.n) == ("review", "1 model missing", 1)
    three = [Seat("m0", "m1"), Seat("m1"), Seat("m2")]
    enough = stage(filter="leaks", min_answers=1)
    assert judged(enough, evidence({"q": [[1], ["failed"], [1]]}), seats=three)["q"].verdict == "keep"


def test_there_has_to_be_a_choice_that_is_known() -> None:
    heard = evidence({"open": ["1", "0"], "given": ["0", "1"]})
    items = [item("open", 0), item("given")]
    rows = judged(RULE, heard, items=items, seats=PAIR)
    assert (rows["open"].verdict, rows["open"].reason) == ("keep", "nothing to choose from: there is no decoy")
    assert (rows["given"].verdict, rows["given"].reason) == (
        "review",
        "scores came without the option that was chosen",
    )


def test_a_panel_of_language_models_alone_is_refused() -> None:
    with pytest.raises(InputError, match="only language models on the panel; add vision-language models"):
        judged(RULE, evidence({"q": ["1", "0"]}), seats=[Seat("m0", "m1"), Seat("m1", "m0")])
