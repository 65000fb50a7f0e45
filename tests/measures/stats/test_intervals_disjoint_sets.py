import random

from scipy.cluster.hierarchy import DisjointSet

from eyetest.measures.stats.intervals import DisjointSets


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


def test_the_first_stands_for_both_and_order_is_kept() -> None:
    sets = DisjointSets[str]()
    sets.join("b", "d")
    sets.join("a", "b")
    assert [sets.root(name) for name in "abcd"] == ["a", "a", "c", "a"]
    assert sets.groups("dcba") == [["d", "b", "a"]]
