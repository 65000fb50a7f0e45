"""``eyetest compare A B --ask``: ask two models only until one leads for certain."""

from pathlib import Path
from typing import Annotated

from eyetest.cli import options
from eyetest.cli.asking import KeyOption, LimitOptions, SamplingOptions, exit_as, report, who, with_key
from eyetest.cli.live import TERMINAL, estimate_table
from eyetest.cli.options import FileOptions, argument, option, put
from eyetest.cli.tables import print_table_as
from eyetest.cli.terminal import out, print_json, safe
from eyetest.errors import InputError
from eyetest.jobs import race as job
from eyetest.jobs.opening import open_bench
from eyetest.jobs.run import conditions, sampling
from eyetest.measures.printed import plain
from eyetest.models import parse_models
from eyetest.running import Asking

AnswersOption = Annotated[
    list[Path] | None, option("--answers", "A run in which other models answered the benchmark; repeat it.", "RUN")
]


def compare_by_asking(
    pair: Annotated[list[str], argument("A B", "Two models: openai:MODEL@URL, NAME=SPEC, or names of --models.")],
    ask: Annotated[Path, option("--ask", "The benchmark: a folder, or any file that eyetest can import.", "BENCH")],
    to: Annotated[Path | None, option("--to", "The run folder; again to go on where it stopped.", "RUN")] = None,
    answers: AnswersOption = None,
    limit: Annotated[int | None, option("--limit -n", "Of the benchmark only the first N items.", min=1)] = None,
    dry_run: Annotated[bool, option("--dry-run", "Say what would be asked at most, and ask nothing.")] = False,
    retry_failed: options.RetryOption = False,
    as_json: options.JsonOption = False,
    models: Annotated[Path | None, who("--models", "A models.yaml that has A and B.", "FILE")] = None,
    key_env: KeyOption = None,
    sight: Annotated[str, put("--sight", "What is seen (see eyetest run --help).", "NAME")] = "image",
    method: Annotated[str, put("--method", "How answers are had (see eyetest run --help).", "NAME")] = "generate",
    *,
    answering: SamplingOptions,
    how_far: LimitOptions,
    file: FileOptions,
) -> None:
    """Ask two models about items drawn by lot until one leads for certain on the whole benchmark, whichever it is.

    With --answers, items on which other models differ come sooner. However often one looks, the lead and both scores
    lie outside their intervals in at most 5 % of cases. Kill it and call it again: it goes on where it stopped.
    """
    if to is None and not dry_run:
        raise InputError("--to RUN is missing: where are the answers to be kept?")
    entries = with_key(parse_models(pair, models), key_env)
    asking = Asking(
        conditions=conditions(sight=sight, method=method),
        sampling=sampling(answering.temperature, answering.max_tokens),
        seed=answering.seed,
        limit=limit,
        limits=how_far.limits(),
        patience=how_far.surroundings(),
        retry_failed=retry_failed,
    )
    session = job.start(open_bench(ask, file.read(), TERMINAL), entries, asking, answers or (), TERMINAL)
    if to is None or dry_run:
        out.print(estimate_table(session.estimate(to)))
        return
    raced = job.finish(session, to, TERMINAL)
    if as_json:
        low, high = raced.lead
        verdict = {"leader": raced.leader or None, "lead_low": low, "lead_high": high, "told": raced.told}
        print_json({**verdict, "scores": plain(raced.scores).to_dicts()})
        exit_as(raced.progress)
        return
    print_table_as("terminal", raced.scores)
    out.print()
    out.print(safe(raced.told), soft_wrap=True)
    report(raced.progress, to)
