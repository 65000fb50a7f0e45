"""A benchmark drawn again: a new edition of it, or twins with other answers beside the originals."""

from collections.abc import Sequence

from eyetest.benchmarks.folder import refuse_gold_list
from eyetest.harden.editions import Editions, EditionSettings, load_generator, make_twins, renew, write_scenes
from eyetest.jobs.opening import SILENT, AnyPath, Bench, Observer, open_bench, several
from eyetest.store import refuse_to_lose
from eyetest.store.urls import local_path


def draw_again(
    bench: Bench,
    settings: EditionSettings,
    *,
    to: AnyPath,
    twins: bool = False,
    generator: AnyPath | Sequence[AnyPath] = (),
    scenes: AnyPath | None = None,
    overwrite: bool = False,
    observer: Observer = SILENT,
) -> Editions:
    """Write a new edition, or originals with their twins.

    ``generator`` are somebody's own Python files, which are run. ``scenes`` gets what every drawn picture shows.
    """
    benchmark = open_bench(bench, None, observer)
    refuse_gold_list(benchmark, "draw again")
    named: list[AnyPath] = several(generator)
    own = [load_generator(local_path(path)) for path in named]
    if scenes is not None:
        refuse_to_lose(local_path(scenes), overwrite=overwrite, ours=None)
    title = "drawing twins" if twins else "drawing a new edition"
    draw = make_twins if twins else renew
    with observer.steps(title) as step:

        def tell(done: int) -> None:
            step(f"{title}: {done:,} items", done / max(len(benchmark), 1))

        editions = draw(benchmark, local_path(to), settings, own=own, overwrite=overwrite, step=tell)
    if scenes is not None:
        write_scenes(editions, local_path(scenes), overwrite=overwrite)
    return editions
