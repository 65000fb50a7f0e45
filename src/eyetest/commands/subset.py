"""The command ``subset``: a part of a benchmark by tags, training data or answers, and scores estimated from it."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from eyetest.commands.base import new_path, open_bench, path_of, several
from eyetest.commands.gathering import gather
from eyetest.commands.lazy import layout, pl, printed
from eyetest.commands.measure import MeasureResult
from eyetest.commands.options import AnyPath, AnyRun, Bench, Overwrite, Runs, Words, panel
from eyetest.commands.results import NewBenchmark
from eyetest.errors import InputError, counted, heading, nearest, param, percent, short
from eyetest.grammar import refuse_idle

if TYPE_CHECKING:
    from eyetest.benchmarks import Benchmark
    from eyetest.curate.selection import Candidate
    from eyetest.curate.subset_choice import Aim
    from eyetest.records import Item

    Part: TypeAlias = Bench | "SubsetResult"
    """A benchmark, or a subset of one."""
else:
    Part = Bench

_DRAWN = panel("A small subset from answers", 1)
_SHARE = 0.1
_AIM = "stronger"
_LIKE = panel("A subset that matches other items", 2)


def subset(
    bench: Part,
    /,
    *,
    to: AnyPath | None = None,
    only: Words = (),
    unseen_by: AnyPath | None = None,
    option_count: int | None = None,
    seed: int = 0,
    answers: Annotated[Runs, _DRAWN] = (),
    share: Annotated[float, _DRAWN] = _SHARE,
    aim: Annotated[str, _DRAWN] = _AIM,
    estimate: Annotated[Runs, _DRAWN] = (),
    like: Annotated[Bench | None, _LIKE] = None,
    compare: Annotated[str, _LIKE] = "both",
    encoder: Annotated[Words, _LIKE] = (),
    overwrite: Overwrite = False,
) -> "SubsetResult":
    """Take a subset of a benchmark, or estimate scores on the whole benchmark from a subset.

    Keep the tasks you care about, what no compared model was trained on, or a small subset: with --answers of
    nine models or more, items are drawn for an aim. --aim stronger ranks models stronger than those that
    answered, --aim like ranks models like them, and --aim scores gives the most accurate scores on the whole.
    Which items are likelier is chosen by cross-validation over the models, and tried on models that had no part
    in the choice. Where nothing is better than random items the command says so, and draws one random item from
    each stratum of ease. Ask a new model about the subset alone; --estimate then ranks it, and gives its score
    on the whole with an interval. Answers with the image count, or those under the only modality there is.
    --like takes the items most similar to others, such as users' queries: the nearest of each, then the second
    nearest (LIME-fit).

    Args:
        bench: A benchmark; with --estimate the folder of a subset that was drawn with --answers.
        to: Folder for the subset; its benchmark is FOLDER/benchmark.
        only: Only items with these values of a tag: TAG=A,B; repeat for another tag.
        unseen_by: models.yaml; leave out datasets that any of these models was trained on.
        option_count: Options of each item: the right one and the first distractors.
        seed: Random seed.
        answers: Run whose models choose a small subset; repeatable.
        share: Share of the items to draw.
        aim: What the subset is best for: stronger, like or scores.
        estimate: Run on the subset; estimate its scores on the whole; repeatable.
        like: Benchmark that the subset should match.
        compare: What is compared: text, image or both.
        encoder: Encoder of texts, or image=ENCODER (eyetest similar --help); repeatable.
        overwrite: Replace a folder that eyetest wrote before.

    Examples:
        $ eyetest subset mybench --answers run --share 0.1 --to small
        $ eyetest subset mybench --answers run --aim like --to ranked
        $ eyetest subset small --estimate new
        $ eyetest subset mybench --like queries.jsonl --share 0.2 --to fit

        >>> part = et.subset("world/benchmark", only="core=math", to="mathematics")
        >>> {item.tags["core"] for item in part.benchmark}
        {'math'}
        >>> panel = {f"m{n}": f"scripted:right={0.3 + n / 20},seed={n}" for n in range(10)}
        >>> recorded = et.run("world/benchmark", models=panel, to="panel")
        >>> half = et.subset("world/benchmark", answers=recorded, share=0.5, to="half")
        >>> new = et.run(half.benchmark, models={"new": "scripted:right=0.6,seed=99"}, to="new")
        >>> et.subset(half, estimate=new).frame.columns[:4]
        ['model', 'part_score', 'full_score', 'full_score_low']

    """
    from eyetest.benchmarks.folder import write_items
    from eyetest.curate.subset_files import write_curves
    from eyetest.curate.subsets import draw_small

    runs, new, words = several(answers), several(estimate), several(only)
    if not (words or runs or new) and unseen_by is None and option_count is None and like is None:
        ways = f"{param('only', 'TAG=A,B')}, {param('unseen_by', 'models.yaml')}, {param('option_count', 4)}"
        raise InputError(f"which items? {ways}, or {param('answers', 'RUN')} {param('share', '0.1')}")
    if new:
        if to is not None or words or unseen_by is not None or runs or option_count is not None or like is not None:
            raise InputError(f"{heading('estimate')}: it writes no subset; leave the other options out")
        return _estimate(bench, new)  # type: ignore[return-value]
    if to is None:
        raise InputError(f"name a folder for the subset: {param('to', 'FOLDER')}")
    if like is not None and runs:
        raise InputError(
            f"{heading('answers')}: {param('like', 'BENCHMARK')} needs no answers; leave one of the two out"
        )
    if like is None:
        refuse_idle({"compare": compare != "both", "encoder": encoder}, f"only with {param('like', 'BENCHMARK')}")
        drawn = f"{param('answers', 'RUN')} or {param('like', 'BENCHMARK')}"
        refuse_idle({"aim": aim != _AIM and not runs}, f"an aim takes {param('answers', 'RUN')}")
        refuse_idle({"share": share != _SHARE and not runs}, f"a share is drawn only with {drawn}")
    if not 0 < share <= 1:
        raise InputError(f"{heading('share')}: found {share}, expected above 0 and at most 1")
    purpose = _aim_named(aim)
    folder, benchmark = new_path(to, "to"), open_bench(bench.benchmark if isinstance(bench, SubsetResult) else bench)
    steps, notes = list[str](), list[str]()
    pool = [item.id for item in _kept(benchmark, words, unseen_by, steps, notes)]
    curves, kept = None, set(pool)
    if like is not None:
        kept, how = _matching(benchmark, open_bench(like), pool, share, (compare, several(encoder)))
        steps.append(how)
    elif runs:
        results = gather(runs)
        kept, curves, more = draw_small(results, pool, share, purpose, seed)
        notes += [*results.notes, *more]
        steps.append(
            f"{percent(share)} drawn by answers of {counted(len(curves.models), 'model')}, aim {aim}, seed {seed}"
        )
    if not kept:
        raise InputError("no item is left")
    whole: Iterable[Item] = (item for item in benchmark if item.id in kept)
    name = f"{benchmark.manifest.name}-part"
    if option_count is not None:
        steps.append(f"{option_count} options each, seed {seed}")
        whole = _with_options(whole, len(kept), option_count, seed, notes)
        name = f"{benchmark.manifest.name}-{option_count}-options"
    manifest = benchmark.manifest.derived("subset", "; ".join(steps), name=name)
    written = write_items(folder / layout.BENCHMARK, whole, benchmark, manifest, overwrite=overwrite)
    if curves is not None:
        write_curves(folder, curves)
    return SubsetResult(folder, written, len(benchmark), tuple(notes))


def _aim_named(name: str) -> "Aim":
    from eyetest.curate.subset_choice import AIMS

    if name not in AIMS:
        raise InputError(f"{heading('aim')}: found {short(name)}; {nearest(name, AIMS)}")
    return AIMS[name]


def _kept(
    benchmark: "Benchmark", words: Sequence[str], unseen_by: AnyPath | None, steps: list[str], notes: list[str]
) -> "list[Candidate]":
    """The items with some values of tags that no compared model was trained on."""
    from eyetest.curate.selection import candidate, only_with, unseen
    from eyetest.models.specs import read_models

    items = [candidate(item) for item in benchmark]
    if words:
        items = only_with(items, words)
        steps.append("only " + "; ".join(words))
    if unseen_by is not None:
        file = path_of(unseen_by, "unseen_by")
        dataset = "dataset" if any("dataset" in item.tags for item in items) else "source"
        items, basis = unseen(items, read_models(file), dataset)
        notes += basis
        steps.append(f"unseen by the models of {file.name}")
    return items


def _matching(
    benchmark: "Benchmark", reference: "Benchmark", pool: Sequence[str], share: float, how: tuple[str, Sequence[str]]
) -> tuple[set[str], str]:
    """The items of a pool that match a reference set, and how they were chosen."""
    from eyetest.commands.similar import embedded
    from eyetest.similarity.search import matching

    (own, theirs), notes = embedded([benchmark, reference], *how)
    by = " and ".join(encoder.name for encoder in own.encoders.values())
    chosen = matching(theirs, own, pool, max(1, round(share * len(pool))))
    return chosen, "; ".join([f"{percent(share)} most like {reference.manifest.name} by {by}", *notes])


def _estimate(part: Part, runs: Sequence[AnyRun]) -> MeasureResult:
    from eyetest.curate.subset_files import CURVES, read_curves
    from eyetest.curate.subsets import estimate_scores
    from eyetest.measures import Settings

    folder = path_of(getattr(part, "path", part), "bench")
    if not (folder / CURVES).is_file() and (folder.parent / CURVES).is_file():
        folder = folder.parent  # the benchmark of a subset was named
    results = gather(runs)
    rows, notes = estimate_scores(read_curves(folder), results)
    return MeasureResult(rows, Settings(), "estimate", [*notes, *printed.many_unread(results)])


class SubsetResult(NewBenchmark):
    """A subset of a benchmark, and notes on how it was chosen."""

    def __init__(self, path: Path, benchmark: "Benchmark", whole: int, notes: Sequence[str]) -> None:
        self.path, items = path, [item.id for item in benchmark]
        line = f"{counted(len(items), 'item')} of {whole:,} → {benchmark.path}"
        super().__init__(benchmark, line, {"path": str(benchmark.path), "items": items, "of": whole}, notes)

    @property
    def frame(self) -> "pl.DataFrame":
        """The items, with their options in one text."""
        frame = self.benchmark.frame
        return frame.with_columns(frame["options"].list.join(" | "))


def _with_options(items: "Iterable[Item]", total: int, count: int, seed: int, notes: list[str]) -> "Iterator[Item]":
    """The items with so many options; a note counts those that cannot have as many."""
    from eyetest.curate.repair import fewer_options

    left = total
    for item in items:
        if (fewer := fewer_options(item, count, seed)) is not None:
            left -= 1
            yield fewer
    if left == total:
        raise InputError(f"{heading('option_count')}: no item has {count} options that may change places")
    if left:
        why = f"fewer than {count} options, none or several right, or options that refer to each other"
        notes.append(f"{counted(left, 'item')} left out: {why}")
