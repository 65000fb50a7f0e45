"""``eyetest harden screenshot``: render each item as one image."""

from pathlib import Path
from typing import Annotated

from rich.text import Text

from eyetest.cli import options
from eyetest.cli.options import option
from eyetest.cli.terminal import advise, out, program, safe
from eyetest.jobs.harden_screenshot import harden_screenshot
from eyetest.wording import counted, typed


def screenshot(
    bench: options.BenchArgument,
    to: Annotated[Path, option("--to", "The folder of the new benchmark.", "DIR")],
    file: options.FileOptions,
    look: Annotated[
        str, option("--look", "screen, phone, photo or print; all gives each to a share of the items.", "NAME")
    ] = "screen",
    seed: Annotated[int, option("--seed", "Random seed; the same one gives the same pixels.", min=0)] = 0,
    read_back: Annotated[
        str | None,
        option(
            "--read-back", "Have an OCR engine read each page: tesseract, rapidocr, or best of those there.", "NAME"
        ),
    ] = None,
    review: Annotated[
        Path | None, option("--review", "A folder for the queue of what people have to look at.", "DIR")
    ] = None,
    workers: Annotated[int | None, option("--workers", "Processes that draw. (default: one a core)", min=1)] = None,
    overwrite: options.OverwriteOption = False,
) -> None:
    """Put each item's whole question into one picture, in many looks.

    Items keep their ids, golds and texts. The factors of a look are tags, so that eyetest measure looks can say what
    each of them does to scores.
    """
    benchmark = harden_screenshot(
        bench,
        to=to,
        look=look,
        seed=seed,
        read_back=read_back,
        review=review,
        workers=workers,
        overwrite=overwrite,
        read=file.read(),
    )
    made = f"{counted(len(benchmark), 'screenshot')} → {safe(str(benchmark.path))}"
    out.print(Text(made, "bold"), soft_wrap=True)
    advise("next", f"{typed(program(), 'run', benchmark.path)} --sight screenshot --model SPEC --to RUN")
