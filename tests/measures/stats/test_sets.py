import random

import numpy as np
import pytest
from scipy.cluster.hierarchy import DisjointSet

from eyetest.measures.stats.sets import DisjointSets, set_labels


def test_sets_are_those_of_scipy() -> None:
    rng = random.Random(3)
    ours, theirs = DisjointSets[int](), DisjointSet(range(300))
    for _ in range(220):
        one, other = rng.randrange(300), rng.randrange(300)
        ours.join(one, other)
        theirs.merge(one, other)
        assert (ours.root(one) == ours.root(other)) == theirs.connected(one, other)
    expected = {frozenset(subset) for subset in theirs.subsets() if len(subset) > 1}
    assert {frozenset(group) for group in ours.groups(range(300))} == expected


@pytest.mark.parametrize("most", [1, 3], ids=["at most one key", "several keys"])
@pytest.mark.parametrize("seed", range(5))
def test_labels_are_those_of_sets_joined_one_by_one(most: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    members = np.repeat(rng.permutation(200)[:150], rng.integers(0, most + 1, 150))
    keys = rng.integers(0, 120, len(members))
    sets = DisjointSets[int]()
    for member, key in zip(members.tolist(), (keys + 1_000 * (1 + np.arange(len(keys)) % 2)).tolist(), strict=True):
        sets.join(member, key)
    labels = set_labels(200, (members[::2], keys[::2]), (members[1::2], keys[1::2]))
    roots = np.array([sets.root(member) for member in range(200)])
    assert ((labels[:, None] == labels) == (roots[:, None] == roots)).all()
    assert len(set_labels(0, (members[:0], keys[:0]))) == 0
