"""The commands ``harden options`` and ``harden screenshot``: more options, and the whole question in one image."""

from typing import Annotated

from eyetest.commands.base import new_path, observer, open_bench, path_of
from eyetest.commands.lazy import layout, pl
from eyetest.commands.options import AnyPath, Bench, Overwrite, panel
from eyetest.commands.results import NewBenchmark
from eyetest.errors import InputError, counted, heading, nearest, param, typed
from eyetest.grammar import refuse_idle

_MODELS = panel("Models that write and check options (otherwise rules)", 1)


def harden_options(
    bench: Bench,
    /,
    *,
    to: AnyPath | None = None,
    option_count: int = 10,
    open_questions: bool = False,
    seed: int = 0,
    writer: Annotated[str | None, _MODELS] = None,
    checker: Annotated[str | None, _MODELS] = None,
    models: Annotated[AnyPath | None, _MODELS] = None,
    prompts: Annotated[str | None, _MODELS] = None,
) -> NewBenchmark:
    """Give items more options (four become ten), so that guessing pays less.

    Answer keys and existing options stay. New options are written by a model and checked by another, or made by
    rule: numbers written like the key, answers of the same kind from other items, and for a synthetic scene what it
    does not show. DIR/benchmark is the result, DIR/options.json the record of authors and rejections. eyetest review
    DIR/benchmark --form mmmu-pro asks people about new options; eyetest review revise applies what they decide.

    Args:
        bench: A benchmark folder, or any file that eyetest can import.
        to: Folder of the result. [default: BENCH-10-options beside BENCH]
        option_count: Number of options of an item.
        open_questions: Also give options to open questions whose answer is a number or in a list.
        seed: Random seed of the options and of the position of the key.
        writer: Model that writes options (see eyetest run).
        checker: Another model, which rejects bad ones.
        models: A models.yaml with both.
        prompts: What they are asked: a prompt set by name, or a YAML file.

    Examples:
        $ eyetest harden options mybench --option-count 10 --to mybench-10

        >>> done = et.harden_options("world/benchmark", to="ten")
        >>> len(done.benchmark)
        60

    """
    from eyetest.harden.options.record import OptionSettings
    from eyetest.recipes.options_folder import authors_of, option_notes, write_options
    from eyetest.records import MAX_CHOICES

    if not 2 <= option_count <= MAX_CHOICES:
        raise InputError(f"{heading('option_count')}: found {option_count}, expected 2 to {MAX_CHOICES}")
    if writer is None:
        refuse_idle({"models": models, "prompts": prompts}, f"only with {param('writer', 'MODEL')}")
    place = path_of(getattr(bench, "path", bench), "bench", "a benchmark, or the path of one")
    folder = new_path(to, "to") if to is not None else place.with_name(f"{place.stem}-{option_count}-options")
    settings = OptionSettings(options=option_count, open=open_questions, seed=seed)
    authors = authors_of(writer, checker, models, prompts)
    benchmark = open_bench(bench)
    seated = authors(folder / layout.RUN, benchmark, observer().watch) if authors else None
    done = write_options(benchmark, folder, settings, seated, tell=observer().busy)
    facts = {"record": done.record, "waiting": [verdict.item for verdict in done.verdicts]}
    notes = list(option_notes(done))
    line = f"{counted(len(done.benchmark), 'item')} → {done.benchmark.path}"
    types = {"outcome": pl.String, "items": pl.Int64}
    counts = pl.DataFrame(list(done.record.outcomes.items()), schema=types, orient="row")
    return NewBenchmark(done.benchmark, line, facts, notes, counts)


def harden_screenshot(
    bench: Bench,
    /,
    *,
    to: AnyPath,
    look: str = "screen",
    seed: int = 0,
    read_back: str | None = None,
    overwrite: Overwrite = False,
) -> NewBenchmark:
    """Put each item's whole question into one image, in many looks.

    Items keep their ids, answer keys and texts. The factors of a look are tags, so that
    eyetest measure accuracy --by look_font gives the scores of each level.

    Args:
        bench: A benchmark folder, or any file that eyetest can import.
        to: Folder of the new benchmark.
        look: screen, photo, or all for both, each for half of the items.
        seed: Random seed; the same seed gives the same pixels.
        read_back: Read each image with an OCR engine: tesseract, rapidocr, or the best installed one.
        overwrite: Replace a benchmark that eyetest wrote before.

    Examples:
        $ eyetest harden screenshot mybench --look photo --to photos

        >>> et.harden_screenshot("world/benchmark", to="world-screens", look="all").benchmark  # doctest: +SKIP
        <Benchmark 'world': 60 items in world-screens>

    """
    from eyetest.harden.screenshot.style import LOOKS
    from eyetest.harden.screenshot.taking import ScreenshotSettings, screenshot_notes, take_screenshots

    if look not in (*LOOKS, "all"):
        raise InputError(f'{heading("look")}: no look "{look}"; {nearest(look, (*LOOKS, "all"))}')
    settings = ScreenshotSettings(look=look, seed=seed, read_back=read_back or "")  # type: ignore[arg-type]
    benchmark = open_bench(bench)
    title = f"screenshots of {benchmark.manifest.name}"
    with observer().steps(title) as step:
        done = take_screenshots(
            benchmark,
            new_path(to, "to"),
            settings,
            overwrite=overwrite,
            progress=lambda drawn, total: step(f"{title}: {drawn:,} of {total:,}", drawn / total),
        )
    made, path = counted(len(done.benchmark), "screenshot"), done.benchmark.path
    following = f"next: {typed('eyetest', 'run', path)} --condition screenshot --model SPEC --to RUN"
    facts = {"to_review": [verdict.item for verdict in done.verdicts]}
    return NewBenchmark(done.benchmark, f"{made} → {path}", facts, [*screenshot_notes(done), following])
