"""What stages cost at 10⁶ and 10⁸ answers, and what a full ReForm-Eval grid costs: the tables of design/capacity.md.

    python speed/capacity.py [--measured speed/million.txt]

Stages are extrapolated in a straight line from what `speed/million.py` measured: CPU seconds and memory of the two
largest sizes give a slope, the rest is what a process takes before its first answer. The grid is arithmetic from the
assumptions below: floating-point operations over what a GPU does, at a utilisation that is told.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MEASURED = Path(__file__).with_name("million.txt")
SIZES = (10**6, 10**8)
STAGES = ("import", "plan", "ask", "journal", "left", "ids", "status", "score", "measure", "report", "audit", "open")

QUESTIONS, CHOICE_QUESTIONS, TESTS = 521_712, 415_283, 5
OPTIONS = 3.8
OPEN_MODELS = {7e9: 19, 13e9: 4}
"""Parameters, and how many of the paper's models have about so many."""
API_MODELS = 3
PEAK = 989e12
"""Operations a second of one H100 in BF16 without sparsity."""
GPUS = (8, 64, 512)
CALLS_A_MINUTE = (10_000, 2_000, 500)
"""What a provider lets one account call: best, likely, worst."""


class Case(NamedTuple):
    """What is assumed of the mean question and the mean model."""

    name: str
    text: int
    """Tokens of instruction, question and options."""
    image: int
    """Tokens of the image in the language model."""
    out: int
    option: int
    """Tokens of one candidate."""
    encoder: float
    """Parameters of the vision encoder, which reads `patches`."""
    patches: int
    reading: float
    """Utilisation while the prompt is read."""
    writing: float
    """Utilisation while tokens are written, one a step for each answer of the batch."""
    shared: bool
    """Whether candidates share the reading of their prompt."""
    minutes: float
    """To load a model onto a GPU."""


CASES = (
    Case("best", 100, 200, 5, 2, 0.3e9, 257, 0.5, 0.2, True, 1.0),
    Case("likely", 150, 500, 15, 3, 0.4e9, 577, 0.35, 0.08, True, 3.0),
    Case("worst", 250, 1_500, 60, 4, 1.0e9, 1_445, 0.2, 0.02, False, 10.0),
)


class Row(NamedTuple):
    """One measurement."""

    answers: int
    processor: float
    peak: float


class Slope(NamedTuple):
    """A straight line through the two largest sizes."""

    seconds: float
    """CPU seconds an answer."""
    megabytes: float
    start: Row
    largest: Row
    bend: float | None
    """The slope between the largest sizes over that between the smallest; None where only two were measured."""

    def at(self, answers: int) -> Row:
        """What that comes to."""
        more = answers - self.largest.answers
        megabytes = self.largest.peak + more * self.megabytes
        return Row(answers, self.largest.processor + more * self.seconds, megabytes)


def read_measured(text: str) -> dict[str, list[Row]]:
    """By stage what `speed/million.py` printed, the smallest size first."""
    rows: dict[str, dict[int, Row]] = {}
    for line in text.splitlines():
        words = line.replace(",", "").split()
        if len(words) == 7 and words[0] in STAGES:
            rows.setdefault(words[0], {})[int(words[1])] = Row(int(words[1]), float(words[3]), float(words[5]))
    return {stage: [some[size] for size in sorted(some)] for stage, some in rows.items()}


def slope(rows: list[Row]) -> Slope:
    """The line, and whether it bends."""

    def between(a: Row, b: Row) -> tuple[float, float]:
        return (b.processor - a.processor) / (b.answers - a.answers), (b.peak - a.peak) / (b.answers - a.answers)

    seconds, megabytes = between(*rows[-2:])
    first, _ = between(*rows[:2])
    bend = seconds / first if len(rows) > 2 and first > 0 else None
    return Slope(max(seconds, 0.0), max(megabytes, 0.0), rows[0], rows[-1], bend)


def stage_lines(text: str) -> Iterator[str]:
    """What each stage takes, measured and in a straight line."""
    yield "| stage | largest measured | CPU µs an answer | memory bytes an answer | bend | 10⁶ | 10⁸ |"
    yield "|---|---|---|---|---|---|---|"
    measured = read_measured(text)
    for stage in STAGES:
        if len(rows := measured.get(stage, [])) > 1:
            line = slope(rows)
            cells = [f"{at.processor:,.0f} s, {at.peak:,.0f} MB" for at in map(line.at, SIZES[:1])]
            cells += [f"{at.processor / 3600:,.1f} h, {at.peak / 1024:,.1f} GB" for at in map(line.at, SIZES[1:])]
            bend = "" if line.bend is None else f"{line.bend:.1f}"
            yield (
                f"| {stage} | {line.largest.answers:,} | {1e6 * line.seconds:,.0f} | "
                f"{line.megabytes * 2**20:,.0f} | {bend} | {' | '.join(cells)} |"
            )


def answers() -> dict[str, int]:
    """How many answers the grid has."""
    models = sum(OPEN_MODELS.values())
    return {
        "generated, open models": QUESTIONS * TESTS * models,
        "generated, over an API": QUESTIONS * TESTS * API_MODELS,
        "by likelihood, open models": CHOICE_QUESTIONS * TESTS * models,
    }


def gpu_hours(case: Case) -> dict[str, float]:
    """GPU-hours of reading, writing and weighing candidates, over all open models."""
    sums = dict.fromkeys(("generation", "likelihood"), 0.0)
    for parameters, models in OPEN_MODELS.items():
        read = 2 * (parameters * (case.text + case.image) + case.encoder * case.patches) / (PEAK * case.reading)
        write = 2 * parameters * case.out / (PEAK * case.writing)
        weigh = 2 * parameters * case.option * OPTIONS / (PEAK * case.reading)
        sums["generation"] += models * TESTS * QUESTIONS * (read + write) / 3600
        readings = 1.0 if case.shared else OPTIONS
        sums["likelihood"] += models * TESTS * CHOICE_QUESTIONS * (readings * read + weigh) / 3600
    return sums


def hours_on(gpus: int, case: Case) -> float:
    """Hours by the clock, with models shared out among GPUs so that each loads as few as possible."""
    loads = max(1.0, sum(OPEN_MODELS.values()) / gpus)
    return sum(gpu_hours(case).values()) / gpus + loads * case.minutes / 60


def assumption_lines() -> Iterator[str]:
    """What is assumed."""
    yield "| assumption | best | likely | worst |"
    yield "|---|---|---|---|"
    words = {
        "text": "tokens of instruction, question and options",
        "image": "tokens of the image, mean over models",
        "out": "tokens written",
        "option": "tokens of a candidate",
        "encoder": "parameters of the vision encoder",
        "patches": "patches that it reads",
        "reading": "utilisation while a prompt is read",
        "writing": "utilisation while tokens are written",
        "shared": "candidates share their prompt's reading",
        "minutes": "minutes to load a model",
    }
    for name, told in words.items():
        yield f"| {told} | {' | '.join(_cell(getattr(case, name)) for case in CASES)} |"
    yield f"| calls a minute that a provider allows | {' | '.join(f'{one:,}' for one in CALLS_A_MINUTE)} |"


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value / 1e9:g} × 10⁹" if isinstance(value, float) and value > 1e6 else f"{value:,g}"


def grid_lines(text: str) -> Iterator[str]:
    """GPU-hours, hours, and what that asks of the processes that plan and write."""
    yield "| | best | likely | worst |"
    yield "|---|---|---|---|"
    for kind in ("generation", "likelihood"):
        yield f"| GPU-hours, {kind} | {' | '.join(f'{gpu_hours(case)[kind]:,.0f}' for case in CASES)} |"
    for gpus in GPUS:
        yield f"| hours on {gpus} GPUs, both | {' | '.join(f'{hours_on(gpus, case):,.1f}' for case in CASES)} |"
    told = answers()
    here = told["generated, open models"] + told["by likelihood, open models"]
    an_answer = slope(read_measured(text)["ask"]).seconds
    for gpus in GPUS:
        rates = [here / hours_on(gpus, case) / 3600 for case in CASES]
        cells = (f"{rate:,.0f}: {rate * an_answer:.1f} cores" for rate in rates)
        yield f"| answers a second on {gpus} GPUs, and what asking them takes | {' | '.join(cells)} |"
    calls = QUESTIONS * TESTS
    days = (f"{calls / one / 60 / 24:,.1f}" for one in CALLS_A_MINUTE)
    yield f"| days over an API, a model, at its limit of calls | {' | '.join(days)} |"


def all_lines(text: str) -> Iterator[str]:
    """Everything that design/capacity.md quotes."""
    yield from stage_lines(text)
    yield from (f"| {name} | {count:,} |" for name, count in answers().items())
    yield from assumption_lines()
    yield from grid_lines(text)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measured", type=Path, default=MEASURED)
    print("\n".join(all_lines(parser.parse_args().measured.read_text())))


if __name__ == "__main__":
    main()
