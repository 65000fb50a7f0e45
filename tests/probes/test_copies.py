"""Candidate pairs of copies are found by thumbnails alone."""

import numpy as np
import numpy.typing as npt
import pytest

from eyetest.probes.copies import Thumbnail, promising_pairs

_COARSE, _SIDE, _TEMPLATES = 10, 32, 300
Floats = npt.NDArray[np.float32]


def sampled(low: float = 0.0, high: float = 1.0) -> Floats:
    """What reads a coarse field between two ends of it, at the side of a thumbnail."""
    at = np.linspace(low, high, _SIDE) * (_COARSE - 1)
    return np.asarray(np.maximum(0, 1 - np.abs(at[:, None] - np.arange(_COARSE))), np.float32)


def thumbnail(field: Floats, rng: np.random.Generator, across: Floats, down: Floats) -> Thumbnail:
    """A field as it is seen, with the noise of JPEG."""
    shades = down @ field @ across.T + rng.normal(0, 2, (_SIDE, _SIDE))
    return np.clip(shades, 0, 255).astype(np.uint8)


def made_up(count: int) -> tuple[list[Thumbnail], set[tuple[int, int]]]:
    """So many thumbnails, and which pairs of them are copies."""
    rng = np.random.default_rng(count)
    templates = rng.uniform(0, 255, (_TEMPLATES, _COARSE, _COARSE)).astype(np.float32)
    thumbnails: list[Thumbnail] = []
    copies = set()
    plain = sampled()
    while len(thumbnails) < count:
        field = rng.uniform(0, 255, (_COARSE, _COARSE)).astype(np.float32)
        if rng.random() < 0.5:
            kept = rng.random((_COARSE, _COARSE)) < 0.8
            field = np.where(kept, templates[rng.integers(_TEMPLATES)], field)
        thumbnails.append(thumbnail(field, rng, plain, plain))
        if rng.random() < 0.01 and len(thumbnails) < count:
            cut = [sampled(rng.uniform(0, 0.04), rng.uniform(0.96, 1)) for _ in range(2)]
            copies.add((len(thumbnails) - 1, len(thumbnails)))
            thumbnails.append(thumbnail(field, rng, cut[0], cut[1]))
    order = rng.permutation(count)
    where = np.argsort(order)
    moved = {(int(min(where[i], where[j])), int(max(where[i], where[j]))) for i, j in copies}
    return [thumbnails[index] for index in order], moved


def pairs(thumbnails: list[Thumbnail]) -> set[tuple[int, int]]:
    found = promising_pairs(thumbnails, 24, 0.05, lambda share: None).tolist()
    assert all(one < other for one, other in found)
    assert len(found) == len({(one, other) for one, other in found})
    return {(one, other) for one, other in found}


def test_copies_are_among_the_pairs() -> None:
    thumbnails, copies = made_up(2_000)
    assert copies <= pairs(thumbnails)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_few_images(count: int) -> None:
    image = np.arange(32 * 32, dtype=np.uint8).reshape(32, 32)
    assert pairs([image] * count) == ({(0, 1)} if count == 2 else set())
