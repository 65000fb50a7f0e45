"""``eyetest compare A B --on``: ask two models only until one leads for certain."""

from pathlib import Path
from typing import Annotated

from eyetest.cli.asking import LimitOptions, OneByOneOptions, SamplingOptions, exit_as, report
from eyetest.cli.live import TERMINAL, estimate_table
from eyetest.cli.options import FileOptions, argument, option
from eyetest.cli.tables import print_table_as
from eyetest.cli.terminal import out, print_json, say
from eyetest.jobs import race as job
from eyetest.jobs.opening import open_bench
from eyetest.measures.printed import plain

AnswersOption = Annotated[
    list[Path] | None, option("--answers", "A run in which other models answered the benchmark; repeat it.", "RUN")
]


def compare_by_asking(
    pair: Annotated[list[str], argument("A B", "Two models: openai:MODEL@URL, NAME=SPEC, or names of --models.")],
    on: Annotated[Path, option("--on", "The benchmark: a folder, or any file that eyetest can import.", "BENCH")],
    answers: AnswersOption = None,
    *,
    one_by_one: OneByOneOptions,
    answering: SamplingOptions,
    how_far: LimitOptions,
    file: FileOptions,
) -> None:
    """Ask two models about items drawn by lot until one leads for certain on the whole benchmark, whichever it is.

    With --answers, items on which other models differ come sooner. However often one looks, the lead and both scores
    lie outside their intervals in at most 5 % of cases. Kill it and call it again: it goes on where it stopped.
    """
    to, entries = one_by_one.folder, one_by_one.entries(pair)
    asking = one_by_one.asking(answering, how_far)
    session = job.start(open_bench(on, file.read(), TERMINAL), entries, asking, answers or (), TERMINAL)
    if to is None:
        out.print(estimate_table(session.estimate(one_by_one.to)))
        return
    raced = job.finish(session, to, TERMINAL)
    if one_by_one.as_json:
        low, high = raced.lead
        verdict = {"leader": raced.leader or None, "lead_low": low, "lead_high": high, "told": raced.told}
        print_json({**verdict, "scores": plain(raced.scores).to_dicts()})
        exit_as(raced.progress)
        return
    print_table_as("terminal", raced.scores)
    out.print()
    say(raced.told)
    report(raced.progress, to)
