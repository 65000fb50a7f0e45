"""The command ``pool``: make one benchmark of several."""

from eyetest.commands.base import new_path, observer, pooling_of, several
from eyetest.commands.lazy import pl
from eyetest.commands.options import AnyPath, Benches, Overwrite, Pairs
from eyetest.commands.results import NewBenchmark
from eyetest.errors import counted


def pool(
    benches: Benches,
    /,
    *,
    to: AnyPath,
    map_tags: Pairs = (),
    drop_repeats: bool = False,
    overwrite: Overwrite = False,
) -> NewBenchmark:
    """Make one benchmark of several, which every other command takes like any other.

    Ids begin with the source (mmstar/12), the tag benchmark names it, and the answer key, metric and licence of each
    source are kept. Answers of runs on a source count for the pool: refine --answers and score --bench take them.
    Items with the same words on the same images as in an earlier source are counted and listed in DIR/repeats.csv;
    eyetest audit DIR also finds copies of images in other bytes.

    Args:
        benches: Benchmark folders, or any files that eyetest can import; NAME=PATH names the source otherwise.
        to: Folder of the pool.
        map_tags: Tags made of others: core=category, mmstar:core=l2 (one source), field=subject@TABLE; repeatable.
        drop_repeats: Leave out later items that are the same as earlier ones.
        overwrite: Replace a folder that eyetest wrote before.

    Examples:
        $ eyetest pool mmstar chartqa.tsv mmmu=data/val.parquet --to pool
        $ eyetest pool mmmu aqua --map-tags field=subject@fields.yaml --to pool

        >>> pooled = et.pool(["world/benchmark", "mine.tsv"], to="pool")
        >>> len(pooled.benchmark), pooled.benchmark[0].tags["benchmark"]
        (120, ...)

    """
    from eyetest.benchmarks.folder import refuse_to_replace
    from eyetest.curate.pooling import pool_benchmarks

    folder = new_path(to, "to")
    refuse_to_replace(folder, overwrite=overwrite)
    pooling = pooling_of(several(benches), map_tags, drop=drop_repeats)
    with observer().steps(title := f"pooling {counted(len(pooling.sources), 'benchmark')}") as step:
        pooled = pool_benchmarks(
            pooling, folder, folder.resolve().name, overwrite=overwrite, progress=lambda share: step(title, share)
        )
    bench = pooled.benchmark
    rows = [
        (source.name, source.items, pooled.items[source.name], source.licence or "unknown")
        for source in bench.manifest.sources
    ]
    line = f"{counted(len(bench), 'item')} of {counted(len(rows), 'benchmark')} → {bench.path}"
    facts = {"sources": dict(pooled.items), "repeats": dict(pooled.repeats)}
    counts = pl.DataFrame(rows, schema=["source", "items", "pooled", "licence"], orient="row")
    return NewBenchmark(bench, line, facts, pooled.notes, counts)
