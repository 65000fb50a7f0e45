"""The command ``harden screenshot``: render each item as one image that shows all of it."""

from eyetest.commands.base import observer, open_bench, path_of
from eyetest.commands.options import AnyPath, Bench, Overwrite
from eyetest.commands.results import NewBenchmark
from eyetest.errors import InputError, counted, heading, nearest, typed

_ALL = "all"


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

    if look not in (*LOOKS, _ALL):
        raise InputError(f'{heading("look")}: no look "{look}"; {nearest(look, (*LOOKS, _ALL))}')
    settings = ScreenshotSettings(look=look, seed=seed, read_back=read_back or "")  # type: ignore[arg-type]
    benchmark = open_bench(bench)
    title = f"screenshots of {benchmark.manifest.name}"
    with observer().steps(title) as step:
        done = take_screenshots(
            benchmark,
            path_of(to, "to"),
            settings,
            overwrite=overwrite,
            progress=lambda drawn, total: step(f"{title}: {drawn:,} of {total:,}", drawn / total),
        )
    made, path = counted(len(done.benchmark), "screenshot"), done.benchmark.path
    following = f"next: {typed('eyetest', 'run', path)} --condition screenshot --model SPEC --to RUN"
    facts = {"to_review": [verdict.item for verdict in done.verdicts]}
    return NewBenchmark(done.benchmark, f"{made} → {path}", facts, [*screenshot_notes(done), following])
