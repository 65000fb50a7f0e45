"""A benchmark drawn again, from Python."""

from collections.abc import Sequence

from eyetest.api.run import NOTEBOOK
from eyetest.benchmarks import Benchmark
from eyetest.harden.editions import EditionSettings
from eyetest.jobs.harden_renew import draw_again
from eyetest.jobs.opening import AnyPath, Bench


def harden_renew(
    bench: Bench,
    *,
    to: AnyPath,
    seed: int = 0,
    data: AnyPath = "",
    generator: AnyPath | Sequence[AnyPath] = (),
    scenes: AnyPath | None = None,
    overwrite: bool = False,
) -> Benchmark:
    """A new edition of a benchmark: the same ids and kinds of questions; scenes, pictures and golds are new.

    ``data`` is where data lie that items do not hold themselves. ``generator`` is a Python file of your own, or
    several: they are run. ``scenes`` is a table that gets what every picture shows.

    >>> et.harden_renew("world/benchmark", to="edition", seed=1)  # doctest: +SKIP
    <Benchmark 'world-7-edition-1': 1,128 items in edition>
    """
    settings = EditionSettings(seed=seed, data=str(data))
    done = draw_again(
        bench, settings, to=to, generator=generator, scenes=scenes, overwrite=overwrite, observer=NOTEBOOK
    )
    for line in done.told:
        NOTEBOOK.note(line)
    return done.benchmark


def harden_twins(
    bench: Bench,
    *,
    to: AnyPath,
    twins: int = 3,
    seed: int = 0,
    fresh: bool = False,
    data: AnyPath = "",
    generator: AnyPath | Sequence[AnyPath] = (),
    overwrite: bool = False,
) -> Benchmark:
    """Originals, each beside its twins: the same question about pictures with other answers.

    ``twins`` says how many of an item, as far as it has wrong options; ``fresh`` adds an item of a new edition to
    each. A run over it is what `et.measure.leak_by_twin` measures.

    >>> et.harden_twins("world/benchmark", to="twins", seed=1)  # doctest: +SKIP
    <Benchmark 'world-7-twins-1': 3,460 items in twins>
    """
    settings = EditionSettings(seed=seed, data=str(data), twins=twins, fresh=fresh)
    done = draw_again(bench, settings, to=to, twins=True, generator=generator, overwrite=overwrite, observer=NOTEBOOK)
    for line in done.told:
        NOTEBOOK.note(line)
    return done.benchmark
