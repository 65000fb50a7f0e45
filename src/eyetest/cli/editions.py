"""``eyetest harden renew|twins``: a benchmark drawn again."""

from pathlib import Path
from typing import Annotated

from rich.text import Text

from eyetest.cli.live import TERMINAL
from eyetest.cli.options import BenchArgument, OverwriteOption, option
from eyetest.cli.terminal import advise, note, out, program, safe
from eyetest.errors import InputError
from eyetest.harden.editions import Editions, EditionSettings
from eyetest.jobs.harden_renew import draw_again
from eyetest.wording import counted, typed

_SeedOption = Annotated[int, option("--seed", "Random seed: another one, other scenes.", min=0)]
_DataOption = Annotated[
    Path | None, option("--data", "Where the data lie, if not beside BENCH: the folder of a world.", "DIR")
]
_GeneratorOption = Annotated[
    list[Path] | None,
    option("--generator", "A generator of your own, a Python file: it is run; repeatable.", "FILE"),
]
_ScenesOption = Annotated[
    Path | None, option("--scenes", "A table of what every drawn picture shows; it tells the golds.", "FILE")
]


def renew(
    bench: BenchArgument,
    to: Annotated[Path | None, option("--to", "The benchmark folder of the new edition.", "DIR")] = None,
    seed: _SeedOption = 0,
    data: _DataOption = None,
    generator: _GeneratorOption = None,
    scenes: _ScenesOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Draw a new edition: the same kinds of questions about new scenes, with golds computed again.

    For items whose picture and gold follow from data: the drawn world, charts with their tables, puzzles with their
    captions, and whatever a generator of your own knows. Items keep their ids; what cannot be drawn is left out and
    counted.
    """
    settings = EditionSettings(seed=seed, data=str(data or ""))
    done = draw_again(
        *(bench, settings),
        to=_asked(to),
        generator=generator or (),
        scenes=scenes,
        overwrite=overwrite,
        observer=TERMINAL,
    )
    _report(done, typed(program(), "audit", done.benchmark.path))


def twins(
    bench: BenchArgument,
    to: Annotated[Path | None, option("--to", "The folder for originals and twins.", "DIR")] = None,
    twins: Annotated[int, option("--twins", "How many of an item, each with another answer.", min=1)] = 3,
    seed: _SeedOption = 0,
    fresh: Annotated[bool, option("--fresh", "Beside the twins also an item of a new edition.")] = False,
    data: _DataOption = None,
    generator: _GeneratorOption = None,
    scenes: _ScenesOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Draw answer-changing twins: the same question about pictures in which other answers are right.

    Originals and twins lie in one benchmark, so that one run asks all. eyetest measure leak-by-twin compares them:
    whoever knows the test by heart gives the old answer to all. An item has no more twins than wrong options.
    """
    settings = EditionSettings(seed=seed, data=str(data or ""), twins=twins, fresh=fresh)
    done = draw_again(
        *(bench, settings),
        to=_asked(to),
        twins=True,
        generator=generator or (),
        scenes=scenes,
        overwrite=overwrite,
        observer=TERMINAL,
    )
    _report(done, f"{typed(program(), 'run', done.benchmark.path)} --model SPEC --to RUN")
    note("then leak-by-twin measures RUN")


def _asked(to: Path | None) -> Path:
    if to is None:
        raise InputError("--to DIR is missing: where is the benchmark to be written?")
    return to


def _report(done: Editions, after: str) -> None:
    drawn = f"{done.items:,} of {counted(done.of, 'item')} drawn again → {safe(str(done.benchmark.path))}"
    out.print(Text(drawn, "bold"), soft_wrap=True)
    for line in done.told:
        note(line)
    advise("next", after)
