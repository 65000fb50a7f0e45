"""Do screens keep their promises where the truth is known? Panels are drawn, verdicts compared with what was drawn.

One item in five can be answered blind. An inspector knows such an item with probability .95 and is then right in .85
of its trials; else it guesses.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from eyetest.recipes import load_recipe
from eyetest.records import Stage, Verdict
from eyetest.running.stopping import Waves
from eyetest.screens import SCREENS, Case, Evidence, Seat
from eyetest.tables import write_records
from tests.screens.simulated import Bools, Drawn, draw_panel

MMSTAR, MMMU_PRO, CHANCE_AWARE = (load_recipe(name).stages[0] for name in ("mmstar", "mmmu-pro", "chance-aware"))


def judge(stage: Stage, drawn: Drawn, options: int = 4, evidence: Evidence | None = None) -> list[Verdict]:
    heard = evidence or drawn.evidence()
    case = Case(stage, drawn.items(options), heard, [Seat(name) for name in heard.seats], len(heard.seats))
    return list(SCREENS[stage.screen or ""].judge(case))


def dropped(verdicts: list[Verdict]) -> Bools:
    assert {verdict.verdict for verdict in verdicts} <= {"keep", "drop"}
    return np.array([verdict.verdict == "drop" for verdict in verdicts])


def test_mmmu_pro_finds_what_is_answered_blind_and_little_else(record_property: Any) -> None:
    """5,000 items of four options, four inspectors, ten trials."""
    drawn = draw_panel(np.random.default_rng(0), items=5_000, inspectors=4, trials=10)
    verdicts = judge(MMMU_PRO, drawn)
    drop = dropped(verdicts)
    recall, precision = drop[drawn.leaky].mean(), drawn.leaky[drop].mean()
    saved = 1 - sum(verdict.n or 0 for verdict in verdicts) / drawn.right.size
    for name, value in (("recall", recall), ("precision", precision), ("saved", saved)):
        record_property(name, float(value))
    print(f"recall {recall:.3f}, precision {precision:.4f}, {saved:.1%} of 200,000 calls saved")
    assert recall >= 0.95
    assert precision >= 0.9
    assert saved >= 0.5, "stopping early has to be worth it"


def test_mmstar_throws_out_the_good_items_that_luck_hits(record_property: Any) -> None:
    """Eight inspectors, one trial: precision as predicted, which is less than half."""
    drawn = draw_panel(np.random.default_rng(1), items=5_000, inspectors=8, trials=1)
    drop = dropped(judge(MMSTAR, drawn))
    hit = 0.95 * 0.85 + 0.05 / 4
    lost, found = stats.binom.sf(2, 8, 1 / 4), stats.binom.sf(2, 8, hit)
    predicted = 0.2 * found / (0.2 * found + 0.8 * lost)
    precision, recall = drawn.leaky[drop].mean(), drop[drawn.leaky].mean()
    record_property("precision", float(precision))
    record_property("predicted precision", float(predicted))
    print(f"precision {precision:.3f}, predicted {predicted:.3f}; recall {recall:.4f}, predicted {found:.4f}")
    assert precision == pytest.approx(predicted, abs=4 * (0.25 / drop.sum()) ** 0.5)
    assert predicted == pytest.approx(0.437, abs=0.001)
    assert recall == pytest.approx(found, abs=0.004)


@pytest.mark.parametrize(("options", "share"), [(2, 0.86), (3, 0.53), (4, 0.32), (5, 0.20), (10, 0.04)])
def test_how_many_good_items_the_rules_of_the_papers_lose(options: int, share: float) -> None:
    rng = np.random.default_rng(options)
    once = draw_panel(rng, items=1_500, inspectors=8, trials=1, options=options, leaky=0)
    assert dropped(judge(MMSTAR, once, options)).mean() == pytest.approx(share, abs=0.05)
    if options == 4:
        often = draw_panel(rng, items=1_000, inspectors=4, trials=10, options=options, leaky=0)
        assert dropped(judge(MMMU_PRO, often, options)).sum() == 0, "3e-5 of a thousand"


def discoveries(options: int, repeats: int, items: int) -> Iterator[tuple[float, float]]:
    """Of each repeat, which share of what was dropped was good, and which share of the leaky ones was found."""
    for seed in range(repeats):
        rng = np.random.default_rng([options, seed])
        drawn = draw_panel(rng, items=items, inspectors=4, trials=10, options=options)
        drop = dropped(judge(CHANCE_AWARE, drawn, options))
        yield (float((~drawn.leaky[drop]).mean()) if drop.any() else 0.0), float(drop[drawn.leaky].mean())


def promise_is_kept(options: int, repeats: int, items: int, record_property: Any) -> None:
    false, power = np.array(list(discoveries(options, repeats, items))).T
    noise = float(false.std(ddof=1) / repeats**0.5)
    record_property(f"false discoveries, {options} options", float(false.mean()))
    record_property(f"power, {options} options", float(power.mean()))
    print(f"{options} options: false discoveries {false.mean():.4f} ± {noise:.4f}, power {power.mean():.4f}")
    assert false.mean() <= 0.05 + 3 * noise
    assert false.mean() >= 0.005, "a screen that never errs at five per cent leaves something undone"
    assert power.mean() >= (0.9 if options == 2 else 0.98)


@pytest.mark.parametrize("options", [2, 4, 10])
def test_chance_aware_keeps_its_promise(options: int, record_property: Any) -> None:
    promise_is_kept(options, 40, 150, record_property)


@pytest.mark.slow
@pytest.mark.parametrize("options", [2, 4, 10])
def test_chance_aware_keeps_its_promise_over_200_repeats(options: int, record_property: Any) -> None:
    promise_is_kept(options, 200, 500, record_property)


def heard_early(stage: Stage, right: Bools) -> Bools:
    """The trials that a run asks which stops as soon as it may."""
    items, inspectors, trials = right.shape
    rule = SCREENS[stage.screen or ""].rule(stage, inspectors, inspectors, trials)
    assert rule is not None
    heard = np.zeros_like(right)
    for number in range(items):
        waves = Waves(rule, [trials] * inspectors)
        while wave := waves.wave():
            for seat, trial in wave:
                waves.heard[seat].append(bool(right[number, seat, trial]))
                heard[number, seat, trial] = True
    return heard


@pytest.mark.parametrize("seed", range(50))
def test_stopping_early_writes_the_same_bytes(seed: int, tmp_path: Path) -> None:
    drawn = draw_panel(np.random.default_rng([50, seed]), items=40, inspectors=4, trials=10)
    heard = heard_early(MMMU_PRO, drawn.right)
    written = []
    for name, evidence in (("early", drawn.evidence(heard)), ("full", drawn.evidence())):
        path = tmp_path / f"{name}.parquet"
        verdicts = judge(MMMU_PRO, drawn, evidence=evidence)
        write_records(verdicts, Verdict, path, overwrite=False)
        written.append(path.read_bytes())
    assert written[0] == written[1]
    assert sum(verdict.n or 0 for verdict in verdicts) == heard.sum() <= heard.size / 2
    assert dropped(verdicts).tolist() == ((drawn.right.sum(2) > 5).sum(1) >= 3).tolist()
