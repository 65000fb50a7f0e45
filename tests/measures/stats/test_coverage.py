"""Do 95 % intervals hold the truth 95 times in 100? Simulated: right and wrong answers whose true rates are known."""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from eyetest.measures.stats.intervals import Moments, bounds, cluster_sums, percentiles, resampled_means
from eyetest.measures.stats.paired import paired

Floats = NDArray[np.float64]
Edges = tuple[Floats, Floats]
CLUSTERS = {200: 50, 2_000: 150}
"""So many clusters of very uneven sizes for so many items."""
GAIN, LEAK = 0.12, 0.02
WORLDS = list(product((200, 2_000), (0.3, 0.5, 0.8), (False, True)))
QUICK = [*WORLDS[:6], (2_000, 0.3, False), (2_000, 0.8, True)]
"""All small ones, and of the large ones two that differ in everything."""


class World(NamedTuple):
    """Many simulated benchmarks: items × repeats of two columns of answers, and the clusters of items."""

    a: Floats
    b: Floats
    clusters: NDArray[np.int64]

    def held(self, edges: Edges, truth: float) -> float:
        """The share of intervals that hold the truth."""
        return float(((edges[0] <= truth + 1e-12) & (truth - 1e-12 <= edges[1])).mean())


def clusters_of(n: int, clustered: bool) -> NDArray[np.int64]:
    if not clustered:
        return np.arange(n)
    rng, count = np.random.default_rng(n), CLUSTERS[n]
    drawn = rng.choice(count, n - count, p=rng.dirichlet(np.full(count, 2.0)))
    return np.sort(np.concatenate([np.arange(count), drawn]))


def simulated(clusters: NDArray[np.int64], p: float, lower: float, repeats: int) -> World:
    """Columns with true rates p and p − lower.

    An answer is right where a normal latent lies below a threshold. Both columns share how hard an item and its
    cluster are; a cluster also favours one of them, so that differences depend on each other as well.
    """
    n, groups = len(clusters), int(clusters.max()) + 1
    rng = np.random.default_rng([n, groups, round(100 * p), round(100 * lower)])

    def normal(rows: int) -> Floats:
        return rng.standard_normal((rows, repeats), np.float32).astype(float)

    shared = 0.5 * normal(groups)[clusters] + 0.6 * normal(n)
    rest = np.sqrt(1 - 0.5**2 - 0.6**2 - 0.35**2)
    latents = [shared + 0.35 * normal(groups)[clusters] + rest * normal(n) for _ in range(2)]
    a, b = ((each < stats.norm.ppf(rate)).astype(float) for each, rate in zip(latents, (p, p - lower), strict=True))
    return World(a, b, clusters)


def accuracy_intervals(world: World) -> Edges:
    sums = cluster_sums(world.a, world.clusters)
    sizes = np.bincount(world.clusters).astype(float)
    n, g = float(len(world.a)), float(len(sizes))
    parts = (sums.sum(0), n, g, (sums**2).sum(0), (sums * sizes[:, None]).sum(0), (sizes**2).sum(), True)
    return bounds(Moments(*(np.broadcast_to(part, sums.shape[1]) for part in parts)))


def bootstrap_intervals(world: World) -> tuple[Edges, Edges]:
    """Plain ones, and those that are told how many clusters there are."""
    repeats, count = world.a.shape[1], len(np.unique(world.clusters))
    drawn = resampled_means(np.hstack([world.a, world.b]), world.clusters)
    differences = (drawn[:, :repeats] - drawn[:, repeats:]).T
    plain = np.array([percentiles(column) for column in differences], float).T
    widened = np.array([percentiles(column, clusters=count) for column in differences], float).T
    return (plain[0], plain[1]), (widened[0], widened[1])


def paired_intervals(world: World) -> Edges:
    found = [paired(a, b, world.clusters) for a, b in zip(world.a.T, world.b.T, strict=True)]
    low, high = np.array([(each.low, each.high) for each in found], float).T
    return low, high


def coverages(n: int, p: float, clustered: bool, repeats: int) -> Iterator[tuple[str, float]]:
    """The share of intervals that hold the truth, by measure."""
    clusters = clusters_of(n, clustered)
    gain, leak = (simulated(clusters, p, lower, repeats) for lower in (GAIN, LEAK))
    yield "accuracy", gain.held(accuracy_intervals(gain), p)
    for name, world, truth in (("gain", gain, GAIN), ("leakage", leak, LEAK)):
        plain, widened = bootstrap_intervals(world)
        yield name, world.held(plain, truth)
        yield f"{name}, widened", world.held(widened, truth)
    yield "paired difference", leak.held(paired_intervals(leak), LEAK)
    fractions = World((gain.a + leak.a) / 2, (gain.b + leak.b) / 2, clusters)
    yield "paired difference of fractions", fractions.held(paired_intervals(fractions), (GAIN + LEAK) / 2)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p", "clustered"), WORLDS)
def test_intervals_hold_the_truth(n: int, p: float, clustered: bool) -> None:
    found = dict(coverages(n, p, clustered, 2_000))
    assert {name: held for name, held in found.items() if not 0.93 <= held <= 0.97} == {}


@pytest.mark.parametrize(("n", "p", "clustered"), QUICK)
def test_intervals_hold_the_truth_as_far_as_400_repeats_can_tell(n: int, p: float, clustered: bool) -> None:
    """A true coverage of .93 strays below .90, or one of .97 above .995, less than once in a hundred times."""
    found = dict(coverages(n, p, clustered, 400))
    assert {name: held for name, held in found.items() if not 0.90 <= held <= 0.995} == {}


def test_intervals_that_forgot_clusters_would_not() -> None:
    world = simulated(clusters_of(2_000, True), 0.5, GAIN, 300)
    forgetful = world._replace(clusters=np.arange(2_000))
    assert world.held(accuracy_intervals(forgetful), 0.5) < 0.75
    assert world.held(paired_intervals(forgetful), GAIN) < 0.85


def test_with_few_clusters_the_widened_interval_holds_more_often() -> None:
    world = simulated(np.sort(np.arange(200) % 12), 0.5, GAIN, 1_000)
    plain, widened = bootstrap_intervals(world)
    assert world.held(plain, GAIN) < 0.925 < world.held(widened, GAIN) < 0.97


def test_one_cluster_has_no_bootstrap_interval() -> None:
    assert percentiles(np.array([0.5, 0.5]), clusters=1) == (None, None)
    assert percentiles(np.array([np.nan]), clusters=9) == (None, None)


@pytest.mark.parametrize(("discordance", "lead"), [(0.01, 0.008), (0.02, 0.016), (0.05, 0.05)])
def test_paired_intervals_hold_where_hardly_any_item_is_discordant(discordance: float, lead: float) -> None:
    """Student's interval holds 84, 87 and 93 % of the time here: with no discordant item it has no width."""
    rng = np.random.default_rng(0)
    shares = [(discordance + lead) / 2, (discordance - lead) / 2, 1 - discordance]
    kinds = rng.choice(3, (200, 1_000), p=shares)
    world = World((kinds == 0).astype(float), (kinds == 1).astype(float), np.arange(200))
    assert world.held(paired_intervals(world), lead) >= 0.94
