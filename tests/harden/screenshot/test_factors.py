"""The design: even, and blind to everything but the seed and the ids."""

from collections import Counter
from itertools import pairwise
from random import Random

import pytest

from eyetest.harden.screenshot.style import FACTORS, FAMILIES, LOOKS, Look, design, folders, missing

IDS = [f"item {number}" for number in range(400)]


@pytest.mark.parametrize("look", LOOKS)
def test_levels_occur_equally_often(look: Look) -> None:
    rows = design(IDS, look, 3)
    for factor, levels in FACTORS[look].items():
        counts = Counter(row[factor] for row in rows)
        assert set(counts) == set(levels)
        assert max(counts.values()) - min(counts.values()) <= 1


def test_design_depends_on_seed_and_ids_alone() -> None:
    by_id = dict(zip(IDS, design(IDS, "screen", 3), strict=True))
    shuffled = Random(1).sample(IDS, len(IDS))
    assert dict(zip(shuffled, design(shuffled, "screen", 3), strict=True)) == by_id
    assert dict(zip(IDS, design(IDS, "screen", 4), strict=True)) != by_id
    neighbours = Counter((by_id[a]["look_frame"], by_id[b]["look_frame"]) for a, b in pairwise(IDS))
    assert len(neighbours) == 25


def test_typefaces_are_there_and_cover_the_scripts() -> None:
    assert len(FAMILIES) >= 12
    assert all(folder.is_dir() for folder in folders())
    assert missing("中文 日本語 かな 한국어 العربية پارسی עברית ελληνικά Русский हिन्दी ∑≈≤→✓ 😀👍🏽 ½²₂") == ""
    assert missing("ก a \U000f0000") == "ก\U000f0000"
